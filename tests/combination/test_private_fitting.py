"""Combining scores of helpers that have not seen the labels: what is learned, and what is not read out of noise."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from skops import io

from assistlearn import combination
from assistlearn.combination.combination import KeptOwnTrees
from assistlearn.combination.linear import RIDGE, decision_of, evidence, fit_weighted_sum
from assistlearn.combination.trees import MOST_INPUTS, fit_own_trees
from assistlearn.core import votes
from assistlearn.errors import UntrustedFileError
from tests.combination.conftest import centred, log_loss, scores_and_codes, total
from tests.combination.test_keeping_combinations import rewritten


def problem(n=600, n_classes=4, seed=0):
    """The initiator's scores know half the classes; a column of its own tells the others, and a helper knows some."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    truth = np.eye(n_classes)[codes]
    own = np.c_[np.where(codes % 2, 1.0, -1.0) + 0.5 * rng.normal(size=n), rng.normal(size=n)]
    own[rng.random(n) < 0.2, 1] = np.nan
    blurred = truth + truth[:, np.arange(n_classes) ^ 1]  # even and odd codes look the same
    scores = {
        "a": centred(2 * blurred + rng.normal(size=(n, n_classes))),
        "b": centred(truth + rng.normal(size=(n, n_classes))),
    }
    return scores, codes, own


def row_in_code(n=900, n_classes=4, seed=0):
    """A helper that says nothing about labels, but whose scores tell its row: a code of chance for every class."""
    rng = np.random.default_rng(seed)
    code_of = rng.normal(size=(n_classes, n_classes))
    code_of -= np.eye(n_classes) * ((code_of * np.eye(n_classes)).sum() / n_classes)  # no weight makes use of it
    codes = rng.integers(n_classes, size=n)
    scores = {
        "a": centred(np.eye(n_classes)[codes] + rng.normal(size=(n, n_classes))),
        "b": centred(code_of[codes] + 0.1 * rng.normal(size=(n, n_classes))),
    }
    return scores, codes


@pytest.fixture(scope="module")
def offset():
    scores, codes, own = problem()
    fitted = combination.fit("offset", scores, codes, initiator="a", own=own)
    assert fitted.own_trees is not None
    return fitted


def test_the_weighted_sum_of_two_classes_is_scikit_learns_logistic_regression():
    scores, codes = scores_and_codes(400, 2, know=(1.0, -0.5, 0.3))
    model = fit_weighted_sum(evidence(scores, codes, "a"))
    inputs = np.column_stack([*(said[:, 1] for said in scores.values()), np.ones(400)])
    peer = LogisticRegression(C=1 / (RIDGE * 400), fit_intercept=False, tol=1e-8).fit(inputs, codes)
    assert [*(model.weights[:, 0, 0] + 1), *model.bias] == pytest.approx(peer.coef_[0], abs=1e-3)


@pytest.mark.parametrize("n_classes", [3, 7])
def test_every_agent_has_one_weight_and_no_weight_near_it_loses_less(n_classes):
    scores, codes = scores_and_codes(500, n_classes, know=(1.0, 0.5, 0.0))
    known = evidence(scores, codes, "a")
    model = fit_weighted_sum(known)
    for weights in model.weights:
        assert np.array_equal(weights, weights[0, 0] * np.eye(n_classes))
    best = log_loss(decision_of(model, known), codes).mean()
    by_hand = np.einsum("m,mnk->nk", model.weights[:, 0, 0] + 1, known.scores) + model.bias
    assert decision_of(model, known) == pytest.approx(by_hand)
    for step in (-0.2, 0.2):
        for agent in range(3):
            assert log_loss(by_hand + step * known.scores[agent], codes).mean() > best


@pytest.mark.parametrize("n_columns", [1, MOST_INPUTS // 2 - 3, MOST_INPUTS // 2 - 2])
def test_a_stack_counts_the_scores_of_all_agents_among_its_inputs(n_columns):
    """Its trees look at the two helpers' scores, too; with two classes an agent has one."""
    scores, codes = scores_and_codes(60, 2, know=(1.0, 0.5, 0.5))
    fitted = combination.fit("stack", scores, codes, initiator="a", own=np.zeros((60, n_columns)))
    too_many = (n_columns + 3) * 2 > MOST_INPUTS
    assert ("stack" not in fitted.losses) == too_many
    assert fitted.skipped.startswith("1,501 scores and columns") == too_many


def test_an_offset_counts_the_scores_of_the_initiator_alone_among_its_inputs():
    """Its trees do not look at the helpers' scores."""
    scores, codes = scores_and_codes(60, 3, know=(1.0, 0.5, 0.5))
    n_columns = MOST_INPUTS // 3 - 3
    assert not combination.fit("offset", scores, codes, initiator="a", own=np.zeros((60, n_columns))).skipped
    assert combination.fit("offset", scores, codes, initiator="a", own=np.zeros((60, n_columns + 1))).skipped


def test_an_offset_without_trees_is_the_weighted_sum():
    scores, codes = scores_and_codes(50, 3)  # too few samples for trees
    fitted = combination.fit("offset", scores, codes, initiator="a")
    known = evidence(scores, codes, "a")
    assert fitted.own_trees is None
    assert total(fitted.decide(scores)) == pytest.approx(decision_of(fit_weighted_sum(known), known))


def test_trees_go_on_from_the_weighted_sum_with_what_the_initiators_columns_tell(offset):
    scores, codes, own = problem(seed=1)
    known = evidence(*problem()[:2], "a")
    start = combination.fit("offset", dict(zip("ab", known.scores, strict=True)), known.codes, initiator="a")
    with_trees = log_loss(total(offset.decide(scores, own)), codes).mean()
    assert with_trees < log_loss(total(start.decide(scores)), codes).mean() - 0.05


def test_every_tree_lowers_the_loss_of_the_samples_that_it_has_seen():
    scores, codes, own = problem()
    known = evidence(scores, codes, "a", own=own)
    start = fit_weighted_sum(known)
    lost = [
        log_loss(decision_of(start, known) + fit_own_trees(known, start, n).share(scores["a"], own), codes).mean()
        for n in (0, 1, 5, 20)
    ]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] == pytest.approx(log_loss(decision_of(start, known), codes).mean())


def test_an_offset_does_not_read_a_row_out_of_scores_that_say_nothing_and_a_stack_does():
    scores, codes = row_in_code()
    alone = log_loss(votes.scores_of(votes.probabilities(scores["a"])), codes).mean()
    assert combination.fit("offset", scores, codes, initiator="a").loss > alone - 0.1
    assert combination.fit("stack", scores, codes, initiator="a").loss < 0.2


def test_shares_of_an_offset_sum_to_zero_over_the_classes_and_to_the_decision(offset):
    scores, _, own = problem(seed=2)
    shares = offset.decide(scores, own)
    assert set(shares) == {"a", "b"}
    for share in shares.values():
        assert share.sum(axis=1) == pytest.approx(np.zeros(len(own)), abs=1e-9)


def test_an_offset_without_its_helper_is_no_worse_than_the_initiator_alone(offset):
    scores, codes, own = problem(seed=3)
    without = log_loss(total(offset.decide({"a": scores["a"]}, own)), codes).mean()
    assert without < log_loss(scores["a"], codes).mean()
    silent = {"a": scores["a"], "b": np.zeros_like(scores["b"])}
    assert log_loss(total(offset.decide(silent, own)), codes).mean() == pytest.approx(without)


def test_an_offset_answers_without_the_initiator(offset):
    scores, codes, _ = problem(seed=3)
    assert log_loss(total(offset.decide({"b": scores["b"]})), codes).mean() < np.log(4)


@pytest.mark.parametrize(("n_classes", "kinds"), [(2, {"stack", "linear"}), (4, {"offset"})])
def test_private_takes_what_the_number_of_classes_calls_for(n_classes, kinds):
    scores, codes, own = problem(n_classes=n_classes)
    fitted = combination.fit("private", scores, codes, initiator="a", own=own)
    assert fitted.kind in kinds
    assert fitted.loss <= min(fitted.losses["alone"], fitted.loss)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_private_stays_alone_where_a_helper_only_harms(n_classes):
    scores, codes = scores_and_codes(90, n_classes, ("a", "b"), know=(2.0, 0.0))
    scores["b"] *= 3.0
    fitted = combination.fit("private", scores, codes, initiator="a")
    assert fitted.loss <= min(fitted.losses.values()) + 1e-12 or fitted.kind == "linear"
    quick = combination.fit("private", scores, codes, initiator="a", quick=True)
    assert quick.own_trees is None


def test_a_silent_initiator_is_listened_to_through_its_columns():
    scores, codes, own = problem()
    scores["a"] = np.zeros_like(scores["a"])
    fitted = combination.fit("offset", scores, codes, initiator="a", own=own)
    assert log_loss(total(fitted.decide(scores, own)), codes).mean() < log_loss(scores["b"], codes).mean() - 0.1


def test_an_offset_that_is_kept_answers_the_same_to_the_bit(offset):
    scores, _, own = problem(seed=4)
    again = combination.from_bytes(combination.to_bytes(offset))
    for some in (scores, {"a": scores["a"]}):
        assert np.array_equal(total(again.decide(some, own)), total(offset.decide(some, own)))


def with_other_inputs(trees):
    table = np.random.default_rng(0).normal(size=(20, 9))
    return [type(trees[0])(max_depth=2).fit(table, table[:, :4])]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_other_inputs, "does not have 6 inputs"),
        (lambda trees: [], "must have a list of trees"),
        (lambda trees: [DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])], "not a fitted regression tree"),
    ],
)
def test_own_trees_that_cannot_be_are_refused(offset, change, words):
    own_trees = KeptOwnTrees(offset.own_trees.n_own, io.dumps(change(offset.own_trees.trees)))
    data = rewritten(combination.to_bytes(offset), own_trees=own_trees)
    with pytest.raises(UntrustedFileError, match=words):
        combination.from_bytes(data)
