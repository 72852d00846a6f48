"""Hyper-parameters are chosen by Single and Oracle, never by ASCII."""

import msgspec
import numpy as np
import pytest

from assistlearn.errors import SettingsError
from paper import calibration
from paper.calibration import trials
from paper.figures import Calibration, Candidate, published, read_settings


@pytest.fixture
def settings():
    few = Calibration(2, 300, [Candidate({"max_depth": 1}, 2.0), Candidate({"max_depth": 2}, 1.0)])
    return msgspec.structs.replace(read_settings("fig3a"), calibration=few, rounds=19)


def test_only_single_and_oracle_are_fitted(settings, monkeypatch):
    seen = []
    real = calibration.fitted
    monkeypatch.setattr(calibration, "fitted", lambda s, method, *rest: seen.append(method) or real(s, method, *rest))
    assert [set(trial.away) for trial in trials(settings)] == [{"Single", "Oracle"}] * 2
    assert set(seen) == {"Single", "Oracle"}


def test_a_candidate_changes_learner_and_data(settings):
    first, second = (calibration.tried(settings, candidate) for candidate in settings.calibration.candidates)
    assert (first.learner.parameters["max_depth"], first.data.spread, first.data.n_test) == (1, 2.0, 300)
    assert (second.learner.parameters["max_depth"], second.data.spread) == (2, 1.0)
    assert second.learner.parameters["n_estimators"] == settings.learner.parameters["n_estimators"]


def test_the_distance_of_the_published_curve_from_itself_is_zero():
    curve = published("3c")["Single"]
    mean = np.array([curve[round] for round in range(1, 11)])
    assert calibration._difference(mean, "3c", "Single") == 0.0
    assert calibration._difference(mean + 0.1, "3c", "Single") == pytest.approx(0.1)


def test_a_figure_without_candidates_says_why():
    with pytest.raises(SettingsError, match=r"fig6a has no candidates .* neither Single nor Oracle"):
        next(trials(read_settings("fig6a")))
