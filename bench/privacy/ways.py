"""The ways to learn whose releases are attacked: a name and settings of ``AssistedClassifier`` each."""

from __future__ import annotations

from typing import Any

ROUNDS = (1, 5, 20)
"""After how many rounds a transcript is attacked; a run that has ended before is attacked as it is then."""

RECOMMENDED: dict[str, Any] = {"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 20}
LABEL_PRIVATE: dict[str, Any] = {"method": "label-private", "models_per_turn": 20}

WAYS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii"},
    "soft, 8 bits": {"method": "soft", "reward": "in-sample", "score_bits": 8},
    "soft, 4 bits": {"method": "soft", "reward": "in-sample", "score_bits": 4},
    "recommended": RECOMMENDED,
    "label-private, epsilon 1": LABEL_PRIVATE | {"epsilon": 1.0},
    "label-private, epsilon 0.01": LABEL_PRIVATE | {"epsilon": 0.01},
}

SHUFFLED = "soft, 8 bits"
"""Whose transcript is given to the wrong people, as a control."""

EPSILONS = (0.01, 0.5, 1.0, 2.0, 4.0)
