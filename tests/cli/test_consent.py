"""The life of a request for consent, as the owner of a helper and the initiator see it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from assistlearn.agent.file import load_description
from assistlearn.cli import train as waiting
from assistlearn.errors import ConsentAwaitedError
from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from assistlearn.protocol.ledger import counted
from assistlearn.reach.processes.reach_processes import create_run
from tests.cli.program import Said, assistlearn
from tests.cli.small_agents import SECRET, toml
from tests.papers_settings import PAPERS, PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")
HOSPITAL = '[allow]\ninitiators = ["hospital"]\nanswer_within = 3\n'


@pytest.fixture
def agents(agents: list[Path]) -> list[Path]:
    """A clinic, and a lab that works for a hospital."""
    agents[1].write_text(toml("lab", SECRET + HOSPITAL))
    return agents[:2]


def simulate(agents: list[Path], *options: object) -> Said:
    out = agents[0].parent / "run"
    rest = ("--out", out, "--run", "first", "--rounds", 1, "--purpose", "early warning", *PAPERS_OPTIONS)
    return assistlearn("simulate", *agents, *rest, *options)


def test_a_request_waits_is_approved_used_and_taken_back(agents):
    lab, run = agents[1], agents[0].parent / "run"
    assert assistlearn("requests", lab).out == "0 requests of 0 wait for an answer.\n"
    waits = simulate(agents, "--json")
    assert waits.code == waits.json["exit_code"] == 6
    assert waits.json["error"] == "ConsentAwaitedError"
    assert "waits for the consent of the owner of 'lab', since 20" in waits.json["message"]
    assert "Give the same command again" in waits.json["notes"][0]
    assert not run.exists()
    [request] = assistlearn("requests", lab, "--json").json["requests"]
    number = request["request"]
    assert number in waits.json["message"]
    assert (request["state"], request["proof"], request["method"]) == ("waiting", "nothing", "ascii")
    shown = assistlearn("requests", lab).out
    assert "clinic (nothing proves the name: a process on this machine says so)" in shown
    assert "purpose: early warning" in shown
    assert f"assistlearn approve {lab} {number}" in shown

    unsaid = assistlearn("approve", lab, number)
    assert (unsaid.code, "no question can be asked here" in unsaid.err) == (2, True)
    assistlearn("approve", lab, number, "--yes", "--until", "soon").failed(2, "--until 'soon' is not a date")
    yes = assistlearn("approve", lab, number[:5], "--yes", "--by", "Ada", "--until", "2999-12-31", "--json").json
    assert (yes["answer"], yes["by"], yes["until"]) == ("approved", "Ada", "3000-01-01T00:00:00+00:00")
    assert simulate(agents).code == 0
    assert assistlearn("predict", run, "--out", run.parent / "a.csv", "--json").json["absent"] == {}
    limits = assistlearn("check", lab, "--json").json["limits"]
    assert ("clinic", "allow.max_runs", 1) in {(row["initiator"], row["key"], row["spent"]) for row in limits}

    no = assistlearn("reject", lab, number, "--yes", "--reason", "the contract has ended")
    assert (no.code, "is taken back, by " in no.out) == (0, True)
    after = assistlearn("predict", run, "--out", run.parent / "b.csv", "--json")
    assert after.code == 3
    assert "was taken back" in after.json["absent"]["lab"]
    assert "the contract has ended" in after.json["absent"]["lab"]

    audited = assistlearn("audit", lab, "--json").json
    assert [(each["by"] == "Ada", each["answer"]) for each in audited["decisions"]] == [
        (True, "approved"),
        (False, "taken back"),
    ]
    assert {row["direction"] for row in audited["totals"]} == {"sent", "received"}
    words = assistlearn("audit", lab).out
    assert f"request {number} of clinic for early warning is approved, until 3000-01-01 00:00:00." in words
    assert "is taken back (the contract has ended)." in words
    limits = assistlearn("check", lab, "--json").json["limits"]
    assert {row["initiator"] for row in limits} == {"hospital", None}
    assert assistlearn("report", lab, "--out", lab.parent / "page.html").code == 0


def test_a_request_that_nobody_knows_and_one_without_an_answer_are_named(agents):
    lab = agents[1]
    assistlearn("approve", lab, "7f3a", "--yes").failed(2, "There is no request '7f3a'. The requests are: none.")
    missing = assistlearn("reject", lab, "7f3a", "--yes")
    assert (missing.code, "--reason" in missing.err) == (2, True)


def made(agents: list[Path]) -> RunFolder:
    plan = Plan(**(PAPERS | {"n_rounds": 1, "purpose": "early warning"}))
    return create_run(agents[0].parent / "waited", "waited", agents, plan)


def test_who_waits_asks_again_until_the_owner_has_answered(agents, monkeypatch, capsys):
    monkeypatch.setattr(waiting, "SHORTEST_PAUSE", 0.01)

    def approve_once_it_is_there() -> None:
        while not (found := list((agents[1].parent / "lab-models" / "requests").glob("*.json"))):
            time.sleep(0.005)
        assistlearn_approve(agents[1], found[0].stem)

    owner = threading.Thread(target=approve_once_it_is_there)
    owner.start()
    folder = waiting.train_awaiting(lambda: made(agents), 0.2, 60.0, quiet=False)
    owner.join()
    assert folder.result() is not None
    assert "Asks again in 0 s." in capsys.readouterr().err
    assert counted(load_description(agents[1]).models / "ledger.jsonl").of("clinic").units["runs"] == 1


def assistlearn_approve(lab: Path, number: str) -> None:
    from assistlearn.cli.consent import desk_of

    desk = desk_of(lab)
    desk.approve(desk.find(number), "Ada")


def test_who_waits_in_vain_is_told_so_when_the_time_is_up_and_may_ask_no_longer(agents, capsys):
    with pytest.raises(ConsentAwaitedError, match="owner of 'lab'"):
        waiting.train_awaiting(lambda: made(agents), 0.0, 60.0, quiet=True)
    waiting.withdrawn(made(agents), as_json=False)
    assert capsys.readouterr().out == "lab is asked no longer\n"
    [request] = assistlearn("requests", agents[1], "--json").json["requests"]
    assert request["state"] == "withdrawn"
    assert not (agents[0].parent / "waited").exists()
