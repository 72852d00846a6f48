"""Votes: the paper's label codes, majority votes, and what probabilities they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assistlearn.core import votes
from tests.core import paper


@given(st.integers(2, 8), st.lists(st.floats(0.01, 50.0), min_size=1, max_size=5), st.data())
def test_scores_are_sums_of_weighted_label_codes(n_classes: int, weights: list[float], data: st.DataObject):
    n = data.draw(st.integers(1, 10))
    scores, expected = np.zeros((n, n_classes)), np.zeros((n, n_classes))
    for weight in weights:
        codes = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)))
        votes.add_vote(scores, codes, weight)
        expected += weight * np.array([paper.label_code(code, n_classes) for code in codes])
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)


@given(st.integers(2, 6), st.lists(st.floats(0.01, 5.0), min_size=1, max_size=9), st.data())
def test_the_arg_max_of_the_scores_is_the_winner_of_the_weighted_vote(
    n_classes: int, weights: list[float], data: st.DataObject
):
    answers = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=len(weights), max_size=len(weights)))
    tally = np.bincount(answers, weights=weights, minlength=n_classes)
    scores = np.zeros((1, n_classes))
    for answer, weight in zip(answers, weights, strict=True):
        votes.add_vote(scores, np.array([answer]), weight)
    winner = votes.winners(scores)[0]
    assert tally[winner] == pytest.approx(tally.max())


SCORES = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 6)), elements=st.floats(-800, 800))


@given(SCORES)
def test_probabilities_sum_to_one_and_keep_the_winner(scores: np.ndarray):
    p = votes.probabilities(scores)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert (p >= 0).all()
    np.testing.assert_allclose(p[np.arange(len(p)), votes.winners(scores)], p.max(axis=1))


@given(st.floats(0.01, 0.99), st.integers(2, 20))
def test_one_model_that_is_right_with_probability_q_answers_q(q: float, n_classes: int):
    scores = np.zeros((1, n_classes))
    votes.add_vote(scores, np.array([1]), np.log(q / (1 - q)) + np.log(n_classes - 1))
    expected = np.full(n_classes, (1 - q) / (n_classes - 1))
    expected[1] = q
    np.testing.assert_allclose(votes.probabilities(scores)[0], expected, rtol=1e-10)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(1e-3, 1.0)))
def test_scores_of_undoes_probabilities(p: np.ndarray):
    p = p / p.sum(axis=1, keepdims=True)
    scores = votes.scores_of(p)
    np.testing.assert_allclose(votes.probabilities(scores), p, rtol=1e-10)
    np.testing.assert_allclose(scores.sum(axis=1), 0.0, atol=1e-9)


def test_scores_of_a_class_without_any_probability_are_finite():
    scores = votes.scores_of(np.array([[1.0, 0.0, 0.0]]))
    assert np.isfinite(scores).all()
    assert votes.winners(scores)[0] == 0


@st.composite
def ballots(draw: st.DrawFn) -> tuple[int, dict[str, np.ndarray], dict[str, float]]:
    """Agents' own scores on a few samples, as sums of label codes, and their total weights; some have no model."""
    n_classes, n_samples = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    scores, totals = {}, {}
    for m in range(draw(st.integers(1, 6))):
        own, total = np.zeros((n_samples, n_classes)), 0.0
        for weight in draw(st.lists(st.floats(0.01, 20.0), max_size=4)):
            answers = draw(st.lists(st.integers(0, n_classes - 1), min_size=n_samples, max_size=n_samples))
            own += weight * np.array([paper.label_code(a, n_classes) for a in answers])
            total += weight
        scores[str(m)], totals[str(m)] = own, total
    return n_classes, scores, totals


@given(ballots())
def test_no_confidence_overturns_a_majority(ballot: tuple[int, dict[str, np.ndarray], dict[str, float]]):
    n_classes, scores, totals = ballot
    voting = [name for name, total in totals.items() if total > 0]
    counts = np.zeros((len(next(iter(scores.values()))), n_classes))
    for name in voting:
        for i in np.flatnonzero(scores[name].any(axis=1)):  # an agent whose votes cancel out abstains
            counts[i, scores[name][i].argmax()] += 1
    decided = sum(votes.majority_votes(scores, totals).values())
    chosen = votes.winners(decided)
    if voting:
        assert (counts[np.arange(len(chosen)), chosen] == counts.max(axis=1)).all()
    else:
        assert not decided.any()


@given(ballots())
def test_vote_shares_are_probabilities_with_the_same_winner(
    ballot: tuple[int, dict[str, np.ndarray], dict[str, float]],
):
    _, scores, totals = ballot
    n_voting = sum(total > 0 for total in totals.values())
    decided = sum(votes.majority_votes(scores, totals).values())
    shares = votes.vote_shares(decided, n_voting)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-12)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares[np.arange(len(shares)), votes.winners(decided)], shares.max(axis=1), atol=1e-12)


def test_two_quiet_agents_outvote_a_loud_one():
    loud, quiet = np.array([[-100.0, 100.0]]), np.array([[0.01, -0.01]])
    ballot = {"loud": loud, "quiet": quiet, "quieter": quiet}
    decided = sum(votes.majority_votes(ballot, {"loud": 100.0, "quiet": 0.01, "quieter": 0.01}).values())
    assert votes.winners(decided)[0] == 0


def test_a_tie_goes_to_the_more_confident_agent():
    sure = np.array([[-3.0, 3.0]])  # all of its weight
    unsure = np.array([[1.0, -1.0]])  # a third of it
    decided = sum(votes.majority_votes({"sure": sure, "unsure": unsure}, {"sure": 3.0, "unsure": 3.0}).values())
    assert votes.winners(decided)[0] == 1


def test_a_tie_between_agents_that_are_each_of_one_mind_goes_to_the_one_with_more_evidence():
    weak, strong = np.array([[1.0, -0.5, -0.5]]), np.array([[-1.0, -1.0, 2.0]])
    decided = sum(votes.majority_votes({"weak": weak, "strong": strong}, {"weak": 1.0, "strong": 2.0}).values())
    assert votes.winners(decided)[0] == 2


def test_agreement_of_all_agents_is_a_share_of_one():
    own = np.array([[2.0, -1.0, -1.0]])
    decided = sum(votes.majority_votes({"a": own, "b": own}, {"a": 2.0, "b": 2.0}).values())
    np.testing.assert_allclose(votes.vote_shares(decided, 2), [[1.0, 0.0, 0.0]], atol=1e-12)
