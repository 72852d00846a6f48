"""Going on from an earlier run against starting anew, on real data: ``python -m bench.onward``.

Three agents have a third of the columns each, dealt by chance. A third of the people is for testing: their labels are
in no table. One of three things happens to the others:

- *twice the rows*: half of them are there at first, then the other half comes (three agents all along);
- *a tenth more rows*: nine of ten are there at first, then the others come;
- *a new helper*: all of them are there, with two agents; then the third comes.

Each time four results are compared on the test people: the earlier run as it was (*old*), runs that go on from it
without a fresh round (*kept only*) and with (*from*), and one that starts anew (*anew*). Seconds are those of the
processor, of all agents together, in memory. Bytes are those that went to helpers and came from them in turns, and in
all, with what it takes to match ids and to tell the task. Settings are the defaults of ``simulate``, learners
trees of depth four. Nothing was chosen by the seeds that are reported (0 and up).
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from sklearn.metrics import log_loss

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.service import AgentService
from assistlearn.core.people import mean_and_error
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.prediction import predict
from assistlearn.plan import DEFAULTS_OF_RUNS, Plan
from assistlearn.protocol import MemoryTransport
from assistlearn.reach.created_from import Onward, create_from
from assistlearn.reach.opening import follow, with_own_table
from assistlearn.reach.processes.reach_processes import create_run
from paper import datasets

AGENTS = ("clinic", "lab", "shop")
FILE = """name = "{name}"
table = "{name}.parquet"
id = "id"
secret = "secret.txt"
models = "{name}-models"
{label}
[learner]
kind = "sklearn.tree.DecisionTreeClassifier"
[learner.parameters]
max_depth = 4
[allow]
initiators = ["clinic"]
max_votes_a_day = "none"
"""
MEASURES = {
    "accuracy": ("accuracy", 1, 3, True),
    "log_loss": ("log loss", 1, 3, True),
    "seconds": ("seconds", 1, 1, False),
    "bytes_of_turns": ("kB of turns", 1_000, 1, False),
    "bytes": ("kB in all", 1_000, 1, False),
}
"""What is measured: its name, its unit, digits, and whether differences are told."""

WAYS = ("old", "kept only", "from", "anew")
OF_TURNS = ("take-turn", "take-again", "turn-taken", "recall", "recalled")


def drawn(data: datasets.DataSet, most: int, seed: int) -> datasets.DataSet:
    return data.take(np.random.default_rng([seed, 1]).permutation(len(data))[:most])


PROBLEMS: Mapping[str, Callable[[int], datasets.DataSet]] = {
    "biodegradation": lambda seed: drawn(datasets.qsar(), 2_000, seed),
    "vehicles": lambda seed: drawn(datasets.fate("vehicle_scale"), 2_000, seed),
    "credit default": lambda seed: drawn(datasets.fate("default_credit"), 3_000, seed),
}


@dataclass
class Tables:
    """The agents' tables and files in a folder, with the people that there are so far."""

    folder: Path
    data: datasets.DataSet
    seed: int

    def __post_init__(self) -> None:
        chance = np.random.default_rng([self.seed, 2])
        self.labels = np.unique(self.data.labels, return_inverse=True)[1]
        dealt = np.array_split(chance.permutation(self.data.features.shape[1]), len(AGENTS))
        self.columns = dict(zip(AGENTS, dealt, strict=True))
        people = chance.permutation(len(self.data))
        third = len(people) // 3
        self.test, self.training = people[:third], people[third:]

    def write(self, labelled: np.ndarray) -> None:
        """Write the tables: the labels of some people, and everybody else without any, if not still to come."""
        there = np.sort(np.concatenate([labelled, self.test]))
        known = set(labelled.tolist())
        (self.folder / "secret.txt").write_text("0123456789abcdef" * 4)
        for name, columns in self.columns.items():
            table: dict[str, Any] = {"id": [f"p-{person}" for person in there]}
            table |= {f"x{column}": self.data.features[there, column].astype(np.float64) for column in columns}
            if name == "clinic":
                table["label"] = [f"c{self.labels[person]:02d}" if person in known else None for person in there]
            pl.DataFrame(table).write_parquet(self.folder / f"{name}.parquet")
            label = 'label = "label"' if name == "clinic" else ""
            (self.folder / f"{name}.toml").write_text(FILE.format(name=name, label=label))

    def files(self, agents: Sequence[str]) -> list[Path]:
        """Return the files of agents."""
        return [self.folder / f"{name}.toml" for name in agents]


def trained(tables: Tables, run: RunFolder) -> dict[str, float]:
    """Train a run and return what it costs, and how good it is on the test people."""
    before = time.process_time()
    for _ in follow(with_own_table(run, in_memory(tables, run), training=True)[0]):
        pass
    seconds = time.process_time() - before
    result = run.result()
    assert result is not None
    counts = [each[way] for each in result["traffic"].values() for way in ("sent", "received")]
    n_bytes = sum(sum(each.values()) for each in counts)
    of_turns = sum(each.get(kind, 0) for each in counts for kind in OF_TURNS)
    return {"seconds": seconds, "bytes": n_bytes, "bytes_of_turns": of_turns} | judged(tables, run)


def judged(tables: Tables, run: RunFolder) -> dict[str, float]:
    opened, _ = with_own_table(run, in_memory(tables, run), training=False)
    place = {text: row for row, text in enumerate(opened.holdings.ids.texts.to_list())}
    rows = np.array([place[f"p-{person}"] for person in tables.test])
    said = predict(opened, opened.ids_at(rows), rows)
    names = [f"c{code:02d}" for code in range(tables.labels.max() + 1)]
    order = [names.index(name) for name in run.settings().classes]
    shares = np.full((len(rows), len(names)), 1e-15)
    shares[:, order] = said.probabilities
    truth = tables.labels[tables.test]
    right = np.asarray(order)[said.scores.argmax(axis=1)] == truth
    shares /= shares.sum(axis=1, keepdims=True)
    return {"accuracy": float(right.mean()), "log_loss": float(log_loss(truth, shares, labels=range(len(names))))}


def in_memory(tables: Tables, run: RunFolder) -> MemoryTransport:
    helpers = run.settings().helpers
    return MemoryTransport({name: AgentService(holdings_of(tables.folder / f"{name}.toml")).answer for name in helpers})


HAPPENS = ("a tenth more rows", "twice the rows", "a new helper")


def measure(problem: str, seed: int, happens: str) -> Iterator[dict[str, Any]]:
    """Yield what was measured when something happens, a row for each way."""
    with TemporaryDirectory() as name:
        tables = Tables(Path(name), PROBLEMS[problem](seed), seed)
        plan = Plan(**DEFAULTS_OF_RUNS, seed=seed)
        new = AGENTS[2:] if happens == "a new helper" else ()
        begun = {"a tenth more rows": 0.9, "twice the rows": 0.5}.get(happens, 1.0)

        def begin(run: str, agents: Sequence[str]) -> RunFolder:
            return create_run(tables.folder / "runs" / run, run, tables.files(agents), plan)

        tables.write(tables.training[: round(begun * len(tables.training))])
        earlier = begin("old", [agent for agent in AGENTS if agent not in new])
        made = {"old": trained(tables, earlier)}
        tables.write(tables.training)
        for way in WAYS[1:3]:
            run = way.replace(" ", "-")
            onward = Onward(tables.files(new), kept_only=way == "kept only")
            made[way] = trained(tables, create_from(tables.folder / "runs" / run, run, earlier, onward))
        made["anew"] = trained(tables, begin("anew", AGENTS))
    for way, figures in made.items():
        yield {"problem": problem, "happens": happens, "way": way, "seed": seed} | figures


def tables_of(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table for each measure: means over the seeds, with standard errors."""
    for measure, (title, unit, digits, signed) in MEASURES.items():
        differences = "".join(f" *{way}* less *anew* |" for way in WAYS[1:3]) if signed else ""
        yield f"\n| {title}: what happens | data | {' | '.join(WAYS)} |{differences}"
        yield "| --- " * (6 + 2 * signed) + "|"
        for happens, problem in product(HAPPENS, PROBLEMS):
            own = [row for row in rows if (row["happens"], row["problem"]) == (happens, problem)]
            if own:
                values = {way: np.array(_of(own, way, measure)) / unit for way in WAYS}
                cells = [_cell(values[way], digits) for way in WAYS]
                cells += [_cell(values[way] - values["anew"], digits, "+") for way in WAYS[1:3] if signed]
                yield f"| {happens} | {problem} | {' | '.join(cells)} |"


def _of(rows: Sequence[Mapping[str, Any]], way: str, key: str) -> list[float]:
    return [float(row[key]) for row in sorted(rows, key=lambda row: int(row["seed"])) if row["way"] == way]


def _error(values: np.ndarray) -> float:
    return mean_and_error(values)[1]


def _cell(values: np.ndarray, digits: int, sign: str = "") -> str:
    return f"{values.mean():{sign}.{digits}f} ± {_error(values):.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--out", type=Path, help="where each measurement goes, as CSV; those that are there are kept")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    if given.out is not None and given.out.exists():
        with given.out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    done = {(row["problem"], int(row["seed"]), row["happens"]) for row in rows}
    seeds = range(given.first, given.first + given.seeds)
    for each in product(seeds, given.problems, HAPPENS):
        seed, problem, happens = each
        if (problem, seed, happens) not in done:
            rows += measure(problem, seed, happens)
            print(f"{happens}, {problem}, seed {seed}: done", file=sys.stderr, flush=True)
        if given.out is not None:
            with given.out.open("w", newline="") as file:
                writer = csv.DictWriter(file, ["problem", "happens", "way", "seed", *MEASURES])
                writer.writeheader()
                writer.writerows(rows)
    print("\n".join(tables_of(rows)))


if __name__ == "__main__":
    main()
