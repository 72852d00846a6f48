"""The form of the answers for hold-out samples: what is wrong with them is said exactly."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn.core.state import quantise
from assistlearn.errors import ProtocolError
from assistlearn.plan import Plan

CODES, LEVELS = np.array([0, 1]), quantise(np.array([[0.5, -0.5], [-0.5, 0.5]]), 8)


@pytest.mark.parametrize(
    ("method", "answer", "words"),
    [
        ("ascii", None, "the answers for the hold-out samples are missing."),
        ("ascii", LEVELS, "the answers for the hold-out samples are levels; a hard method exchanges class codes."),
        ("soft", None, "the answers for the hold-out samples are missing."),
        ("soft", CODES, "the answers for the hold-out samples are class codes; a soft method exchanges levels."),
    ],
)
def test_missing_answers_and_answers_of_another_form_are_two_faults(method, answer, words):
    with pytest.raises(ProtocolError) as caught:
        Plan(method=method).make_method().check_holdout(answer, 2)
    assert str(caught.value) == words


@pytest.mark.parametrize(("method", "answer"), [("ascii", CODES), ("soft", LEVELS)])
def test_answers_of_the_methods_own_form_pass(method, answer):
    Plan(method=method).make_method().check_holdout(answer, 2)
