"""GAL, the peer in the benchmark of accuracy, does what its paper says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_iris

from bench.accuracy import gal
from bench.accuracy.gal import GAL, regressors_of


class Heard(RegressorMixin, BaseEstimator):
    """A regressor that keeps what it was told, and says nothing."""

    def fit(self, X, told):
        self.told_ = told
        return self

    def predict(self, X):
        return np.zeros((len(X), self.told_.shape[1]))


def iris(learner: str, n_rounds: int = 10) -> tuple[GAL, np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    kinds = regressors_of(learner)
    agents = [(f"agent {m}", kinds[m % len(kinds)], [2 * m, 2 * m + 1]) for m in range(2)]
    return GAL(agents, n_rounds, random_state=3).fit(X, y), X, y


def test_the_first_residuals_are_the_truth_less_the_shares_of_the_classes():
    y = np.array(["b", "a", "b", "c"])
    model = GAL([("one", Heard(), [0])], n_rounds=1).fit(np.zeros((4, 1)), y)
    np.testing.assert_allclose(
        model.rounds_[0][0][0].told_,
        [[-0.25, 0.5, -0.25], [0.75, -0.5, -0.25], [-0.25, 0.5, -0.25], [-0.25, -0.5, 0.75]],
    )


def test_residuals_are_the_falling_gradient_of_the_cross_entropy():
    rng = np.random.RandomState(0)
    scores, codes, tiny = rng.randn(3, 4), np.array([1, 3, 0]), 1e-6
    told = gal.residuals(scores, codes)
    for place in np.ndindex(3, 4):
        moved = scores.copy()
        moved[place] += tiny
        slope = 3 * (gal.cross_entropy(moved, codes) - gal.cross_entropy(scores, codes)) / tiny
        assert told[place] == pytest.approx(-slope, abs=1e-5)


@pytest.mark.parametrize("learner", ["logistic", "svm", "tree-3", "tree", "mix"])
def test_the_training_loss_never_rises(learner):
    model, _, _ = iris(learner, n_rounds=5)
    assert len(model.losses_) == 6
    assert all(after <= before for before, after in zip(model.losses_, model.losses_[1:], strict=False))
    assert model.losses_[-1] < 0.5 * model.losses_[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # 60 steps, as in the benchmark
@pytest.mark.parametrize("learner", sorted(gal.REGRESSORS))
def test_every_regressor_learns_in_one_round(learner):
    model, X, y = iris(learner, n_rounds=1)
    assert model.score(X, y) > 0.8


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 5), st.booleans())
def test_a_step_is_as_good_as_any_on_a_grid_and_never_harms(seed, n_classes, away):
    rng = np.random.RandomState(seed)
    scores, codes = rng.randn(20, n_classes), rng.randint(n_classes, size=20)
    direction = gal.residuals(scores, codes) * (-1 if away else 1) + 0.3 * rng.randn(20, n_classes)
    step = gal.line_search(scores, direction, codes)
    reached = gal.cross_entropy(scores + step * direction, codes)
    grid = [0, *np.geomspace(1e-3, gal.LONGEST_STEP, 60)]
    assert reached <= min(gal.cross_entropy(scores + each * direction, codes) for each in grid) + 1e-5
    assert reached <= gal.cross_entropy(scores, codes)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 6))
def test_weights_lie_on_the_simplex_and_are_better_than_equal_ones(seed, n_agents):
    rng = np.random.RandomState(seed)
    told = rng.randn(30, 3)
    fitted = told * rng.rand(n_agents, 1, 1) + rng.rand(n_agents, 1, 1) * rng.randn(n_agents, 30, 3)
    weights = gal.assistance_weights(fitted, told)
    assert weights.shape == (n_agents,)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    distance = [
        ((np.tensordot(each, fitted, 1) - told) ** 2).mean() for each in (weights, np.ones(n_agents) / n_agents)
    ]
    assert distance[0] <= distance[1] + 1e-9


def test_weights_are_those_of_a_plain_minimisation():
    rng = np.random.RandomState(1)
    told = rng.randn(200, 2)
    fitted = np.stack([told + rng.randn(200, 2), told + 1.5 * rng.randn(200, 2), rng.randn(200, 2)])

    def distance(free):
        weights = np.exp(free) / np.exp(free).sum()
        return ((np.tensordot(weights, fitted, 1) - told) ** 2).mean() + gal.WEIGHT_DECAY / 2 * (free**2).sum()

    best = np.exp(minimize(distance, np.zeros(3)).x)
    np.testing.assert_allclose(gal.assistance_weights(fitted, told), best / best.sum(), atol=0.02)


def test_an_agent_sees_its_own_columns_only():
    model, X, _ = iris("logistic", n_rounds=2)
    spoilt = X.copy()
    spoilt[:, :2] = 1e6
    for models, _, _ in model.rounds_:
        np.testing.assert_array_equal(models[1].predict(X[:, 2:]), models[1].predict(spoilt[:, 2:]))
        assert [each.n_features_in_ for each in models] == [2, 2]


def test_the_same_seed_gives_the_same_forests():
    (one, X, _), (other, _, _) = iris("mix", n_rounds=2), iris("mix", n_rounds=2)
    np.testing.assert_array_equal(list(one.staged_scores(X)), list(other.staged_scores(X)))
    forests = [models[0].random_state for models, _, _ in one.rounds_]
    assert len(set(forests)) == 2


def test_bytes_are_those_counted_by_hand():
    # Two helpers; 5 samples x 3 classes x 4 bytes = 60, and 100 of header, each way: 640 a round.
    model = GAL([], n_rounds=3)
    assert model.bytes_by_round(n=5, K=3, M=3) == [640, 1280, 1920]
    assert model.bytes_by_round(n=5, K=3, M=1) == [0, 0, 0]
    # A prediction: a question of 100 bytes, and 3 rounds x 60 bytes with a header, from each of two.
    assert model.bytes_of(n_samples=5, K=3, M=3) == 2 * (100 + 100 + 180)
