"""Say in one sentence what an initiator was told about an agent's people."""

from __future__ import annotations

from typing import Any

from assistlearn.cli.output import counted, plain
from assistlearn.extras import install_line


def told_in_words(told: dict[str, Any]) -> str:
    """Return the sentence for the values of a :class:`~assistlearn.service.privacy.standing.ToldStanding`.

    >>> told = {"initiator": "clinic", "people": 9, "bits": 18.0, "predictions": 1}
    >>> print(told_in_words(told | {"epsilon": 12.0, "epsilon_at_delta": 11.9}))  # doctest: +NORMALIZE_WHITESPACE
    clinic was told about 9 people; about one person at most: 18 bits, 1 prediction,
    epsilon 12.0 in all (11.9 at delta 1e-6).
    """
    from assistlearn.service.privacy.accountant import DELTA

    parts = [f"{told['bits']:,g} bits", counted(told["predictions"], "prediction")]
    if told["epsilon"]:
        near = told["epsilon_at_delta"]
        at_delta = (
            f"{near:.1f} at delta {DELTA:.0e}".replace("e-0", "e-")
            if near is not None
            else plain(f"{install_line('privacy')} for the epsilon at a delta")
        )
        parts.append(f"epsilon {told['epsilon']:.1f} in all ({at_delta})")
    people = "1 person" if told["people"] == 1 else f"{told['people']:,} people"
    return f"{plain(told['initiator'])} was told about {people}; about one person at most: {', '.join(parts)}."
