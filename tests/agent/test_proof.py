"""A model is proved where it is better than chance beyond doubt, and nothing else proves it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.agent.agent import proved
from assistlearn.agent.loading import holdings_of
from assistlearn.core.state import quantise

N = 300


def drawn(seed: int, n_classes: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """Labels, unevenly spread, and weights that lie on some of the people."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_classes, N, p=rng.dirichlet(np.full(n_classes, 2.0)))
    weights = rng.random(N) ** rng.uniform(0, 20) + 1e-7
    return rng, codes, weights / weights.sum()


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_one_answer_for_everybody_proves_nothing(seed, n_classes):
    rng, codes, weights = drawn(seed, n_classes)
    assert not proved(codes == rng.integers(n_classes), codes, weights, n_classes)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_same_probabilities_for_everybody_prove_nothing(seed, n_classes):
    rng, codes, weights = drawn(seed, n_classes)
    p = rng.dirichlet(np.ones(n_classes))
    score = np.log(p / (1 - p)) + np.log(n_classes - 1)
    assert not proved(quantise(score[codes], 32), codes, weights, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_by_chance_are_hardly_ever_proved(n_classes):
    lucky = 0
    for seed in range(3000):
        rng, codes, weights = drawn(seed, n_classes)
        said = rng.choice(n_classes, N, p=rng.dirichlet(np.ones(n_classes)))
        lucky += proved(said == codes, codes, weights, n_classes)
    assert lucky == 0


@pytest.mark.parametrize("soft", [False, True])
def test_a_model_that_is_right_for_most_people_is_proved(soft):
    codes, right = np.arange(N) % 3, np.random.default_rng(0).random(N) < 0.6
    reward = quantise(np.where(right, 1.0, -0.5), 8) if soft else right
    assert proved(reward, codes, np.full(N, 1 / N), 3)


@pytest.mark.parametrize(("n_each", "enough"), [(1, False), (2, False), (5, False), (10, True)])
def test_few_people_prove_nothing_although_it_is_right_about_all_of_them(n_each, enough):
    codes = np.arange(2 * n_each) % 2
    assert proved(np.ones(2 * n_each, bool), codes, np.full(2 * n_each, 1.0), 2) == enough


def test_people_whom_the_agent_does_not_hold_prove_nothing():
    codes, held = np.arange(N) % 2, np.arange(N) < 4
    assert not proved(np.ones(N, bool), codes, np.full(N, 1 / N), 2, held)
    assert not proved(np.ones(N, bool), codes, np.full(N, 1 / N), 2, np.zeros(N, bool))


@pytest.mark.parametrize(("line", "expected"), [("", False), ("proof = true", True)])
def test_an_owner_asks_for_proof_in_the_agents_file(tmp_path, line, expected):
    (tmp_path / "lab.csv").write_text("id,age\n" + "".join(f"p{i},{i}\n" for i in range(30)))
    (tmp_path / "lab.toml").write_text(
        'name = "lab"\ntable = "lab.csv"\nid = "id"\nmodels = "models"\n'
        '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n'
        f'[allow]\ninitiators = ["bank"]\n{line}\n'
    )
    assert holdings_of(tmp_path / "lab.toml").proof is expected
