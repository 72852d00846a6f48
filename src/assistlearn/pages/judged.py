"""Gather what is known about how good a result is: from events during the run, and from the folder afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assistlearn.evaluation.gains import LOSS_WORDS
from assistlearn.evaluation.reliability import Reliability
from assistlearn.events import CombinationLearned, ResultJudged, RunFinished, StopReason
from assistlearn.pages.view import (
    Between,
    Compared,
    Confusion,
    GainRow,
    Headline,
    ShareRow,
    Verdict,
    View,
)


@dataclass
class Judged:
    """Gathers what is known about how good a result is, and adds it to a view."""

    _evaluation: dict[str, Any] = field(default_factory=dict)
    _worth: Mapping[str, Any] | None = None
    _combination: str | None = None
    _learned_rounds: int | None = None
    _calibration: str | None = None
    _stop_reason: str | None = None
    _n_rounds: int | None = None

    def hear(self, event: CombinationLearned | ResultJudged) -> None:
        """Add which combination was learned, or what the hold-out samples show."""
        if isinstance(event, CombinationLearned):
            self._combination, self._learned_rounds = event.kind, event.n_rounds
        else:
            self._evaluation = dict(vars(event))

    def take_result(self, result: Mapping[str, Any], calibration: str | None) -> None:
        """Add the result, which is written at the end of training."""
        learned = result.get("combination") or {}
        self._evaluation |= result.get("evaluation") or {}
        self._combination = learned.get("kind", self._combination)
        self._learned_rounds = learned.get("n_rounds", self._learned_rounds)
        self._calibration = calibration
        reason = result.get("stop_reason", "")
        self._stop_reason = str(StopReason[reason]) if reason in StopReason.__members__ else None
        self._n_rounds = result.get("n_rounds")

    def take_worth(self, worth: Mapping[str, Any]) -> None:
        """Add what a pilot has found."""
        self._worth = worth

    def kept_rounds(self, finished: RunFinished | None) -> int | None:
        """Return how many rounds the result has; None while that is not decided."""
        known = (self._learned_rounds, self._n_rounds, None if finished is None else finished.n_rounds)
        return next((number for number in known if number is not None), None)

    def add_to(self, view: View) -> View:
        """Return a copy of a view, to which everything gathered here is added."""
        found, shares = self._evaluation, self._evaluation.get("shares") or {}
        together = _share("together", shares) if shares else None
        return replace(
            view,
            stop_reason=self._stop_reason or view.stop_reason,
            n_rounds=view.n_rounds if self._n_rounds is None else self._n_rounds,
            answer=self._answer(view),
            metrics=_metrics(found),
            worse=tuple(found.get("worse", ())),
            left_out=tuple(found.get("left_out", ())),
            shares=tuple(_share(each["helper"], each) for each in shares.get("helpers", ())),
            together=together,
            calibration=self._calibration,
            reliability=_bins(found.get("reliability")),
            reliability_alone=_bins(found.get("reliability_alone")),
            confusion=_confusion(found),
            combination=self._combination,
            gains=self._gains(),
        )

    def _answer(self, view: View) -> Headline | None:
        if view.subject.is_pilot:
            return self._answer_of_pilot()
        found = self._evaluation
        if found and found["assisted"].get("accuracy") is not None:
            alone, assisted = found["alone"].get("accuracy"), found["assisted"]["accuracy"]
            between = _between(found["differences"].get("accuracy"))
            return Headline(_verdict(between), "accuracy", found["n_samples"], alone, assisted, between)
        return None

    def _answer_of_pilot(self) -> Headline | None:
        worth = self._worth
        if worth is None:
            return None
        between = Between(worth["estimate"], worth["lower"], worth["upper"])
        what = LOSS_WORDS[worth["asked"]["loss"]]
        return Headline(worth["answer"], what, worth["n_opened"], worth["loss_alone"], worth["loss_assisted"], between)

    def _gains(self) -> tuple[GainRow, ...]:
        each = {} if self._worth is None else self._worth["each"]
        return tuple(
            GainRow(name, gain["answer"], gain["estimate"], gain["lower"], gain["upper"], 1.0 - gain["alpha"])
            for name, gain in each.items()
        )


def _verdict(between: Between | None) -> Verdict:
    if between is None:
        return "undecided"
    return "yes" if between.low > 0.0 else "worse" if between.high < 0.0 else "undecided"


def _between(found: Mapping[str, float] | None) -> Between | None:
    return None if found is None else Between(found["value"], found["low"], found["high"])


def _metrics(found: Mapping[str, Any]) -> tuple[Compared, ...]:
    return tuple(
        Compared(name, value, found["alone"].get(name), _between(found["differences"].get(name)))
        for name, value in found.get("assisted", {}).items()
    )


def _share(name: str, share: Mapping[str, Any]) -> ShareRow:
    lost = share.get("accuracy_if_dropped")
    return ShareRow(
        name,
        share["accuracy"]["value"],
        share["accuracy"]["error"],
        share["loss"]["value"],
        share["loss"]["error"],
        None if lost is None else lost["value"],
    )


def _bins(found: Sequence[Mapping[str, Any]] | None) -> tuple[Reliability, ...]:
    return tuple(Reliability(each["n_samples"], each["said"], each["right"]) for each in found or ())


def _confusion(found: Mapping[str, Any]) -> Confusion | None:
    if not found.get("confusion"):
        return None
    counts = tuple(tuple(row) for row in found["confusion"])
    return Confusion(counts, tuple(found["recalls"]), tuple(found["recalls_alone"]))
