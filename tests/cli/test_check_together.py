"""`check` finds what training would refuse, and what two tables on one machine tell about each other."""

from __future__ import annotations

import polars as pl
import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import N_SAMPLES, write_agents


@pytest.fixture
def agents(tmp_path):
    return write_agents(tmp_path)


def change(agents, name, **columns):
    path = agents[0].parent / f"{name}.csv"
    pl.read_csv(path, infer_schema=False).with_columns(**columns).write_csv(path)


def test_agents_that_fit_together_are_said_to(agents):
    said = assistlearn("check", *agents)
    assert said.code == 0
    assert f"lab holds {N_SAMPLES} of the {N_SAMPLES} samples of clinic." in said.out
    assert said.out.endswith("All is well.\n")
    facts = assistlearn("check", *agents, "--json").json
    assert [agent["name"] for agent in facts["agents"]] == ["clinic", "lab", "scans"]
    shared = {"lab": N_SAMPLES, "scans": N_SAMPLES}
    assert facts["together"] == {"initiator": "clinic", "samples": N_SAMPLES, "shared": shared, "notes": []}


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (pl.lit("yes"), "column 'ill' has 1 class (['yes']); at least two are needed"),
        (pl.int_range(pl.len()), f"has {N_SAMPLES} different labels in {N_SAMPLES} rows: too many to be classes"),
    ],
)
def test_check_refuses_the_labels_that_training_refuses(agents, labels, words):
    change(agents, "clinic", ill=labels)
    assistlearn("check", agents[0]).failed(2, words)
    assistlearn("simulate", *agents[:2], "--out", agents[0].parent / "run").failed(2, words)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (pl.when(pl.col("x0").str.starts_with("-")).then(pl.lit("Yes")).otherwise("ill"), "differ only by case"),
        (pl.int_range(pl.len()) % 51, "The labels are 51 different numbers, from 0 to 50, and each is a class"),
    ],
)
def test_labels_to_look_at_once_more_are_named(agents, labels, words):
    path = agents[0].parent / "clinic.csv"
    few = pl.read_csv(path, infer_schema=False)
    ids = few.columns[0]
    pl.concat([few, few.with_columns(pl.col(ids) + "-b")]).with_columns(ill=labels).write_csv(path)
    assert any(words in note for note in assistlearn("check", agents[0], "--json").json["notes"])


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        (pl.col("patient").str.replace("p-", "P-"), f"{N_SAMPLES} would match if upper and lower case were the same"),
        (pl.col("patient").str.replace("p-", "p/"), f"{N_SAMPLES} would match if only letters and digits counted"),
        (pl.col("patient").str.replace("p-", ""), f"{N_SAMPLES} would match if only digits counted"),
    ],
)
def test_ids_that_do_not_meet_are_refused_with_how_they_would(agents, written, hint):
    change(agents, "lab", patient=written)
    refused = assistlearn("check", *agents[:2])
    refused.failed(2, f"Agent 'lab' holds 0 of the initiator's {N_SAMPLES} samples", hint)


def test_a_helper_that_has_the_label_is_named(agents):
    ill = pl.read_csv(agents[0].parent / "clinic.csv").select("patient", "ill")
    path = agents[0].parent / "lab.csv"
    table = pl.read_csv(path).join(ill, on="patient", how="left")
    table.with_columns(pl.col("ill").fill_null("no").alias("outcome")).drop("ill").write_csv(path)
    notes = assistlearn("check", *agents[:2], "--json").json["together"]["notes"]
    assert notes == ["'lab' has the values of the label in 'outcome'. If that is the label, exclude it in its file."]
    table.write_csv(path)
    assert "which is the name of the label" in assistlearn("check", *agents[:2], "--json").json["together"]["notes"][0]


def test_files_that_are_not_of_one_run_are_refused(agents):
    assistlearn("check", *agents[1:]).failed(2, "Exactly one agent, the initiator, must have the labels")
    assistlearn("check", agents[0], agents[1], agents[1]).failed(2, "both describe an agent 'lab'")


def test_rows_without_any_value_are_counted_and_their_people_are_not_held(agents):
    few = pl.int_range(pl.len()) < 7
    for name in ("clinic", "lab"):
        columns = [name for name in pl.read_csv(agents[0].parent / f"{name}.csv").columns if name[0] == "x"]
        change(agents, name, **{column: pl.when(few).then(None).otherwise(pl.col(column)) for column in columns})
    said = assistlearn("check", *agents[:2], "--json").json
    clinic, lab = (agent["notes"] for agent in said["agents"])
    assert f"7 of {N_SAMPLES:,} rows have no value in any feature: their gaps are filled." in clinic
    assert f"7 of {N_SAMPLES:,} rows have no value in any feature: this agent does not hold these people." in lab
    assert said["together"]["shared"] == {"lab": N_SAMPLES - 7}
