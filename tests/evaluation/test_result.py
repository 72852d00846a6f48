"""What a report says, by the metric that was chosen."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from assistlearn.core.votes import scores_of
from assistlearn.estimators.showing import answer_block
from assistlearn.evaluation.metrics import METRICS
from assistlearn.evaluation.result import Decided, Report, compare, findings
from assistlearn.evaluation.words import answer_in_words


def report(codes: np.ndarray, assisted: np.ndarray, alone: np.ndarray) -> Report:
    """A report of the probabilities of class 1, with help and alone."""
    said = [np.column_stack([1 - each, each]) for each in (assisted, alone)]
    facts = compare(codes, *(Decided(scores_of(each), each) for each in said), None, 0)
    return Report(models_alone=1, shares=None, worse=[], left_out=[], **facts)


@pytest.fixture(scope="module")
def rare() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes of which one is rare, and probabilities that never reach a half: with help they rank the rare ones."""
    rng = np.random.default_rng(1)
    codes = (rng.random(2_000) < 0.02).astype(int)
    noise = rng.random((2, 2_000))
    return codes, 0.01 + 0.05 * codes + 0.01 * noise[0], 0.02 + 0.01 * noise[1]


def test_what_is_not_to_be_seen_by_accuracy_is_seen_by_the_metric_that_is_asked_for(rare):
    found = report(*rare)
    by_accuracy, by_rank = (findings(asdict(found), metric).answer for metric in ("accuracy", "roc_auc"))
    assert by_accuracy.verdict == "undecided"
    assert by_accuracy.assisted == by_accuracy.alone
    assert by_rank.verdict == "yes"
    assert by_rank.assisted == 1.0
    assert by_rank.alone == pytest.approx(0.5, abs=0.1)
    assert by_rank.difference.low > 0.3
    said = answer_in_words(by_rank)
    assert said.startswith("Help was worth it. On 2,000 samples that no model was trained on, the ROC AUC is 1.000")
    assert "accuracy" not in said


@pytest.mark.parametrize("metric", METRICS)
def test_who_changes_places_gets_the_opposite_verdict_of_every_metric(rare, metric):
    codes, better, worse = rare
    opposite = {"yes": "worse", "worse": "yes", "undecided": "undecided"}
    there, back = (findings(asdict(report(codes, *each)), metric) for each in ((better, worse), (worse, better)))
    assert back.answer.verdict == opposite[there.answer.verdict]
    assert (there.answer.verdict == "yes") == (metric not in ("accuracy", "balanced_accuracy"))
    assert [each.name for each in there.metrics][:2] == list(dict.fromkeys([metric, "accuracy", "balanced_accuracy"]))[
        :2
    ]
    assert sorted(each.name for each in there.metrics) == sorted(METRICS)


def test_a_loss_that_is_lower_reads_as_a_gain(rare):
    said = answer_in_words(findings(asdict(report(*rare)), "log_loss").answer)
    assert said.startswith("Help was worth it.")
    assert "The difference is -0." in said
    assert "(lower is better)" in said


def test_a_metric_that_is_not_defined_is_said_to_be_so_and_accuracy_is_still_told():
    ones = report(np.ones(20, dtype=int), np.full(20, 0.9), np.full(20, 0.2))
    found = findings(asdict(ones), "roc_auc")
    assert (found.answer.verdict, found.answer.assisted) == ("undecided", None)
    assert "ROC AUC is not defined on these samples" in answer_in_words(found.answer)
    assert found.measured("accuracy").assisted == 1.0
    block = answer_block(ones, "roc_auc", "clinic")
    assert "ROC AUC is not defined" in block
    assert "100.0" in block


def test_nothing_measured_says_nothing():
    assert findings(None, "brier").answer is None
