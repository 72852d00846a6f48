"""Helpers' votes on samples. The samples are matched once, and the votes are asked for in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assistlearn.alignment import Ids, Minimum
from assistlearn.alignment.matching import Rows
from assistlearn.core.ignorance import Bools
from assistlearn.errors import RunError, StartedAnewError
from assistlearn.runs.alignment import STARTS_ANEW, Matching
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.prediction import AgentVotes, ask_matched


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
