"""Shares of a fitted ensemble's helpers are parts of what its subsets gain."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError

TREE = DecisionTreeClassifier(max_depth=2)
METHODS = {
    "ascii": {"method": "ascii"},
    "soft": {"method": "soft", "reward": "auto"},
    "ensemble": {"method": "ensemble"},
    "learned": {"method": "soft", "reward": "auto", "combine": "learned"},
    "label-private": {"method": "label-private"},
}


def fitted(data, settings, missing=False):
    X, y = data(return_X_y=True)
    if missing:
        rng = np.random.default_rng(0)
        for columns in (slice(0, 4), slice(4, 8)):
            X[rng.random(len(X)) < 0.3, columns] = np.nan
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    agents = [("a", TREE, slice(0, 4)), ("b", TREE, slice(4, 8)), ("c", TREE, slice(8, 13))]
    more = {"missing_agent": "abstain"} if missing else {}
    clf = AssistedClassifier(agents, n_rounds=3, random_state=0, **settings, **more).fit(X_train, y_train)
    return clf, X_test, y_test


def figures(clf, X, y):
    return log_loss(y, clf.predict_proba(X)), clf.score(X, y)


@pytest.mark.filterwarnings("ignore:No agent knows")
@pytest.mark.parametrize("missing", [False, True], ids=["all there", "some missing"])
@pytest.mark.parametrize("data", [load_breast_cancer, load_wine])
@pytest.mark.parametrize("settings", METHODS.values(), ids=METHODS)
def test_shares_are_made_of_what_subsets_answer(settings, data, missing):
    clf, X, y = fitted(data, settings, missing)
    found = clf.shares(X, y)
    value = {names: figures(clf.subset(list(names)), X, y) for names in ("a", "ab", "ac", "abc")}
    assert [share.helper for share in found.helpers] == ["b", "c"]
    for share, mine, others in zip(found.helpers, ("ab", "ac"), ("ac", "ab"), strict=True):
        loss = (value["a"][0] - value[mine][0] + value[others][0] - value["abc"][0]) / 2
        right = (value[mine][1] - value["a"][1] + value["abc"][1] - value[others][1]) / 2
        assert share.loss.value == pytest.approx(loss, abs=1e-10)
        assert share.accuracy.value == pytest.approx(right, abs=1e-12)
        assert share.loss_if_dropped.value == pytest.approx(value[others][0] - value["abc"][0], abs=1e-10)
        assert share.accuracy_if_dropped.value == pytest.approx(value["abc"][1] - value[others][1], abs=1e-12)
    assert sum(share.loss.value for share in found.helpers) == pytest.approx(
        value["a"][0] - value["abc"][0], abs=1e-12 if settings["method"] != "ensemble" else 1e-10
    )


@pytest.mark.filterwarnings("ignore:No agent knows")
def test_a_sample_of_weight_two_counts_twice():
    clf, X, y = fitted(load_wine, METHODS["soft"])
    weight = np.ones(len(y))
    weight[::3] = 2.0
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    one, other = clf.shares(X, y, weight), clf.shares(X[twice], y[twice])
    for share, same in zip(one.helpers, other.helpers, strict=True):
        assert share.loss.value == pytest.approx(same.loss.value, abs=1e-12)


@pytest.mark.filterwarnings("ignore:No agent knows")
def test_what_cannot_be_shared_is_refused_with_its_reason():
    clf, X, y = fitted(load_wine, METHODS["ascii"])
    with pytest.raises(SettingsError, match="initiator 'a' gains, but it is not one of the agents"):
        clf.subset(["b", "c"]).shares(X, y)
    with pytest.raises(SettingsError, match=r"1 of the \d+ labels are not among the classes"):
        clf.shares(X, np.append(y[:-1], 17))
    with pytest.raises(SettingsError, match="rows, but y has 3 labels"):
        clf.shares(X, y[:3])


@pytest.mark.filterwarnings("ignore:No agent knows")
def test_a_subset_shares_its_own_gain():
    clf, X, y = fitted(load_wine, METHODS["ascii"])
    [share] = clf.subset(["a", "c"]).shares(X, y).helpers
    assert share.helper == "c"
    assert share.loss.value == pytest.approx(share.loss_if_dropped.value)


def identical_and_noise(order, seed):
    """Return the shares of two helpers with the same columns and of one with noise, beside a weak initiator."""
    X, y = make_classification(
        1_200, 8, n_informative=8, n_redundant=0, n_classes=2, class_sep=0.7, random_state=seed, shuffle=False
    )
    X = np.hstack([X, np.random.default_rng(seed).normal(size=(len(y), 4))])
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    agents = [
        ("own", TREE, slice(0, 2)),
        ("one", TREE, slice(2, 8)),
        ("same", TREE, slice(2, 8)),
        ("noise", TREE, [8, 9, 10, 11]),
    ]
    summed = {"method": "soft", "reward": "out-of-fold", "combine": "sum", "models_per_turn": 1}
    clf = AssistedClassifier(agents, order=order, n_rounds=6, random_state=seed, **summed)
    return {share.helper: share for share in clf.fit(X_train, y_train).shares(X_test, y_test).helpers}


def test_in_random_order_identical_helpers_have_equal_shares_and_noise_has_none():
    """In the mean of eight problems: in a single one either may have been first when it counted.

    An interval has 1.96 standard errors to either side.
    """
    found = [identical_and_noise("random", seed) for seed in range(8)]
    apart = [each["one"].loss.value - each["same"].loss.value for each in found]
    errors = [np.hypot(each["one"].loss.error, each["same"].loss.error) for each in found]
    assert abs(np.mean(apart)) < 1.96 * np.mean(errors)
    assert sum(abs(noise.value) <= 1.96 * noise.error for noise in (each["noise"].loss for each in found)) >= 7
