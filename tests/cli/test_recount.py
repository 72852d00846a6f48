"""``assistlearn recount``: what is lost is said, what is left is counted, and what is whole is left alone."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents

pytestmark = pytest.mark.usefixtures("forked_agents")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recount") / "agents"
    said = assistlearn("simulate", *write_agents(folder)[:2], "--run", "first", "--out", folder / "run", "--rounds", 2)
    assert said.code == 0, said.err
    return folder.rename(folder.with_name("moved"))


def test_a_lost_ledger_stops_everything_until_it_is_recounted(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "copy")
    lab, home = folder / "lab.toml", folder / "lab-models"
    before = assistlearn("audit", lab, "--json").json["counted"]["clinic"]
    whole = assistlearn("recount", lab)
    assert "Nothing is missing" in whole.out
    for path in home.glob("ledger.jsonl*"):
        path.unlink()
    assistlearn("audit", lab).failed(4, "ledger.jsonl is missing", "assistlearn recount FILE")
    alone = assistlearn("predict", folder / "run", "--out", folder / "alone.csv")
    assert alone.code == 3
    assert "lab did not take part: Agent 'lab' cannot start:" in " ".join(alone.out.split())
    assistlearn("recount", lab).failed(2, "Nothing was done", "--yes")
    said = assistlearn("recount", lab, "--yes", "--json").json
    assert said["rebuilt"] == [
        {"initiator": "clinic", "units": said["rebuilt"][0]["units"], "all_spent": False, "people": False}
    ]
    assert assistlearn("audit", lab, "--json").json["counted"]["clinic"] == before
    assert "were lost, and rebuilt" in " ".join(assistlearn("audit", lab).out.split())
    assert assistlearn("predict", folder / "run", "--out", folder / "out.csv", "--force").code == 0


def test_an_older_ledger_is_put_aside(trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "copy")
    lab, home = folder / "lab.toml", folder / "lab-models"
    backup = shutil.copytree(home, tmp_path / "backup")
    assert assistlearn("predict", folder / "run", "--out", folder / "out.csv").code == 0
    for path in backup.glob("ledger.jsonl*"):
        shutil.copy(path, home)
    assistlearn("audit", lab).failed(4, "does not have entry", "an older one was restored")
    said = " ".join(assistlearn("recount", lab, "--yes").out.split())
    assert "Counted for clinic from now on" in said
    assert "A new ledger has begun. It has no consent: initiators that [allow] does not name ask again." in said
    assert assistlearn("audit", home / "ledger-1.jsonl").code == 0
