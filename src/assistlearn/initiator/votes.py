"""Helpers' votes on samples that are matched once, for a pilot or for several predictions at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assistlearn.alignment import Ids, Minimum
from assistlearn.alignment.ids import Rows
from assistlearn.errors import AssistLearnError, RefusedError, RunError, StartedAnewError
from assistlearn.initiator.alignment import STARTS_ANEW, Matching
from assistlearn.initiator.prediction import AgentVotes, Asking, ask_matched, order_of_asking, own_votes, votes_from
from assistlearn.initiator.run import OpenRun
from assistlearn.types import Bools

# Helpers' votes on samples. The samples are matched once, and the votes are asked for in parts.


class MatchedVotes:
    """One helper's votes on samples that are matched with it.

    Parameters
    ----------
    run : OpenRun
        A finished run.
    helper : str
        Who votes.
    ids : Ids
        The samples.

    Attributes
    ----------
    held : ndarray of bool
        Which of the samples the helper holds.
    """

    def __init__(self, run: OpenRun, helper: str, ids: Ids) -> None:
        self.helper = helper
        self._run = run
        self._ids = ids
        self._kept: Bools = np.ones(len(ids), dtype=bool)
        self._matching = self._match()
        self.held: Bools = self._matching.find()

    def settle(self, kept: Bools) -> None:
        """Settle with the helper which samples it is asked about; match them again first if it was started anew."""
        self._kept = kept
        try:
            self._matching.settle(kept)
        except StartedAnewError:
            self._start_anew()

    def ask(self, start: int, stop: int) -> AgentVotes:
        """Return the votes on the samples that are kept, from ``start`` up to ``stop``."""
        for _ in range(STARTS_ANEW):
            try:
                return self._ask(start, stop)
            except StartedAnewError:
                self._start_anew()
        return self._ask(start, stop)

    def _ask(self, start: int, stop: int) -> AgentVotes:
        return ask_matched(self._run, self.helper, self.held[self._kept], start, stop)

    def _start_anew(self) -> None:
        before, self._matching = self.held, self._match()
        if not np.array_equal(self._matching.find(), before):
            raise RunError(
                f"Agent {self.helper!r} restarted during the pilot, and now has another table. Start the pilot again."
            )
        self._matching.settle(self._kept)

    def _match(self) -> Matching:
        return Matching(self._run, self.helper, self._ids, "predict", Minimum(0, 0.0))


@dataclass(frozen=True)
class Voters:
    """All helpers of a run, with their samples matched, and which of these they are asked about."""

    agents: list[MatchedVotes]
    kept: Bools


def voters(run: OpenRun, rows: Rows) -> Voters:
    """Match samples with every helper, and settle which of them are asked about.

    These are all samples, or, where the plan says so, those that all helpers hold.

    Parameters
    ----------
    run : OpenRun
        A finished run.
    rows : ndarray of int
        The initiator's rows.
    """
    agents = [MatchedVotes(run, helper, run.ids_at(rows)) for helper in run.settings.helpers]
    kept = np.ones(len(rows), dtype=bool)
    if run.settings.plan.overlap == "intersection":
        kept = np.logical_and.reduce([each.held for each in agents])
    if not kept.any():
        raise RunError(
            f"None of the {len(rows):,} samples that may be opened is known to all helpers, so they cannot help. Use "
            "overlap 'abstain', or more samples."
        )
    for each in agents:
        each.settle(kept)
    return Voters(agents, kept)


# Several predictions at once: a helper is asked about all their samples together, and each is decided by itself.
#
# The result of each prediction is the same as if it were made alone, to the bit. Helpers' votes are in whole levels.
# The initiator's own votes and the decision are not, and so they are computed for each prediction by itself.


@dataclass(frozen=True)
class VotesAtHand:
    """One helper's votes on some samples, to be looked up.

    Attributes
    ----------
    place : dict of str to int
        The position of each id among the votes.
    votes : AgentVotes
        The votes.
    """

    place: Mapping[str, int]
    votes: AgentVotes

    def on(self, ids: Ids) -> AgentVotes:
        """Return the votes on some of the samples, in the order of these ids."""
        chosen = np.array([self.place[text] for text in ids.texts.to_list()], dtype=np.int64)
        return AgentVotes(self.votes.known[chosen], self.votes.scores[chosen], self.votes.weight)


Outcome: TypeAlias = VotesAtHand | AssistLearnError
"""A helper's votes, or why there are none."""


def votes_on_each(run: OpenRun, helper: str, asked: Sequence[Ids]) -> list[Outcome]:
    """Ask a helper for the votes on the samples of several predictions; return the outcome of each prediction.

    If the helper refuses them together, it is asked for each prediction alone: one that its owner does not allow must
    not stop the others.

    Parameters
    ----------
    run : OpenRun
        A finished run.
    helper : str
        The helper's name.
    asked : sequence of Ids
        The samples of each prediction; an id may be in several of them.
    """
    try:
        return [_at_hand(run, helper, asked)] * len(asked)
    except RefusedError as error:
        if len(asked) == 1:
            return [error]
    return [_alone(run, helper, ids) for ids in asked]


def votes_of_ours(run: OpenRun, ids: Ids, rows: Rows) -> AgentVotes:
    """Return the initiator's own votes for one prediction, in the order in which it asks about samples."""
    order = order_of_asking(run, ids)
    return own_votes(run, rows if order is None else rows[order])


def looked_up(said: Mapping[str, Outcome], ours: Callable[[], AgentVotes]) -> Asking:
    """Return a way of asking that looks up votes at hand; ``ours`` returns the initiator's own, or raises an error."""

    def ask(run: OpenRun, agent: str, ids: Ids, rows: Rows) -> AgentVotes:
        if agent == run.settings.initiator:
            return ours()
        outcome = said[agent]
        if isinstance(outcome, AssistLearnError):
            raise outcome
        return outcome.on(ids)

    return ask


def _alone(run: OpenRun, helper: str, ids: Ids) -> Outcome:
    try:
        return _at_hand(run, helper, [ids])
    except RefusedError as error:
        return error


def _at_hand(run: OpenRun, helper: str, asked: Sequence[Ids]) -> VotesAtHand:
    texts = sorted({text for ids in asked for text in ids.texts.to_list()})  # so that nobody hears who asked first
    votes = votes_from(run, helper, Ids.normalised(texts, asked[0].owner), np.full(len(texts), -1, dtype=np.int64))
    return VotesAtHand({text: place for place, text in enumerate(texts)}, votes)
