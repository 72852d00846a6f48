"""Every figure of a run is that of its own predictions; and that of the estimator, whose figures are tried elsewhere.

In every other configuration the classes have a secret order. Learners then see other class codes, so that these runs
are not compared with the estimator.
"""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.plan import Plan
from assistlearn.session.judging import split
from tests.initiator.parties import Parties
from tests.papers_settings import PAPERS

CONFIGURATIONS = max(int(os.environ.get("ASSISTLEARN_FIGURES", 8)) // 10, 2)
SETTINGS = {
    "method": ["soft", "soft", "ascii", "simple", "ensemble"],
    "n_rounds": [1, 2, 3],
    "patience": [1, 2],
    "metric": ["accuracy", "log_loss", "roc_auc"],
    "worse_agent": ["leave out", "keep"],
    "class_weight": [None, "balanced"],
    "reward": ["auto", "in-sample", "out-of-fold"],
    "models_per_turn": [None, 2],
    "combine": [None, "sum", "learned", "auto"],
    "score_bits": [0, 16],
}


def drawn(seed: int, folder) -> tuple[Parties, AssistedClassifier]:
    """Return a run and an estimator with the same settings, people and learners."""
    rng = np.random.default_rng([seed, 2])
    n, n_classes = int(rng.integers(60, 100)), int(rng.integers(2, 5))
    often = rng.dirichlet(np.full(n_classes, 2.0))
    y = np.concatenate([np.repeat(np.arange(n_classes), 6), rng.choice(n_classes, n - 6 * n_classes, p=often)])
    X = rng.normal(size=(n, 6)) + np.repeat(rng.choice([0.0, 2.0], 3), 2) * rng.normal(size=(n_classes, 6))[y]
    learners = [
        [GaussianNB(var_smoothing=0.01), LogisticRegression(), DecisionTreeClassifier(max_depth=2), NEAR][i]
        for i in rng.integers(4, size=3)
    ]
    agents = [(name, learners[m], [2 * m, 2 * m + 1]) for m, name in enumerate(("clinic", "lab", "scans"))]
    while True:
        settings = {name: values[rng.integers(len(values))] for name, values in SETTINGS.items()} | {"holdout": 0.4}
        try:
            Plan(**settings)
        except SettingsError:
            continue
        break
    held = {name: rng.permutation(n) < rng.choice([22, 40, n]) for name in ("lab", "scans")}
    table = X.copy()
    for m, mask in enumerate(held.values(), start=1):
        table[np.ix_(~mask, [2 * m, 2 * m + 1])] = np.nan
    order = [int(code) for code in rng.permutation(n_classes)] if seed % 2 else list(range(n_classes))
    made = Parties(folder, agents, X, y, settings | {"permutation": order}, held)
    how = {"random_state": 7, "missing_agent": "abstain", "preprocess": "never"} | PAPERS | settings
    return made, AssistedClassifier(agents, **how).fit(table, y)


NEAR = KNeighborsClassifier(2)


@pytest.mark.parametrize("seed", range(CONFIGURATIONS))
def test_a_runs_figures_are_those_of_its_predictions(tmp_path, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, clf = drawn(seed, tmp_path)
    led = made.leader()
    list(led.train())
    result = led.folder.result()
    assert result["class_shares"] == clf.class_prior_.tolist()
    if made.options["permutation"] == sorted(made.options["permutation"]):
        _alike(result["evaluation"], json.loads(json.dumps(asdict(clf.report_))))
    aside = clf.holdout_indices_
    said = led.predict_rows(aside)
    answered, weighed = np.array(said.labels), np.bincount(made.labels[aside], minlength=len(clf.classes_))
    right = answered == made.labels[aside]
    assert result["evaluation"]["assisted"]["accuracy"] == pytest.approx(right.mean(), abs=1e-12)
    assert np.sum(result["evaluation"]["confusion"], axis=1).tolist() == weighed.tolist()
    assert np.trace(result["evaluation"]["confusion"]) == right.sum()
    if result["calibration"] is None:
        of_truth = said.probabilities[np.arange(len(aside)), made.labels[aside]]
        assert result["evaluation"]["assisted"]["log_loss"] == pytest.approx(-np.log(of_truth.clip(1e-15)).mean())


@pytest.mark.parametrize("method", ["soft", "ascii"])
def test_a_helper_may_hold_none_of_the_hold_out_samples(tmp_path, method):
    rng = np.random.default_rng(0)
    y = np.tile([0, 1, 1], 20)
    X = rng.normal(size=(60, 4)) + y[:, np.newaxis]
    _, aside = split(y, 0.3, np.random.RandomState([7, 2]))
    held = ~np.isin(np.arange(60), aside)
    agents = [("clinic", GaussianNB(), [0, 1]), ("lab", GaussianNB(), [2, 3])]
    made = Parties(tmp_path, agents, X, y, {"method": method, "holdout": 0.3, "n_rounds": 1}, {"lab": held})
    led = made.leader()
    list(led.train())
    said = led.predict_rows(aside)
    assert {each["agent"] for each in led.folder.result()["contributions"]} == {"clinic", "lab"}
    assert not said.known["lab"].any()
    right = np.mean(np.array(said.labels) == y[aside])
    assert led.folder.result()["evaluation"]["assisted"]["accuracy"] == pytest.approx(right)


def _alike(here, there, where="evaluation"):
    if isinstance(here, dict):
        assert here.keys() == there.keys(), where
        for key in here:
            _alike(here[key], there[key], f"{where}.{key}")
    elif isinstance(here, list):
        assert len(here) == len(there), where
        for place, (one, other) in enumerate(zip(here, there, strict=True)):
            _alike(one, other, f"{where}[{place}]")
    else:
        assert here == (pytest.approx(there, abs=1e-9) if isinstance(there, float) else there), where
