"""The wheel that is built here: its metadata, what is in it, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

import assistlearn
from bench.dist import ROOT, extras

SOURCE = ROOT / "src" / "assistlearn"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Return the wheel; pip fetches what builds it."""
    out = tmp_path_factory.mktemp("dist")
    own = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(ROOT)],
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and "Could not find a version" in done.stdout + done.stderr:
        pytest.skip("pip cannot fetch what builds the wheel")
    assert done.returncode == 0, done.stdout + done.stderr
    [made] = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def names(wheel) -> list[str]:
    with zipfile.ZipFile(wheel) as file:
        return file.namelist()


@pytest.fixture(scope="module")
def metadata(wheel, names) -> Message:
    [name] = [each for each in names if each.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as file:
        return Parser().parsestr(file.read(name).decode())


def test_it_holds_the_package_and_nothing_else(names):
    version = assistlearn.__version__
    there = {name for name in names if not name.startswith(f"assistlearn-{version}.dist-info/")}
    wanted = {
        f"assistlearn/{path.relative_to(SOURCE).as_posix()}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert there == wanted
    assert "assistlearn/py.typed" in there


def test_its_metadata_say_what_a_user_must_know(metadata):
    assert metadata["Name"] == "assistlearn"
    assert metadata["Version"] == assistlearn.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert set(metadata.get_all("Provides-Extra")) == {*extras(), "dev"}


def test_its_program_is_the_command_line(wheel, names):
    [name] = [each for each in names if each.endswith("entry_points.txt")]
    with zipfile.ZipFile(wheel) as file:
        assert "assistlearn = assistlearn.cli:main" in file.read(name).decode()


def test_the_index_can_show_its_readme(wheel):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", str(wheel)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_extra_is_tried_by_the_smoke_test():
    from tests.dist.smoke import EXTRAS

    assert set(EXTRAS) == set(extras())
