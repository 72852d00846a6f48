"""How many bits an agent tells about one person, by the method; before any entropy coding.

================= ======================================================================================
what is told      bits about one person
================= ======================================================================================
a reward          1 of a hard method; else those of a score, times the classes where there are more than 2
a hold-out answer of a hard method those of a class code; else as many as votes
votes             those of a vote, times the classes where there are more than 2; of a hard method no more than
                  those of the class codes that its models answer
================= ======================================================================================

Numbers about all people together, such as a model's weight, are not counted. Nor is which people an agent holds.
"""

from __future__ import annotations

from assistlearn.core import SoftReward
from assistlearn.methods.method import Method


def reward_bits(method: Method, n_classes: int) -> int:
    """Return the bits of a reward.

    >>> from assistlearn.methods import method_named
    >>> soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 0})
    >>> reward_bits(method_named("ascii", {}), 3), reward_bits(soft, 2), reward_bits(soft, 3)
    (1, 8, 12)
    """
    form = method.silence(1, n_classes)
    return int(form.bits * form.levels.size) if isinstance(form, SoftReward) else 1


def holdout_bits(method: Method, n_classes: int) -> int:
    """Return the bits of an answer for a hold-out sample.

    >>> from assistlearn.methods import method_named
    >>> [holdout_bits(method_named("ascii", {}), n_classes) for n_classes in (2, 3, 4, 5)]
    [1, 2, 2, 3]
    >>> soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 0})
    >>> holdout_bits(soft, 2), holdout_bits(soft, 3)
    (8, 24)
    """
    if isinstance(method.silence(1, n_classes), SoftReward):
        return method.vote_bits(n_classes) * (1 if n_classes == 2 else n_classes)
    return (n_classes - 1).bit_length()


def vote_bits(method: Method, n_classes: int, n_models: int) -> int:
    """Return the bits of the votes of ``n_models`` models on one person. With two classes one number tells both votes.

    >>> from assistlearn.methods import method_named
    >>> ascii = method_named("ascii", {})
    >>> vote_bits(ascii, 2, n_models=40), vote_bits(ascii, 2, n_models=3), vote_bits(ascii, 4, n_models=3)
    (16, 3, 6)
    """
    said = method.vote_bits(n_classes) * (1 if n_classes == 2 else n_classes)
    if method.wants_probabilities:
        return said
    return min(said, n_models * holdout_bits(method, n_classes))
