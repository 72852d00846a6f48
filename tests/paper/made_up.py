"""Results with numbers that we choose, so that their verdicts are known."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from paper.figures import FigureSettings, read_settings
from paper.replication import FigureResult, Replication, collect
from paper.transmission import Cost

WIGGLE = np.array([-0.01, 0.0, 0.01, 0.005, -0.005])  # over five replications; sums to zero


def result(
    name: str,
    curves: Mapping[str, float | list[float]],
    noise: float = 0.1,
    cost: Cost | None = None,
    demo: bool = False,
) -> FigureResult:
    """Five replications of a figure around the given curves; ``noise`` scales what differs between methods."""
    settings = settings_of(name)
    if demo:
        settings = msgspec.structs.replace(settings, data=msgspec.structs.replace(settings.data, demo=True))
    made = []
    for number, shift in enumerate(WIGGLE):
        accuracy = {
            method: list(np.broadcast_to(curve, settings.rounds) + shift + noise * WIGGLE[(number + place) % 5])
            for place, (method, curve) in enumerate(curves.items())
        }
        made.append(replication(settings, number, accuracy, cost))
    return collect(settings, made)


def settings_of(name: str) -> FigureSettings:
    return msgspec.structs.replace(read_settings(name), replications=len(WIGGLE))


def replication(
    settings: FigureSettings, number: int, accuracy: dict[str, list[float]], cost: Cost | None = None
) -> Replication:
    return Replication(
        figure=settings.figure,
        settings=settings.digest(),
        number=number,
        accuracy=accuracy,
        rounds=dict.fromkeys(accuracy, settings.rounds),
        stopped=dict.fromkeys(accuracy, "all rounds done"),
        cpu_seconds=1.0,
        cost=cost,
    )
