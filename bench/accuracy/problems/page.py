"""The list of the problems, for the page about accuracy."""

from __future__ import annotations

from collections import Counter

from bench.accuracy.problems.apart import APART
from bench.accuracy.problems.problem import Problem
from bench.accuracy.problems.used import USED

HEAD = (
    "problem",
    "training + test samples",
    "classes",
    "agents",
    "columns per agent",
    "played a part in (seeds)",
    "interact",
)
INTERACTS = {True: "yes", False: "no", None: "not known"}


def described() -> str:
    """Return a table in markdown: what every problem is, which choices looked at it, and whether agents interact."""
    rows = [HEAD, ("---",) * len(HEAD), *(_row(problem) for problem in (*USED, *APART))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(problem: Problem) -> tuple[str, ...]:
    shape = problem.shape
    return (
        problem.name,
        f"{shape.training:,} + {shape.test:,}",
        str(shape.classes),
        str(len(shape.columns)),
        _shares(shape.columns),
        _part(problem),
        INTERACTS[problem.interacts],
    )


def _shares(columns: tuple[int, ...]) -> str:
    alike = Counter(columns)  # in the order of the agents: shares of equal size stand together
    return " + ".join(f"{n} x {width}" if n > 1 else str(width) for width, n in alike.items())


def _part(problem: Problem) -> str:
    if problem.kept_apart:
        return "nothing, kept apart"
    return "; ".join(problem.choices) or "no choice on record, but seen"
