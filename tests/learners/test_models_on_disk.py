"""A model that is kept can be read again; a file that holds more than a model cannot."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle
from skops import io

from assistlearn.errors import LearnerError, UntrustedFileError
from assistlearn.learners import Model
from assistlearn.learners.model import dump_model, load_model, packages_of
from tests.learners.classifiers import Heaviest

X, y = load_iris(return_X_y=True)
LEARNERS = [
    DecisionTreeClassifier(),
    RandomForestClassifier(3),
    HistGradientBoostingClassifier(max_iter=2),
    KNeighborsClassifier(),
    MLPClassifier((3,), max_iter=1000, tol=0.1),
    SGDClassifier(),
    SVC(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_what_is_kept_can_be_read_and_answers_the_same(learner, tmp_path: Path):
    model = Model(None, learner.fit(X, y))
    path = tmp_path / "model.skops"
    path.write_bytes(dump_model(model, packages_of(learner)))
    assert np.array_equal(load_model(path, packages_of(learner)).predict(X), model.predict(X))


def test_a_model_that_could_not_be_read_again_is_refused_when_it_is_kept():
    model = Model(None, Heaviest().fit(X, y))
    with pytest.raises(
        LearnerError, match=r"Heaviest cannot be kept safely: it holds tests\.learners\.classifiers\.Heaviest"
    ):
        dump_model(model, ("sklearn",))


def test_a_function_is_refused_even_from_the_learners_own_package(tmp_path: Path):
    model = Model(None, DecisionTreeClassifier().fit(X, y))
    model.estimator.extra_ = shuffle
    path = tmp_path / "model.skops"
    path.write_bytes(io.dumps(model))
    with pytest.raises(UntrustedFileError, match="shuffle"):
        load_model(path, ("sklearn",))


def test_a_file_with_something_else_in_it_is_refused(tmp_path: Path):
    path = tmp_path / "model.skops"
    path.write_bytes(io.dumps(DecisionTreeClassifier().fit(X, y)))
    with pytest.raises(UntrustedFileError, match="holds a DecisionTreeClassifier, not a model"):
        load_model(path, ("sklearn",))
