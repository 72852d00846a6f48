"""``assistlearn report``: where the page goes, what it does not overwrite, and what scripts are told."""

from __future__ import annotations

import re
import shutil
import webbrowser
from pathlib import Path

import pytest

from tests.cli.program import assistlearn, modules_after
from tests.documentation import DOCS


def test_a_page_lies_beside_the_run_and_is_replaced_by_the_next(trained):
    page = trained.path.with_name("run.html")
    for _ in range(2):
        said = assistlearn("report", trained.path)
        assert said.code == 0, said.err
        assert str(page) in said.out.replace("\n", "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert [path.name for path in page.parent.glob(".*")] == []


def test_a_page_below_this_folder_is_named_from_here_and_opened_by_a_short_command(trained, monkeypatch):
    monkeypatch.chdir(trained.path.parent.parent)
    run = trained.path.relative_to(Path.cwd())
    said = assistlearn("report", run).out
    assert f"The page: {run}.html (" in said
    assert f"or: assistlearn report {run} --open" in said
    monkeypatch.chdir(trained.path)
    assert f"The page: {trained.path}.html (" in assistlearn("report", ".").out.replace("\n", "")


def test_another_file_is_not_overwritten_unless_by_force(trained, tmp_path):
    mine = tmp_path / "thesis.html"
    mine.write_text("<h1>five years of work</h1>")
    assistlearn("report", trained.path, "--out", mine).failed(2, "thesis.html", "--force")
    for needed in (trained.path / "result.json", trained.path.parent / "clinic.csv"):
        assistlearn("report", trained.path, "--out", needed, "--force").failed(2, needed.name, "would be lost")
    assert "five years" in mine.read_text()
    assert assistlearn("report", trained.path, "--out", mine, "--force").code == 0
    assert "five years" not in mine.read_text()


def test_a_folder_and_a_run_that_is_none_are_refused_by_name(trained, tmp_path):
    assistlearn("report", trained.path, "--out", tmp_path).failed(2, "is a folder")
    assistlearn("report", tmp_path / "nowhere").failed(2, "nowhere holds no run")


def test_scripts_get_the_view_and_a_page_only_where_they_name_one(trained, tmp_path):
    before = sorted(trained.path.parent.iterdir())
    told = assistlearn("report", trained.path, "--json").json
    assert (told["page"], told["state"], told["answer"]["what"]) == (None, "finished", "accuracy")
    assert sorted(trained.path.parent.iterdir()) == before
    told = assistlearn("report", trained.path, "--json", "--no-class-names", "--out", tmp_path / "p.html").json
    assert told["subject"]["classes"] == ["class 1", "class 2"]
    assert told["bytes"] == (tmp_path / "p.html").stat().st_size


def test_what_a_run_has_lost_is_said_and_a_changed_ledger_is_not_counted_by(trained, tmp_path):
    home = shutil.copytree(trained.path.parent, tmp_path / "home")
    run, ledger = home / trained.path.name, home / "clinic-models" / "ledger.jsonl"
    whole = ledger.read_text()
    ledger.write_text(re.sub(r'"bytes": \d+', '"bytes": 1', whole, count=1))
    assistlearn("report", run, "--out", tmp_path / "p.html").failed(4, "entry 1 was changed after it was written")
    assert not (tmp_path / "p.html").exists()
    ledger.unlink()
    said = assistlearn("report", run, "--out", tmp_path / "p.html")
    assert "Note: The initiator's ledger is not where it was" in said.out
    assert "as the initiator&#39;s ledger is not at hand" in (tmp_path / "p.html").read_text()
    ledger.write_text(whole)
    (run / "events.jsonl").unlink()
    (lack,) = assistlearn("report", run, "--json").json["lacking"]
    assert "events.jsonl is missing: rounds, model weights, samples and times are not on the page" in lack


@pytest.mark.parametrize("there", [True, False])
def test_the_browser_is_asked_to_open_the_page(trained, tmp_path, monkeypatch, there):
    asked: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or there)
    said = assistlearn("report", trained.path, "--out", tmp_path / "a page.html", "--open")
    assert asked == [(tmp_path / "a page.html").as_uri()]
    assert said.code == (0 if there else 2)
    assert (tmp_path / "a page.html").exists()


def test_the_command_line_starts_without_what_draws_pages():
    assert not modules_after("import assistlearn.cli") & {"jinja2", "matplotlib", "numpy"}


def test_every_key_for_scripts_is_on_the_page_of_the_command(trained, agents):
    page = DOCS / "reference" / "examples" / "report.md"
    keys = page.read_text(encoding="utf-8").partition("\n## JSON\n")[2]
    told = assistlearn("report", trained.path, "--json").json | assistlearn("report", agents[1], "--json").json
    assert told.keys() <= set(re.findall(r"`(\w+)`", keys))
