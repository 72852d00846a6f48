"""Several predictions at once: a helper is asked about all their samples together, and each is decided by itself.

The result of each prediction is the same as if it were made alone, to the bit. Helpers' votes are in whole levels. The
initiator's own votes and the decision are not, and so they are computed for each prediction by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from assistlearn.alignment import Ids
from assistlearn.alignment.matching import Rows
from assistlearn.errors import AssistLearnError, RefusedError
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.prediction import AgentVotes, Asking, order_of_asking, own_votes, votes_from


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
