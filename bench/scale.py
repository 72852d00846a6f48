"""Fast at scale: histogram trees side by side with what a user would run otherwise.

    python -m bench.scale [rounds] [pooled] [growth] [overhead] [predicting] [--quick] [--out out/bench]

rounds      rounds per second against AdaBoostClassifier with trees of the same depth
pooled      time and AUC against XGBoost and HistGradientBoostingClassifier on pooled columns
growth      how time grows with samples, agents and rounds; the memory of a large run
overhead    what a run costs beyond its learners
predicting  the votes of many trees, together and one by one

All parts by default. Every program runs on one thread, and times are the processor's. Where ASSISTLEARN_DATA names a
data folder, its default_credit is among the tables. Prints every figure with what was to be reached, and writes
scale.csv and scale.png. ``--quick`` is a small form that checks that everything runs; its figures mean nothing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable
from dataclasses import astuple, fields, replace
from pathlib import Path

from bench import hist_growth, hist_overhead, hist_pooled, hist_predicting, hist_rounds
from bench.hist_result import Figure

PARTS = {
    "rounds": hist_rounds,
    "pooled": hist_pooled,
    "growth": hist_growth,
    "overhead": hist_overhead,
    "predicting": hist_predicting,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all by default")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    figures = []
    for part in args.parts or PARTS:
        case = ""
        for measured in PARTS[part].measure(args.quick):
            figure = replace(measured, to_reach="", reached=None) if args.quick else measured
            if figure.case != case:
                case = figure.case
                print(f"\n{figure.part}: {case}")
            print(_line(figure), flush=True)
            figures.append(figure)
            _write(figures, args.out / "scale.csv")
    if not args.parts:
        from bench.hist_picture import draw

        draw(figures, args.out / "scale.png")


def _line(figure: Figure) -> str:
    verdict = (
        "" if figure.reached is None else f"  ({'reached' if figure.reached else 'NOT reached'}: {figure.to_reach})"
    )
    return f"  {figure.quantity:<62} {figure.value:>12.4g}{verdict}"


def _write(figures: Iterable[Figure], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(field.name for field in fields(Figure))
        writer.writerows(map(astuple, figures))


if __name__ == "__main__":
    main()
