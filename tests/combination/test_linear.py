"""The linear combination is multinomial logistic regression from the sum of the votes on, and obeys its laws."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from assistlearn.combination.linear import (
    PATH,
    PLAIN_SUM,
    STRONGER,
    Samples,
    choose_penalty,
    evidence,
    fit_linear,
    fit_multinomial,
    folds_of,
    losses,
    losses_and_slopes,
    objective,
    outputs,
    plain_sum,
    samples_of,
    size,
    whole,
)
from assistlearn.core import votes
from tests.combination.conftest import centred, log_loss, scores_and_codes, total


def decision(model, scores):
    return total(model.shares(scores)) + whole(model.bias[None])


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_gradient_is_that_of_finite_differences(n_classes):
    scores, codes = scores_and_codes(50, n_classes)
    samples = samples_of(evidence(scores, codes, "a", np.random.default_rng(1).random(50)), 0.7)
    shape = samples.inputs.shape[1], samples.offset.shape[1]
    at = np.random.default_rng(2).normal(size=shape).ravel()
    wrong = check_grad(
        lambda flat: objective(flat.reshape(shape), samples, 0.03)[0],
        lambda flat: objective(flat.reshape(shape), samples, 0.03)[1].ravel(),
        at,
    )
    assert wrong < 1e-5


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_loss_is_that_of_the_probabilities_of_a_vote(n_classes):
    scores, codes = scores_and_codes(40, n_classes)
    voted = total(scores)
    assert losses(outputs(voted), codes) == pytest.approx(log_loss(voted, codes), rel=1e-12)


def test_a_decision_of_a_thousand_overflows_nothing():
    lost, slopes = losses_and_slopes(np.array([[1000.0], [-1000.0]]), np.array([0, 0]))
    assert lost.tolist() == [1000.0, 0.0]
    assert slopes.tolist() == [[1.0], [0.0]]
    assert np.isfinite(losses_and_slopes(np.array([[1000.0, -500.0, -500.0]]), np.array([1]))[0]).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_from_no_votes_on_it_is_the_logistic_regression_of_scikit_learn(n_classes):
    scores, codes = scores_and_codes(400, n_classes, ("a", "b"))
    found = samples_of(evidence(scores, codes, "a"), 1.0)
    penalty, scale = 1e-3, (n_classes - 1) / n_classes if n_classes > 2 else 1.0
    samples = Samples(found.inputs, np.zeros_like(found.offset), codes, found.weights)
    ours = fit_multinomial(samples, penalty, tolerance=1e-13)
    # Its penalty is on weights in logits, ours on weights in votes; its loss is a sum, ours a mean.
    theirs = LogisticRegression(C=scale**2 / (penalty * len(codes)), tol=1e-9, max_iter=5000)
    theirs.fit(found.inputs[:, :-1], codes)
    said = votes.probabilities(whole(samples.inputs @ ours))
    assert np.abs(said - theirs.predict_proba(found.inputs[:, :-1])).max() < 1e-4


def test_a_huge_penalty_leaves_the_plain_sum_and_a_bias():
    scores, codes = scores_and_codes()
    model = fit_linear(evidence(scores, codes, "a"), 1e9)
    assert np.abs(decision(model, scores) - total(scores) - whole(model.bias[None])).max() < 1e-6


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_strongest_penalty_is_the_plain_sum_to_the_bit(n_classes):
    scores, codes = scores_and_codes(n_classes=n_classes)
    model = fit_linear(evidence(scores, codes, "a"), PLAIN_SUM)
    assert np.array_equal(decision(model, scores), total(scores))
    assert not model.weights.any()


def test_two_classes_by_one_column_are_two_classes_by_two():
    scores, codes = scores_and_codes(200, 2)
    known = evidence(scores, codes, "a")
    one = decision(fit_linear(known, 0.01, 1e-13), scores)
    unit = size(known)
    columns = [*(known.scores / unit), np.ones((200, 1))]
    two = Samples(np.concatenate(columns, axis=1), known.scores.sum(axis=0), codes, known.weights)
    both = two.offset + two.inputs @ fit_multinomial(two, 0.01, tolerance=1e-13)
    assert np.abs(centred(both) - one).max() < 1e-5


def test_an_agent_that_says_the_opposite_is_turned_round():
    scores, codes = scores_and_codes(600, 3, ("a", "b"), know=(0.5, -2.0))
    model = fit_linear(evidence(scores, codes, "a"), 1e-3)
    learned, summed = (np.mean(votes.winners(each) == codes) for each in (decision(model, scores), total(scores)))
    assert learned > 0.6
    assert summed < 0.3


@pytest.mark.parametrize("n_classes", [2, 4])
def test_agents_in_another_order_give_the_same_decision(n_classes):
    scores, codes = scores_and_codes(n_classes=n_classes)
    turned = dict(reversed(scores.items()))
    models = [fit_linear(evidence(each, codes, "a"), 0.01, 1e-13) for each in (scores, turned)]
    for agent, share in models[0].shares(scores).items():
        assert np.abs(models[1].shares(turned)[agent] - share).max() < 1e-5


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_in_another_order_give_the_decision_in_that_order(n_classes):
    scores, codes = scores_and_codes(n_classes=n_classes)
    order = np.random.default_rng(0).permutation(n_classes)[::-1] if n_classes > 2 else np.array([1, 0])
    turned = {agent: said[:, order] for agent, said in scores.items()}
    turned_codes = np.argsort(order)[codes]
    models = [fit_linear(evidence(*each, "a"), 0.01, 1e-13) for each in ((scores, codes), (turned, turned_codes))]
    assert np.abs(decision(models[0], scores)[:, order] - decision(models[1], turned)).max() < 1e-5


def test_a_weight_of_two_is_a_sample_that_occurs_twice():
    scores, codes = scores_and_codes(100)
    times = np.random.default_rng(3).integers(1, 4, size=100)
    repeated = {agent: said.repeat(times, axis=0) for agent, said in scores.items()}
    weighted = fit_linear(evidence(scores, codes, "a", times.astype(float)), 0.01, 1e-13)
    twice = fit_linear(evidence(repeated, codes.repeat(times), "a"), 0.01, 1e-13)
    assert np.abs(weighted.weights - twice.weights).max() < 1e-5
    assert np.abs(weighted.bias - twice.bias).max() < 1e-5


def test_a_penalty_is_chosen_for_weights_as_for_repeated_samples():
    scores, codes = scores_and_codes(150, know=(0.4, -0.4, 1.0))
    times = np.random.default_rng(3).integers(1, 4, size=150)
    folds = folds_of(codes, 0)
    repeated = {agent: said.repeat(times, axis=0) for agent, said in scores.items()}
    one, lost = choose_penalty(evidence(scores, codes, "a", times.astype(float)), folds)
    other, lost_twice = choose_penalty(evidence(repeated, codes.repeat(times), "a"), folds.repeat(times))
    assert one == other
    assert lost.loss == pytest.approx(lost_twice.loss, abs=1e-6)


def test_where_the_sum_is_the_truth_the_penalty_is_strong_and_where_it_is_not_weak():
    rng = np.random.default_rng(0)
    scores = {agent: centred(rng.normal(size=(500, 3))) for agent in ("a", "b")}
    chances = votes.probabilities(total(scores))
    codes = np.array([rng.choice(3, p=each) for each in chances])
    strong, _ = choose_penalty(evidence(scores, codes, "a"), folds_of(codes, 0))
    turned = {"a": scores["a"][:, [1, 2, 0]], "b": -scores["b"]}
    weak, _ = choose_penalty(evidence(turned, codes, "a"), folds_of(codes, 0))
    assert strong in (PLAIN_SUM, *STRONGER, PATH[0])
    assert weak < 0.1


def test_too_few_samples_to_learn_from_are_summed():
    scores, codes = scores_and_codes(2)
    assert choose_penalty(evidence(scores, codes, "a"), folds_of(codes, 0))[0] == PLAIN_SUM


def test_an_agent_that_is_not_listened_to_has_no_share():
    scores, _ = scores_and_codes()
    assert not plain_sum(("a", "b"), 3).shares(scores)["c"].any()
