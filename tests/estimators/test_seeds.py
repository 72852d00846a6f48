"""Chance has one source: the same seed gives the same bits, and it reaches every learner."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from assistlearn import AssistedClassifier
from tests.estimators.data import birds, cancer, left, right, wine
from tests.learners.classifiers import Witness
from tests.papers_settings import PAPERS

RANDOM_LEARNERS = {
    "extra tree": ExtraTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(5, max_depth=3),
    "nearest neighbours": KNeighborsClassifier(),
    "network": MLPClassifier((4,), max_iter=5, solver="sgd", early_stopping=True, n_iter_no_change=2),
    "projection": make_pipeline(GaussianRandomProjection(2), DecisionTreeClassifier(max_depth=2)),
    "bag": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3),
}


def two(learner, random_state, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 3, "order": "random", **options}
    return AssistedClassifier([("a", learner, left), ("b", learner, right)], random_state=random_state, **options)


def assert_same_bits(clf: AssistedClassifier, other: AssistedClassifier, X: np.ndarray) -> None:
    assert clf.contributions_ == other.contributions_
    assert clf.ignorance_.tobytes() == other.ignorance_.tobytes()
    assert clf.decision_function(X).tobytes() == other.decision_function(X).tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", RANDOM_LEARNERS.values(), ids=RANDOM_LEARNERS)
def test_the_same_seed_gives_the_same_bits_and_another_seed_another_model(learner):
    X, y = birds()
    clf = two(learner, 7).fit(X, y)
    assert_same_bits(clf, two(learner, 7).fit(X, y), X)
    assert_same_bits(clf, clf.fit(X, y), X)
    assert clf.contributions_ != two(learner, 8).fit(X, y).contributions_


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble", "soft"])
def test_the_same_seed_gives_the_same_bits_with_every_method_and_a_hold_out(method: str):
    X, y = birds()
    options = {"method": method, "holdout": 0.3, "n_rounds": 6}
    learner = ExtraTreeClassifier(max_depth=3)
    assert_same_bits(two(learner, 7, **options).fit(X, y), two(learner, 7, **options).fit(X, y), X)


def test_a_random_state_is_drawn_from_as_scikit_learn_does():
    X, y = birds()
    learner = ExtraTreeClassifier(max_depth=3)
    first = two(learner, np.random.RandomState(3)).fit(X, y)
    assert_same_bits(first, two(learner, np.random.RandomState(3)).fit(X, y), X)
    drawn_from = np.random.RandomState(3)
    again = [two(learner, drawn_from).fit(X, y) for _ in range(2)]
    assert_same_bits(first, again[0], X)
    assert again[0].contributions_ != again[1].contributions_


def test_without_a_seed_random_learners_vary():
    X, y = birds()
    runs = [two(ExtraTreeClassifier(max_depth=3), None).fit(X, y).contributions_ for _ in range(3)]
    assert runs[0] != runs[1] or runs[1] != runs[2]


def test_without_chance_in_the_learners_no_seed_is_needed():
    X, y = birds()
    tree = DecisionTreeClassifier(max_depth=2)
    assert_same_bits(two(tree, None, order="chain").fit(X, y), two(tree, None, order="chain").fit(X, y), X)


def test_every_turn_has_a_seed_of_its_own_whatever_the_user_set():
    X, y = birds()
    Witness.seen.clear()
    two(Witness(max_depth=2, random_state=99), 0, n_rounds=4).fit(X, y)
    seeds = [seed for _, _, seed in Witness.seen]
    assert len(seeds) == len(set(seeds)) == 8
    assert 99 not in seeds


def test_global_chance_is_not_touched():
    X, y = birds()
    np.random.seed(5)  # noqa: NPY002 - the global state is what this test is about
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    two(RandomForestClassifier(3), 0).fit(X, y).predict(X)
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("seed", [-1, 2**40, "seed", 1.5, np.random.default_rng(0)])
def test_a_seed_that_is_none_is_refused(seed):
    X, y = birds()
    with pytest.raises(ValueError, match=r"(?i)seed"):
        two(DecisionTreeClassifier(), seed).fit(X, y)


# -- what a newcomer gets without settings is what we recommend, and one word brings the paper's method


RECOMMENDED = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20, "n_rounds": 20}
TWO = [("a", DecisionTreeClassifier(max_depth=2), slice(0, 3)), ("b", GaussianNB(), slice(3, None))]


def assert_same_fits(clf: AssistedClassifier, other: AssistedClassifier, data) -> None:
    X, y = data()
    assert_same_bits(clf.fit(X, y), other.fit(X, y), X)
    assert (clf.stop_reason_, clf.n_rounds_) == (other.stop_reason_, other.n_rounds_)


@pytest.mark.parametrize(
    ("agents", "data"), [(TWO, wine), (None, cancer)], ids=["two agents", "one agent, who was not named"]
)
def test_without_settings_it_is_the_recommended_way_to_the_bit(agents, data):
    recommended = AssistedClassifier(agents, random_state=0, **RECOMMENDED)
    assert_same_fits(AssistedClassifier(agents, random_state=0), recommended, data)


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble"])
@pytest.mark.parametrize("agents", [TWO, None], ids=["two agents", "one agent, who was not named"])
def test_one_word_is_a_method_of_the_paper_to_the_bit(agents, method):
    papers = AssistedClassifier(agents, random_state=0, **(PAPERS | {"method": method, "n_rounds": 20}))
    assert_same_fits(AssistedClassifier(agents, method=method, random_state=0), papers, birds)


def test_what_goes_with_the_method_stays_open_in_the_parameters():
    X, y = wine()
    fitted = AssistedClassifier(TWO, n_rounds=1).fit(X, y)
    for clf in (fitted, clone(fitted)):
        assert {name: clf.get_params()[name] for name in ("reward", "combine", "models_per_turn")} == {
            "reward": None,
            "combine": None,
            "models_per_turn": None,
        }
    assert fitted.set_params(method="ascii").fit(X, y).combination_ is None
    np.testing.assert_array_equal(fitted.classes_, np.unique(y))
