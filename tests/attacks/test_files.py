"""Files of a run that somebody on the machine has changed: found, named, and not used."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from assistlearn.agent.service import AgentService
from assistlearn.errors import AssistLearnError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from tests.agent.recording import record, three_agents
from tests.attacks.attack import attack
from tests.initiator.digests import rewrite
from tests.initiator.spoiled import Spoiled

RUN = "test-run"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return record(tmp_path_factory.mktemp("recorded"))


@attack(
    "local process",
    "puts a link to another folder among the remains of forgotten runs, which a starting agent removes",
    "the link is removed, the folder stays, and the agent starts",
)
def test_remains_that_are_links_or_cannot_be_removed_stop_no_agent(lab, tmp_path, caplog, monkeypatch):
    home, precious = tmp_path / "home", tmp_path / "precious"
    precious.mkdir()
    (precious / "table.csv").write_text("id\n")
    service = lab.service(home, 1)
    (home / "runs" / ".old.forgotten").symlink_to(precious)
    stubborn = home / "runs" / ".stubborn.forgotten"
    stubborn.mkdir()
    monkeypatch.setattr("assistlearn.storage.shutil.rmtree", _refuse)
    with caplog.at_level(logging.WARNING, logger="assistlearn.agent"):
        AgentService(replace(lab.holdings, home=home))
    assert f"{stubborn} cannot be removed: Device or resource busy. Remove it by hand." in caplog.text
    assert (precious / "table.csv").exists()
    assert not (home / "runs" / ".old.forgotten").exists()
    monkeypatch.undo()
    assert decode(service.answer(encode(m.Forget(run=RUN)))).n_models == 0


def _refuse(path: Path) -> None:
    raise OSError(16, "Device or resource busy", str(path))


def interrupted(folder: Path):
    """Return three agents whose run has stopped in its third round."""
    parties = three_agents(folder, n_rounds=3)
    with pytest.raises(AssistLearnError):
        list(parties.leader(Spoiled(parties.transport(), m.TurnTaken, lambda reply: b"", nth=3)).train())
    return parties


def heavier(content: bytes) -> bytes:
    """Return an answer to a turn whose model weighs more."""
    taken = decode(content)
    assert isinstance(taken, m.TurnTaken)
    return encode(msgspec.structs.replace(taken, model_weight=taken.model_weight + 1.0))


@attack(
    "local process",
    "changes the weight of a stored model at a helper, and the digest beside it",
    "the run stops: the helper's ledger has another digest of that message",
)
def test_a_stored_weight_that_was_changed_with_its_digest_is_found_by_the_ledger(tmp_path, caplog):
    parties = interrupted(tmp_path)
    folder = tmp_path / "lab" / "runs" / RUN
    path = folder / "turns" / "000002" / "reply.msg"
    rewrite(folder, path.relative_to(folder).as_posix(), heavier(path.read_bytes()))
    with caplog.at_level(logging.CRITICAL), pytest.raises(AssistLearnError, match="'lab' failed at"):
        list(parties.leader().train())
    assert f"{path} holds a message that is not in ledger.jsonl" in (tmp_path / "lab" / "problems.log").read_text()


@attack(
    "local process",
    "changes a helper's answer in the initiator's run folder, and the digest beside it",
    "the run stops: the initiator's ledger has another digest, and the weight does not follow from the reward",
)
def test_a_kept_answer_that_was_changed_with_its_digest_is_found_by_the_ledger(tmp_path):
    parties = interrupted(tmp_path)
    folder = tmp_path / "run"
    path = folder / "turns" / "000002.msg"
    rewrite(folder, path.relative_to(folder).as_posix(), heavier(path.read_bytes()))
    with pytest.raises(AssistLearnError, match="turn 2 is not an answer of 'lab' that the ledger has"):
        list(parties.leader().train())
    for file in (tmp_path / "clinic").glob("ledger.jsonl*"):
        file.unlink()  # and without a ledger, arithmetic does
    with pytest.raises(AssistLearnError, match=r"record of turn 2 is damaged: .*does not follow from the reward"):
        list(parties.leader().train())
