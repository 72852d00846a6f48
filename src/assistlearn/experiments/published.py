"""The published curves, read off the paper's plots by eye, to about 0.01."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TypeAlias

Curve: TypeAlias = MappingProxyType[int, float]
FILE = "published_curves.csv"


def published(figure: str) -> dict[str, Curve]:
    """Return a figure's published curves: for each, the accuracy after some of the rounds.

    Rounds count from 1 here; the paper's plots, and the file beside this one, call the first round 0.

    Parameters
    ----------
    figure : str
        Its number in the paper, such as "3c". Figures without curves give an empty mapping.

    Examples
    --------
    >>> published("3c")["ASCII"][1], max(published("3c")["ASCII"])
    (0.797, 10)
    >>> published("1")
    {}
    """
    return dict(_all().get(figure, {}))


@cache
def _all() -> dict[str, dict[str, Curve]]:
    found: dict[str, dict[str, dict[int, float]]] = {}
    with files(__package__).joinpath(FILE).open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            curve = found.setdefault(row["figure"], {}).setdefault(row["method"], {})
            curve[int(row["round"]) + 1] = float(row["accuracy"])
    return {
        figure: {method: MappingProxyType(curve) for method, curve in curves.items()}
        for figure, curves in found.items()
    }
