"""The workflow files are valid, run what is there, and a release is made of the version that its tag names."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.dist.release_tag import faults, version_of

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
STEPS = [
    pytest.param(step, id=f"{name}: {step.get('run', step.get('uses'))}")
    for name, workflow in WORKFLOWS.items()
    for job in workflow["jobs"].values()
    for step in job["steps"]
]


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS.keys())
def test_every_workflow_may_only_read_unless_a_job_says_more(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow[True]  # YAML reads the key "on" so
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert job["steps"]


@pytest.mark.parametrize("step", STEPS)
def test_every_step_runs_a_target_of_make_a_file_that_is_there_or_a_pinned_action(step):
    if "uses" in step:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./]+", step["uses"])
        return
    for line in step["run"].splitlines():
        program, *words = line.split()
        if program == "make":
            assert set(words) <= TARGETS
        else:
            assert program == "python"
            files = [word for word in words if re.search(r"\.(py|txt)$", word)]
            assert files
            assert all((ROOT / file).is_file() for file in files)


def test_the_versions_of_python_are_those_that_the_package_names():
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [each.rpartition(" ")[2] for each in told["classifiers"] if "Python :: 3." in each]
    assert WORKFLOWS["tests"]["jobs"]["linux"]["strategy"]["matrix"]["python"] == named
    assert told["requires-python"] == f">={named[0]}"


def test_a_release_is_published_without_a_password():
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    assert WORKFLOWS["release"]["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_a_report_of_a_fault_asks_for_what_the_doctor_prints():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text(encoding="utf-8"))
    [doctor] = [part for part in form["body"] if part.get("id") == "doctor"]
    assert "assistlearn doctor" in doctor["attributes"]["label"]
    assert doctor["validations"] == {"required": True}


@pytest.fixture
def ready(tmp_path):
    """Return a copy of what names the version, ready to be released."""
    for name in ("src/assistlearn/release.py", "CITATION.cff", "CHANGELOG.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changes = tmp_path / "CHANGELOG.md"
    text = changes.read_text(encoding="utf-8")
    changes.write_text(re.sub(r"\(unreleased\)", "(2030-01-31)", text), encoding="utf-8")
    return tmp_path


def test_a_tag_that_names_the_version_is_right(ready):
    assert faults(f"v{version_of()}", ready) == []


@pytest.mark.parametrize("tag", ["v9.9.9", "0.1.0", "v0.1"])
def test_another_tag_is_refused(ready, tag):
    assert any("The tag is" in fault for fault in faults(tag, ready))


def test_a_release_has_a_day_in_the_changelog_and_its_version_in_the_citation(ready):
    changes, citation = ready / "CHANGELOG.md", ready / "CITATION.cff"
    changes.write_text(changes.read_text("utf-8").replace("(2030-01-31)", "(unreleased)"), encoding="utf-8")
    citation.write_text(citation.read_text("utf-8").replace(f"version: {version_of()}", "version: 9"), encoding="utf-8")
    assert len(faults(f"v{version_of()}", ready)) == 2
