"""A table whose values are in another unit than in training: its owner is told which column, the initiator that."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import N_NEW, SECRET, toml
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")


def sixtyfold(table: Path) -> None:
    pl.read_csv(table).with_columns(pl.col("x0") * 60).write_csv(table)


def test_a_column_in_another_unit_is_noticed_at_prediction(agents, tmp_path):
    clinic, lab = agents[:2]
    run, out, log = tmp_path / "run", tmp_path / "votes.csv", tmp_path / "lab-models" / "problems.log"
    assert (
        assistlearn("simulate", clinic, lab, "--run", "first", "--out", run, "--rounds", 3, *PAPERS_OPTIONS).code == 0
    )
    honest = pl.read_csv(tmp_path / "lab.csv")
    grown = pl.concat([honest, honest.with_columns(pl.col("patient") + "-new")])
    grown.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "lab.csv")
    predicted = assistlearn("predict", run, "--out", out, "--force", "--json")
    assert (predicted.code, predicted.json["absent"], predicted.json["warnings"]) == (0, {}, [])

    sixtyfold(tmp_path / "lab.csv")
    refused = assistlearn("predict", run, "--out", out, "--force", "--json")
    assert refused.code == 3
    assert refused.json["known"] == {"clinic": N_NEW}
    words = refused.json["absent"]["lab"]
    assert "1 of the columns of its table have moved far since training" in words
    assert "x0" not in words
    assert "column 'x0': half of its values lay between" in log.read_text()

    lab.write_text(toml("lab", SECRET + 'moved_columns = "accept"\n'))
    log.unlink()
    sixtyfold(tmp_path / "clinic.csv")
    accepted = assistlearn("predict", run, "--out", out, "--force", "--json")
    assert (accepted.code, accepted.json["absent"]) == (0, {})
    assert "column 'x0'" in log.read_text()
    (warned,) = accepted.json["warnings"]
    assert "column 'x0'" in warned
    own = assistlearn("predict", run, "--out", out, "--force")
    assert own.code == 0
    assert "Your own table has changed since training" in own.err
    assert "column 'x0'" in own.err


def test_an_unknown_wish_about_moved_columns_is_refused(agents):
    agents[1].write_text(toml("lab", SECRET + 'moved_columns = "ignore"\n'))
    assistlearn("check", agents[1]).failed(2, "moved_columns", "'refuse'", "'accept'")
