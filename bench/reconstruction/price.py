"""What proof costs ordinary runs: ``python -m bench.reconstruction.price [--seeds 3]``.

Test accuracy of runs by messages, ten rounds: the initiator alone, and with helpers, out-of-fold, and out-of-fold
with helpers that ask for proof (``allow.proof``).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from assistlearn.agent.loading import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.prediction import predict
from assistlearn.initiator.run import OwnTable, open_run
from assistlearn.initiator.training import train
from assistlearn.plan import Plan
from assistlearn.protocol import MemoryTransport
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS, Cut
from bench.reconstruction.hostile import SECRET

TABLES = ("breast cancer", "blob-10", "digits", "qsar", "red wine", "vehicle")
LEARNERS = ("tree-3", "logistic")
WAYS: dict[str, dict[str, Any]] = {
    "alone": {"alone": True},
    "out-of-fold": {"reward": "out-of-fold"},
    "proof": {"reward": "out-of-fold", "proof": True},
}


def accuracy(
    cut: Cut,
    learner: str,
    seed: int,
    method: str,
    reward: str = "out-of-fold",
    proof: bool = False,
    alone: bool = False,
) -> tuple[float, int]:
    """Return the test accuracy of a run, and how many models of helpers are in it."""
    X, (classes, codes) = np.vstack([cut.X_train, cut.X_test]), np.unique(cut.y_train, return_inverse=True)
    codes = np.concatenate([codes, np.full(len(cut.X_test), -1)])
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        for name, estimator, columns in agents_of(cut, learner)[: 1 if alone else None]:
            ids = Ids([f"p-{i:05d}" for i in range(len(X))], f"Agent {name!r}")
            made[name] = Holdings(
                name, clone(estimator), ids, X[:, columns], Path(folder, name), SECRET, proof=proof and bool(made)
            )
        initiator, *helpers = made
        run_folder = RunFolder(Path(folder, "run"))
        plan = Plan(n_rounds=10, seed=seed, method=method, reward=reward, combine="sum", models_per_turn=1)
        settings = RunSettings(
            run="r",
            initiator=initiator,
            agents=list(made),
            classes=classes.tolist(),
            fingerprint="",
            files={},
            plan=plan,
            reach="memory",
        )
        run_folder.write_settings(settings, list(range(len(classes))))
        transport = MemoryTransport({name: AgentService(made[name]).answer for name in helpers})
        run = open_run(run_folder, made[initiator], OwnTable(codes, None), transport)
        list(train(run))
        test = np.arange(len(cut.X_train), len(X))
        labels = predict(run, Ids([f"p-{i:05d}" for i in test], "test"), test).labels
        kept = sum(each["agent"] != initiator for each in run_folder.result()["contributions"])
    return float(np.mean(np.array(labels) == cut.y_test)), kept


def main() -> None:
    """Print one row for each table, learner and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    by_name = {problem.name: problem for problem in PROBLEMS}
    for table in given.tables:
        for learner in LEARNERS:
            for method in ("ascii", "soft"):
                row: dict[str, Any] = {"table": table, "learner": learner, "method": method}
                for way, settings in WAYS.items():
                    found = [
                        accuracy(by_name[table].cut(s), learner, s, method, **settings) for s in range(given.seeds)
                    ]
                    scores = np.array([score for score, _ in found])
                    row[way] = round(float(scores.mean()), 3)
                    row[f"{way} error"] = round(float(scores.std() / np.sqrt(len(scores))), 3)
                    row[f"{way} models"] = round(float(np.mean([kept for _, kept in found])), 1)
                    if way == "out-of-fold":
                        before = scores
                cost = before - scores
                row |= {"cost": round(float(cost.mean()), 3)}
                row |= {"cost error": round(float(cost.std() / np.sqrt(len(cost))), 3)}
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
