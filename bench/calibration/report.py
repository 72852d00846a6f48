"""Print the means of what was measured: ``python -m bench.calibration.report [--seeds 100 110]``."""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import numpy as np

from bench.calibration.measure import METHODS, SETS, WAYS

TOLERANCE = 1.02
"""How much worse than scikit-learn's default the log loss may be."""

Means = dict[tuple[str, str, str], np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 110))
    parser.add_argument("--results", type=Path, default=Path(__file__).with_name("results.csv"))
    asked = parser.parse_args()
    means = means_of(asked.results, range(*asked.seeds))
    print(f"| method | data set | {' | '.join(f'{way}: log loss, ECE' for way in WAYS)} | ECE of chance |")
    print(f"| --- | --- | {' | '.join(['---'] * (len(WAYS) + 1))} |")
    for method in METHODS:
        for name in SETS:
            print(_row(means, method, name))
        print(_mean_row(means, method))
    for method in METHODS:
        print(verdict(means, method))


def means_of(path: Path, seeds: range) -> Means:
    """Return the mean log loss, ECE and ECE of chance over these seeds, by data set, method and way."""
    found = defaultdict(list)
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row["seed"]) in seeds:
                key = row["set"], row["method"], row["way"]
                found[key].append([float(row[name]) for name in ("log_loss", "ece", "ece_of_chance")])
    return {key: np.mean(rows, axis=0) for key, rows in found.items()}


def _row(means: Means, method: str, name: str) -> str:
    cells = [f"{means[name, method, way][0]:.4f}, {means[name, method, way][1]:.3f}" for way in WAYS]
    return f"| {method} | {name} | {' | '.join(cells)} | {means[name, method, 'calibrated'][2]:.3f} |"


def _mean_row(means: Means, method: str) -> str:
    over_sets = {way: np.mean([means[name, method, way] for name in SETS], axis=0) for way in WAYS}
    cells = [f"**{found[0]:.4f}, {found[1]:.3f}**" for found in over_sets.values()]
    return f"| {method} | mean of {len(SETS)} | {' | '.join(cells)} | {over_sets['calibrated'][2]:.3f} |"


def verdict(means: Means, method: str) -> str:
    """Return in a sentence whether what was to be reached was."""
    ours, theirs = ([means[name, method, way] for name in SETS] for way in ("calibrated", "sigmoid"))
    worse = [
        f"{name} ({mine[0] / other[0] - 1:+.1%})"
        for name, mine, other in zip(SETS, ours, theirs, strict=True)
        if mine[0] > TOLERANCE * other[0]
    ]
    error = float(np.mean([mine[1] for mine in ours]))
    beside = float(np.mean([mine[1] for mine in theirs]))
    return (
        f"{method}: ECE {error:.3f} in the mean of all sets (sigmoid: {beside:.3f}); log loss more than 2 % above "
        f"sigmoid on: {', '.join(worse) or 'none'}"
    )


if __name__ == "__main__":
    main()
