"""A model that is kept can be read again; a file that holds more than a model cannot."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import shuffle
from skops import io

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.errors import LearnerError, UntrustedFileError
from assistlearn.learners import HistTreeClassifier, Honesty, Model
from assistlearn.learners.boosting import ResidualTrees, Several
from assistlearn.learners.model import dump_model, load_model, packages_of
from assistlearn.methods.soft import Soft
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


# -- models made of several


WX, WY = load_wine(return_X_y=True)
WX = WX[:, [0, 2, 4]]
SMALL, WEIGHTED = DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(max_depth=2, class_weight={0: 1.0})


def model_of_a_turn(estimator, reward: str) -> Model:
    agent, method = Agent("a", estimator, Honesty(reward, 3, models=4)), Soft("logistic", 0.5, 32)
    agent.begin(TrainingSamples(WX, WY), seed=5)
    agent.take_turn(Turn(1, 1, 7), method.start(len(WY), 3), method)
    (kept,) = agent.models
    return kept.model


@pytest.mark.parametrize(
    ("estimator", "reward", "kind"),
    [
        (WEIGHTED, "in-sample", "boosted"),
        (HistTreeClassifier(max_depth=2), "in-sample", "boosted"),
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.01)), "in-sample", "boosted"),
        (SMALL, "in-sample", None),
        (SMALL, "auto", None),
        (make_pipeline(StandardScaler(), SMALL), "out-of-fold", None),
        (DecisionTreeClassifier(), "out-of-fold", "bagged"),
    ],
)
def test_the_models_of_a_turn_are_read_back_and_answer_the_same(estimator, reward, kind, tmp_path: Path):
    model = model_of_a_turn(estimator, reward)
    assert isinstance(model.estimator, ResidualTrees) if kind is None else model.estimator.kind == kind
    path = tmp_path / "model.skops"
    path.write_bytes(dump_model(model, ("assistlearn", "sklearn")))
    rows = model.transform(WX)
    np.testing.assert_array_equal(load_model(path, ("assistlearn", "sklearn")).say(rows), model.say(rows))


def part(n_classes: int = 3, width: int = 3) -> Model:
    tree = DecisionTreeClassifier(max_depth=1).fit(WX, WY)
    tree.n_features_in_ = width
    return Model(None, tree, n_classes)


def regression(n_outputs: int = 3, width: int = 3, value: float = 0.0) -> DecisionTreeRegressor:
    tree = DecisionTreeRegressor(max_depth=1).fit(WX, np.eye(3)[WY][:, :n_outputs])
    tree.tree_.value[:] += value
    tree.n_features_in_ = width
    return tree


def nested(kind: str) -> Model:
    return Model(None, Several(kind, [part()], [1.0], 3), 3)


WIDTH = "a tree has 3 columns, but its model has 2"
CRAFTED = [
    (Several("boosted", [part()], [float("nan")], 3), "a boosted model has the weight nan"),
    (Several("boosted", [part()], [-1.0], 3), "a boosted model has the weight -1"),
    (Several("boosted", [part(), part()], [1.0], 3), "a boosted model does not have one weight for each"),
    (Several("boosted", [SMALL], [1.0], 3), "a boosted model contains something that is not a model"),
    (Several("boosted", [nested("boosted")], [1.0], 3), "a boosted model contains something"),
    (Several("boosted", [nested("corrected")], [1.0], 3), "a boosted model contains something"),
    (Several("boosted", [part()], [1.0], 2), "a boosted model contains a model with another number of classes"),
    (Several("boosted", [part(width=2)], [1.0], 3), WIDTH),
    (Several("corrected", [], [], 3), "are not whole"),
    (Several("unheard of", [part()], [1.0], 3), "not of a kind known here"),
    (Several("corrected", [part()], [float("nan")], 3), "a corrected model has the weight nan"),
    (Several("corrected", [part(2)], [1.0], 3), "a corrected model contains a model with another number of classes"),
    (Several("corrected", [SMALL], [1.0], 3), "a corrected model contains something that is not a model"),
    (Several("corrected", [nested("corrected")], [1.0], 3), "a corrected model contains something"),
    (Several("bagged", [], [], 3), "are not whole"),
    (Several("bagged", [Model(StandardScaler(), SMALL, 3)], [1.0], 3), "a bagged model contains something"),
    (Several("bagged", [part(2)], [1.0], 3), "a bagged model contains a model with another number of classes"),
    (Several("bagged", [nested("bagged")], [1.0], 3), "a bagged model contains something"),
    (ResidualTrees([], 0.5, 3), "residual trees must have a list"),
    (ResidualTrees([regression()], 0.5, 1), "residual trees must have a list"),
    (ResidualTrees([regression()], float("nan"), 3), "loudness nan"),
    (ResidualTrees([SMALL], 0.5, 3), "not a fitted regression tree"),
    (ResidualTrees([DecisionTreeRegressor()], 0.5, 3), "not a fitted regression tree"),
    (ResidualTrees([regression(2)], 0.5, 3), "one number for each class"),
    (ResidualTrees([regression(value=np.nan)], 0.5, 3), "not finite"),
    (ResidualTrees([regression(width=2)], 0.5, 3), WIDTH),
]


@pytest.mark.parametrize(("crafted", "message"), CRAFTED)
def test_a_crafted_model_made_of_several_is_refused(crafted, message: str, tmp_path: Path):
    path = tmp_path / "model.skops"
    path.write_bytes(io.dumps(Model(None, crafted, 3)))
    with pytest.raises(UntrustedFileError, match=message):
        load_model(path, ("sklearn",))
