"""AssistedClassifier among scikit-learn's own tools."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from tests.estimators.data import birds, left, pair, right
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)


def clinic_and_lab(**options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 3, "random_state": 0, **options}
    return AssistedClassifier(
        [("clinic", clone(TREE), left), ("lab", make_pipeline(StandardScaler(), LogisticRegression()), right)],
        **options,
    )


def test_it_works_at_the_end_of_a_pipeline():
    X, y = birds()
    scaled = StandardScaler().fit_transform(X)
    pipeline = make_pipeline(StandardScaler(), clinic_and_lab()).fit(X, y)
    assert np.array_equal(pipeline.predict(X), clinic_and_lab().fit(scaled, y).predict(scaled))
    assert pipeline.predict_proba(X).shape == (len(X), 4)


def test_a_pipeline_passes_initial_weights_on():
    X, y = pair()
    weight = np.random.RandomState(0).rand(len(y))
    pipeline = Pipeline([("scale", StandardScaler()), ("assisted", clinic_and_lab())])
    pipeline.fit(X, y, assisted__sample_weight=weight)
    direct = clinic_and_lab().fit(StandardScaler().fit_transform(X), y, sample_weight=weight)
    assert pipeline[-1].contributions_ == direct.contributions_


def test_a_grid_search_reaches_nested_parameters():
    X, y = birds()
    grid = {"clinic__max_depth": [1, 4], "lab__logisticregression__C": [1e-4, 1.0], "method": ["ascii", "simple"]}
    search = GridSearchCV(clinic_and_lab(), grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    best = search.best_estimator_
    for name, value in search.best_params_.items():
        assert best.get_params()[name] == value
    depths = {model.model.estimator.get_depth() for model in best.agents_["clinic"].models}
    assert max(depths) == search.best_params_["clinic__max_depth"]


def test_a_grid_search_reaches_whole_learners():
    X, y = birds()
    search = GridSearchCV(clinic_and_lab(), {"clinic": [TREE, GaussianNB()]}, cv=2).fit(X, y)
    assert type(search.best_estimator_.agents[0][1]) in (DecisionTreeClassifier, GaussianNB)


def test_it_is_cross_validated():
    X, y = birds()
    by_hand = []
    folds = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    for train, test in folds:
        by_hand.append(clinic_and_lab().fit(X[train], y[train]).score(X[test], y[test]))
    assert cross_val_score(clinic_and_lab(), X, y, cv=folds).tolist() == by_hand
    by_two_measures = cross_validate(clinic_and_lab(), X, y, cv=folds, scoring=["accuracy", "neg_log_loss"])
    assert by_two_measures["test_accuracy"].tolist() == by_hand
    assert np.isfinite(by_two_measures["test_neg_log_loss"]).all()
    assert cross_val_predict(clinic_and_lab(), X, y, cv=3, method="predict_proba").shape == (400, 4)


def test_it_can_be_calibrated_and_bagged():
    X, y = birds()
    assert CalibratedClassifierCV(clinic_and_lab(), cv=2).fit(X, y).score(X, y) > 0.6
    assert BaggingClassifier(clinic_and_lab(), 2, random_state=0).fit(X, y).score(X, y) > 0.6


def test_a_clone_is_unfitted_equal_and_independent():
    X, y = birds()
    clf = clinic_and_lab(order="random", holdout=0.2).fit(X, y)
    copy = clone(clf)
    assert not hasattr(copy, "classes_")
    assert repr(copy) == repr(clone(copy))
    assert copy.agents[0][1] is not clf.agents[0][1]
    copy.set_params(clinic__max_depth=9)
    assert TREE.max_depth == 2
    assert clone(clf).fit(X, y).contributions_ == clf.contributions_


def test_parameters_are_read_and_written_by_name():
    clf = clinic_and_lab()
    deep, flat = clf.get_params(), clf.get_params(deep=False)
    assert {"agents", "method", "order", "n_rounds", "weak_agent", "holdout", "patience", "random_state"} <= set(flat)
    assert not any("__" in name for name in flat)
    assert deep["clinic"] is clf.agents[0][1]
    assert deep["clinic__max_depth"] == 2
    assert deep["lab__logisticregression__C"] == 1.0
    clf.set_params(clinic=GaussianNB(), lab__logisticregression__C=5.0, n_rounds=9)
    assert isinstance(clf.agents[0][1], GaussianNB)
    assert clf.agents[0][0] == "clinic"
    assert clf.agents[0][2] is left  # the columns stay
    assert clf.agents[1][1][-1].C == 5.0
    assert clf.n_rounds == 9
    clf.set_params(agents=[("other", clone(TREE), left)], other__max_depth=7)
    assert clf.get_params()["other__max_depth"] == 7


def test_an_unknown_parameter_is_refused():
    with pytest.raises(ValueError, match="'depth' for estimator DecisionTreeClassifier"):
        clinic_and_lab().set_params(clinic__depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'school'"):
        clinic_and_lab().set_params(school__max_depth=3)


def test_without_agents_there_are_no_nested_parameters():
    assert not any("__" in name for name in AssistedClassifier().get_params())
    assert AssistedClassifier(agents="nonsense").get_params()["agents"] == "nonsense"


def test_initial_weights_are_routed_where_they_are_requested():
    X, y = pair()
    weight = np.random.RandomState(0).rand(len(y))
    with config_context(enable_metadata_routing=True):
        asking = clinic_and_lab().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(asking, {"clinic__max_depth": [2]}, cv=2).fit(X, y, sample_weight=weight)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        pipeline.fit(X, y, sample_weight=weight)
    direct = clinic_and_lab().fit(X, y, sample_weight=weight)
    assert search.best_estimator_.contributions_ == direct.contributions_
    scaled = StandardScaler().fit_transform(X)
    assert pipeline[-1].contributions_ == clinic_and_lab().fit(scaled, y, sample_weight=weight).contributions_


def test_a_frame_that_a_pipeline_makes_is_understood_by_name():
    X, y = birds()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = AssistedClassifier(
        [("clinic", TREE, ["a", "b", "c"]), ("lab", TREE, ["d", "e", "f"])], n_rounds=2, method="ascii"
    )
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), clf).fit(frame, y)
    assert pipeline.score(frame, y) > 0.6


WRONG = {
    "an unknown method": ({"method": "magic"}, r"method='magic'.*'ascii', 'simple'.*'ensemble'"),
    "a method that is none": ({"method": None}, "method=None"),
    "an unknown rule for weak agents": ({"weak_agent": "shout"}, r"weak_agent='shout'.*'skip', 'stop'"),
    "an unknown order": ({"order": "sideways"}, r"order='sideways'.*chain.*random"),
    "no rounds": ({"n_rounds": 0}, "n_rounds=0 must be a whole number of at least 1"),
    "half a round": ({"n_rounds": 1.5}, r"n_rounds=1\.5"),
    "a true round": ({"n_rounds": True}, "n_rounds=True"),
    "no patience": ({"patience": 0}, "patience=0"),
    "a share of everything": ({"holdout": 1.0}, r"holdout=1\.0 must be a share between 0 and 1"),
    "a share of nothing": ({"holdout": 0}, "holdout=0"),
    "a share in words": ({"holdout": "half"}, "holdout='half'"),
    "no agents": ({"agents": []}, "agents is empty"),
    "agents without columns": ({"agents": [("a", TREE)]}, r"list of \(name, estimator, columns\).*DecisionTree"),
    "agents without a name": ({"agents": [(1, TREE, left)]}, "list of"),
    "agents in words": ({"agents": "everyone"}, "list of"),
    "agents as a number": ({"agents": 3}, r"agents must be a list of \(name, estimator, columns\), not 3"),
    "an empty name": ({"agents": [(" ", TREE, left), ("b", TREE, right)]}, "' ' is not"),
    "a name of two lines": ({"agents": [("a\nb", TREE, left), ("b", TREE, right)]}, r"'a\\nb' is not"),
    "a class for an estimator": (
        {"agents": [("a", DecisionTreeClassifier, left)]}, r"Agent 'a'.*not a classifier.*DecisionTreeClassifier\(\)"
    ),
    "a transformer for an estimator": ({"agents": [("a", StandardScaler(), left)]}, "Agent 'a'.*not a classifier"),
    "the same name twice": ({"agents": [("a", TREE, left), ("a", TREE, right)]}, r"(?i)names.*not unique.*'a'"),
    "a parameter's name": ({"agents": [("method", TREE, left)]}, r"(?i)conflict.*'method'"),
    "a name with two underscores": ({"agents": [("a__b", TREE, left)]}, r"__.*'a__b'"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), WRONG.values(), ids=WRONG)
def test_settings_that_cannot_be_are_refused_when_fitting_and_not_before(settings: dict, message: str):
    X, y = birds()
    clf = AssistedClassifier(**(PAPERS | settings))
    repr(clf)
    with pytest.raises(SettingsError, match=message):
        clf.fit(X, y)


def test_tags_follow_the_learners():
    takes_all = AssistedClassifier([("a", TREE, left), ("b", TREE, right)], method="ascii")
    assert get_tags(takes_all).input_tags.allow_nan
    assert get_tags(takes_all).input_tags.sparse
    mixed = AssistedClassifier([("a", TREE, left), ("b", GaussianNB(), right)], method="ascii", preprocess="never")
    assert not get_tags(mixed).input_tags.allow_nan
    assert not get_tags(mixed).input_tags.string
    assert not get_tags(mixed).input_tags.sparse
    mixed.set_params(preprocess="auto")
    assert get_tags(mixed).input_tags.allow_nan
    assert get_tags(mixed).input_tags.string
    own_steps = AssistedClassifier([("a", make_pipeline(StandardScaler(), GaussianNB()), left)])
    assert not get_tags(own_steps).input_tags.string
    assert not get_tags(AssistedClassifier(agents="nonsense")).input_tags.allow_nan
