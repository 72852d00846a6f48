"""What randomised answers reveal together: the sum of their epsilons, or a smaller epsilon at a small delta."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

DELTA = 1e-6

LARGEST = 700.0
"""Above this epsilon, an answer hides nothing that a computer could tell from nothing."""


def epsilon_at_delta(answers: Mapping[float, int], delta: float = DELTA) -> float | None:
    """Return the epsilon of all answers together at a delta; None where ``dp-accounting`` is not installed.

    No answer reveals more than one bit that is randomised with the same epsilon (Kairouz, Oh and Viswanath, 2015). So
    every answer counts as such a bit, also one with more than two possible values.

    Parameters
    ----------
    answers : mapping of float to int
        How many answers there are with each epsilon.
    delta : float, default=DELTA
        The probability with which the epsilon may be exceeded.
    """
    if any(count and epsilon > LARGEST for epsilon, count in answers.items()):
        return sum(epsilon * count for epsilon, count in answers.items())  # counts that were lost, and are all spent
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
    except ImportError:
        return None
    total: Any = None
    for epsilon, count in answers.items():
        if count:
            bit = pld.from_randomized_response(2.0 / (1.0 + math.exp(epsilon)), 2)
            of_these = bit.self_compose(count)
            total = of_these if total is None else total.compose(of_these)
    plain = sum(epsilon * count for epsilon, count in answers.items())
    return plain if total is None else min(float(total.get_epsilon_for_delta(delta)), plain)
