"""Which helpers of a run are held to the hold-out samples, where it is known, or not, which samples they hold."""

from types import SimpleNamespace

import numpy as np
import pytest

from assistlearn.initiator.participants import doubts_of
from assistlearn.plan import Plan
from assistlearn.session.holdout import HoldOut


def doubted(plan: Plan, held: np.ndarray | None) -> list[str]:
    folder = SimpleNamespace(held=lambda n_samples: held)
    run = SimpleNamespace(folder=folder, settings=SimpleNamespace(plan=plan, helpers=("lab",)))
    aside = HoldOut(np.array([0, 1]), 2, 3, plan.make_method())
    return list(doubts_of(run, SimpleNamespace(holdout=aside, training=np.arange(3)), 5))


@pytest.mark.parametrize(
    ("method", "overlap", "helpers"),
    [("ascii", "abstain", []), ("ascii", "intersection", ["lab"]), ("soft", "abstain", ["lab"])],
)
def test_bits_of_old_runs_are_not_compared_if_some_of_them_may_be_abstentions(method, overlap, helpers):
    plan = Plan(method=method, reward="out-of-fold", overlap=overlap)
    assert doubted(plan, None) == helpers
    assert doubted(plan, np.ones((1, 5), dtype=bool)) == ["lab"]
