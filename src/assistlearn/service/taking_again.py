"""Taking a turn of an earlier run again: its model answers for the people that are new, and nothing is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.agents import Retelling, Turn
from assistlearn.alignment.matching import Rows
from assistlearn.core import Reward, SoftReward
from assistlearn.core.confidence import Said
from assistlearn.core.ignorance import Bools
from assistlearn.core.taken_again import as_before
from assistlearn.learners import Model
from assistlearn.learners.weighting import take_rows
from assistlearn.methods.method import HoldoutAnswer
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits
from assistlearn.protocol.known_before import KnownBefore, RunSamples
from assistlearn.service.earlier_turns import EarlierTurn, EarlierTurns
from assistlearn.service.task import Task, aligned_rows


@dataclass(frozen=True)
class TakingAgain:
    """Takes turns again, in a run that goes on from an earlier one.

    Attributes
    ----------
    known : KnownBefore
        About which samples the kept models have spoken in the earlier run.
    task : Task
        The task of the run that goes on.
    features : table
        All rows of the agent.
    retelling : Retelling or None
        What the agent tells in place of its models' answers.
    """

    known: KnownBefore
    task: Task
    features: Any
    retelling: Retelling | None

    @classmethod
    def of(cls, kept: EarlierTurns, task: Task, features: Any, retelling: Retelling | None) -> TakingAgain:
        """Return the object that takes turns again, from what the agent keeps of the earlier run."""
        return cls(known_before(kept, task, kept.recall()), task, features, retelling)

    @property
    def told_rows(self) -> Rows:
        """The agent's row of each sample about which a turn tells something new; -1 for the others."""
        assert self.task.rows is not None
        rows = self.task.rows.copy()
        training, aside = np.flatnonzero(~self.task.aside), np.flatnonzero(self.task.aside)
        rows[training[~self.known.fresh]] = -1
        rows[aside[~self.known.fresh_holdout]] = -1
        return rows

    def reward(self, turn: Turn, earlier: EarlierTurn) -> Reward:
        """Return the reward of a kept model on all samples to train on."""
        before, _ = self.known.said(earlier.reply)
        fresh, codes = self.known.fresh, self.known.now.codes
        rows = self._rows(~self.task.aside)[fresh]
        held, n_classes = rows >= 0, self.task.n_classes
        said = self._said(earlier.model, rows)
        fine = self.task.method.in_private().reward(said, codes[fresh][held], held, n_classes)
        whole = self.known.all_rewards(_said_as(fine, before), before)
        if self.retelling is None:
            return whole
        told = self.retelling.reward(turn, whole, self._rows(~self.task.aside) >= 0)
        assert isinstance(whole, np.ndarray)
        assert isinstance(told, np.ndarray)
        return np.where(fresh, told, whole)

    def holdout_answer(self, turn: Turn, earlier: EarlierTurn) -> HoldoutAnswer | None:
        """Return what a kept model answers for all hold-out samples; None where there are none."""
        if not self.task.aside.any():
            return None
        _, before = self.known.said(earlier.reply)
        rows = self._rows(self.task.aside)[self.known.fresh_holdout]
        said = self.task.method.holdout_answer(self._said(earlier.model, rows), rows >= 0, self.task.n_classes)
        whole = self.known.all_answers(said, before)
        if self.retelling is None:
            return whole
        told = self.retelling.holdout_answer(turn, whole)
        assert isinstance(whole, np.ndarray)
        assert isinstance(told, np.ndarray)
        return np.where(self.known.fresh_holdout, told, whole)

    def _rows(self, which: Bools) -> Rows:
        return aligned_rows(self.task.rows, "")[which]

    def _said(self, model: Model, rows: Rows) -> Said:
        """Return what a model says about the rows that are not -1."""
        return model.answer(take_rows(self.features, rows[rows >= 0]))


def known_before(kept: EarlierTurns, task: Task, recall: m.Recall | None) -> KnownBefore:
    """Return about which samples an agent has spoken in the earlier run; raise if the request contradicts that run."""
    rows = kept.rows()
    assert recall is not None
    before = Task.of(kept.task(), rows, 0.0)
    then = RunSamples(before.training_codes, before.aside, rows >= 0)
    now = RunSamples(task.training_codes, task.aside, aligned_rows(task.rows, "") >= 0)
    return KnownBefore.of(unpack_bits(recall.still, len(rows)), then, now, task.method, task.n_classes)


def _said_as(said: Any, before: Any) -> Any:
    """Return new scores with the bits and the scale of those that were said before; anything else unchanged."""
    return as_before(said, before) if isinstance(said, SoftReward) and isinstance(before, SoftReward) else said
