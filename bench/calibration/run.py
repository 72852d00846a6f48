"""Measure calibration: ``python -m bench.calibration.run --seeds 100 110 --method ascii --out results.csv``.

Rows are appended, one for each data set, method, seed and way; what is there already is not measured again. Choices
were made on the seeds 0 to 9; 100 to 109 are for reporting.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from bench.calibration.measure import METHODS, SETS, WAYS, figures, least_error, scores_of

HEAD = ("set", "method", "seed", "way", "log_loss", "ece", "ece_of_chance")


def main() -> None:
    asked = _arguments()
    done = _done(asked.out)
    with asked.out.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        if not done:
            rows.writerow(HEAD)
        for method in asked.method:
            for name in asked.set:
                for seed in range(*asked.seeds):
                    if (name, method, str(seed)) not in done:
                        rows.writerows(_measured(name, method, seed))
                        file.flush()
                print(method, name, flush=True)


def _measured(name: str, method: str, seed: int) -> list[tuple[str, str, int, str, str, str, str]]:
    scores = scores_of(name, method, seed)
    found = []
    for way, make in WAYS.items():
        said = make(scores)
        loss, error = figures(said, scores.test_codes)
        found.append((name, method, seed, way, f"{loss:.6f}", f"{error:.6f}", f"{least_error(said, seed):.6f}"))
    return found


def _done(path: Path) -> set[tuple[str, str, str]]:
    if not path.exists():
        return set()
    with path.open(encoding="utf-8") as file:
        return {(row["set"], row["method"], row["seed"]) for row in csv.DictReader(file)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs=2, default=(100, 110))
    parser.add_argument("--method", nargs="*", default=list(METHODS))
    parser.add_argument("--set", nargs="*", default=list(SETS))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.csv"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
