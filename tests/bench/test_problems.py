"""The problems of the benchmark of accuracy are what they are said to be."""

from itertools import chain, combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from bench.accuracy.problems import PROBLEMS, Cut, Problem, Shape
from bench.accuracy.problems.worlds import Drawn

FROM_FILES = ("red wine", "qsar", "letter", "vehicle", "default credit", "fashion", "long stay")
"""Tables in the data folder. All others come with scikit-learn, or are made."""
MADE = [problem for problem in PROBLEMS if isinstance(problem.cut, Drawn)]
BLOBS = [problem for problem in PROBLEMS if problem.name.startswith("blob-")]
SEED = 100
CHANCE = 5.0
"""Standard errors. The seeds are fixed: what is within it today stays within it."""


def named(problem: Problem) -> str:
    return problem.name


def table(problem: Problem) -> str:
    return problem.name.partition(" x ")[0]


@pytest.fixture
def data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the problem its data folder, or skip the test where there is none."""
    if table(request.getfixturevalue("problem")) in FROM_FILES:
        folder: Path = request.getfixturevalue("data_folder")
        monkeypatch.setenv("ASSISTLEARN_DATA", str(folder))


def same(one: Cut, other: Cut) -> bool:
    arrays = ("X_train", "y_train", "X_test", "y_test")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)


@pytest.mark.parametrize("problem", PROBLEMS, ids=named)
@pytest.mark.usefixtures("data")
def test_a_replication_has_the_stated_shape_and_depends_on_its_seed_alone(problem):
    cut = problem.cut(SEED)
    classes = np.unique(cut.y_train)
    widths = tuple(len(columns) for columns in cut.columns.values())
    assert Shape(len(cut.X_train), len(cut.X_test), len(classes), widths) == problem.shape
    assert (len(cut.y_train), len(cut.y_test)) == (len(cut.X_train), len(cut.X_test))
    assert set(cut.y_test) <= set(classes)
    assert np.isfinite(cut.X_train).all()
    assert np.isfinite(cut.X_test).all()
    assert sorted(chain(*cut.columns.values())) == list(range(cut.X_train.shape[1]))  # each known to one agent
    again, other = problem.cut(SEED), problem.cut(SEED + 1)
    assert same(again, cut)
    assert again.columns == cut.columns
    assert not np.array_equal(other.X_train, cut.X_train)
    assert not np.array_equal(other.X_test, cut.X_test)


@pytest.mark.parametrize("problem", [*MADE, *BLOBS], ids=named)
def test_two_replications_of_a_made_table_share_no_sample_nor_do_training_and_test(problem):
    cuts = [problem.cut(seed) for seed in (SEED, SEED + 1)]
    parts = [{row.tobytes() for row in X} for cut in cuts for X in (cut.X_train, cut.X_test)]
    for one, other in combinations(parts, 2):
        assert len(one & other) <= 0.02 * len(other)  # short texts may be equal by chance


@pytest.mark.parametrize("problem", MADE, ids=named)
def test_the_classes_of_a_made_table_come_as_often_as_its_exact_chances_say(problem):
    world = problem.cut.world(SEED)
    X, y = world.draw(10_000, np.random.default_rng(0))
    log_chances = world.log_chances(X)
    assert logsumexp(log_chances, axis=1) == pytest.approx(0, abs=1e-9)
    chances = np.exp(log_chances)
    surprise = (y[:, None] == np.arange(problem.shape.classes)) - chances
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    looks = np.hstack([np.ones((len(X), 1)), scaled, scaled**2, np.sign(scaled[:, :1] * scaled), chances])
    errors = np.sqrt((looks**2).T @ (chances * (1 - chances)))
    assert np.abs(looks.T @ surprise / errors).max() < CHANCE


def interaction(problem: Problem) -> float:
    """Return how much of the log-odds is no sum over agents: exchange one agent's columns between two samples."""
    world = problem.cut.world(SEED)
    X, _ = world.draw(1_000, np.random.default_rng(1))
    one, other = X[:500], X[500:]
    found = []
    for columns in world.columns.values():
        mixed, rest = one.copy(), other.copy()
        mixed[:, columns], rest[:, columns] = other[:, columns], one[:, columns]
        left = sum(world.log_chances(rows) for rows in (one, other)) - sum(map(world.log_chances, (mixed, rest)))
        found.append(np.abs(left - left.mean(axis=1, keepdims=True)).mean())
    return float(max(found))


@pytest.mark.parametrize("problem", MADE, ids=named)
def test_the_exact_log_odds_are_a_sum_over_the_agents_just_where_agents_do_not_interact(problem):
    assert problem.interacts is not None
    left = interaction(problem)
    assert left > 0.1 if problem.interacts else left < 1e-9


@pytest.mark.parametrize("problem", BLOBS, ids=named)
def test_the_columns_of_a_blob_have_nothing_in_common_but_the_class(problem):
    cut = problem.cut(SEED)
    centres = np.array([cut.X_test[cut.y_test == code].mean(axis=0) for code in range(problem.shape.classes)])
    shared = np.corrcoef(cut.X_test - centres[cut.y_test], rowvar=False) - np.eye(cut.X_test.shape[1])
    assert np.abs(shared).max() < CHANCE / np.sqrt(len(cut.X_test))
    assert np.abs(np.corrcoef(cut.X_test, rowvar=False) - np.eye(cut.X_test.shape[1])).max() > 0.2
