"""Attack helpers of many kinds, and print how close the attacks come, against an ordinary run."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from assistlearn.errors import RefusedError
from assistlearn.types import Floats
from bench.reconstruction.attacks import ATTACKS, Attack, ordinary
from bench.reconstruction.estimates import closeness, guesses
from bench.reconstruction.hostile import helper
from bench.reconstruction.scenes import LEARNERS, SCENES, Scene

MARGIN = 0.15
ROUNDS = 20
"""The default number of rounds, after which an ordinary run is looked at."""


@dataclass(frozen=True)
class Outcome:
    """How close an attack comes to each private column after so many turns, and why it was refused if it was."""

    close: dict[int, Floats]
    n_turns: int
    n_said: dict[int, int]
    refusal: str = ""


def outcome(attack: Attack, scene: Scene, learner: Any, turns: int, seed: int, **own: Any) -> Outcome:
    """Attack a helper for so many turns, then ask for its votes, and guess at its columns."""
    with tempfile.TemporaryDirectory() as folder:
        refusal, votes = "", []
        steps = attack(helper(Path(folder), scene.columns, learner, **own), scene, np.random.default_rng(seed))
        run = next(steps)
        try:
            while len(run.answers) < turns:
                next(steps)
        except RefusedError as error:
            refusal = str(error)
        if run.answers:
            votes = list(run.predict().T)
    close = {}
    for until in sorted({min(ROUNDS, turns), turns}):
        made = guesses(run.said(until), run.n_classes, run.labels)
        close[until] = closeness(scene.columns, [*made, *votes] if until == turns else made)
    return Outcome(close, len(run.answers), {until: len(run.said(until)) for until in close}, refusal)


def measure(
    name: str, learner: str, turns: int, seeds: int, attacks: dict[str, Attack], first_seed: int = 0, **own: Any
) -> list[dict]:
    """Return a row for each attack on helpers of one kind."""
    closest: dict[str, list[Outcome]] = {each: [] for each in ("ordinary", *attacks)}
    for seed in range(first_seed, first_seed + seeds):
        scene = SCENES[name](np.random.default_rng(seed))
        for each, attack in {"ordinary": ordinary, **attacks}.items():
            closest[each].append(outcome(attack, scene, LEARNERS[learner], turns, seed, **own))
    rows = []
    for each in attacks:
        for until in sorted({min(ROUNDS, turns), turns}):
            rows.append({"table": name, "learner": learner, "attack": each, "turns": until})
            rows[-1] |= _compared(closest["ordinary"], closest[each], until, turns)
    return rows


def _compared(ordinary: list[Outcome], attacked: list[Outcome], until: int, turns: int) -> dict[str, Any]:
    """Return the best column of an ordinary run and of the attack, and by how much more is known."""
    first = min(ROUNDS, turns)
    pairs = [(one.close[first], found.close[until]) for one, found in zip(ordinary, attacked, strict=True)]
    more = [float(found.max() - one.max()) for one, found in pairs]
    columns = np.array([found - one for one, found in pairs])
    worst = columns[:, columns.mean(axis=0).argmax()]
    refusals = [found.refusal for found in attacked if found.refusal]
    return {
        "ordinary run": float(np.mean([one.max() for one, _ in pairs])),
        "attacked": float(np.mean([found.max() for _, found in pairs])),
        "more": float(np.mean(more)),
        "error": float(np.std(more) / np.sqrt(len(more))),
        "worst column": float(worst.mean()),
        "its error": float(np.std(worst) / np.sqrt(len(worst))),
        "mean column": float(columns.mean()),
        "any column": float(np.mean([(found - one).max() for one, found in pairs])),
        "as many rounds": float(
            np.mean([(a.close[until] - o.close[until]).max() for o, a in zip(ordinary, attacked, strict=True)])
        ),
        "turns taken": float(np.mean([min(found.n_turns, until) for found in attacked])),
        "models told": float(np.mean([found.n_said[until] for found in attacked])),
        "refused": f"{len(refusals)} of {len(attacked)}",
    }


def main() -> int:
    """Measure, and say whether any attack goes beyond the margin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--tables", nargs="+", choices=SCENES, default=list(SCENES))
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--min-effective", type=float, help="the helper's floor, if not the default")
    parser.add_argument("--proof", action="store_true", help="the helper asks for proof, and runs are out-of-fold")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    own: dict[str, Any] = {"proof": given.proof}
    if given.min_effective is not None:
        own["min_effective"] = given.min_effective
    rows = []
    for name in given.tables:
        for learner in given.learners:
            chosen = {each: ATTACKS[each] for each in given.attacks}
            rows += measure(name, learner, given.turns, given.seeds, chosen, given.first_seed, **own)
            if given.json:
                for row in rows[-2 * len(chosen) :]:
                    print(json.dumps(row), flush=True)
    if not given.json:
        _show(rows)
    return 0 if all(row["more"] <= MARGIN for row in rows) else 1


def _show(rows: list[dict[str, Any]]) -> None:
    table = Table(title="Rank correlation with the private column that comes closest")
    names = list(max(rows, key=len))
    for name in names:
        table.add_column(name)
    for row in rows:
        cells = (row.get(name) for name in names)
        table.add_row(*(f"{cell:.2f}" if isinstance(cell, float) else str(cell or "") for cell in cells))
    Console(width=160).print(table)


if __name__ == "__main__":
    sys.exit(main())
