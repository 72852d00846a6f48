"""What a site lets others do: run our classes for runs that its owner allows, and nothing else."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assistlearn.agent.consent import Inbox
from assistlearn.agent.file import load_description
from assistlearn.agent.store import runs_at
from assistlearn.plan import Plan
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_codes
from assistlearn.protocol.ledger import Entry, counted, read, verify
from assistlearn.reach.flare.carrying.control import Control
from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.carrying.job import OVER
from assistlearn.reach.flare.carrying.job_definition import write_job
from assistlearn.reach.flare.provisioning.kit import load_kit
from tests.reach.organisations import HELPERS, INITIATOR, NAMES, PURPOSE, Organisations

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def control(organisations):
    with Control(load_kit(organisations.network.kit("admin"))) as made:
        yield made


# -- jobs that are not ours --


def outcome(control: Control, job: Path) -> str:
    """Submit a job, wait for its end, and return how it ended and what the sites said to it."""
    number = control.submit(job)
    until = time.monotonic() + 120
    while not (status := control.status(number)).startswith(OVER):
        assert time.monotonic() < until, status
        time.sleep(0.5)
    return f"{status} {control.facts(number).get('job_deploy_detail')}"


def add(job: Path, app: str, path: str, **args: object) -> None:
    """Let a job name one more component."""
    (config,) = (job / app / "config").iterdir()
    values = json.loads(config.read_text())
    values["components"].append({"id": "foreign", "path": path, "args": args})
    config.write_text(json.dumps(values))


@pytest.mark.parametrize("app", ["relay", "site"])
def test_a_job_that_brings_its_own_code_is_refused_by_the_relay_and_by_every_site(small, control, tmp_path, app):
    job = write_job(tmp_path / "job", "0" * 32, INITIATOR, NAMES)
    code = job / app / "custom" / "mine.py"
    code.parent.mkdir()
    code.write_text(f"open({str(tmp_path / 'it ran')!r}, 'w').close()\n\n\nclass Mine:\n    pass\n")
    add(job, app, "mine.Mine")
    ended = outcome(control, job)
    assert "FAILED_TO_RUN" in ended
    said, times = ("BYOC not permitted", 1) if app == "relay" else ("the job has unknown facts: byoc", len(NAMES))
    assert ended.count(said) == times
    assert not (tmp_path / "it ran").exists()


@pytest.mark.parametrize(
    ("app", "path"),
    [
        ("site", "subprocess.Popen"),
        pytest.param("relay", "subprocess.Popen", marks=pytest.mark.slow),
        pytest.param("site", "nvflare.app_common.np.np_trainer.NPTrainer", marks=pytest.mark.slow),
    ],
)
def test_a_job_that_names_a_class_which_is_not_ours_is_not_run(small, control, tmp_path, app, path):
    job = write_job(tmp_path / "job", "0" * 32, INITIATOR, NAMES)
    add(job, app, path, **({"args": ["touch", str(tmp_path / "it ran")]} if "Popen" in path else {}))
    ended = outcome(control, job)
    assert "COMPLETED" not in ended
    assert not (tmp_path / "it ran").exists()
    if app == "relay":
        assert _in_log(small, "relay", f"Component {path!r}", "is not in allow_list")
    else:
        assert ended.count("refused: the job's file is not that of assistlearn") == len(NAMES)


def _in_log(made: Organisations, name: str, *words: str) -> bool:
    log = (made.network.kit(name) / "site.log").read_text(errors="replace")
    return any(all(word in line for word in words) for line in log.splitlines())


@pytest.mark.parametrize("target", ["server", HELPERS[0]])
def test_nobody_looks_into_the_files_of_a_site_or_of_the_relay(organisations, control, target):
    control.connected()
    session = control._session
    for command in (
        lambda: session.cat_target(target, file="local/resources.json"),
        lambda: session.ls_target(target),
        lambda: session.tail_target(target, file="site.log"),
        lambda: session.grep_target(target, pattern="a", file="site.log"),
    ):
        try:
            answer = str(command())
        except Exception as error:
            answer = str(error)
        assert "not authorized" in answer or "refused: a site's parent process only" in answer
        assert "class_allow_list" not in answer


def test_nobody_stops_or_removes_a_site(organisations, control):
    control.connected()
    session = control._session
    for command in (
        lambda: session.shutdown("all"),
        lambda: session.remove_client(HELPERS[0]),
        lambda: session.disable_client(HELPERS[0]),
    ):
        with pytest.raises(Exception, match="not authorized"):
            command()
    assert set(control.connected()) == set(NAMES)


# -- runs that are not allowed --


def opening(run: str, initiator: str = INITIATOR, purpose: str = PURPOSE) -> bytes:
    return encode(m.Open(run=run, initiator=initiator, purpose=purpose, alignment="hash", overlap="abstain"))


def transport(made: Organisations, initiator: str, *agents: str) -> FlareTransport:
    kits = load_kit(made.network.kit(initiator)), load_kit(made.network.kit("admin"))
    return FlareTransport(*kits, agents)


def allow(made: Organisations, name: str, *lines: str, initiator: str = INITIATOR) -> None:
    table = pl.read_csv(made.folder / "agents" / f"{name}.csv")
    made.write(name, table, allow="\n".join(["[allow]", f'initiators = ["{initiator}"]', *lines]) + "\n")


def test_a_site_refuses_what_its_owner_does_not_allow_names_itself_and_keeps_it_in_its_ledger(small):
    lab, scans, shop = HELPERS
    allow(small, lab, initiator="bank")
    allow(small, scans, 'purpose = "research"')
    allow(small, shop, "expires = 2020-01-01")
    expected = {
        lab: f"Agent {lab!r} does not work for {INITIATOR!r}, but for ['bank']",
        scans: f"Agent {scans!r} works for the purpose 'research' only, not {PURPOSE!r}",
        shop: f"Agent {shop!r}: its owner's permission has expired: it was valid until the end of 2020-01-01",
    }
    before = {name: entries(small, name) for name in HELPERS}
    with transport(small, INITIATOR, *HELPERS) as carrier:
        for name, words in expected.items():
            reply = decode(carrier.ask(name, opening("refused")))
            assert isinstance(reply, m.Problem)
            assert reply.kind == "refused"
            assert words in reply.text
    for name in HELPERS:
        new = entries(small, name)[len(before[name]) :]
        assert [(entry.direction, entry.peer, entry.run, entry.type) for entry in new] == [
            ("received", INITIATOR, "refused", "open"),
            ("sent", INITIATOR, "refused", "problem"),
        ]
        assert not (home(small, name) / "runs" / "refused").exists()


def test_a_running_site_lets_a_request_wait_and_does_what_its_owner_answers_in_the_same_job(small):
    lab = HELPERS[0]
    allow(small, lab, initiator="bank")
    proposal = m.Propose(run="asked", initiator=INITIATOR, purpose=PURPOSE, method="soft", n_samples=9, n_rounds=1)
    inbox = Inbox(home(small, lab), 14)
    with transport(small, INITIATOR, lab) as carrier:
        waits = decode(carrier.ask(lab, encode(proposal)))
        assert (waits.state, waits.run) == ("waiting", "asked")
        [request], _ = inbox.requests()
        assert (request.initiator, request.proof, request.request) == (INITIATOR, "certificate", waits.request)
        assert decode(carrier.ask(lab, opening("asked"))).kind == "refused"
        inbox.approve(request, "Ada")
        assert decode(carrier.ask(lab, encode(proposal))).state == "allowed"
        assert isinstance(decode(carrier.ask(lab, opening("asked"))), m.Opened)
        inbox.reject(inbox.find(waits.request), "Ada", "no more")
        assert decode(carrier.ask(lab, encode(proposal))).text == "no more"
        assert "was taken back" in decode(carrier.ask(lab, opening("asked"))).text
        assert isinstance(decode(carrier.ask(lab, encode(m.Forget(run="asked")))), m.Forgotten)


def test_runs_and_samples_are_counted_and_another_organisation_cannot_ask_in_the_initiators_place(small):
    """After the clinic, the lab leads a job of its own, and asks the shop about the clinic's run."""
    lab, scans, shop = HELPERS
    used = counted(home(small, lab) / "ledger.jsonl").of(INITIATOR).used("runs", "all", "", "")
    allow(small, lab, f"max_runs = {used + 1}")
    allow(small, scans, "max_samples = 100")
    begin = m.Begin(
        run="r1",
        n_samples=101,
        n_classes=2,
        labels=pack_codes(np.zeros(101, int), 2),
        seed=3,
        turn_seeds=4,
        weights=None,
        holdout=None,
        **Plan(method="ascii").told(),
    )
    with transport(small, INITIATOR, *HELPERS) as carrier:
        for name in HELPERS:
            assert isinstance(decode(carrier.ask(name, opening("r1"))), m.Opened)
        for name, request, words in (
            (lab, opening("r2"), f"Agent {lab!r} allows {INITIATOR!r} {used + 1} runs in all: {used + 1} are used"),
            (scans, encode(begin), f"Agent {scans!r} allows at most 100 samples at once; 101 are asked for"),
        ):
            reply = decode(carrier.ask(name, request))
            assert isinstance(reply, m.Problem)
            assert reply.kind == "refused"
            assert words in reply.text
    with transport(small, lab, shop) as carrier:
        for request in (opening("r1"), encode(m.Forget(run="r1")), opening("r2")):
            reply = decode(carrier.ask(shop, request))
            assert isinstance(reply, m.Problem)
            assert reply.kind == "refused"
            assert f"belongs to {INITIATOR!r}; {lab!r} has no part in it" in reply.text
    assert "r1" in runs_at(home(small, shop))
    assert "r2" not in runs_at(home(small, shop))
    said = [(entry.peer, entry.type) for entry in entries(small, shop)[-6:]]
    assert said == [(lab, type_) for type_ in ("open", "problem", "forget", "problem", "open", "problem")]


def home(made: Organisations, name: str) -> Path:
    """Where an agent keeps its runs and its ledger."""
    return load_description(made.files[name]).models


def entries(made: Organisations, name: str) -> list[Entry]:
    """What an agent has sent and received; what was turned away at its door is another matter."""
    ledger = home(made, name) / "ledger.jsonl"
    if not ledger.exists():
        return []
    verify(ledger)
    return [entry for entry in read(ledger) if entry.direction != "refused"]
