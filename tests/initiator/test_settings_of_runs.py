"""Settings of a run are read whole, and checked, or refused by name."""

from __future__ import annotations

import json

import pytest

from assistlearn.errors import RunError, SettingsError
from assistlearn.initiator.folder import RunFolder
from tests.agent.recording import three_agents
from tests.initiator.digests import rewrite_settings


def settings_of(folder: RunFolder) -> dict:
    return json.loads((folder.path / "settings.json").read_text())


def write(folder: RunFolder, settings: object) -> None:
    rewrite_settings(folder.path, settings)


def test_what_is_no_setting_says_where_the_agents_are(tmp_path):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    places = {"kits": {"site": "a", "admin": "b"}, "patience_seconds": 60.0}
    write(folder, settings_of(folder) | places)
    assert folder.settings().places == places


@pytest.mark.parametrize("name", ["method", "seed", "n_rounds", "classes", "agents", "reach", "combine", "label_only"])
def test_settings_that_are_not_whole_are_refused_by_name(tmp_path, name):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    facts = settings_of(folder)
    del facts[name]
    write(folder, facts)
    with pytest.raises(RunError, match=rf"settings.json is not complete: {name} missing"):
        folder.settings()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_rounds": 0}, "n_rounds=0 must be"),
        ({"method": "magic"}, "method='magic' is not known"),
        ({"format": 9}, "has format 9"),
        ([1], "holds no JSON object, but list"),
    ],
)
def test_settings_that_were_spoiled_are_refused(tmp_path, wrong, words):
    folder = three_agents(tmp_path, n_rounds=1).leader().folder
    write(folder, settings_of(folder) | wrong if isinstance(wrong, dict) else wrong)
    with pytest.raises(RunError, match=words):
        folder.settings()


def test_a_share_that_holds_out_nothing_is_refused_before_the_samples_are_settled(tmp_path):
    leader = three_agents(tmp_path, n_rounds=1, holdout=0.001).leader()
    with pytest.raises(SettingsError, match=r"holdout=0\.001 of 178 samples leaves nothing to hold out"):
        list(leader.train())
    assert leader.folder.samples() is None


def test_a_run_that_was_begun_with_such_a_share_goes_on_without_hold_out_samples(tmp_path):
    leader = three_agents(tmp_path, n_rounds=1).leader()
    list(leader.train())
    expected = leader.folder.result()
    write(leader.folder, settings_of(leader.folder) | {"holdout": 0.001})
    (leader.folder.path / "result.json").unlink()
    again = three_agents(tmp_path, n_rounds=1).leader()
    list(again.train())
    assert again.folder.result()["contributions"] == expected["contributions"]
