"""The picture of ``docs/evidence/accuracy.md``: accuracy against bytes."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from bench.accuracy.results import BY_NAME, Results
from bench.accuracy.ways import GAL

SHOWN = {"combined": ("#cc3311", "o"), "soft": ("#4477aa", "s"), GAL: ("#777777", "^")}
ACROSS = 6


def draw(found: Results, path: Path) -> bool:
    """Draw every pair of more than two classes that GAL was measured on; return whether there is any."""
    pairs = [
        pair
        for pair in found.pairs
        if BY_NAME[pair[0]].shape.classes > 2 and all((*pair, way) in found.sent for way in ("combined", GAL))
    ]
    if not pairs:
        return False
    across = min(ACROSS, len(pairs))
    down = -(-len(pairs) // across)
    size = 2.4 * across, 2.0 * down + 0.9
    figure, axes = plt.subplots(down, across, figsize=size, squeeze=False, layout="constrained", sharex=True)
    for axis in axes.ravel()[len(pairs) :]:
        axis.set_visible(False)
    for axis, pair in zip(axes.ravel(), pairs, strict=False):
        _panel(found, pair, axis)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), fontsize=9, frameon=False)
    figure.supxlabel("bytes per training sample, sent and received by the end of each round", fontsize=9)
    figure.supylabel("test accuracy", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True


def _panel(found: Results, pair: tuple[str, str], axis: Axes) -> None:
    n_samples = BY_NAME[pair[0]].shape.training
    measured = [way for way in SHOWN if (*pair, way) in found.sent]
    replications = found.paired(*pair, *measured)
    for way in measured:
        colour, marker = SHOWN[way]
        accuracy = found.mean_curve((*pair, way), replications).mean(axis=0)
        sent = found.mean_sent((*pair, way), replications).mean(axis=0) / n_samples
        axis.plot(sent, accuracy, color=colour, marker=marker, markersize=3, lw=1.2, label=way)
    axis.set_xscale("log")
    axis.set_title(f"{pair[0]}, {pair[1]}", fontsize=8)
    axis.tick_params(labelsize=7, labelbottom=True)
