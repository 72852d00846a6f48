"""Ids that differ by case, and rows that repeat an id: said by ``check``, and mended by a line of the file."""

from __future__ import annotations

import polars as pl
import pytest

from assistlearn.agent.loading import load_agent
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, N_SAMPLES, NEW, SECRET, know_the_key, toml, write_agents
from tests.papers_settings import PAPERS_OPTIONS

IGNORE = 'id_case = "ignore"\n'


def change(agents, name, change_of):
    path = agents[0].parent / f"{name}.csv"
    change_of(pl.read_csv(path, infer_schema=False)).write_csv(path)


def in_capitals(agents, name, every=1):
    row = pl.int_range(pl.len())
    written = pl.when(row % every == 0).then(pl.col("patient").str.to_uppercase()).otherwise("patient")
    change(agents, name, lambda table: table.with_columns(patient=written))


def ignore_case(agents):
    for file in agents:
        file.write_text(toml(file.stem, SECRET + IGNORE + (LABEL if file.stem == "clinic" else "")))


def notes(*files):
    facts = assistlearn("check", *files, "--json").json
    return " ".join(facts["together"]["notes"] if len(files) > 1 else facts["notes"])


def test_people_whose_ids_differ_by_case_between_tables_are_counted_with_the_line_for_both_files(agents):
    in_capitals(agents, "lab", every=2)
    said = notes(*agents[:2])
    assert f"'lab' holds {N_SAMPLES // 2} of the {N_SAMPLES} samples, and would hold {N_SAMPLES} if upper and" in said
    assert 'id_case = "ignore"' in said
    ignore_case(agents[:2])
    assert notes(*agents[:2]) == ""
    assert assistlearn("check", *agents[:2], "--json").json["together"]["shared"] == {"lab": N_SAMPLES}


def test_where_no_id_matches_for_its_case_the_refusal_has_the_line(agents):
    in_capitals(agents, "lab")
    assistlearn("check", *agents[:2]).failed(2, "would match if upper and lower case were the same", IGNORE.strip())


def test_ids_of_one_table_that_differ_by_case_alone_are_said(agents):
    change(agents, "lab", lambda t: pl.concat([t, t.head(2).with_columns(pl.col("patient").str.to_uppercase())]))
    said = notes(agents[1])
    assert "4 ids differ only by case from another one" in said
    assert 'id_case = "ignore"' in said
    agents[1].write_text(toml("lab", SECRET + IGNORE))
    assistlearn("check", agents[1]).failed(2, "2 of the ids in column 'patient' occur more than once", "duplicates =")
    agents[1].write_text(toml("lab", SECRET + IGNORE + 'duplicates = "first"\n'))
    assert "2 rows repeat an id and are left out: the first row of each id is taken" in notes(agents[1])


@pytest.mark.parametrize(("which", "sign"), [("first", 1), ("last", -1)])
def test_of_rows_that_repeat_an_id_the_chosen_one_is_taken_whole(agents, which, sign):
    before = load_agent(agents[0]).table
    other = (-pl.col("x0").cast(pl.Float64)).cast(pl.String)
    change(agents, "clinic", lambda table: pl.concat([table, table.head(3).with_columns(x0=other)]))
    agents[0].write_text(toml("clinic", SECRET + LABEL + f'duplicates = "{which}"\n'))
    after = load_agent(agents[0]).table
    one = before.ids[0]
    values = [x for x, each in zip(after.features["x0"], after.ids, strict=True) if each == one]
    assert values == [sign * before.features["x0"][0]]
    assert len(after) == len(after.labels) == after.features.height == len(before)
    assert sorted(after.ids) == sorted(before.ids)
    assert (after.fingerprint == before.fingerprint) == (which == "first")


@pytest.mark.usefixtures("forked_agents")
def test_a_run_that_ignores_case_is_the_run_of_ids_in_one_case_and_predicts_whoever_is_asked_for(agents, tmp_path):
    said = {}
    for way in ("plain", "mixed"):
        files = write_agents(tmp_path / way)
        know_the_key(files[0])
        if way == "mixed":
            in_capitals(files, "lab", every=2)
            in_capitals(files, "clinic", every=3)
            ignore_case(files)
        run, asked = tmp_path / way / "run", tmp_path / way / "asked.csv"
        assert assistlearn("simulate", *files, "--out", run, "--run", "r", "--rounds", 3, *PAPERS_OPTIONS).code == 0
        ids = [each.upper() if way == "mixed" else each for each in NEW]
        pl.DataFrame({"patient": ids}).write_csv(asked)
        assert assistlearn("predict", run, "--ids", asked, "--out", tmp_path / way / "out.csv").code == 0
        said[way] = pl.read_csv(tmp_path / way / "out.csv")
        assert said[way]["patient"].to_list() == ids
    assert said["plain"].drop("patient").equals(said["mixed"].drop("patient"))
