"""The samples kept aside: a fair part of every class, and the ensemble's error on them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.methods.hard import Ascii, Ensemble
from assistlearn.session import HoldOut, Kept
from assistlearn.session.judging import split


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0.01, 0.99), st.integers(0, 1000))
def test_a_split_parts_every_class_fairly_and_leaves_it_something_to_train_on(codes, fraction: float, seed: int):
    codes = np.array(codes)
    train, aside = split(codes, fraction, np.random.RandomState(seed))
    assert sorted([*train, *aside]) == list(range(len(codes)))
    assert set(codes[train]) == set(codes)
    for code in set(codes):
        n, n_aside = (codes == code).sum(), (codes[aside] == code).sum()
        assert n_aside == min(round(fraction * n), n - 1)


def test_a_split_follows_its_source_of_chance():
    codes = np.tile([0, 1], 50)
    _, first = split(codes, 0.3, np.random.RandomState(0))
    _, again = split(codes, 0.3, np.random.RandomState(0))
    _, other = split(codes, 0.3, np.random.RandomState(1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_best_round_is_the_first_of_the_best():
    holdout = HoldOut(np.array([0, 1]), 2, patience=2, method=Ascii())
    holdout.add(Kept(1, "a", 1.0, holdout=np.array([0, 0])))
    assert holdout.finish_round() == (0.5, 0.5)
    holdout.add(Kept(2, "b", 2.0, holdout=np.array([0, 1])))
    assert holdout.finish_round() == (1.0, 1.0)
    assert holdout.finish_round() == (1.0, 1.0)
    assert not holdout.exhausted
    assert holdout.finish_round() == (1.0, 1.0)
    assert holdout.exhausted
    assert holdout.best_round == 2


def test_weights_decide_unless_the_agents_vote_by_majority():
    votes = {"loud": ([1], 5.0), "b": ([0], 1.0), "c": ([0], 1.0)}
    by_weight, by_majority = HoldOut(np.array([0]), 2, 1, Ascii()), HoldOut(np.array([0]), 2, 1, Ensemble())
    for name, (answers, weight) in votes.items():
        by_weight.add(Kept(1, name, weight, holdout=np.array(answers)))
        by_majority.add(Kept(1, name, weight, holdout=np.array(answers)))
    assert by_weight.finish_round() == (0.0, 0.0)
    assert by_majority.finish_round() == (1.0, 1.0)


def test_without_any_vote_the_most_frequent_class_is_the_answer():
    shares = np.array([0.4, 0.6])
    assert HoldOut(np.array([0, 1, 0, 0]), 2, 1, Ascii(), class_shares=shares).finish_round() == (0.25, 0.25)
    assert HoldOut(np.array([0, 1, 0, 0]), 2, 1, Ascii(), class_shares=shares[::-1]).finish_round() == (0.75, 0.75)
