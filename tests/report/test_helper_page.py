"""A helper's page: what its own store and ledger know, as ``audit`` and ``privacy`` say it, and nothing of anybody."""

from __future__ import annotations

import re

import pytest

from assistlearn.agent.file import load_description
from assistlearn.report.helper import helper_page, helper_view
from tests.cli.program import assistlearn
from tests.report.telltale import TELLTALES


@pytest.fixture(scope="module")
def lab(agents, trained, pilot):
    """The file of a helper that has helped in a run, with predictions, and in a pilot."""
    return agents[1]


@pytest.fixture(scope="module")
def page(lab, tmp_path_factory):
    path = tmp_path_factory.mktemp("helper") / "lab.html"
    said = assistlearn("report", lab, "--out", path)
    assert said.code == 0, said.err
    return path


def test_the_page_says_who_asked_in_which_runs(lab, page):
    told = assistlearn("report", lab, "--json").json
    assert {(run["run"], run["initiator"], run["ended"]) for run in told["runs"]} == {
        ("first", "clinic", True),
        ("trial", "clinic", True),
    }
    said = re.sub(r"<[^>]+>", " ", page.read_text())
    assert "lab has helped clinic in 2 runs that it remembers" in said
    assert "The table, the names of its columns, the learner and the models have never left." in said


def test_bytes_are_those_of_the_audit_and_bits_those_of_privacy(lab):
    told, audited = assistlearn("report", lab, "--json").json, assistlearn("audit", lab, "--json").json
    assert told["entries"] == audited["entries"]
    counted: dict[str, dict[str, list[int]]] = {"sent": {}, "received": {}}
    for row in audited["totals"]:
        counted[row["direction"]][row["type"]] = [row["messages"], row["bytes"]]
    assert told["traffic"][0]["counts"] == counted
    assert told["counted"]["clinic"]["votes"] == audited["counted"]["clinic"]["votes"]
    private = {run["run"]: run for run in assistlearn("privacy", lab, "--json").json["runs"]}
    for run in told["runs"]:
        assert run["released"] == private[run["run"]]["releases"]
        assert run["n_training"] == private[run["run"]]["n_samples"]


def test_model_weights_are_those_that_the_initiator_has_heard(lab, trained):
    told = assistlearn("report", lab, "--json").json
    (run,) = (run for run in told["runs"] if run["run"] == "first")
    heard = assistlearn("report", trained.path, "--json").json["weights"]
    assert run["weights"] == [row[1] for row in heard.values()]


def test_no_id_no_value_no_column_and_no_path_is_in_a_helpers_page(page):
    assert [word for word in TELLTALES if word in page.read_text()] == []


def test_an_agent_that_has_helped_nobody_has_a_page(tmp_path, lab):
    (tmp_path / "new.toml").write_text(lab.read_text().replace("lab", "new"))
    assert "has no record of a run in which it helped" in helper_page(
        helper_view(load_description(tmp_path / "new.toml"))
    )


def test_an_initiators_own_runs_are_no_help(agents, lab):
    told = assistlearn("report", agents[0], "--json").json
    assert (told["runs"], told["traffic"]) == ([], [])


def test_a_ledger_that_was_changed_or_removed_gives_no_page(lab, tmp_path):
    ledger = load_description(lab).models / "ledger.jsonl"
    whole = ledger.read_bytes()
    try:
        ledger.write_bytes(whole.replace(b'"peer": "clinic"', b'"peer": "nobody"', 1))
        assistlearn("report", lab, "--out", tmp_path / "page.html").failed(4, "ledger.jsonl")
        ledger.unlink()
        assistlearn("report", lab, "--out", tmp_path / "page.html").failed(4, "it was removed")
    finally:
        ledger.write_bytes(whole)
    assert list(tmp_path.iterdir()) == []


def test_a_browser_shows_it_on_any_screen_without_complaints(opened, page):
    seen = opened(page.as_uri(), viewport={"width": 375, "height": 800}, color_scheme="dark", bypass_csp=True)
    assert (seen.requests, seen.complaints, seen.wider_than_the_screen) == ([page.as_uri()], [], False)
    assert seen.findings() == []
