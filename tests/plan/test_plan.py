"""A plan is right or is not made at all; every front end has the same words for what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from assistlearn.errors import SettingsError
from assistlearn.orders import Strongest
from assistlearn.plan import SETTINGS, Plan

WRONG: dict[str, list[Any]] = {
    "method": ["magic", "", None, 3, ["ascii"], np.array(["ascii", "soft"])],
    "order": ["fastest", None, 3, ["chain"]],
    "n_rounds": [0, -1, 1.5, True, "3", None, math.nan, np.float64(2)],
    "weak_agent": ["cry", None, True],
    "holdout": [0.0, 1.0, -0.1, math.nan, "0.2", True, [0.2]],
    "patience": [0, 2.0, None],
    "reward": ["gold", None],
    "loss": ["weight", 1],
    "shrinkage": [0.0, 1.01, math.nan, math.inf, True, "1", None],
    "score_bits": [7, 8.0, "8", True, None, [8]],
    "missing_agent": ["cry"],
    "seed": [-1, 2**32, 0.5, None],
    "alignment": ["guess", None],
    "overlap": ["union"],
    "absent": ["wait"],
    "purpose": [None, 3],
}
RIGHT: dict[str, list[Any]] = {
    "method": ["ascii", np.str_("soft")],
    "order": ["greedy", Strongest(), lambda round, agents, rng: agents],
    "n_rounds": [1, np.int64(3)],
    "holdout": [None, 0.2, np.float32(0.5)],
    "shrinkage": [1, 1.0, 1e-9],
    "score_bits": [4, np.int8(32)],
    "seed": [0, 2**32 - 1],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG.items() for v in values])
def test_a_value_that_cannot_be_is_refused_with_its_name_and_what_it_must_be(name, value):
    with pytest.raises(SettingsError) as raised:
        Plan(**{name: value})
    assert str(raised.value).startswith(f"{name}={value!r} ")
    assert "must be" in str(raised.value) or "Choose one of" in str(raised.value)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in RIGHT.items() for v in values])
def test_a_value_that_can_be_is_taken_as_it_is(name, value):
    assert getattr(Plan(**{name: value}), name) is value


def test_folds_are_checked_where_they_matter_and_before_they_are_sent():
    Plan(cv=1)
    with pytest.raises(SettingsError, match="cv=1 must be"):
        Plan(cv=1).check_for_runs()  # other agents are sent nothing that cannot be
    for reward in ("out-of-fold", "auto"):
        with pytest.raises(SettingsError, match="cv=1 must be a whole number of folds, at least 2"):
            Plan(cv=1, reward=reward)
    Plan(cv=101, reward="auto")
    with pytest.raises(SettingsError, match="cv=101 must be at most 100"):
        Plan(cv=101, reward="auto").check_for_runs()


@pytest.mark.parametrize("order", ["greedy", lambda round, agents, rng: agents])
def test_separate_agents_follow_no_order_that_needs_everybody_in_one_place(order):
    with pytest.raises(SettingsError, match=r"is not known. Choose one of \['chain', 'random', 'strongest'\]"):
        Plan(order=order).check_for_runs()


def test_models_of_agents_that_boost_alone_cannot_be_compared():
    with pytest.raises(SettingsError, match="order='greedy' compares the agents' models, but method='ensemble'"):
        Plan(order="greedy", method="ensemble")


def test_every_setting_is_explained_and_says_where_it_belongs():
    for name, known in SETTINGS.items():
        assert known.explanation.endswith("."), name
        assert known.estimator or known.runs, name
        assert known.check(getattr(Plan, name)) is None, name
