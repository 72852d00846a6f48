"""The best of several learners: chosen out of fold, seeded, honest in folds, and kept without pickle."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import SettingsError, UntrustedFileError
from assistlearn.learners import BestOf, Honesty, Learner
from assistlearn.learners.model import dump_model, load_model, packages_of

X, Y = load_breast_cancer(return_X_y=True)
LINEAR = make_pipeline(StandardScaler(), LogisticRegression())


def test_the_learner_is_taken_that_scikit_learns_own_folds_would_take():
    members = [DecisionTreeClassifier(random_state=0), GaussianNB(), LINEAR]
    best = BestOf(members, random_state=0).fit(X, Y)
    chances = [cross_val_predict(m, X, Y, cv=3, method="predict_proba")[:, 1] for m in members]
    peer = [log_loss(Y, np.clip(each, 0.01, 0.99)) for each in chances]
    assert best.best_ == int(np.argmin(peer)) == 2
    assert best.losses_ == pytest.approx(peer, rel=0.4)
    assert best.predict_proba(X) == pytest.approx(clone(LINEAR).fit(X, Y).predict_proba(X), abs=0.02)  # weights of .9


def test_labels_of_any_kind_are_answered():
    names = np.array(["malignant", "benign"])[Y]
    best = BestOf([DummyClassifier(), LINEAR]).fit(X, names)
    assert best.classes_.tolist() == ["benign", "malignant"]
    assert best.score(X, names) > 0.95


def test_a_learner_without_probabilities_is_as_sure_as_it_is_right():
    best = BestOf([DummyClassifier(), RidgeClassifier()]).fit(X, Y)
    assert best.best_ == 1
    right = cross_val_predict(RidgeClassifier(), X, Y, cv=3) == Y
    surest = best.predict_proba(X).max(axis=1)
    assert surest == pytest.approx(np.full(len(Y), right.mean()), abs=0.02)


def test_weights_decide_which_learner_is_the_best():
    """The first learner is a constant of class 1: it is the best where nearly all weight lies on class 1."""
    members = [DummyClassifier(strategy="prior"), GaussianNB(var_smoothing=1e3)]
    weights = np.where(Y == 1, 1.0, 1e-6)
    assert BestOf(members).fit(X, Y, sample_weight=weights).losses_[0] < 0.05
    assert BestOf(members).fit(X, Y).losses_[0] > 0.6


def test_it_is_seeded_by_the_turn_and_repeats_itself():
    learner = Learner(BestOf([DecisionTreeClassifier(max_features=2), GaussianNB()]), "lab", Honesty("out-of-fold"))
    learner.prepare(X, Y, seed=1)
    even = np.full(len(Y), 1 / len(Y))
    one, again = (learner.fit(even, 5, "round 1", 2) for _ in range(2))
    assert one[0].estimator.random_state == 5
    assert np.array_equal(one[1], again[1])


def test_honest_answers_come_from_a_choice_that_has_not_seen_the_sample():
    """On labels that are mere chance, a learner that knows its samples by heart is no better than chance."""
    chance = np.random.default_rng(0).integers(2, size=len(Y))
    learner = Learner(BestOf([DecisionTreeClassifier(), DummyClassifier()]), "lab", Honesty("out-of-fold"))
    learner.prepare(X, chance, seed=1)
    _, said = learner.fit(np.full(len(Y), 1 / len(Y)), 5, "round 1", 2)
    assert (said.argmax(axis=1) == chance).mean() < 0.58


@pytest.mark.parametrize("member", [LINEAR, DecisionTreeClassifier(max_depth=3), RidgeClassifier()])
def test_the_model_of_a_turn_is_kept_and_read_back(tmp_path, member):
    estimator = BestOf([DummyClassifier(), member])
    learner = Learner(estimator, "lab")
    learner.prepare(X, Y, seed=1)
    model, _ = learner.fit(np.full(len(Y), 1 / len(Y)), 5, "round 1", 2)
    assert model.estimator.best_ == 1
    (tmp_path / "model").write_bytes(dump_model(model, packages_of(estimator)))
    again = load_model(tmp_path / "model", packages_of(estimator))
    assert np.array_equal(again.say(X), model.say(X))


def test_a_kept_one_whose_parts_it_cannot_have_made_is_refused():
    best = BestOf([GaussianNB()]).fit(X, Y)
    best.check_kept("a file")
    for name, value in (("_model", GaussianNB()), ("_right", 2.0), ("classes_", np.arange(3))):
        changed = BestOf([GaussianNB()]).fit(X, Y)
        setattr(changed, name, value)
        with pytest.raises(UntrustedFileError, match="a file: the best of several learners"):
            changed.check_kept("a file")


def test_nothing_to_choose_from_is_refused():
    with pytest.raises(SettingsError, match="estimators is empty"):
        BestOf([]).fit(X, Y)


def test_packages_are_those_of_every_learner_to_choose_from():
    class Own(GaussianNB):
        __module__ = "own_models.bayes"

    assert packages_of(BestOf([LINEAR, CalibratedClassifierCV(), Own()])) == ("assistlearn", "own_models", "sklearn")
