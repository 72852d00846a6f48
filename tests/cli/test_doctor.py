"""``assistlearn doctor`` finds what is missing, names the line that mends it, and shows nothing private."""

from __future__ import annotations

import getpass
import os
import re
import socket
import time
from importlib import metadata
from pathlib import Path

import pytest

from assistlearn.cli import doctor
from assistlearn.extras import of_package
from tests.cli.program import assistlearn, modules_after

ROOT = Path(__file__).parents[2]

TOPICS = ["Versions", "Extras", "Ports", "Folders", "Disk", "Clock", "Machine"]


def test_here_all_that_is_needed_is_there(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    said = assistlearn("doctor", "--json")
    facts = said.json
    assert said.code == 0
    assert facts.keys() == {"version", "healthy", "findings"}
    assert facts["healthy"] is True
    topics = list(dict.fromkeys(each["topic"] for each in facts["findings"]))
    assert [topic for topic in topics if topic != "Variables"] == TOPICS
    assert list(tmp_path.iterdir()) == []


def test_people_are_told_the_same_in_words():
    words, facts = assistlearn("doctor"), assistlearn("doctor", "--json").json
    assert words.code == 0
    assert "All that is needed is there." in words.out
    assert all(each["name"] in words.out for each in facts["findings"])


def test_it_waits_for_no_heavy_package():
    loaded = modules_after("import assistlearn.cli as p; p.run(['doctor'])")
    assert loaded.isdisjoint({"sklearn", "scipy", "polars", "numpy", "matplotlib", "nvflare", "torch"})


def test_its_dependencies_and_extras_are_those_of_the_package():
    asked = of_package()
    findings = [*doctor.look_at_versions(asked), *doctor.look_at_extras(asked)]
    assert {"numpy", "scikit-learn", "polars"} <= {each.name for each in findings if each.topic == "Versions"}
    assert {"web", "flare", "duckdb"} <= {each.name for each in findings if each.topic == "Extras"}
    assert "dev" not in {each.name for each in findings}


@pytest.mark.parametrize(
    ("line", "state", "remedy"),
    [
        ("numpy>=2.0", "ok", ""),
        ("numpy>=99", "wrong", "pip install 'numpy>=99'"),
        ("numpy (>=2.0)", "ok", ""),
        ("no-such-package>=1", "wrong", "pip install 'no-such-package>=1'"),
    ],
)
def test_what_the_core_needs_is_wrong_where_it_is_missing_or_too_old(line, state, remedy):
    [found] = list(doctor.look_at_versions(of_package([line])))[3:]
    assert (found.state, found.remedy) == (state, remedy)


@pytest.mark.parametrize(
    ("lines", "state", "remedy"),
    [
        (["numpy>=2.0; extra == 'web'"], "ok", ""),
        (["numpy>=2.0; extra == 'web'", "no-such; extra == 'web'"], "missing", "pip install 'numpy>=2.0' no-such"),
        (["numpy<1,>=0.5; extra == 'web'"], "look", "pip install 'numpy<1,>=0.5'"),
    ],
)
def test_an_extra_that_is_missing_is_named_with_its_line_and_is_not_wrong(lines, state, remedy):
    [found] = doctor.look_at_extras(of_package(lines))
    assert (found.name, found.state) == ("web", state)
    assert found.remedy == remedy


def test_a_package_that_pip_does_not_know_is_said(monkeypatch):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    [package] = [each for each in doctor.look_at_versions(of_package()) if each.name == "assistlearn"]
    assert package.state == "look"


def test_a_taken_port_is_named_and_another_proposed(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(doctor, "SERVING", taken.getsockname()[1])
        loopback, port = doctor.look_at_ports()
    assert (loopback.state, port.state) == ("ok", "look")
    assert "--port" in port.remedy


def test_a_machine_that_cannot_talk_to_itself_is_unwell(monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    said = assistlearn("doctor", "--json")
    assert said.code == 2
    assert said.json["healthy"] is False
    assert "Something is wrong: loopback" in assistlearn("doctor").out


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_without_rights_is_wrong(tmp_path):
    tmp_path.chmod(0o500)
    assert doctor.writable("current", tmp_path).state == "wrong"


def test_a_folder_that_is_gone_is_wrong(tmp_path):
    found = doctor.writable("current", tmp_path / "gone")
    assert found.state == "wrong"
    assert str(tmp_path) not in found.says


@pytest.mark.parametrize(("free", "state"), [(5e6, "wrong"), (5e8, "look"), (5e9, "ok")])
def test_a_full_disk_is_named(monkeypatch, free, state):
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage)
    assert {each.state for each in doctor.look_at_folders() if each.topic == "Disk"} == {state}


def test_every_variable_that_the_project_reads_is_known():
    read = [*(ROOT / "src").rglob("*.py"), ROOT / "docs" / "conf.py", ROOT / "Makefile"]
    names = {name for file in read for name in re.findall(r"ASSISTLEARN_[A-Z]+", file.read_text(encoding="utf-8"))}
    found = doctor.look_at_variables(dict.fromkeys(names, "/"))
    assert names
    assert {each.name for each in found if "no variable" in each.says} == set()


def test_variables_are_named_without_their_values(tmp_path):
    secret = "correct horse battery"
    environment = {
        "ASSISTLEARN_PASSPHRASE": secret,
        "ASSISTLEARN_DATA": str(tmp_path),
        "ASSISTLEARN_DATE": "x",
        "HOME": secret,
    }
    found = {each.name: each for each in doctor.look_at_variables(environment)}
    assert {name: each.state for name, each in found.items()} == {
        "ASSISTLEARN_DATA": "ok",
        "ASSISTLEARN_DATE": "look",
        "ASSISTLEARN_PASSPHRASE": "ok",
    }
    assert secret not in str(found)
    assert str(tmp_path) not in str(found)
    gone = {"ASSISTLEARN_DATA": str(tmp_path / "gone")}
    assert [each.state for each in doctor.look_at_variables(gone)] == ["look"]


def test_a_clock_behind_the_packages_own_files_is_wrong():
    now, files = doctor.look_at_clock(time.time())
    assert (now.state, files.state) == ("ok", "ok")
    behind, _ = doctor.look_at_clock(0.0)
    assert behind.state == "wrong"
    assert "time server" in behind.remedy


def test_an_agents_file_is_looked_at_and_points_to_check(agents):
    facts = assistlearn("doctor", agents[0], "--json").json
    [file, models] = [each for each in facts["findings"] if each["topic"] == "Agent"]
    assert (file["state"], models["state"]) == ("ok", "ok")
    assert "assistlearn check" in file["remedy"]
    said = assistlearn("doctor", agents[0].with_name("gone.toml"))
    assert said.code == 2
    assert "There is no agent's file" in said.out


def test_nothing_private_is_shown(monkeypatch, tmp_path):
    home = tmp_path / "jane"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("LOGNAME", "jane")
    monkeypatch.setenv("ASSISTLEARN_PASSPHRASE", "correct horse battery")
    monkeypatch.setenv("ASSISTLEARN_DATA", str(home / "patients"))
    monkeypatch.chdir(home)
    assert getpass.getuser() == "jane"
    for said in (assistlearn("doctor", home / "lab.toml"), assistlearn("doctor", home / "lab.toml", "--json")):
        assert "~" in said.out
        assert not re.search(r"jane|horse|patients", said.out)
        assert socket.gethostname() not in said.out.split()


def test_other_names_that_begin_like_the_users_stay():
    assert doctor.fit_to_paste("/home/janet/x /data/janet", Path("/home/jane"), "jane") == "/home/janet/x /data/janet"
