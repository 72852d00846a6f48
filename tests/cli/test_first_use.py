"""From nothing to predictions by the three commands of the README, as a new user types them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer

from assistlearn.agent.file import parse_description
from assistlearn.cli.begin import agent_toml
from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from tests.cli.program import assistlearn

README = Path(__file__).parents[2] / "README.md"


def commands_of_the_readme() -> list[str]:
    section = README.read_text(encoding="utf-8").partition("## Three organisations")[2].partition("\n## ")[0]
    [block] = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    return [line.partition("#")[0].strip() for line in block.splitlines()]


def words(line: str) -> list[str]:
    """Return what a shell makes of a line, without the program's name."""
    found = (sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in line.split()[1:])
    return [word for each in found for word in each]


@pytest.mark.usefixtures("forked_agents")
def test_three_commands_lead_from_nothing_to_predictions(tmp_path, monkeypatch):
    """The tutorial on three organisations types them into a shell whenever the documentation is built."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")  # where a careless program breaks paths in two
    init, trained, predicted = (assistlearn(*words(line)) for line in commands_of_the_readme())
    assert (init.code, trained.code, predicted.code) == (0, 0, 0), (init.err, trained.err, predicted.err)
    assert "assistlearn simulate demo/clinic.toml demo/lab.toml demo/scans.toml --out demo/run" in init.out
    assert "The run is in demo/run." in trained.out
    recommended = Plan(method="soft", reward="auto", combine="auto", models_per_turn=20, holdout=0.2)
    assert RunFolder(tmp_path / "demo" / "run").settings().plan == recommended
    assert "assistlearn predict demo/run --out predictions.csv" in trained.out
    assert trained.err == ""
    accuracy = re.search(r"after \d+ rounds?: accuracy ([\d.]+)% with help, ([\d.]+)% alone", trained.out)
    assert accuracy is not None
    assert float(accuracy[1]) > 80.0  # who is held out follows from a key that is drawn anew here
    assert "69 samples predicted, in demo/predictions.csv." in predicted.out
    assert predicted.err == ""
    assert accuracy_of(tmp_path / "demo") > 0.9


def accuracy_of(demo: Path) -> float:
    """Return how often the predictions for the new patients are true: their rows are those of scikit-learn's table."""
    made = pl.read_csv(demo / "predictions.csv")
    truth = np.where(load_breast_cancer().target == 0, "malignant", "benign")
    patients = pl.read_csv(demo / "clinic.csv").select("patient", truth=truth)
    asked = pl.read_csv(demo / "new-patients.csv")
    assert made["patient"].to_list() == asked["patient"].to_list()
    probabilities = made.select("probability of benign", "probability of malignant")
    np.testing.assert_allclose(probabilities.to_numpy().sum(axis=1), 1.0)
    assert set(made["agents"].unique()) <= {"clinic", "clinic lab", "clinic scans", "clinic lab scans"}
    both = made.join(patients, on="patient", how="inner", validate="1:1")
    assert len(both) == len(made) == 69
    return float((both["prediction"] == both["truth"]).mean())


def test_the_examples_agents_pass_their_check(tmp_path):
    written = assistlearn("init", tmp_path, "--example", "--json").json
    assert sorted(Path(file).name for file in written["files"]) == sorted(path.name for path in tmp_path.iterdir())
    for file in written["agents"]:
        check = assistlearn("check", file)
        assert check.code == 0
        assert "What would leave this organisation" in check.out
        assert check.out.endswith("All is well.\n")
    clinic = assistlearn("check", tmp_path / "clinic.toml", "--json").json
    assert clinic["role"] == "initiator"
    assert clinic["classes"] == {"benign": 318, "malignant": 182}
    assert any("69 rows have no label" in note for note in clinic["notes"])


@pytest.mark.parametrize("role", ["initiator", "helper"])
def test_files_to_fill_in_are_right_once_their_table_is_there(tmp_path, role):
    assert assistlearn("init", tmp_path).code == 0
    assistlearn("check", tmp_path / f"{role}.toml").failed(2, f"{role}.csv")
    rows = {"patient": [1, 2, 3, 4], "age": [50, 60, 70, 80]}
    rows |= {"diagnosis": ["a", "b", "a", "b"]} if role == "initiator" else {}
    pl.DataFrame(rows).write_csv(tmp_path / f"{role}.csv")
    (tmp_path / "shared.key").write_text("0123456789abcdef")
    check = assistlearn("check", tmp_path / f"{role}.toml", "--json")
    assert check.json["role"] == role


LINE = re.compile(r"# (\[[\w.]+\]|\w+ = \S.*)")


def blocks(text: str) -> list[list[int]]:
    """The lines that are commented out, those that stand together as one."""
    found: list[list[int]] = []
    for number, line in enumerate(text.splitlines()):
        if LINE.fullmatch(line) is None or " and " in line:
            continue
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return found


@pytest.mark.parametrize("role", ["initiator", "helper"])
def test_a_file_to_start_from_is_right_with_each_of_its_commented_tables(role):
    text = agent_toml(role, role, f"{role}.csv")
    parse_description(tomllib.loads(text), Path("agent.toml"))
    commented = blocks(text)
    assert len(commented) == {"initiator": 4, "helper": 3}[role]
    for block in commented:
        lines = text.splitlines()
        for number in block:
            lines[number] = lines[number].removeprefix("# ")
        values = tomllib.loads("\n".join(lines))
        if values.get("features") == {"include": []}:
            del values["learner"]  # as the file says
        parse_description(values, Path("agent.toml"))
