"""The seams hold: a new method, exchange or way to reach agents is one file and one line of registration."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.file import load_description
from assistlearn.alignment import Ids
from assistlearn.errors import RefusedError
from assistlearn.events import JobStarted, read
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.opening import write_run
from assistlearn.initiator.prediction import predict
from assistlearn.plan import Plan
from assistlearn.protocol.ledger import read as entries
from assistlearn.reach.opening import opened_run, resuming, train
from assistlearn.reach.processes.reach_processes import create_run
from tests.cli.small_agents import LABEL, SECRET, toml, write_agents
from tests.initiator.digests import rewrite_settings
from tests.papers_settings import PAPERS
from tests.seams import toy_reach  # noqa: F401  its line of registration

pytestmark = pytest.mark.usefixtures("forked_agents")

NAMES = ("clinic", "lab", "scans")


def agents_of(folder: Path, module: str) -> list[Path]:
    """Write three agents whose learner comes from a file beside theirs, so that their processes import it."""
    files = write_agents(folder)
    shutil.copy(Path(__file__).with_name(f"{module}.py"), folder / f"{module}.py")
    for name, file in zip(NAMES, files, strict=True):
        more = SECRET + (LABEL if name == "clinic" else "")
        file.write_text(toml(name, more, learner=f'"{module}:learner"'))
    return files


def reached(folder: RunFolder, how: str) -> None:
    """Let the agents of a run be reached in another way."""
    settings = json.loads((folder.path / "settings.json").read_text())
    rewrite_settings(folder.path, settings | {"reach": how})


def outcome(folder: RunFolder) -> tuple[list[Any], np.ndarray]:
    """Return what a finished run is made of, and its scores of all samples."""
    with opened_run(folder, training=False, timeout=120) as (run, own):
        scores = predict(run, Ids(own.table.ids), np.arange(len(own.table))).scores
    return (folder.result() or {})["contributions"], scores


def estimator_of(
    folder: Path, run: RunFolder, depth: int = 2, **settings: Any
) -> tuple[AssistedClassifier, np.ndarray]:
    """Return the estimator with the same settings, fitted to the same table under the same class codes."""
    tables = [pl.read_csv(folder / f"{name}.csv") for name in NAMES]
    joined = tables[0].select("patient", "ill")
    for table, name in zip(tables, NAMES, strict=True):
        features = table.drop("ill", strict=False).rename({f"x{i}": f"{name}{i}" for i in range(2)})
        joined = joined.join(features, on="patient", how="left", maintain_order="left")
    X = joined.drop("patient", "ill").to_numpy()
    labelled = joined["ill"].is_not_null().to_numpy()
    codes = np.asarray(run.permutation())[(joined["ill"].drop_nulls() == "yes").cast(pl.Int64).to_numpy()]
    agents = [(name, DecisionTreeClassifier(max_depth=depth), slice(2 * i, 2 * i + 2)) for i, name in enumerate(NAMES)]
    clf = AssistedClassifier(agents, random_state=0, **(PAPERS | settings)).fit(X[labelled], codes)
    return clf, sum(clf.agent_scores(X).values())[:, run.permutation()]


def test_a_new_method_trains_and_predicts_the_same_by_estimator_and_by_processes(tmp_path):
    files = agents_of(tmp_path, "toy_method")
    folder = create_run(tmp_path / "run", "timid", files, Plan(method="timid", n_rounds=3))
    list(train(folder, timeout=120))
    made, scores = outcome(folder)
    clf, expected = estimator_of(tmp_path, folder, method="timid", n_rounds=3)
    assert [c["model_weight"] for c in made] == [c.model_weight for c in clf.contributions_]
    np.testing.assert_array_equal(scores, expected)
    plain, _ = estimator_of(tmp_path, folder, method="ascii", n_rounds=1)
    assert made[0]["model_weight"] == plain.contributions_[0].model_weight / 2


def test_a_new_exchange_is_understood_by_processes_and_is_in_the_ledger(tmp_path):
    files = agents_of(tmp_path, "toy_exchange")
    folder = create_run(tmp_path / "run", "counted", files, Plan(n_rounds=3, method="ascii"))
    reached(folder, "threads")  # training is not what this is about
    list(train(folder, timeout=120))
    reached(folder, "processes")
    made = (folder.result() or {})["contributions"]
    toy = sys.modules["toy_exchange"]  # the initiator's own agent has imported it, as the helpers' processes have
    with opened_run(folder, training=False, timeout=120) as (run, _):
        for name in NAMES:
            counted = run.agents[name].ask(toy.Census(run="counted"), toy.Counted)
            assert counted.rounds == [c["round"] for c in made if c["agent"] == name]
        with pytest.raises(RefusedError, match="knows no run 'other'"):
            run.agents["lab"].ask(toy.Census(run="other"), toy.Counted)
    types = [entry.type for entry in entries(tmp_path / "lab-models" / "ledger.jsonl")]
    assert types[-4:] == ["census", "counted", "census", "problem"]


def test_a_new_way_to_reach_agents_gives_the_run_of_the_estimator(tmp_path):
    files = write_agents(tmp_path)
    descriptions = [load_description(file) for file in files]
    by_threads = RunFolder(tmp_path / "threads")
    paths = {d.name: str(file) for d, file in zip(descriptions, files, strict=True)}
    plan = Plan(n_rounds=3, method="soft", reward="in-sample")
    write_run(by_threads, "threads", descriptions[0], NAMES[1:], plan, reach="threads", files=paths)
    list(train(by_threads, timeout=120))
    made, scores = outcome(by_threads)
    clf, expected = estimator_of(tmp_path, by_threads, depth=1, method="soft", n_rounds=3)
    assert [c["model_weight"] for c in made] == [c.model_weight for c in clf.contributions_]
    np.testing.assert_array_equal(scores, expected)
    assert json.loads((by_threads.path / "settings.json").read_text())["reach"] == "threads"
    started = [r.event for r in read(by_threads.events) if isinstance(r.event, JobStarted)]
    assert started == [JobStarted("threads", ["lab", "scans"])] * 2  # to train, and to predict
    assert resuming(by_threads) == f"assistlearn simulate --resume {by_threads.path}"
