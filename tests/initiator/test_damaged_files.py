"""A bit that flips in a stored file, a file that is cut off or gone: it is named, and nothing is computed from it."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from assistlearn.agent.store import RunStore
from assistlearn.errors import AssistLearnError, RunError
from assistlearn.protocol import Ledger
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import entries_of, read
from tests.agent.recording import three_agents
from tests.initiator.digests import rewrite
from tests.initiator.spoiled import Spoiled

ROWS = np.arange(40)


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "flipped": flipped,
    "cut off": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
}


@pytest.fixture(scope="module")
def half(tmp_path_factory) -> Path:
    """A run that stopped in its third round: the folder with all agents."""
    folder = tmp_path_factory.mktemp("half")
    parties = three_agents(folder, n_rounds=3)
    with pytest.raises(AssistLearnError):
        list(parties.leader(Spoiled(parties.transport(), m.TurnTaken, lambda reply: b"", nth=3)).train())
    return folder


@pytest.fixture(scope="module")
def whole(half, tmp_path_factory) -> tuple[Path, bytes]:
    """The same run, finished, and its votes."""
    folder = tmp_path_factory.mktemp("whole")
    parties = copied(half, folder)
    list(parties.leader().train())
    return folder, predicted(parties).scores.tobytes()


def copied(origin: Path, folder: Path):
    shutil.copytree(origin, folder, dirs_exist_ok=True)
    return three_agents(folder, n_rounds=3)


def predicted(parties):
    return parties.leader().predict_rows(ROWS)


AT_THE_LAB = ("begin.msg", "rows.npy", "turns/000002/request.msg", "turns/000005/reply.msg", "turns/000002/model.skops")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_a_helper_stops_the_run_and_is_named_to_its_owner(half, whole, tmp_path, damage, caplog):
    parties = copied(half, tmp_path)
    for name in AT_THE_LAB:
        path = tmp_path / "lab" / "runs" / "test-run" / name
        content = path.read_bytes()
        path.write_bytes(DAMAGES[damage](content))
        with caplog.at_level(logging.CRITICAL), pytest.raises(AssistLearnError, match="'lab' failed at") as caught:
            list(parties.leader().train())
        assert str(path) not in str(caught.value)
        said = (tmp_path / "lab" / "problems.log").read_text().rpartition("RunError: ")[2]
        assert said.startswith(f"{path} is not what was written")
        assert "Restore it from a backup, or start a new run." in said
        path.write_bytes(content)
    list(parties.leader().train())
    assert predicted(parties).scores.tobytes() == whole[1]


@pytest.mark.parametrize("name", ["turns/000002/reply.msg", "turns/000002/model.skops", "begin.msg", "ended.json"])
def test_a_helper_with_a_damaged_file_does_not_vote(whole, tmp_path, name, caplog):
    parties = copied(whole[0], tmp_path)
    path = tmp_path / "lab" / "runs" / "test-run" / name
    path.write_bytes(flipped(path.read_bytes()))
    with caplog.at_level(logging.CRITICAL):
        assert list(predicted(parties).absent) == ["lab"]
    assert f"{path} is not what was written" in (tmp_path / "lab" / "problems.log").read_text()


def test_a_lost_model_is_named(half, tmp_path, caplog):
    parties = copied(half, tmp_path)
    path = tmp_path / "lab" / "runs" / "test-run" / "turns" / "000002" / "model.skops"
    path.unlink()
    with caplog.at_level(logging.CRITICAL), pytest.raises(AssistLearnError, match="'lab' failed at"):
        list(parties.leader().train())
    assert f"{path} is missing." in (tmp_path / "lab" / "problems.log").read_text()


@pytest.mark.parametrize("lost", ["turns/000002/model.skops", "turns/000002", "turns"])
@pytest.mark.parametrize("agent", ["clinic", "lab"])
def test_models_that_are_lost_after_the_end_are_named_before_anybody_votes(whole, tmp_path, agent, lost, caplog):
    parties = copied(whole[0], tmp_path)
    run = tmp_path / agent / "runs" / "test-run"
    first = "000002" if agent == "lab" else "000001"
    path = run / lost.replace("000002", first)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    with caplog.at_level(logging.CRITICAL):
        absent = predicted(parties).absent
    assert list(absent) == [agent]
    said = absent[agent] if agent == "clinic" else (tmp_path / "lab" / "problems.log").read_text()
    name = "model.skops" if lost.endswith(".skops") else "reply.msg"
    assert f"{run / 'turns' / first / name} is missing. Restore it from a backup" in said


def test_two_models_that_were_swapped_are_named(whole, tmp_path):
    parties = copied(whole[0], tmp_path)
    one, other = sorted((tmp_path / "clinic" / "runs" / "test-run").glob("turns/*/model.skops"))[:2]
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert f"{one} is not what was written" in predicted(parties).absent["clinic"]


def test_a_crash_while_models_that_do_not_count_are_removed_is_made_good(whole, tmp_path):
    parties = copied(whole[0], tmp_path)
    run = tmp_path / "lab" / "runs" / "test-run"
    store = RunStore(run, ("sklearn",))
    extra = run / "turns" / "000002" / "model.skops"
    surplus = [int(extra.parent.name)]
    content = extra.read_bytes()
    store.end(3, surplus)
    extra.write_bytes(content)  # as if the crash had come before it was removed
    assert next(store.past_turns()).model is None
    assert not extra.exists()
    assert "lab" in predicted(parties).absent  # whose models weigh less than in the result


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ["samples.npy", "held.npy", "secret.json", "turns/000001.msg", "turns/000002.msg"])
def test_a_damaged_file_of_the_run_s_folder_is_named(half, tmp_path, damage, name):
    parties = copied(half, tmp_path)
    path = tmp_path / "run" / name
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(RunError) as caught:
        list(parties.leader().train())
    assert f"{path} is not what was written" in str(caught.value)


def test_a_damaged_result_is_named(whole, tmp_path):
    parties = copied(whole[0], tmp_path)
    path = tmp_path / "run" / "result.json"
    path.write_bytes(path.read_bytes().replace(b'"n_rounds": 3', b'"n_rounds": 2'))
    with pytest.raises(RunError, match=r"result\.json is not what was written"):
        predicted(parties)


def test_without_its_digests_nothing_of_a_run_is_read(half, whole, tmp_path):
    parties = copied(half, tmp_path / "half")
    (tmp_path / "half" / "run" / "digests.txt").unlink()
    with pytest.raises(RunError, match=r"settings\.json has no digest in .*digests\.txt"):
        list(parties.leader().train())
    parties = copied(whole[0], tmp_path / "whole")
    path = tmp_path / "whole" / "run" / "digests.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "settings.json" not in line))
    with pytest.raises(RunError, match=r"settings\.json has no digest in .*digests\.txt"):
        predicted(parties)


@pytest.mark.parametrize("name", ["begin.msg", "turns/000002/request.msg", "turns/000005/reply.msg"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_ledger_tells_which_message_of_a_helper_has_changed_with_its_digest(half, tmp_path, name, damage, caplog):
    parties = copied(half, tmp_path)
    folder = tmp_path / "lab" / "runs" / "test-run"
    rewrite(folder, name, DAMAGES[damage]((folder / name).read_bytes()))
    with caplog.at_level(logging.CRITICAL), pytest.raises(AssistLearnError, match="'lab' failed at"):
        list(parties.leader().train())
    said = (tmp_path / "lab" / "problems.log").read_text().rpartition("RunError: ")[2]
    assert said.startswith(f"{folder / name} holds a message that is not in ledger.jsonl")


def test_the_ledger_tells_which_answer_in_the_run_s_folder_has_changed_with_its_digest(half, tmp_path):
    parties = copied(half, tmp_path)
    rewrite(tmp_path / "run", "turns/000002.msg", flipped((tmp_path / "run/turns/000002.msg").read_bytes()))
    with pytest.raises(RunError, match="turn 2"):
        list(parties.leader().train())


def test_a_reply_that_a_crash_kept_from_the_ledger_is_given_again(half, whole, tmp_path):
    """The lab has stored its answer to turn 8, and died before the ledger had it."""
    parties = copied(half, tmp_path)
    kept = list(read(tmp_path / "lab" / "ledger.jsonl"))
    assert kept[-1].type == "turn-taken"
    path = tmp_path / "lab" / "ledger.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    path.with_name("ledger.jsonl.head").write_text(f"{kept[-2].number} {kept[-2].hash}\n")
    for copy in [*(tmp_path / "lab").glob("told/*.json"), *(tmp_path / "lab").glob("runs/*/counted.json")]:
        copy.unlink()  # they are written after the entry
    list(parties.leader().train())
    assert predicted(parties).scores.tobytes() == whole[1]


def test_a_ledger_finds_the_entries_of_one_run_among_others(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    for number in range(20):
        ledger.record("sent", 'a "run": "two"', ("one", "two", 'x", "run": "two', "ööp")[number % 4], "open", b"")
    for run in ("one", "two", "ööp", "three"):
        assert entries_of(ledger.path, run) == [entry for entry in read(ledger.path) if entry.run == run]
    with ledger.path.open("ab") as file:
        file.write(b'{"number": 21, "run": "two", "type": ')  # cut short by a crash
    assert len(entries_of(ledger.path, "two")) == 5
    assert entries_of(tmp_path / "none.jsonl", "two") == []
