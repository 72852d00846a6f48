"""Over a real network the results are those of the estimator in one process, and of ``simulate``, to the bit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.alignment import Ids
from assistlearn.initiator.opening import forget
from assistlearn.initiator.prediction import predict
from assistlearn.initiator.training import train
from assistlearn.reach.flare import reach_flare
from assistlearn.reach.flare.task_file import load_task
from assistlearn.reach.opening import opened_run
from assistlearn.reach.processes import reach_processes
from paper.datasets import letter
from tests.cli.program import assistlearn
from tests.initiator.sent_bytes import recorded
from tests.papers_settings import PAPERS
from tests.reach.organisations import HELPERS, INITIATOR, NAMES, PURPOSE, Organisations

pytestmark = pytest.mark.network

ROUNDS, SEED, MOST_ROWS = 3, 11, 1500
TREE = DecisionTreeClassifier(max_depth=3)
FOREST = RandomForestClassifier(n_estimators=5, max_depth=3)


def learner(estimator: Any) -> str:
    """Return the lines of an agent file that name a learner; none where an initiator has labels alone."""
    if estimator is None:
        return ""
    plain = type(estimator)().get_params()
    lines = ["[learner]", f'kind = "{type(estimator).__module__}.{type(estimator).__name__}"', "[learner.parameters]"]
    lines += [f"{key} = {value}" for key, value in estimator.get_params().items() if value != plain[key]]
    return "\n".join(lines) + "\n"


def three_ways(made: Organisations, run: str, tables: dict[str, pl.DataFrame], method: str, **options: Any) -> None:
    """Assert that network, processes on this machine, and estimator agree; the initiator's labels are in ``y``.

    An initiator whose table has ids and labels alone takes no turns.
    """
    if "holdout" in options:  # samples are sent in the order of their ids then
        tables[INITIATOR] = tables[INITIATOR].sort(pl.col("id").cast(pl.String))
    learners = dict(zip(tables, [TREE, FOREST, TREE, TREE], strict=False))
    if tables[INITIATOR].columns == ["id", "y"]:
        learners[INITIATOR] = None
    for name, table in tables.items():
        made.write(name, table, "y" if name == INITIATOR else None, learner(learners[name]))
    task = made.task(run, list(tables)[1:], method=method, rounds=ROUNDS, seed=SEED, **options)
    folder = reach_flare.create_run(made.folder / run, run, task)
    if "holdout" in options:
        # drawn class by class, in the order of the classes, which an estimator fitted to codes has not; and by the
        # seed, not by a secret
        folder.write_settings(folder.settings(), list(range(len(folder.settings().classes))))
    with opened_run(folder, training=True) as (open_run, own):
        list(train(open_run))
        remote = predict(open_run, Ids(own.table.ids), np.arange(len(own.table)))

    files = [made.files[name] for name in tables]
    local = reach_processes.create_run(made.folder / f"{run}-here", f"{run}-here", files, load_task(task).plan)
    # the same class codes, so that ties fall the same way
    local.write_settings(local.settings(), folder.permutation())
    with opened_run(local, training=True) as (open_run, own):
        list(train(open_run))
        here = predict(open_run, Ids(own.table.ids), np.arange(len(own.table)))

    agents, X, start = [], [], 0
    order = tables[INITIATOR]["id"]
    for name, table in tables.items():
        columns = (
            pl.DataFrame({"id": order})
            .join(table, on="id", how="left", maintain_order="left")
            .drop("id", "y", strict=False)
        )
        agents.append((name, learners[name], list(range(start, start + columns.width))))
        start += columns.width
        X.append(columns.to_numpy())
    classes = folder.settings().classes
    codes = np.asarray(folder.permutation())[[classes.index(label) for label in tables[INITIATOR]["y"]]]
    clf = AssistedClassifier(agents, n_rounds=ROUNDS, random_state=SEED, **(PAPERS | {"method": method} | options))
    clf.fit(np.hstack(X), codes)

    expected = [asdict(contribution) for contribution in clf.contributions_]
    assert len(expected) > 1
    assert folder.result()["contributions"] == local.result()["contributions"] == expected
    assert folder.result()["stop_reason"] == clf.stop_reason_.name
    assert remote.absent == here.absent == {}
    scores = sum(clf.agent_scores(np.hstack(X)).values())[:, folder.permutation()]
    np.testing.assert_array_equal(remote.scores, scores)
    np.testing.assert_array_equal(here.scores, scores)


@pytest.mark.parametrize(
    ("pair", "method", "options"),
    [
        ("breast", "ascii", {"holdout": 0.25}),
        ("default_credit", "simple", {"order": "random"}),
        ("vehicle_scale", "ensemble", {}),
        ("vehicle_scale", "soft", {"reward": "auto", "combine": "auto", "models_per_turn": 3}),
        pytest.param("breast", "simple", {"labels_alone": True}, marks=pytest.mark.slow),
    ],
)
def test_fates_pairs_train_and_predict_as_in_one_process(organisations, data_folder, pair, method, options):
    sides = {}
    for name, role in ((INITIATOR, "guest"), (HELPERS[0], "host")):
        table = pl.read_csv(data_folder / "fate_hetero" / f"{pair}_hetero_{role}.csv")
        sides[name] = table.head(MOST_ROWS) if role == "guest" else table
    if options.get("labels_alone"):
        sides[INITIATOR] = sides[INITIATOR].select("id", "y")
    options = {key: value for key, value in options.items() if key != "labels_alone"}
    sides[HELPERS[0]] = sides[HELPERS[0]].filter(pl.col("id").is_in(sides[INITIATOR]["id"].to_list()))
    three_ways(organisations, f"fate-{pair}-{method}", sides, method, **options)


@pytest.mark.slow
def test_letters_between_four_organisations_train_and_predict_as_in_one_process(organisations, data_folder):
    data = letter(4, data=data_folder)
    tables = {}
    for place, (name, columns) in enumerate(zip(NAMES, data.agents.values(), strict=True)):
        places = [data.feature_names.index(column) for column in columns]
        table = pl.DataFrame({"id": data.ids[:MOST_ROWS]}).hstack(
            pl.DataFrame(data.features[:MOST_ROWS, places], schema=list(columns))
        )
        if name == INITIATOR:
            tables[name] = table.with_columns(y=pl.Series(data.labels[:MOST_ROWS]))
        else:
            tables[name] = table.sample(fraction=1.0, shuffle=True, seed=place)
    three_ways(organisations, "letters", tables, "ascii")


def test_other_true_labels_leave_every_byte_the_same_that_goes_over_the_network(organisations):
    organisations.small_tables()
    table = pl.read_csv(organisations.files[INITIATOR].with_suffix(".csv"))
    rng = np.random.default_rng(8)
    told = dict(zip(table["id"], rng.integers(0, 2, len(table)).tolist(), strict=True))
    others = table.with_columns(ill=pl.Series(rng.permutation(table["ill"].to_numpy()))).sort("ill")
    sent = []
    for place, each in enumerate((table, others)):
        organisations.write(INITIATOR, each, label="ill")
        task = organisations.task("kept-labels", HELPERS[:2], method="label-private", holdout=0.2)
        folder = reach_flare.create_run(organisations.folder / f"kept-labels-{place}", "kept-labels", task)
        with recorded(told) as record, opened_run(folder, training=True) as (open_run, own):
            list(train(open_run))
            assert predict(open_run, Ids(own.table.ids), np.arange(len(own.table))).absent == {}
            forget(open_run)
        sent.append(record)
    assert len(sent[0]) > 12
    assert sent[0] == sent[1]


def test_a_pilot_over_the_network_answers_as_one_in_processes(organisations):
    organisations.small_tables()
    task = organisations.task("pilot", HELPERS[:2], method="ascii", seed=SEED)
    asked = ("--at-least", 0.5, "--block", 10, "--json")
    there = assistlearn("worth", task, "--out", organisations.folder / "pilot", "--run", "pilot", *asked)
    assert there.code == 0, there.err
    files = [organisations.files[name] for name in NAMES[:3]]
    here = organisations.folder / "pilot-here"
    told = ("--purpose", PURPOSE, "--seed", SEED, "--run", "pilot-here")
    local = assistlearn("worth", *files, "--out", here, *told, *asked)
    assert local.code == 0, local.err
    own = {"folder", "run", "n_bytes"}
    assert {key: there.json[key] for key in there.json if key not in own} == {
        key: local.json[key] for key in local.json if key not in own
    }
    assert there.json["answer"] == "no"
    assert set(there.json["n_bytes"]) == set(HELPERS[:2])
    assert min(there.json["n_bytes"].values()) > 1000
