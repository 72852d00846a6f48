"""Files are for their owner alone, whatever the umask; links that others planted are not followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from assistlearn import storage
from assistlearn.errors import DiskError
from assistlearn.protocol.ledger import Ledger
from assistlearn.reach.flare.carrying.job_definition import write_job
from assistlearn.reach.flare.local import LocalNetwork
from assistlearn.report.displays import draw_attack
from tests.agent.recording import three_agents
from tests.attacks.attack import attack
from tests.cli.program import assistlearn

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def rights(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_new_folders_are_private_under_any_umask(umask, tmp_path):
    path = tmp_path / "models" / "runs" / "model.skops"
    storage.write_bytes(path, b"a model")
    with storage.appending(path.with_name("log")) as file:
        file.write(b"a line\n")
    assert {rights(each) for each in (path, path.with_name("log"))} == {0o600}
    assert {rights(each) for each in path.parents[:2]} == {0o700}
    assert sorted(each.name for each in path.parent.iterdir()) == ["log", "model.skops"]


@pytest.mark.parametrize("arguments", [("init",), ("init", "--example")], ids=" ".join)
def test_the_files_to_start_from_are_private(umask, tmp_path, arguments):
    written = assistlearn(*arguments, tmp_path / "new" / "lab", "--json").json["files"]
    assert {rights(Path(path)) for path in written} == {0o600}
    assert rights(tmp_path / "new") == rights(tmp_path / "new" / "lab") == 0o700


def test_pictures_are_private(umask, tmp_path):
    draw_attack([{"column": "age", "inferred": []}], "What could be guessed", tmp_path / "attack.svg")
    assert rights(tmp_path / "attack.svg") == 0o600


def test_what_processes_of_a_local_network_print_is_private(umask, tmp_path):
    (tmp_path / "net" / "kits").mkdir(parents=True)
    network = LocalNetwork(tmp_path / "net", {"clinic": tmp_path / "clinic.toml"}, command=["echo"])
    network.start("clinic")
    network.processes["clinic"].wait(60)
    assert rights(tmp_path / "net" / "clinic.out") == 0o600


def test_definitions_of_jobs_are_private(umask, tmp_path):
    written = write_job(tmp_path / "job", "command", "clinic", ["clinic", "lab"])
    assert {rights(path) for path in written.rglob("*") if path.is_file()} == {0o600}


def test_a_folder_that_is_there_keeps_its_rights(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o750)
    storage.write_bytes(folder / "result.json", b"{}")
    assert rights(folder) == 0o750


@attack(
    "local process",
    "reads keys, labels, models, rewards and ledgers of a run that was started with a wide umask",
    "files are made with the mode 0600 and folders with 0700, whatever the umask",
)
@pytest.mark.parametrize("method", ["soft", "label-private"])
def test_every_file_of_a_run_is_private(method, tmp_path):
    before = os.umask(0)
    try:
        parties = three_agents(tmp_path / "all", method=method, n_rounds=1)
        list(parties.leader().train())
    finally:
        os.umask(before)
    found = list((tmp_path / "all").rglob("*"))
    assert {path.name for path in found} >= {"ledger.jsonl", "ledger.jsonl.head", "settings.json", "secret.json"}
    open_ = {path.relative_to(tmp_path).as_posix(): oct(rights(path)) for path in found if rights(path) & 0o077}
    assert open_ == {}


@attack(
    "local process",
    "plants a link under the name of a file that is about to be written or appended to",
    "names of files that are written aside cannot be guessed, and links are not followed",
)
def test_planted_links_are_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    home = tmp_path / "home"
    home.mkdir()
    for name in (".secret.json.new", "secret.json", "ledger.jsonl.new", "ledger.jsonl.head", "ledger.jsonl.new"):
        (home / name).unlink(missing_ok=True)
        (home / name).symlink_to(precious)
    storage.write_json(home / "secret.json", {"order": [1, 0]})
    (home / "ledger.jsonl.head").unlink()
    Ledger(home / "ledger.jsonl").record("sent", "lab", "r1", "begin", b"content")
    (home / "log").symlink_to(precious)
    with pytest.raises(DiskError, match="it is a link, which is not followed"), storage.writing(home / "log"):
        storage.appending(home / "log")
    assert precious.read_bytes() == b"mine"
    assert not (home / "secret.json").is_symlink()


def test_nothing_is_left_of_a_file_that_could_not_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", _full)
    with pytest.raises(DiskError, match="No space left on device"):
        storage.write_bytes(tmp_path / "model", b"a model")
    assert list(tmp_path.iterdir()) == []


def _full(number: int) -> None:
    raise OSError(28, "No space left on device")
