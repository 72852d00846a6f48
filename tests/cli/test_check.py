"""`check` says all that is wrong in all files at once, what training would refuse, and what tables tell together."""

from __future__ import annotations

import polars as pl
import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import N_SAMPLES, SECRET, toml


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


# -- all that is wrong is said at once --


def errors(*files):
    """Return the messages of all errors, which people and scripts must be told alike."""
    said, facts = assistlearn("check", *files), assistlearn("check", *files, "--json").json
    every = [facts, *facts.get("others", [])]
    assert said.code == facts["exit_code"] == 2
    assert said.out == ""
    assert said.err.count("Error: ") == len(every)
    assert all(each["message"] in said.err for each in every)
    return [each["message"] for each in every]


def test_every_file_is_looked_at_although_the_first_is_no_toml(agents):
    agents[0].write_text("name = clinic\n")
    agents[1].write_text(toml("lab", SECRET + 'colour = "red"\n'))
    agents[2].write_text(toml("scans", SECRET).replace("scans.csv", "away.csv"))
    syntax, unknown, table = errors(*agents)
    assert f"{agents[0]} is not valid TOML" in syntax
    assert f"{agents[1]}, line" in unknown
    assert "there is no key 'colour'" in unknown
    assert f"{agents[2]}, line" in table
    assert "away.csv" in table


def test_every_wrong_key_of_a_file_is_named_with_its_line(agents):
    agents[1].write_text('nmae = "lab"\nid = 5\ntable = "lab.csv"\nlearner = "a.B"\n[preprocessing]\nscale = "much"\n')
    found = errors(agents[1])
    assert [next(word for word in ("nmae", "'name'", "id =", "scale") if word in each) for each in found] == [
        *("nmae", "id =", "scale"),
        "'name'",
    ]
    assert all(f"{agents[1]}, line {line}:" in each for line, each in zip((1, 2, 6), found, strict=False))


def test_a_value_that_was_wrong_is_not_said_to_be_missing(agents):
    agents[1].write_text(toml("lab", SECRET).replace('id = "patient"', "id = []"))
    assert len(errors(agents[1])) == 1
    agents[0].write_text(toml("clinic", SECRET + "label = 3\n").replace("learner", "# learner"))
    assert len(errors(agents[0])) == 1  # and not: the key 'learner' is missing, since the file names no label


def test_columns_ids_labels_and_cells_of_one_table_are_said_together(agents):
    row = pl.int_range(pl.len())
    change(
        agents,
        "clinic",
        patient=pl.when(row == 3).then(pl.lit("p-000")).otherwise("patient"),
        ill=pl.lit("yes"),
        x0=pl.when(row == 5).then(pl.lit("oops")).otherwise("x0"),
        x1=pl.when(row == 6).then(pl.lit("inf")).otherwise("x1"),
    )
    found = errors(agents[0])
    assert ["more than once" in found[0], "1 class" in found[1], "oops" in found[2], "infinite" in found[3]] == [
        True
    ] * 4
    assert "row 6" in found[2]
    assert "row 7" in found[3]


def test_all_columns_that_are_missing_are_named_and_ids_are_checked_although_some_are(agents):
    change(agents, "lab", patient=pl.lit("p-000"))
    agents[1].write_text(toml("lab", SECRET + '[features]\ninclude = ["x9", "y*"]\nexclude = ["z"]\n'))
    found = errors(agents[1])
    assert ["'x9'" in found[0], "'y*'" in found[1], "'z'" in found[2], "more than once" in found[3]] == [True] * 4


def test_a_secret_a_learner_a_folder_and_a_table_are_looked_at_whichever_is_wrong_first(agents):
    (agents[0].parent / "shared.key").write_text("short")
    (agents[0].parent / "here").write_text("a file")
    wrong = toml("lab", SECRET + 'models = "here"\n').replace("lab.csv", "away.csv")
    agents[1].write_text(wrong.replace("sklearn.", "sklaern."))
    found = errors(agents[1])
    assert ["secret" in found[0], "is a file" in found[1], "sklaern" in found[2], "away.csv" in found[3]] == [True] * 4


def test_what_is_wrong_between_tables_is_said_beside_what_is_wrong_in_one(agents):
    change(agents, "lab", patient=pl.lit("other-") + pl.col("patient"))
    change(agents, "scans", x0=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("oops")).otherwise("x0"))
    found = errors(*agents)
    assert any("oops" in each for each in found)
    assert any("Agent 'lab' holds 0 of the initiator's" in each for each in found)
