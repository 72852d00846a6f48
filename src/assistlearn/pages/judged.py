"""Gather what is known about how good a result is: from events during the run, and from the folder afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assistlearn.evaluation.result import Between, Findings, Headline, findings, in_the_result, trained_with
from assistlearn.evaluation.terms import LOSS_WORDS
from assistlearn.events import CombinationLearned, ResultJudged, RunFinished, StopReason
from assistlearn.pages.view import GainRow, RoundRow, View


@dataclass
class Judged:
    """Gathers what is known about how good a result is, and adds it to a view."""

    _evaluation: dict[str, Any] = field(default_factory=dict)
    _worth: Mapping[str, Any] | None = None
    _learned: Mapping[str, Any] = field(default_factory=dict)
    _calibration: str | None = None
    _result: Mapping[str, Any] | None = None

    def hear(self, event: CombinationLearned | ResultJudged) -> None:
        """Add which combination was learned, or what the hold-out samples show."""
        if isinstance(event, CombinationLearned):
            self._learned = vars(event)
        else:
            self._evaluation = dict(vars(event))

    def take_result(self, result: Mapping[str, Any], calibration: str | None) -> None:
        """Add the result, which is written at the end of training."""
        self._result = result
        self._evaluation |= result.get("evaluation") or {}
        self._learned = result.get("combination") or self._learned
        self._calibration = calibration

    def take_worth(self, worth: Mapping[str, Any]) -> None:
        """Add what a pilot has found."""
        self._worth = worth

    def kept_rounds(self, finished: RunFinished | None) -> int | None:
        """Return how many rounds the result has; None while that is not decided."""
        known = (self._learned.get("n_rounds"), self._of_result("n_rounds"), getattr(finished, "n_rounds", None))
        return next((number for number in known if number is not None), None)

    def _of_result(self, name: str) -> Any:
        return None if self._result is None else self._result.get(name)

    def add_to(self, view: View) -> View:
        """Return a copy of a view, to which everything gathered here is added."""
        found = findings(self._evaluation, view.subject.metric)
        facts = {each.name: getattr(found, each.name) for each in fields(Findings)[1:]}
        facts["answer"] = self._answer_of_pilot() if view.subject.is_pilot else found.answer
        reason, n_rounds = self._of_result("stop_reason"), self._of_result("n_rounds")
        view = replace(
            view,
            stop_reason=str(StopReason[reason]) if reason in StopReason.__members__ else view.stop_reason,
            n_rounds=view.n_rounds if n_rounds is None else n_rounds,
            calibration=self._calibration,
            combination=self._learned.get("kind"),
            trained_with=() if not self._of_result("traffic") else trained_with(self._result or {}),
            gains=self._gains(),
            **facts,
        )
        contributions = self._of_result("contributions")
        if contributions is None:
            return view
        rows = []
        for row in view.agents:
            models, weight, best = in_the_result(row.agent, contributions, found.left_out)
            rows.append(replace(row, models=models, weight=weight, best=best))
        return replace(view, agents=tuple(rows))

    def of_the_result(self, row: RoundRow, metric: str) -> RoundRow:
        """Return the row of the last round that counts with the figures of the result itself, where these are known."""
        found = findings(self._evaluation, metric)
        accuracy, leading = found.measured("accuracy"), found.measured(metric)
        if accuracy is not None and leading is not None:
            row = replace(row, accuracy=accuracy.assisted, metric=leading.assisted)
        loss, error = self._learned.get("loss"), self._learned.get("error")
        return row if loss is None else replace(row, loss=loss, error=error)

    def _answer_of_pilot(self) -> Headline | None:
        worth = self._worth
        if worth is None:
            return None
        between = Between(worth["estimate"], worth["lower"], worth["upper"])
        what = LOSS_WORDS[worth["asked"]["loss"]]
        figures = worth["loss_alone"], worth["loss_assisted"]
        return Headline(worth["answer"], what, worth["n_opened"], *figures, between, False, is_gain=True)

    def _gains(self) -> tuple[GainRow, ...]:
        each = {} if self._worth is None else self._worth["each"]
        return tuple(
            GainRow(name, gain["answer"], gain["estimate"], gain["lower"], gain["upper"], 1.0 - gain["alpha"])
            for name, gain in each.items()
        )
