"""Fitted learners pickle, clone and are saved as inert bytes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from skops import io

import assistlearn
from assistlearn import AssistedClassifier
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from tests.learners_hist.tables import real_numbers

LEARNERS = [HistTreeClassifier(max_depth=3), HistBoostClassifier(4)]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_pickled_model_answers_the_same(learner):
    X, y = real_numbers()
    model = clone(learner).fit(learner.prepare(X, y), y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fitted_model_is_small_and_clones_to_an_unfitted_one(learner):
    X, y = real_numbers(20_000)
    model = clone(learner).fit(learner.prepare(X, y), y)
    assert len(pickle.dumps(model)) < X.nbytes / 20
    assert vars(clone(model)) == vars(learner)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_run_needs_no_type_to_be_trusted(learner, tmp_path):
    X, y = real_numbers()
    agents = [("one", learner, slice(0, 4)), ("two", learner, slice(4, 8))]
    clf = AssistedClassifier(agents, n_rounds=3, random_state=0, method="ascii").fit(X, y)
    assistlearn.save(clf, tmp_path / "run.skops")
    again = assistlearn.load(tmp_path / "run.skops")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_learner_holds_no_type_but_its_own(learner, tmp_path):
    X, y = real_numbers()
    io.dump(clone(learner).fit(X, y), tmp_path / "model.skops")
    (only,) = io.get_untrusted_types(file=tmp_path / "model.skops")
    assert only == f"{type(learner).__module__}.{type(learner).__name__}"
