"""``train``, ``site`` and ``network``: what is wrong is said before any machine is asked anything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from assistlearn.agent.file import load_description
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.opening import write_run
from assistlearn.plan import Plan
from assistlearn.reach.processes.reach_processes import create_run
from tests.cli.program import assistlearn
from tests.cli.small_agents import SECRET, toml

NETWORK = (
    'name = "credit"\nrelay = "localhost"\nport = {port}\norganisations = ["clinic", "lab"]\ninitiator = "clinic"\n'
)
ALLOW = '[allow]\ninitiators = ["clinic"]\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Return a folder with the kits of two networks, in ``kits`` and ``others``."""
    folder = tmp_path_factory.mktemp("networks")
    for name, port in (("kits", 9), ("others", 10)):  # ports at which nobody answers
        (folder / f"{name}.toml").write_text(NETWORK.format(port=port).replace("credit", name))
        said = assistlearn("network", "create", folder / f"{name}.toml", "--out", folder / name, "--json").json
        assert said == {
            "network": name,
            "kits": {
                **{kit: str(folder / name / kit) for kit in ("relay", "clinic", "lab")},
                "admin": str(folder / name / "clinic" / "admin"),
            },
        }
    return folder


@pytest.fixture
def folder(made, agents, tmp_path) -> Path:
    """Return a folder with kits and with the files of the small agents."""
    for name in ("kits", "others"):
        shutil.copytree(made / name, tmp_path / name)
    return tmp_path


def task(folder: Path, **changed: object) -> Path:
    values = {"site": "kits/clinic", "admin": "kits/clinic/admin", "agent": "clinic.toml", "helpers": ["lab"]} | changed
    file = folder / "task.toml"
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items() if value is not None))
    return file


def train(folder: Path, **changed: object):
    return assistlearn("train", task(folder, **changed), "--out", folder / "run")


@pytest.mark.parametrize("verb", ["start", "check"])
def test_a_folder_that_is_no_kit_is_said_so(tmp_path, verb):
    assistlearn("site", verb, tmp_path).failed(3, "is not a startup kit", "assistlearn network create")


# -- train --


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"admin": "others/clinic/admin"}, ["of the network 'kits'", "of 'others'", "Name two kits of one network"]),
        ({"agent": "lab.toml"}, ["describes agent 'lab', but the kit is that of 'clinic'"]),
        ({"agent": None}, ["agent.toml"]),
        ({"site": "kits/lab", "agent": "lab.toml", "helpers": ["clinic"]}, ["names no label column"]),
        ({"helpers": ["clinic"]}, ["which is the initiator itself"]),
        ({"helpers": []}, ["task.toml, line 4", "at least one organisation"]),
        ({"give_up_after": 1}, ["task.toml, line 5", "between 5 and 86400"]),
        ({"helper": ["lab"]}, ["there is no key 'helper'", "Did you mean 'helpers'?"]),
    ],
    ids=lambda value: " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_a_task_that_cannot_be_is_refused_and_leaves_no_run(folder, changed, words):
    train(folder, **changed).failed(2, *words)
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"site": "kits/clinic/admin"}, "is the kit of the initiator's admin. Name that of a site"),
        ({"admin": "kits/clinic"}, "is the kit of a site. Name that of the initiator's admin"),
        ({"site": "nowhere"}, "nowhere is not a startup kit: there is no such folder"),
        ({"site": None}, "/kit is not a startup kit: there is no such folder"),
        ({"site": "kits/lab", "admin": None}, "kits/lab/admin is not a startup kit: there is no such folder"),
    ],
)
def test_a_kit_that_is_not_the_right_one_ends_with_3_and_leaves_no_run(folder, changed, words):
    train(folder, **changed).failed(3, words)
    assert not (folder / "run").exists()


def test_an_initiator_without_a_secret_is_told_so_before_anybody_is_asked(folder):
    (folder / "clinic.toml").write_text(toml("clinic", 'label = "ill"\n'))
    train(folder).failed(2, "has no secret for matching ids by keyed hashes")
    assert not (folder / "run").exists()


def test_a_run_on_this_machine_is_not_gone_on_with_over_a_network(agents, tmp_path):
    create_run(tmp_path / "here", "r", agents, Plan(method="ascii"))
    assistlearn("train", "--resume", tmp_path / "here").failed(
        2, "is not a run of 'assistlearn train'", f"assistlearn simulate --resume {tmp_path / 'here'}"
    )


# -- network --


def test_a_demo_needs_a_folder_of_its_own(tmp_path):
    (tmp_path / "mine").mkdir()
    assistlearn("network", "demo", "--out", tmp_path / "mine").failed(2, "is there already")
    assert list((tmp_path / "mine").iterdir()) == []


def test_the_owners_of_the_kits_are_named(tmp_path):
    (tmp_path / "network.toml").write_text(NETWORK.format(port=9))
    said = assistlearn("network", "create", tmp_path / "network.toml", "--out", tmp_path / "kits")
    assert said.code == 0
    words = " ".join(said.out.split())
    for part in ("the relay, localhost", "clinic, who starts runs with it", "organisation lab", "a private key"):
        assert part in words


# -- site --


def site(folder: Path, verb: str, kit: str, name: str, more: str):
    (folder / f"{name}.toml").write_text(toml(name, SECRET + more))
    return assistlearn("site", verb, folder / "kits" / kit, "--agent", folder / f"{name}.toml")


@pytest.mark.parametrize(
    ("kit", "name", "more", "code", "words"),
    [
        ("lab", "scans", ALLOW, 2, "describes agent 'scans', but the kit is that of 'lab'"),
        ("lab", "lab", "", 2, "does not say who may start runs with this agent"),
        ("clinic/admin", "lab", ALLOW, 3, "is the kit of the initiator's admin. Name that of a site or the relay"),
    ],
)
def test_a_site_whose_files_do_not_fit_does_not_start(folder, kit, name, more, code, words):
    site(folder, "start", kit, name, more).failed(code, words)
    assert not (folder / "kits" / kit / "site.log").exists()


def test_a_check_shows_what_is_right_and_what_is_wrong_and_ends_with_3(folder):
    (folder / "lab.toml").write_text(toml("lab", SECRET + ALLOW))
    said = assistlearn("site", "check", folder / "kits" / "lab", "--agent", folder / "lab.toml", "--json")
    assert said.code == 3
    assert (said.json["name"], said.json["right"]) == ("lab", False)
    assert {finding["what"]: finding["right"] for finding in said.json["findings"]} == {
        "NVIDIA FLARE": True,
        "certificate": True,
        "relay": False,
        "agent": True,
    }
    said = assistlearn("site", "check", folder / "kits" / "lab", "--agent", folder / "lab.toml")
    assert said.code == 3
    assert "wrong relay: The relay at localhost:9 cannot be reached" in " ".join(said.out.split())


def test_a_run_over_a_network_is_not_gone_on_with_on_this_machine(agents, tmp_path):
    folder = tmp_path / "there"
    kits = {"site": "kits/clinic", "admin": "kits/admin"}
    files = {"clinic": str(agents[0])}
    write_run(
        *(RunFolder(folder), "r", load_description(agents[0]), ["lab"], Plan(method="ascii")),
        **{"reach": "flare", "files": files, "kits": kits, "patience_seconds": 60.0},
    )
    words = "is not a run of 'assistlearn simulate'", f"assistlearn train --resume {folder}"
    assistlearn("simulate", "--resume", folder).failed(2, *words)
    assert f"Go on with it: assistlearn train --resume {folder}" in assistlearn("show", folder).out
