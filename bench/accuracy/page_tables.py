"""The tables of ``docs/evidence/accuracy.md`` and of ``README.md`` beside this file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assistlearn.core.people import mean_and_error
from bench.accuracy.results import BY_NAME, SOFT_BEFORE, Kept, Results
from bench.accuracy.to_reach import prices
from bench.accuracy.ways import GAL

COMPARED = (
    ("combined", "ascii"),
    ("combined", SOFT_BEFORE),
    ("combined", "soft"),
    ("combined", "single"),
    ("combined", "alone, combined"),
    ("combined", GAL),
    ("combined", "oracle"),
    (SOFT_BEFORE, "ascii"),
    ("soft", SOFT_BEFORE),
)
"""Whose differences are averaged over pairs of problem and learner."""
HARD = ("ascii", "simple", "random")
ORDERS = ("ascii", "ascii, strongest", "ascii, greedy")
OVERLAP = ("ascii, partial: abstain", "ascii, partial: intersection")


def methods(found: Results) -> str:
    """Return every way on every problem."""
    head = ["problem", "learner", "single", "alone, combined", "ascii", SOFT_BEFORE, "soft", "combined, 1 round"]
    head += ["combined", "rounds kept", GAL, "oracle", "pooled boosting"]
    rows = []
    for pair in found.pairs:
        row = [*pair, *(found.shown(*pair, way) for way in ("single", "alone, combined", "ascii", SOFT_BEFORE, "soft"))]
        row += [found.shown(*pair, "combined", 1), found.shown(*pair, "combined"), _rounds(found, pair)]
        row += [found.shown(*pair, GAL), found.shown(*pair, "oracle")]
        rows.append([*row, found.shown(pair[0].partition(" x ")[0], "-", "pooled boosting")])
    return table(head, rows)


def averages(found: Results) -> str:
    """Return the mean differences over all pairs, and with tables kept apart or not."""
    rows = []
    for one, other in COMPARED:
        pairs = [pair for pair in found.pairs if found.paired(*pair, one, other)]
        apart = {pair for pair in pairs if BY_NAME[pair[0]].kept_apart}
        parts = pairs, [pair for pair in pairs if pair not in apart], sorted(apart)
        if pairs:
            rows.append([f"{one} minus {other}", *(_average(found, part, one, other) for part in parts)])
    return table(["difference", "all pairs", "tables used in choices", "tables kept apart"], rows)


def _average(found: Results, pairs: Sequence[tuple[str, str]], one: str, other: str) -> str:
    if not pairs:
        return ""
    gaps = [found.gap(*pair, one, other) for pair in pairs]
    mean, error = mean_and_error(np.array([gap for gap, _ in gaps]))
    several = [gap for gap, pair in zip(gaps, pairs, strict=True) if len(found.paired(*pair, one, other)) > 1]
    worse, better = (sum(sign * gap > 2 * own + 1e-9 for gap, own in several) for sign in (-1, 1))
    return f"{mean:+.3f} ± {error:.3f} ({len(pairs)}: {better} better, {worse} worse)"


def sent(found: Results) -> str:
    """Return bytes to the same accuracy, and of whole runs."""
    head = ["problem", "learner", "accuracy to reach", "combined, bytes", "GAL, bytes", "GAL / combined"]
    rows = [
        [
            *(price.problem, price.learner, f"{price.level:.3f}", f"{price.ours:,.0f}", f"{price.peers:,.0f}"),
            *(f"{price.peers / price.ours:.1f}", f"{price.peers_whole / price.whole:.1f}"),
        ]
        for price in prices(found)
    ]
    return table([*head, "of whole runs"], rows)


def absent(found: Results) -> str:
    """Return what remains where helpers are missing at prediction."""
    ways = ["single", "alone, combined"]
    ways += [f"{way}{part}" for part in ("", ": 30 % missing", ": last helper gone") for way in ("soft", "combined")]
    rows = [
        [*pair, *(found.shown(*pair, way) for way in ways)]
        for pair in found.pairs
        if found.has(*pair, "combined: 30 % missing")
    ]
    return table(["problem", "learner", *(way.replace(":", ",") for way in ways)], rows)


def before(kept: Kept, ways: Sequence[str]) -> str:
    """Return some ways of the results from before, after the last round."""
    return table(["problem", "learner", *ways], kept.table_rows(ways))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in markdown, or that there is nothing in it."""
    if not rows:
        return "Not measured yet."
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _rounds(found: Results, pair: tuple[str, str]) -> str:
    runs = found.curves.get((*pair, "combined"), {})
    return f"{np.mean([len(curve) for curve in runs.values()]):.1f}" if runs else ""
