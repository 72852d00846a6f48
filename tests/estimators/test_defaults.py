"""What a newcomer gets without settings is what we recommend, and one word brings the paper's method."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from tests.estimators.data import birds, cancer, wine
from tests.papers_settings import PAPERS

RECOMMENDED = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20, "n_rounds": 20}
TWO = [("a", DecisionTreeClassifier(max_depth=2), slice(0, 3)), ("b", GaussianNB(), slice(3, None))]


def assert_same_bits(clf: AssistedClassifier, other: AssistedClassifier, data) -> None:
    X, y = data()
    clf.fit(X, y)
    other.fit(X, y)
    assert clf.contributions_ == other.contributions_
    assert (clf.stop_reason_, clf.n_rounds_) == (other.stop_reason_, other.n_rounds_)
    assert clf.ignorance_.tobytes() == other.ignorance_.tobytes()
    assert clf.decision_function(X).tobytes() == other.decision_function(X).tobytes()


@pytest.mark.parametrize(
    ("agents", "data"), [(TWO, wine), (None, cancer)], ids=["two agents", "one agent, who was not named"]
)
def test_without_settings_it_is_the_recommended_way_to_the_bit(agents, data):
    recommended = AssistedClassifier(agents, random_state=0, **RECOMMENDED)
    assert_same_bits(AssistedClassifier(agents, random_state=0), recommended, data)


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble"])
@pytest.mark.parametrize("agents", [TWO, None], ids=["two agents", "one agent, who was not named"])
def test_one_word_is_a_method_of_the_paper_to_the_bit(agents, method):
    papers = AssistedClassifier(agents, random_state=0, **(PAPERS | {"method": method, "n_rounds": 20}))
    assert_same_bits(AssistedClassifier(agents, method=method, random_state=0), papers, birds)


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
