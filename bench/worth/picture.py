"""Draw false alarms against opened samples, where there is nothing to gain: ``python -m bench.worth.picture``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from assistlearn.report import pictures as palette
from bench.worth.run import NEVER, read
from bench.worth.sequences import LONGEST

OUT = Path(__file__).parents[2] / "docs" / "_static" / "worth_alarms.png"
BLOCK = 50


def main() -> None:
    """Write the picture."""
    rows = [row for row in read() if row["what"] == "no gain"]
    looks = np.arange(BLOCK, LONGEST + 1, BLOCK)
    wrong = {
        "McNemar's test after every block (normal)": [int(row["normal"]) for row in rows if row["normal"] != NEVER],
        "McNemar's test after every block (exact)": [int(row["exact"]) for row in rows if row["exact"] != NEVER],
        "assistlearn worth": [int(row["n_opened"]) for row in rows if row["answer"] != "undecided"],
    }
    strokes = (palette.MODELS["single"], palette.Stroke(palette.ORANGE, ":"), palette.MODELS["assisted"])
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    ax = figure.subplots()
    for (name, alarms), stroke in zip(wrong.items(), strokes, strict=True):
        share = [100 * np.count_nonzero(np.array(alarms) <= n) / len(rows) for n in looks]
        ax.plot(looks, share, color=stroke.colour, ls=stroke.dash, lw=stroke.width, label=f"{name}: {share[-1]:.1f} %")
    ax.axhline(5.0, color=palette.GREY, lw=1.0, ls="--", label="the 5 % that were promised")
    ax.set_xlabel("opened samples")
    ax.set_ylabel("wrong answers so far, in %")
    ax.set_title("There is nothing to gain, and one looks every 50 samples", loc="left", fontsize="medium")
    ax.set_ylim(bottom=0)
    ax.grid(visible=True, color="0.92", lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize="small", frameon=False)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
