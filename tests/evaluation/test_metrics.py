"""Metrics are scikit-learn's, and say None where they are not defined."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn import metrics

from assistlearn.core.votes import winners
from assistlearn.evaluation.metrics import METRICS, confusion, measure, recalls


def some_answers(n_classes, n=200, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    return codes, rng.dirichlet(np.ones(n_classes), n), rng.uniform(0.1, 3.0, n)


def test_two_classes_are_measured_as_scikit_learn_does():
    codes, said, weights = some_answers(2)
    predicted = winners(said)
    assert measure(codes, said, weights) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(codes, predicted, sample_weight=weights),
            "balanced_accuracy": metrics.balanced_accuracy_score(codes, predicted, sample_weight=weights),
            "log_loss": metrics.log_loss(codes, said, sample_weight=weights),
            "brier": metrics.brier_score_loss(codes, said[:, 1], sample_weight=weights),
            "roc_auc": metrics.roc_auc_score(codes, said[:, 1], sample_weight=weights),
            "average_precision": metrics.average_precision_score(codes, said[:, 1], sample_weight=weights),
        }
    )


def test_more_classes_are_measured_each_against_the_rest():
    codes, said, _ = some_answers(4)
    found = measure(codes, said)
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(codes, said, multi_class="ovr", average="macro"))
    truth = np.eye(4)[codes]
    assert found["average_precision"] == pytest.approx(metrics.average_precision_score(truth, said, average="macro"))
    assert found["brier"] == pytest.approx(((said - truth) ** 2).sum(axis=1).mean())


def test_a_class_that_does_not_occur_leaves_the_curves_undefined_and_the_rest_as_it_is():
    codes, said, _ = some_answers(3)
    kept = codes != 2
    found = measure(codes[kept], said[kept])
    assert [name for name, figure in found.items() if figure is None] == ["roc_auc", "average_precision"]
    of_two = [np.mean(winners(said)[codes == code] == code) for code in (0, 1)]
    assert found["balanced_accuracy"] == pytest.approx(np.mean(of_two))


def test_a_sample_of_no_weight_is_as_if_it_were_not_there():
    codes, said, weights = some_answers(3)
    weights[codes == 2] = 0.0
    kept = codes != 2
    assert measure(codes, said, weights) == measure(codes[kept], said[kept], weights[kept])


def test_without_samples_nothing_is_defined():
    assert set(measure(np.array([], dtype=int), np.zeros((0, 3))).values()) == {None}


def test_the_predicted_class_need_not_be_the_likeliest():
    codes, said, _ = some_answers(3)
    assert measure(codes, said, predicted=codes)["accuracy"] == 1.0


@settings(max_examples=60)
@given(st.data(), st.integers(2, 4), st.integers(0, 12))
def test_no_answers_make_a_metric_warn_or_crash(data, n_classes, n):
    codes = data.draw(npst.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))
    scores = data.draw(npst.arrays(np.float64, (n, n_classes), elements=st.floats(0.0, 800.0)))
    said = np.exp(scores - scores.max(axis=1, keepdims=True, initial=0.0)) if n else scores
    said = (said + 1e-300) / (said + 1e-300).sum(axis=1, keepdims=True)
    weights = data.draw(npst.arrays(np.float64, n, elements=st.sampled_from([0.0, 0.5, 2.0])))
    found = measure(codes, said, weights)
    assert json.loads(json.dumps(found)) == found
    assert all(figure is None or np.isfinite(figure) for figure in found.values())


def test_a_metric_knows_which_direction_is_better():
    codes, _, _ = some_answers(3)
    truth = np.eye(3)[codes]
    good, bad = measure(codes, 0.8 * truth + 0.2 / 3), measure(codes, 0.8 * truth[:, [1, 2, 0]] + 0.2 / 3)
    assert all(metric.better(good[name], bad[name]) for name, metric in METRICS.items())


def test_confusion_and_recall_count_by_weight():
    codes, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 2])
    table = confusion(codes, predicted, 3, np.array([1.0, 2.0, 3.0, 4.0]))
    assert table.tolist() == [[3.0, 3.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]
    assert recalls(table) == [0.5, 0.0, None]
    assert confusion(codes[:0], predicted[:0], 2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
