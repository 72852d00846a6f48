"""Whether helpers vote for new people as in training: who is named, how often nobody should have been, and when."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn.evaluation.constancy import LEAST, changed

AGENTS = ("clinic", "lab", "scans")


def said(rng, n, n_classes=2, names=AGENTS, strength=0.6):
    """Votes of agents that see the truth through noise of their own, bounded as those of models are."""
    truth = np.eye(n_classes)[rng.integers(n_classes, size=n)]
    heard = {name: strength * 2 * truth + rng.normal(size=truth.shape) for name in names}
    return {name: np.tanh(each - each.mean(axis=1, keepdims=True)) for name, each in heard.items()}


def named(then, now):
    return [each.helper for each in changed(then, now, "clinic")]


LIES = {
    "turns them around": lambda votes, rng: -votes,
    "swaps the classes": lambda votes, rng: votes[:, ::-1],
    "gives everybody those of one person": lambda votes, rng: np.tile(votes[0], (len(votes), 1)),
    "mixes up the people": lambda votes, rng: rng.permutation(votes),
    "votes at random": lambda votes, rng: rng.choice([-0.9, 0.9], len(votes))[:, None] * np.array([1.0, -1.0]),
}


@pytest.mark.parametrize("lie", LIES)
def test_who_changes_its_votes_is_named_within_200_people_and_nobody_else_is(lie):
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        then, now = said(rng, 800), said(rng, 200)
        found.append(named(then, now | {"lab": LIES[lie](now["lab"], rng)}))
    assert sum(each == ["lab"] for each in found) >= (38 if "mixes" not in lie and "random" not in lie else 24)
    assert all(set(each) <= {"lab"} for each in found)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_honest_helpers_are_named_in_no_more_than_one_of_a_hundred_runs(n_classes):
    alarms = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, n_classes])
        alarms += bool(named(said(rng, 300, n_classes), said(rng, 200, n_classes)))
    assert alarms <= 6  # three are expected at the most; more than eight would be so in one of 250 cases


def test_two_that_lie_together_are_both_named():
    rng = np.random.default_rng(2)
    then, now = said(rng, 800), said(rng, 400)
    assert sorted(named(then, now | {name: -now[name] for name in ("lab", "scans")})) == ["lab", "scans"]


def test_where_only_two_helpers_vote_it_is_open_which_of_them_has_changed_so_both_are_named():
    rng = np.random.default_rng(3)
    then, now = said(rng, 800, names=AGENTS[1:]), said(rng, 400, names=AGENTS[1:])
    assert sorted(named(then, now | {"lab": -now["lab"]})) == ["lab", "scans"]


def test_votes_that_are_surer_or_agree_more_than_in_training_are_no_alarm():
    """So they are for people who took part in training."""
    rng = np.random.default_rng(4)
    then, now = said(rng, 800), said(rng, 400, strength=2.0)
    assert named(then, now) == []
    assert named(then, {name: 1.5 * votes for name, votes in now.items()}) == []


def test_with_few_people_or_silent_helpers_nothing_is_said():
    rng = np.random.default_rng(5)
    then, now = said(rng, 800), said(rng, LEAST - 1)
    assert named(then, now | {"lab": -now["lab"]}) == []
    assert named(then, said(rng, 200) | {"lab": np.zeros((200, 2))}) == []
    assert named({}, now) == []


def test_people_whom_a_helper_does_not_hold_do_not_count():
    rng = np.random.default_rng(6)
    then, now = said(rng, 800), said(rng, 1_200)
    now["lab"][300:] = 0.0
    (found,) = changed(then, now | {"lab": -now["lab"]}, "clinic")
    assert (found.helper, found.n) == ("lab", 300)
    assert named(then, now) == []
    assert "its agreement with" in str(found)
