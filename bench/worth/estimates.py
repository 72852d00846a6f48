"""How far an estimate of the gain is off after a pilot has stopped by itself: ``python -m bench.worth.estimates``.

Sequences of differences with a known gain are opened block by block, until the pilot has its answer. Then several
estimates are compared with the truth: over all sequences, and over those that stopped soonest. The estimate was chosen
on other seeds. ``estimates.csv`` has a row for each case and estimate; ``--quick`` prints a few sequences.
"""

from __future__ import annotations

import argparse
import csv
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from assistlearn.evaluation.pilots import BETS, ConfidenceSequence, Gain, Weighing
from assistlearn.evaluation.words import SampleLoss, Terms, greatest

RESULTS = Path(__file__).parent / "estimates.csv"
FIRST, REPLICATIONS, QUICK = 50_000, 1_000, 20
LONGEST = 2_000
N_ORDERS = 50
"""Orders of the opened samples, for the estimate that is right on average over all sequences."""
SOONEST = 0.25
"""The share of the answered sequences that stopped soonest."""
FIELDS = ("what", "estimate", "sequences", "bias", "bias_soonest", "error")

Differences = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """Where differences come from: how often help puts a sample right and wrong; or for the log loss, their spread."""

    gain: float
    better: float = 0.0
    spread: float = 0.0

    @property
    def loss(self) -> SampleLoss:
        """The loss whose differences these are."""
        return "log" if self.spread else "zero-one"

    def drawn(self, seed: int) -> Differences:
        """Return a sequence of differences."""
        rng = np.random.default_rng(seed)
        if self.spread:
            return self.gain + self.spread * rng.uniform(-(3**0.5), 3**0.5, LONGEST)
        worse = self.better - self.gain
        return rng.choice([1.0, 0.0, -1.0], p=[self.better, 1.0 - self.better - worse, worse], size=LONGEST)


CASES = {
    "5 % right, 5 % wrong": Case(0.0, 0.05),
    "6 % and 4 %": Case(0.02, 0.06),
    "7.5 % and 2.5 %": Case(0.05, 0.075),
    "25 % and 15 %": Case(0.1, 0.25),
    "25 % and 5 %": Case(0.2, 0.25),
    "35 % and 5 %": Case(0.3, 0.35),
    "log loss, .1 with spread .5": Case(0.1, spread=0.5),
}


def estimates(case: Case, seed: int) -> tuple[int, bool, dict[str, float]]:
    """Open a sequence until there is an answer. Return after how many samples, whether, and each estimate."""
    differences, most = case.drawn(seed), greatest(case.loss)
    weighing = Weighing(Terms(loss=case.loss), ["helper"])
    while weighing.n_opened < LONGEST and not weighing.answered:
        block = differences[weighing.n_opened :][: weighing.terms.block]
        weighing.hear(np.array([np.maximum(block, 0.0), np.maximum(-block, 0.0)]))
    [gain] = weighing.gains()
    opened = differences[: weighing.n_opened]
    made = {
        "mean": float(opened.mean()),
        "middle of the limits": (gain.lower + gain.upper) / 2.0,
        "p-value of one half": _half(opened, gain, most),
        "first block, reordered": _unbiased(opened, weighing.terms, most, np.random.default_rng([seed, 1])),
        "a pilot's": gain.estimate,
    }
    return weighing.n_opened, gain.answer != "undecided", made


def _half(opened: Differences, gain: Gain, most: float) -> float:
    """Return the gain at which half a capital would be left in doubt; between both sides where there is no answer."""
    lower, upper = ConfidenceSequence(1.0 - 1e-9, -most, most).hear(opened)
    return {"yes": lower, "no": upper, "undecided": (lower + upper) / 2.0}[gain.answer]


def _unbiased(opened: Differences, terms: Terms, most: float, rng: np.random.Generator) -> float:
    """Return the mean of the first block, over orders of the samples in which the pilot would stop no sooner.

    All such orders are equally likely, and the first block is always opened: this is right on average (Rao-Blackwell).
    """
    threshold, asked = np.log(2.0 / terms.alpha), (terms.at_least + most) / (2.0 * most)
    scaled = (opened + most) / (2.0 * most)
    sides = ((scaled, asked), (1.0 - scaled, 1.0 - asked))
    grown = np.stack([np.log(1.0 - BETS[:, None] + np.outer(BETS, side / at)) for side, at in sides])
    starts = np.arange(0, len(opened), terms.block)
    firsts = []
    for order in (rng.permutation(len(opened)) for _ in range(N_ORDERS)):
        capital = np.add.reduceat(grown[:, :, order], starts, axis=2).cumsum(axis=2)[:, :, :-1]
        if not (logsumexp(capital, axis=1) - np.log(len(BETS)) >= threshold).any():
            firsts.append(opened[order[: terms.block]].mean())
    return float(np.mean(firsts)) if firsts else float(opened.mean())


def summary(what: str, found: list[tuple[int, bool, dict[str, float]]]) -> list[dict[str, object]]:
    """Return for each estimate how far off it is on average, where the pilot stopped soonest, and its error."""
    n, answered = np.array([each[0] for each in found]), np.array([each[1] for each in found])
    soonest = answered & (n <= np.quantile(n[answered], SOONEST)) if answered.any() else answered
    rows: list[dict[str, object]] = []
    for name in found[0][2]:
        off = np.array([each[2][name] for each in found]) - CASES[what].gain
        biases = (off.mean(), off[soonest].mean() if soonest.any() else np.nan, np.sqrt(np.mean(off**2)))
        rows.append(dict(zip(FIELDS, (what, name, len(found), *(f"{bias:.4f}" for bias in biases)), strict=True)))
    return rows


def read() -> list[dict[str, str]]:
    """Return the rows that were measured."""
    with RESULTS.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure all cases, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} seeds from 0 on, printed and not written")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    seeds = range(QUICK) if chosen.quick else range(FIRST, FIRST + REPLICATIONS)
    rows: list[dict[str, object]] = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for what, case in CASES.items():
            rows += summary(what, list(pool.map(partial(estimates, case), seeds, chunksize=10)))
            for row in rows[-5:]:
                print("".join(f"{row[name]!s:>28}" for name in FIELDS), flush=True)
    if not chosen.quick:
        with RESULTS.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
