"""A table is binned once, refitted with other weights, and let go of after training."""

import gc
import weakref

import numpy as np
import pytest
import xgboost
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn import AssistedClassifier
from assistlearn.errors import LearnerError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier, Learner, Prepares
from tests.learners_hist.tables import real_numbers
from tests.papers_settings import PAPERS

LEARNERS = [HistTreeClassifier(max_depth=3), HistBoostClassifier(4)]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fitted_to_the_binned_table_it_is_the_same_model(learner, n_classes):
    X, y = real_numbers(n_classes=n_classes)
    table = learner.prepare(X, y)
    for seed in range(3):
        weight = np.random.RandomState(seed).exponential(size=len(y))
        binned = clone(learner).fit(table, y, sample_weight=weight)
        alone = clone(learner).fit(X, y, sample_weight=weight)
        assert np.array_equal(binned.booster_, alone.booster_)
        assert np.array_equal(binned.predict(table), alone.predict(X))
        np.testing.assert_allclose(binned.predict_proba(table), alone.predict_proba(X), atol=1e-7)


def test_each_model_answers_for_itself_whoever_was_fitted_last():
    X, y = real_numbers()
    tree = HistTreeClassifier(max_depth=2)
    table = tree.prepare(X, y)
    models = [clone(tree).fit(table, y, sample_weight=np.where(y == favourite, 9.0, 1.0)) for favourite in range(3)]
    for model in [*models, *reversed(models)]:
        assert np.array_equal(model.predict(table), model.predict(X))
        assert np.array_equal(model.predict_proba(table), model.predict_proba(X))


def test_samples_without_weight_are_not_learned_from_but_are_answered():
    X, y = real_numbers()
    out = np.random.RandomState(0).rand(len(y)) < 0.3
    tree = HistTreeClassifier(max_depth=3)
    table = tree.prepare(X, y)
    answers = clone(tree).fit(table, y, sample_weight=np.where(out, 0.0, 1.0)).predict(table)
    shuffled = np.where(out, (y + 1) % 3, y)
    other = tree.prepare(X, shuffled)
    assert np.array_equal(
        answers, clone(tree).fit(other, shuffled, sample_weight=np.where(out, 0.0, 1.0)).predict(other)
    )


def test_preparing_does_not_change_the_estimator():
    tree = HistTreeClassifier()
    tree.prepare(*real_numbers())
    assert vars(tree) == vars(HistTreeClassifier())


def test_other_labels_than_those_prepared_with_are_refused():
    X, y = real_numbers()
    table = HistTreeClassifier().prepare(X, y)
    with pytest.raises(LearnerError, match="prepared with other labels"):
        HistTreeClassifier().fit(table, (y + 1) % 3)
    HistTreeClassifier().fit(table, y.copy())


@pytest.mark.parametrize("learner", LEARNERS)
def test_in_a_run_the_table_is_binned_once_and_never_converted_again(learner, monkeypatch):
    X, y = real_numbers()
    made = []

    class Counted(xgboost.QuantileDMatrix):
        def __init__(self, *args, **kwargs):
            made.append(self)
            super().__init__(*args, **kwargs)

    def refuse(*_, **__):
        raise AssertionError("The rows were read again.")

    monkeypatch.setattr(xgboost, "QuantileDMatrix", Counted)
    monkeypatch.setattr(xgboost, "DMatrix", refuse)
    monkeypatch.setattr(xgboost.Booster, "inplace_predict", refuse)
    agents = [("one", learner, slice(0, 4)), ("two", learner, slice(4, 8))]
    AssistedClassifier(agents, n_rounds=5, random_state=0, method="ascii").fit(X, y)
    assert len(made) == 2


@pytest.mark.parametrize("learner", LEARNERS)
def test_after_training_nothing_holds_the_binned_table(learner):
    X, y = real_numbers()
    own = Learner(learner, "lab")
    own.prepare(X, y, seed=0)
    table = weakref.ref(own._table)
    matrix = weakref.ref(own._table.matrix)
    model, answers = own.fit(np.full(len(y), 1 / len(y)), 0, "round 1")
    own.release()
    gc.collect()
    assert table() is None
    assert matrix() is None
    assert np.array_equal(model.predict(X), answers)


def test_it_prepares_behind_a_pipelines_transformers():
    X, y = real_numbers()
    assert isinstance(HistTreeClassifier(), Prepares)
    learner = make_pipeline(StandardScaler(), HistTreeClassifier(max_depth=2))
    clf = AssistedClassifier(
        [("a", learner, slice(0, 4)), ("b", learner, slice(4, 8))], n_rounds=4, random_state=0, method="ascii"
    )
    assert clf.fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "soft"},
        {"method": "soft", "reward": "out-of-fold", "cv": 3, "n_jobs": 2},
        {"method": "ascii", "order": "greedy", "n_jobs": 2},
        {"method": "ensemble", "holdout": 0.2},
    ],
)
def test_it_works_in_every_kind_of_run(learner, settings):
    X, y = real_numbers()
    agents = [("one", learner, slice(0, 4)), ("two", learner, slice(4, 8))]
    runs = [AssistedClassifier(agents, n_rounds=3, random_state=0, **(PAPERS | settings)).fit(X, y) for _ in range(2)]
    assert runs[0].score(X, y) > 0.55  # 0.34 by chance
    assert np.array_equal(runs[0].decision_function(X), runs[1].decision_function(X))
