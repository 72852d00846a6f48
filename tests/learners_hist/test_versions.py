"""Histogram trees know how certain versions of XGBoost write a model, and refuse to work with any other."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xgboost

from assistlearn.errors import MissingExtraError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from assistlearn.learners.hist.xgboost_json.versions import KNOWN_VERSIONS
from tests.learners_hist.tables import real_numbers

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
UNKNOWN = r"XGBoost 99\.0\.1 is installed, but .* only read models of version 3\.2\..*pip install 'xgboost"


def test_the_installed_xgboost_is_a_known_one_and_says_so_in_its_models():
    # A new version fails here: check that all tests in this folder pass with it, list it, and raise the pin.
    installed = tuple(int(part) for part in xgboost.__version__.split(".")[:2])
    assert installed in KNOWN_VERSIONS
    X, y = real_numbers(200)
    document = json.loads(HistTreeClassifier(max_depth=1).fit(X, y).booster_.tobytes())
    assert tuple(document["version"][:2]) == installed


def test_the_extra_is_pinned_to_the_known_versions():
    (extra,) = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]["xgboost"]
    (first, (major, minor)) = min(KNOWN_VERSIONS), max(KNOWN_VERSIONS)
    assert extra == f"xgboost>={first[0]}.{first[1]},<{major}.{minor + 1}"


@pytest.mark.parametrize("learner", [HistTreeClassifier(), HistBoostClassifier(2)])
def test_with_an_unknown_version_nothing_is_fitted(learner, monkeypatch):
    X, y = real_numbers(200)
    monkeypatch.setattr(xgboost, "__version__", "99.0.1")
    with pytest.raises(MissingExtraError, match=UNKNOWN):
        learner.fit(X, y)


def test_with_an_unknown_version_nothing_is_predicted_or_joined(monkeypatch):
    X, y = real_numbers(200)
    models = [HistTreeClassifier(max_depth=2).fit(X, y) for _ in range(2)]
    assert np.array_equal(models[0].join(models).predict(X)[0], models[0].predict(X))
    monkeypatch.setattr(xgboost, "__version__", "99.0.1")
    for use in (lambda: models[0].predict(X), lambda: models[0].join(models)):
        with pytest.raises(MissingExtraError, match=UNKNOWN):
            use()
