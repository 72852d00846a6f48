"""The measurement of the defaults: what it fits is what users get."""

from __future__ import annotations

from assistlearn import AssistedClassifier
from bench import defaults
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS


def test_a_fit_is_one_of_an_estimator_without_settings():
    [iris] = [problem for problem in PROBLEMS if problem.name == "iris"]
    cut = iris.cut(0)
    found = defaults.fit(cut, "tree-3", "default", seed=0)
    model = AssistedClassifier(agents_of(cut, "tree-3"), random_state=0).fit(cut.X_train, cut.y_train)
    assert found["accuracy"] == f"{model.score(cut.X_test, cut.y_test):.5f}"
    assert found["rounds"] == model.n_rounds_
    assert float(found["seconds"]) > 0.0
