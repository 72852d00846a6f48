"""Every learner answers for all classes, also where a fold, a bag or an agent's people have none of a rare class."""

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from skorch import NeuralNetClassifier
from xgboost import XGBClassifier, XGBRFClassifier

from assistlearn import AssistedClassifier
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier, Honesty, Learner, Model
from assistlearn.learners.model import dump_model, load_model


class Net(NeuralNetClassifier):
    """A network that always has three outputs, and takes 64-bit tables."""

    def __init__(self, module=torch.nn.LazyLinear, module__out_features=3, **settings):
        usual = {"criterion": torch.nn.CrossEntropyLoss, "train_split": None, "verbose": 0, "max_epochs": 2}
        super().__init__(module, module__out_features=module__out_features, **usual | settings)

    def fit(self, X, y, **more):
        torch.manual_seed(0)
        return super().fit(np.asarray(X, dtype=np.float32), y, **more)

    def predict_proba(self, X):
        return torch.softmax(torch.from_numpy(super().predict_proba(np.asarray(X, dtype=np.float32))), 1).numpy()


LEARNERS = {
    "XGBClassifier": XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1),
    "XGBRFClassifier": XGBRFClassifier(n_estimators=3, max_depth=2, n_jobs=1),
    "behind a choice of columns": make_pipeline(SelectFromModel(XGBClassifier(n_estimators=3, n_jobs=1)), GaussianNB()),
    "HistBoostClassifier": HistBoostClassifier(n_estimators=3),
    "HistTreeClassifier": HistTreeClassifier(max_depth=2),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=3),
    "GradientBoosting": GradientBoostingClassifier(n_estimators=3),
    "forest": RandomForestClassifier(5),
    "extra trees with bags": ExtraTreesClassifier(5, bootstrap=True),
    "bagging": BaggingClassifier(n_estimators=3),
    "deep tree": DecisionTreeClassifier(),
    "small tree": DecisionTreeClassifier(max_depth=2),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "discriminant": LinearDiscriminantAnalysis(),
    "neighbours": KNeighborsClassifier(3),
    "vectors": SVC(),
    "MLP": MLPClassifier((4,), solver="lbfgs", max_iter=9),
    "network": Net(),
}

ROWS = np.random.default_rng(0)
X = ROWS.normal(size=(60, 2))


def rare_in_the_middle(members: int) -> np.ndarray:
    """Return labels of three classes, of which the one in the middle has few members."""
    y = np.where(X[:, 0] > 0, 2, 0)
    y[:members] = 1
    return y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:Could not:UserWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning", "ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_fits_where_a_fold_lacks_a_class_and_has_probabilities_of_all_classes(name):
    for members, reward in ((1, "in-sample"), (1, "out-of-fold"), (2, "auto")):
        agents = [("own", LEARNERS[name], [0, 1])]
        clf = AssistedClassifier(
            agents, reward=reward, combine="sum", n_rounds=1, models_per_turn=2, cv=2, random_state=0
        )
        said = clf.fit(X, rare_in_the_middle(members)).predict_proba(X)
        assert said.shape == (60, 3)
        assert np.allclose(said.sum(axis=1), 1.0)
        if clf.contributions_:
            assert not (clf.predict(X) == 1).all()


@pytest.mark.parametrize("name", ["XGBClassifier", "forest", "naive Bayes", "small tree", "neighbours"])
def test_what_a_learner_says_without_a_class_is_what_it_says_of_the_others_and_zero(name):
    """The oracle is the learner itself, on labels without a gap."""
    y = np.where(X[:, 0] > 0, 2, 0)
    own = learned(name, y, n_classes=3)
    other = learned(name, y // 2, n_classes=2)
    assert np.array_equal(own[:, 1], np.zeros(60))
    assert np.allclose(own[:, [0, 2]], other)


def learned(name, y, n_classes):
    learner = Learner(LEARNERS[name], "lab", Honesty("in-sample"))
    learner.prepare(X, y, 0)
    return learner.fit(np.full(60, 1 / 60), 0, "round 1", n_classes)[0].say(X)


def test_labels_without_probabilities_keep_their_class():
    learner = Learner(XGBClassifier(n_estimators=20, n_jobs=1), "lab")
    y = np.where(X[:, 0] > 0, 2, 0)
    learner.prepare(X, y, 0)
    model, said = learner.fit(np.full(60, 1 / 60), 0, "round 1")
    assert np.array_equal(said, y)
    assert np.array_equal(model.predict(X), y)


def test_a_class_without_any_ignorance_is_not_drawn_and_no_learner_without_weights_minds():
    y = rare_in_the_middle(20)
    learner = Learner(Net(), "lab")
    learner.prepare(X, y, 0)
    ignorance = (y != 1) / np.count_nonzero(y != 1)
    said = learner.fit(ignorance, 0, "round 1", 3)[1]
    assert np.array_equal(said[:, 1], np.zeros(60))


def test_a_kept_model_still_knows_its_classes(tmp_path):
    learner = Learner(DecisionTreeClassifier(max_depth=2), "lab")
    learner.prepare(X, np.where(X[:, 0] > 0, 2, 0), 0)
    model, said = learner.fit(np.full(60, 1 / 60), 0, "round 1", 3)
    (tmp_path / "model").write_bytes(dump_model(model))
    kept = load_model(tmp_path / "model")
    assert isinstance(kept, Model)
    assert np.array_equal(kept.say(X.astype(np.float32)), said)


def test_an_agent_whose_people_lack_a_class_may_use_any_learner():
    y = rare_in_the_middle(20)
    table = X.copy()
    table[y == 1, 1] = np.nan
    agents = [("own", GaussianNB(), [0]), ("lab", XGBClassifier(n_estimators=3, n_jobs=1), [1])]
    clf = AssistedClassifier(agents, missing_agent="abstain", combine="sum", n_rounds=1, random_state=0)
    assert clf.fit(table, y).predict_proba(table).shape == (60, 3)
