"""Draw the three panels of AssistanceDisplay, on axes that the caller chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from assistlearn.core.ignorance import Floats
from assistlearn.display import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = tuple(mantissa * 10**power for power in range(7) for mantissa in (1, 2, 5))  # between ticks
HARDEST = 0.1  # the share of the samples that the third panel marks


def draw_accuracies(ax: Axes, accuracies: Mapping[str, Floats]) -> None:
    """Draw the accuracy of each model against the rounds; dotted where its training had ended."""
    last = max(len(curve) for curve in accuracies.values())
    for name, curve in accuracies.items():
        stroke = palette.MODELS.get(name, palette.Stroke(palette.GREY))
        rounds = np.arange(1, len(curve) + 1)
        style: dict[str, Any] = {"color": stroke.colour, "lw": stroke.width}
        ax.plot(
            rounds,
            curve,
            ls=stroke.dash,
            marker=stroke.marker,
            ms=4,
            markevery=_every(len(curve)),
            label=f"{name}, {curve[-1]:.3f}",
            **style,
        )
        if len(curve) < last:
            ax.plot([len(curve), last], [curve[-1], curve[-1]], ls=":", **style)
    _plain(ax, "Accuracy on test samples")
    ax.set_ylabel("accuracy")
    _rounds(ax, last)
    ax.legend(fontsize="small")


def draw_model_weights(ax: Axes, model_weights: Mapping[str, Floats]) -> None:
    """Draw the agents' model weights against the rounds: a curve for each agent, or a colour map if there are many."""
    _plain(ax, "Model weight of each agent")
    last = max((len(weights) for weights in model_weights.values()), default=0)
    if last == 0:
        ax.text(0.5, 0.5, "no model was kept", transform=ax.transAxes, ha="center", color=palette.GREY)
    elif len(model_weights) > len(palette.AGENTS):
        _draw_weight_map(ax, model_weights)
    else:
        _draw_weight_curves(ax, model_weights)
    _rounds(ax, last)


def draw_ignorance(ax: Axes, ignorance: Floats) -> None:
    """Draw how much of the ignorance the hardest samples hold, against an even spread.

    Samples without any ignorance (held out, or of no weight) do not count.
    """
    from matplotlib.ticker import PercentFormatter

    samples, held = concentration(ignorance)
    ax.plot([0, 1], [0, 1], ls="--", color=palette.GREY, lw=1.4, label="an even spread")
    ax.plot(samples, held, color=palette.BLUE, lw=2.4, label="after the last round")
    ax.fill_between(samples, samples, held, color=palette.BLUE, alpha=0.12, lw=0)
    share = float(np.interp(HARDEST, samples, held))
    ax.plot([HARDEST], [share], "o", color=palette.BLUE, ms=7, label=f"hardest {HARDEST:.0%} hold {share:.0%}")
    _plain(ax, "Where help is still needed")
    ax.set_xlabel("training samples, hardest first")
    ax.set_ylabel("share of the ignorance")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.02)
    ax.legend(loc="lower right", fontsize="small")


def concentration(ignorance: Floats) -> tuple[Floats, Floats]:
    """Return the share of the samples, hardest first, and the share of the ignorance that they hold.

    >>> samples, held = concentration(np.array([0.2, 0.7, 0.1, 0.0]))
    >>> samples.round(2), held.round(2)
    (array([0.  , 0.33, 0.67, 1.  ]), array([0. , 0.7, 0.9, 1. ]))
    """
    hardest_first = np.sort(ignorance[ignorance > 0.0])[::-1]
    held = np.concatenate([[0.0], np.cumsum(hardest_first)])
    return np.linspace(0.0, 1.0, len(held)), held / held[-1]


def _draw_weight_curves(ax: Axes, model_weights: Mapping[str, Floats]) -> None:
    out: list[int] = []
    for (name, weights), stroke in zip(model_weights.items(), palette.AGENTS, strict=False):
        rounds = np.arange(1, len(weights) + 1)
        missing = np.isnan(weights)
        out.extend(rounds[missing])
        every = 1 if missing.any() else _every(len(weights))  # a round between two gaps has nothing but its marker
        ax.plot(
            rounds,
            weights,
            color=stroke.colour,
            ls=stroke.dash,
            lw=stroke.width,
            marker=stroke.marker,
            ms=5,
            markevery=every,
            label=name,
        )
    if out:
        ax.plot(out, np.zeros(len(out)), "x", color=palette.GREY, ms=6, clip_on=False, label="sat out")
    ax.set_ylabel("model weight")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize="small")


def _draw_weight_map(ax: Axes, model_weights: Mapping[str, Floats]) -> None:
    """Draw one row per agent; blank where it sat out."""
    table = np.ma.masked_invalid(np.stack(list(model_weights.values())))
    mesh = ax.pcolormesh(
        np.arange(1, table.shape[1] + 1), np.arange(len(table)), table, cmap="cividis", vmin=0.0, shading="nearest"
    )
    ax.figure.colorbar(mesh, ax=ax, label="model weight (blank: sat out)")
    every = -(-len(table) // 20)  # at most twenty names are legible
    ax.set_yticks(np.arange(len(table))[::every], list(model_weights)[::every], fontsize="x-small")
    ax.invert_yaxis()


def _rounds(ax: Axes, last: int) -> None:
    last = max(last, 1)
    step = next(step for step in _STEPS if last <= 8 * step)
    ax.set_xlabel("round")
    ax.set_xlim(1 - 0.03 * last, last * 1.03)
    ax.set_xticks([1, *range(max(step, 2), last + 1, step)])


def _plain(ax: Axes, title: str) -> None:
    ax.set_title(title, loc="left", fontsize="medium", fontweight="bold")
    ax.grid(visible=True, color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _every(n_points: int) -> int:
    """Return the step between markers, so that long curves stay legible."""
    return max(1, n_points // 20)
