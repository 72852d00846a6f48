"""A prediction in plain JSON: for each id its class, the probabilities, who voted and who was missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.runs.prediction import Prediction
from assistlearn.web.serving.asked_ids import AskedIds

LACKS = "It does not hold this id."


@dataclass(frozen=True)
class ServedAnswer:
    """The answer to a request.

    Attributes
    ----------
    asked : AskedIds
        What was asked.
    prediction : Prediction
        The prediction for ``asked.texts``: every id once.
    voters : list of str
        The agents whose votes count in the run.
    """

    asked: AskedIds
    prediction: Prediction
    voters: Sequence[str]

    @property
    def unknown(self) -> list[str]:
        """The ids without an answer, because no agent holds them: as they were given, each once."""
        there = self.prediction.decided
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return list(dict.fromkeys(given for given, place in pairs if not there[place]))

    def plain(self) -> dict[str, Any]:
        """Return the answer as plain values, for JSON. An id that no agent knows is only in ``unknown``."""
        there, labels = self.prediction.decided, self.prediction.labels
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return {
            "predictions": [self._one(given, place, labels[place]) for given, place in pairs if there[place]],
            "unknown": self.unknown,
            "missing": dict(self.prediction.absent),
            "changed": dict(self.prediction.changed),
        }

    @property
    def by_label_shares(self) -> list[str] | None:
        """The ids that are answered by the shares of the labels in training; None where this never happens."""
        by_shares = self.prediction.by_shares
        if not self.prediction.label_only and not by_shares.any():
            return None
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return list(dict.fromkeys(given for given, place in pairs if by_shares[place]))

    def voted(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which agent voted on which of the given ids: a row for each id, a column for each voter."""
        known = self.prediction.known
        nobody = np.zeros(len(self.asked.texts), dtype=bool)
        rows = np.array([known.get(name, nobody) for name in self.voters], dtype=bool)
        return rows.reshape(len(self.voters), len(nobody)).T[self.asked.places]

    def _one(self, given: str, place: int, label: Any) -> dict[str, Any]:
        said = self.prediction
        voted = [name for name in self.voters if name in said.known and said.known[name][place]]
        classes = [str(name) for name in said.classes]
        alone = bool(said.by_shares[place])
        by_shares = {"by_label_shares": alone} if alone or said.label_only else {}
        return {
            "id": given,
            "label": plain_label(label),
            "probabilities": dict(zip(classes, said.probabilities[place].tolist(), strict=True)),
            "voted": voted,
            "missing": {name: said.absent.get(name, LACKS) for name in self.voters if name not in voted},
        } | by_shares


def plain_label(label: Any) -> Any:
    """Return a class as JSON has it: a number, a truth value or text.

    >>> plain_label(3), plain_label("benign")
    (3, 'benign')
    """
    return label if isinstance(label, str | int | float | bool) else str(label)
