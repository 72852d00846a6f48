"""Choose settings that the paper does not state: those whose Single and Oracle come closest to the published curves.

The methods that the paper proposes are not run here, so that nothing can be tuned in their favour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from assistlearn.errors import SettingsError
from paper.figures import Blobs, Candidate, FigureSettings, Method, draw, published, settled
from paper.replication import fitted, staged_accuracy

SHOWN: tuple[Method, ...] = ("Single", "Oracle")


@dataclass(frozen=True)
class Trial:
    """How close a candidate comes to the published curves.

    ``away`` has the mean absolute difference from the published curve, over its rounds; ``guides`` says which count.
    """

    candidate: Candidate
    away: dict[str, float]
    guides: tuple[str, ...]

    @property
    def distance(self) -> float:
        """The sum of the differences that count; the smallest is chosen."""
        return sum(self.away[guide] for guide in self.guides)


def trials(settings: FigureSettings, folder: str | None = None) -> Iterator[Trial]:
    """Yield every candidate of a figure's settings with its distance."""
    if settings.calibration is None:
        raise SettingsError(f"{settings.name} has no candidates to choose from: {' '.join(settings.choice.split())}")
    for candidate in settings.calibration.candidates:
        yield Trial(candidate, _away(tried(settings, candidate), folder), settings.calibration.guides)


def tried(settings: FigureSettings, candidate: Candidate) -> FigureSettings:
    """Return the settings with a candidate's values, and the calibration's own number of samples and replications."""
    assert settings.calibration is not None
    learner = msgspec.structs.replace(settings.learner, parameters=settings.learner.parameters | candidate.parameters)
    data = settings.data
    if isinstance(data, Blobs):
        spread = data.spread if candidate.spread is None else candidate.spread
        data = msgspec.structs.replace(data, spread=spread, n_test=settings.calibration.n_test)
    replications = settings.calibration.replications
    return msgspec.structs.replace(settings, learner=learner, data=data, replications=replications)


def _away(settings: FigureSettings, folder: str | None) -> dict[str, float]:
    curves: dict[str, list[list[float]]] = {method: [] for method in SHOWN}
    data = settled(settings.data, folder)
    for seed in range(settings.seed, settings.seed + settings.replications):
        train, test = draw(data, seed, folder)
        for method in SHOWN:
            model = fitted(settings, method, train, seed)
            curves[method].append(staged_accuracy(model, test, settings.rounds))
    return {method: _difference(np.mean(found, axis=0), settings.figure, method) for method, found in curves.items()}


def _difference(mean: np.ndarray[tuple[int, ...], np.dtype[np.float64]], figure: str, method: str) -> float:
    curve = published(figure)[method]
    return float(np.mean([abs(mean[round - 1] - accuracy) for round, accuracy in curve.items()]))
