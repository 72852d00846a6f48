"""Forgetting where links are in the way: nothing outside is removed, it is said, and the agent starts again."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from assistlearn.agent.store import RunStore, run_folder, runs_at
from assistlearn.errors import RunError
from assistlearn.initiator.folder import RunFolder
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from tests.agent.recording import record, three_agents

RUN = "test-run"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return record(tmp_path_factory.mktemp("recorded"))


def elsewhere(path: Path, target: Path) -> Path:
    """Move a folder, and leave a link in its place."""
    path.rename(target)
    path.symlink_to(target)
    return target


def test_a_run_s_folder_that_is_a_link_is_not_followed_and_the_agent_starts_again(lab, tmp_path, caplog):
    home = tmp_path / "home"
    service = lab.service(home, lab.stage(m.Forget))
    target = elsewhere(run_folder(home, RUN), tmp_path / "elsewhere")
    with caplog.at_level(logging.CRITICAL):
        reply = decode(service.answer(encode(m.Forget(run=RUN))))
    assert (reply.kind, str(target) in reply.text) == ("failed", False)
    said = (home / "problems.log").read_text()
    assert f"Run '{RUN}' is not forgotten: {home}/runs/{RUN} was a link." in said
    assert f"what it points to, {target}, is not: remove that by hand." in said
    assert len(list(target.glob("turns/*/model.skops"))) == 3
    assert runs_at(home) == []
    again = lab.service(home)
    assert decode(again.answer(encode(m.Forget(run=RUN)))).kind == "unknown-run"


def test_folders_above_a_run_may_be_links(lab, tmp_path):
    home = tmp_path / "home"
    service = lab.service(home, lab.stage(m.Forget))
    elsewhere(home / "runs", tmp_path / "big-disk")
    home = elsewhere(home, tmp_path / "moved")
    assert decode(service.answer(encode(m.Forget(run=RUN)))).n_models == 3
    assert list((tmp_path / "big-disk").iterdir()) == []


def _refuse(path: Path) -> None:
    raise OSError(16, "Device or resource busy", str(path))


def test_a_run_is_forgotten_beside_remains_that_cannot_be_removed(lab, tmp_path, monkeypatch):
    home = tmp_path / "home"
    lab.service(home, lab.stage(m.Forget))
    store = RunStore(run_folder(home, RUN))
    monkeypatch.setattr("assistlearn.storage.shutil.rmtree", _refuse)
    with pytest.raises(RunError, match=r"only partly forgotten.*Remove it by hand"):
        store.forget()
    lab.service(home, 1)
    with pytest.raises(RunError, match=r"\.test-run-1\.forgotten cannot be removed"):
        store.forget()


def test_an_initiator_s_folder_that_is_a_link_goes_with_the_link(tmp_path):
    parties = three_agents(tmp_path, n_rounds=1)
    leader = parties.leader()
    list(leader.train())
    target = elsewhere(leader.folder.path, tmp_path / "elsewhere")
    turns = elsewhere(target / "turns", tmp_path / "turns-elsewhere")
    said: list[str] = []
    leader = parties.leader()
    leader.run.log.listen(lambda event: said.append(getattr(event, "words", "")))
    assert leader.forget().absent == {}
    assert not leader.folder.path.is_symlink()
    assert not target.exists()
    assert len(list(turns.iterdir())) == 3
    assert any(f"what it points to, {turns}, is not" in words for words in said)


def test_other_files_in_a_linked_folder_stay(tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (target / "thesis.tex").write_text("mine")
    np.save(target / "samples.npy", np.arange(3))
    (tmp_path / "run").symlink_to(target)
    assert RunFolder(tmp_path / "run").remove() == []
    assert [path.name for path in target.iterdir()] == ["thesis.tex"]
