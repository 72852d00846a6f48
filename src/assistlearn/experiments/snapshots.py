"""Figure 1: which test samples are classified right after some of the rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assistlearn.display import palette
from assistlearn.experiments.drawn_samples import draw
from assistlearn.experiments.figures import FigureSettings
from assistlearn.experiments.replication import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_SHOWN = 1_000


@dataclass(frozen=True)
class SamplesAfterRound:
    """The test samples after one round.

    Attributes
    ----------
    round : int
        After which round.
    places : ndarray of shape (n_samples, 2)
        The samples' two features, one from each agent.
    right : ndarray of bool of shape (n_samples,)
        Which of them are classified right.
    """

    round: int
    places: NDArray[np.float64]
    right: NDArray[np.bool_]


def take_snapshots(settings: FigureSettings, data: str | None = None) -> list[SamplesAfterRound]:
    """Return the first test samples of the first replication after the rounds that the settings name.

    If training ended before a round, its snapshot shows the result of the last round. If nothing was learned, all show
    the most frequent class.
    """
    train, test = draw(settings.data, settings.seed, data)
    some = test.take(slice(None, N_SHOWN))
    model = fitted(settings, "ASCII", train, settings.seed)
    stages = list(model.staged_predict(some.features)) or [model.predict(some.features)]
    right = [labels == some.labels for labels in stages]
    rounds = [min(round, settings.rounds) for round in settings.picture.shown_rounds]
    return [SamplesAfterRound(round, some.features, right[min(round, len(right)) - 1]) for round in rounds]


def draw_snapshots(axes: Sequence[Axes], snapshots: Sequence[SamplesAfterRound]) -> None:
    """Draw the samples, blue dots where they are classified right, and red crosses where not."""
    for ax, shot in zip(axes, snapshots, strict=True):
        for mark, colour, which in ((".", palette.BLUE, shot.right), ("x", palette.VERMILION, ~shot.right)):
            x, y = shot.places[which].T
            ax.scatter(x, y, s=10 if mark == "." else 12, c=colour, marker=mark, lw=0.8)
        ax.set_title(f"Round {shot.round}: {shot.right.mean():.0%} right", fontsize="medium", loc="left")
        ax.set_xlabel("agent A's feature")
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel("agent B's feature")
