"""A plan is right or is not made at all; every front end has the same words for what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from assistlearn.errors import SettingsError
from assistlearn.methods import method_class, names
from assistlearn.methods.orders import Strongest
from assistlearn.plan import OF_METHOD, SETTINGS, Plan

WRONG: dict[str, list[Any]] = {
    "method": ["magic", "", None, 3, ["ascii"], np.array(["ascii", "soft"])],
    "order": ["fastest", None, 3, ["chain"]],
    "n_rounds": [0, -1, 1.5, True, "3", None, math.nan, np.float64(2)],
    "weak_agent": ["cry", None, True],
    "holdout": [0.0, 1.0, -0.1, math.nan, "0.2", True, [0.2]],
    "patience": [0, 2.0, None],
    "class_weight": ["even", "", True, 1, ["balanced"]],
    "reward": ["gold", 1, ["auto"]],
    "models_per_turn": [0, 1.5, True, "20"],
    "combine": ["mean", 0],
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
    "class_weight": [None, "balanced", {"ill": 3.0}],
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
    Plan(method="ascii", cv=1)
    with pytest.raises(SettingsError, match="cv=1 must be"):
        Plan(method="ascii", cv=1).check_for_runs()  # other agents are sent nothing that cannot be
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


def test_separate_agents_are_not_told_a_weight_for_each_class():
    with pytest.raises(SettingsError, match=r"class_weight=\{'ill': 3.0\} is not known. Choose one of \['balanced'\]"):
        Plan(class_weight={"ill": 3.0}).check_for_runs()


def test_models_of_agents_that_boost_alone_cannot_be_compared():
    with pytest.raises(SettingsError, match="order='greedy' compares the agents' models, but method='ensemble'"):
        Plan(order="greedy", method="ensemble")


def test_every_setting_is_explained_and_says_where_it_belongs():
    for name, known in SETTINGS.items():
        assert known.explanation.endswith("."), name
        assert known.estimator or known.runs, name
        assert known.complaint_of_runs(getattr(Plan, name)) is None, name


# -- what goes with the method

AS_IN_THE_PAPER = {"reward": "in-sample", "models_per_turn": 1, "combine": "sum"}
RECOMMENDED = {"reward": "auto", "models_per_turn": 20, "combine": "auto"}


def test_a_plan_without_settings_is_the_recommended_one():
    assert Plan() == Plan(method="soft", n_rounds=20, **RECOMMENDED)


@pytest.mark.parametrize("method", ["ascii", "simple", "ensemble", "label-private"])
def test_one_word_brings_a_method_with_the_rewards_votes_and_models_of_the_paper(method):
    assert Plan(method=method) == Plan(method=method, n_rounds=20, **AS_IN_THE_PAPER)


@pytest.mark.parametrize(
    ("given", "rest"),
    [
        ({"reward": "in-sample"}, {"combine": "sum", "models_per_turn": 1}),
        ({"reward": "in-sample", "models_per_turn": 5}, {"combine": "sum"}),
        ({"reward": "out-of-fold"}, {"combine": "auto", "models_per_turn": 20}),
        ({"combine": "sum"}, {"reward": "auto", "models_per_turn": 20}),
        ({"combine": "learned"}, {"reward": "auto", "models_per_turn": 20}),
        ({"models_per_turn": 1}, {"reward": "auto", "combine": "auto"}),
    ],
)
def test_what_is_given_is_taken_and_the_rest_goes_with_it(given, rest):
    assert Plan(method="soft", **given) == Plan(method="soft", **given, **rest)


def test_settings_that_contradict_each_other_are_refused_however_they_came():
    with pytest.raises(SettingsError, match=r'combine=\'auto\' .* reward="in-sample" gives none'):
        Plan(reward="in-sample", combine="auto")
    with pytest.raises(SettingsError, match="combine='auto' needs what agents say about every class"):
        Plan(method="ascii", combine="auto")


def test_a_plan_says_what_it_has_settled_on():
    assert set(OF_METHOD) == {"reward", "models_per_turn", "combine"}
    assert None not in (Plan().of_runs()[name] for name in OF_METHOD)
    assert (Plan().told()["reward"], Plan().told()["models_per_turn"]) == ("out-of-fold", 20)


@pytest.mark.parametrize("name", OF_METHOD)
def test_the_words_for_a_default_that_goes_with_the_method_are_true_of_every_method(name):
    of_soft, otherwise = SETTINGS[name].goes_with_method.split(" with soft, else ")
    for method in names():
        assert str(method_class(method).advised[name]) == (of_soft if method == "soft" else otherwise)
