"""A run over messages is the run in one process, to the bit."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.evaluation.calibration import ScoreCalibration
from tests.initiator.parties import Parties
from tests.papers_settings import PAPERS

AGENTS = {
    "trees": [
        DecisionTreeClassifier(max_depth=2),
        DecisionTreeClassifier(max_depth=3),
        DecisionTreeClassifier(max_depth=1),
    ],
    "mixed": [
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        RandomForestClassifier(n_estimators=5, max_depth=3),
    ],
    "resampling": [DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(), GaussianNB()],
}


PROBLEMS = [
    (load_breast_cancer, "trees"),
    (load_wine, "mixed"),
    (load_wine, "resampling"),
    (load_digits, "trees"),
]
LEARNED = {"method": "soft", "reward": "out-of-fold", "combine": "learned", "models_per_turn": 3}


def parties(folder, data, learners, **options) -> Parties:
    # Boosting a combination of ten classes takes long: ten trees in every iteration, in each of three folds.
    fewer = {"n_class": 4} if data is load_digits and "combine" in options else {}
    X, y = data(return_X_y=True, **fewer)
    thirds = np.array_split(np.arange(X.shape[1]), 3)
    agents = [
        (name, learner, list(map(int, part)))
        for name, learner, part in zip(["clinic", "lab", "scans"], AGENTS[learners], thirds, strict=True)
    ]
    return Parties(folder, agents, X, y, options, {})


def estimator_of(made: Parties) -> AssistedClassifier:
    names = (
        *("method", "order", "n_rounds", "weak_agent", "holdout", "patience"),
        *("reward", "loss", "shrinkage", "score_bits", "combine", "models_per_turn", "calibrate"),
    )
    options = {name: made.options[name] for name in names if name in made.options}
    return AssistedClassifier(made.agents, random_state=7, **(PAPERS | {"n_rounds": 5} | options))


@pytest.mark.parametrize(
    ("data", "learners", "options"),
    [
        *((*each, {"method": "ascii"}) for each in PROBLEMS),
        *((*each, {"method": "soft", "reward": "auto", "combine": "auto", "n_rounds": 2}) for each in PROBLEMS),
        (*PROBLEMS[0], {"method": "simple", "order": "random"}),
        (*PROBLEMS[1], {"method": "ensemble"}),
        (*PROBLEMS[2], {"method": "ascii", "holdout": 0.3, "patience": 2}),
        (*PROBLEMS[0], {"method": "ensemble", "holdout": 0.3}),
        *((*PROBLEMS[place], {"method": "soft"}) for place in (1, 2)),
        (*PROBLEMS[1], {"method": "soft", "holdout": 0.3, "score_bits": 16, "loss": "exponential", "shrinkage": 1.0}),
        *((*PROBLEMS[place], {"method": "soft", "reward": "out-of-fold", "n_rounds": 2}) for place in (0, 1)),
        *((*each, LEARNED | {"holdout": 0.3, "n_rounds": 1}) for each in PROBLEMS[:3]),
    ],
)
def test_model_weights_and_scores_are_bit_identical(tmp_path, data, learners, options):
    made = parties(tmp_path, data, learners, **options)
    clf = estimator_of(made).fit(made.X, made.labels)
    leader = made.leader()
    list(leader.train())
    result = leader.folder.result()
    assert [c["model_weight"] for c in result["contributions"]] == [c.model_weight for c in clf.contributions_]
    assert [c["agent"] for c in result["contributions"]] == [c.agent for c in clf.contributions_]
    assert result["stop_reason"] == clf.stop_reason_.name
    assert ScoreCalibration.from_json(result["calibration"]) == clf.calibration_
    report = None if clf.report_ is None else json.loads(json.dumps(asdict(clf.report_)))
    assert result["evaluation"] == report
    assert (report is not None) == ("holdout" in options)
    honest = "holdout" in options or options.get("reward") == "out-of-fold"
    assert (clf.calibration_ is not None) == (honest and "combine" not in options)
    ids = made.holdings("clinic").ids
    prediction = leader.predict_rows(np.arange(len(ids)))
    assert prediction.absent == {}
    np.testing.assert_array_equal(prediction.scores, sum(clf.agent_scores(made.X).values()))
    np.testing.assert_array_equal(prediction.probabilities, clf.predict_proba(made.X))
    np.testing.assert_array_equal(prediction.labels, clf.predict(made.X))
