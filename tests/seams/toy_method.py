"""A method of one's own: ASCII whose models get half of their weight."""

from __future__ import annotations

from dataclasses import dataclass

from sklearn.tree import DecisionTreeClassifier

from assistlearn.core import Reward, RunState, Verdict
from assistlearn.methods import register
from assistlearn.methods.hard import Ascii
from assistlearn.types import Bools, Floats


@dataclass(frozen=True)
class Timid(Ascii):
    """Believes in half of what a model is worth."""

    def judge(self, state: RunState, reward: Reward, ignorance: Floats, held: Bools | None) -> Verdict:
        """Return half of the weight."""
        return super().judge(state, reward, ignorance, held).trusted(0.5)


register("timid", lambda: Timid)


def learner() -> DecisionTreeClassifier:
    """Return what agents' files name, so that their processes import this file."""
    return DecisionTreeClassifier(max_depth=2)
