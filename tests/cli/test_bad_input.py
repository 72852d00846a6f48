"""What is wrong in the input is said before anything is trained: what, where, and what to do."""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path

import pytest

from assistlearn.errors import AssistLearnWarning
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, toml
from tests.papers_settings import PAPERS_OPTIONS


def simulate(agents: list[Path], *options: object):
    return assistlearn("simulate", *agents, "--out", agents[0].parent / "run", *PAPERS_OPTIONS, *options)


# -- options --


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "--colour", "red"], "No such option: --colour"),
        (["simulate", "--rounds", "many"], "--rounds"),
        (["simulate", "--rounds", "0"], "--rounds"),
        (["simulate", "--timeout", "inf"], "--timeout"),
        (["simulate", "--method", "magic"], "'ascii', 'simple', 'soft', 'label-private', 'ensemble'"),
        (["simulate", "--holdout", "1.5"], "between 0 and 1, or None"),
        (["simulate", "--holdout", "many"], "'many' is neither a number nor 'none'"),
        (["simulate", "--shrinkage", "0"], "--shrinkage 0.0 must be above 0"),
        (["simulate", "--score-bits", "7"], "[0, 2, 3, 4, 8, 16, 32]"),
        (["simulate"], "at least two agents; none is named"),
        (["simulate", "only.toml"], "at least two agents; only only.toml is named"),
        (["simulate", "a.toml", "b.toml"], "no agent's file a.toml"),
        (["simulate", "--resume", "nowhere"], "nowhere holds no run"),
        (["predict"], "Missing argument"),
        (["predict", "nowhere"], "nowhere holds no run"),
        (["show", "nowhere"], "nowhere holds no run"),
        (["serve", "nowhere"], "nowhere holds no run"),
        (["check", "nowhere.toml"], "no agent's file nowhere.toml"),
        (["forget", "nowhere"], "nowhere holds no run"),
        (["train"], "Name a task file to start a run, or give --resume FOLDER"),
        (["train", "task.toml", "--resume", "run"], "not both"),
        (["train", "--resume", "run", "--out", "other"], "--out cannot be given with --resume"),
        (["train", "--resume", "run", "--run", "other"], "--run cannot be given with --resume"),
        (["train", "--resume", "nowhere"], "nowhere holds no run"),
        (["train", "nowhere.toml"], "There is no task's file nowhere.toml"),
        (["train", "--rounds", "3"], "--rounds can only be given with --from RUN"),
        (["network", "create"], "Missing argument"),
        (["network", "create", "nowhere.toml"], "There is no network's file nowhere.toml"),
        (["network", "demo", "--rounds", "0"], "--rounds"),
        (["wonder"], "No such command 'wonder'"),
    ],
    ids=" ".join,
)
def test_bad_arguments_end_with_2_for_people_and_for_scripts(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assistlearn(*arguments).failed(2, words)
    said = assistlearn(*arguments, "--json")
    assert said.code == said.json["exit_code"] == 2
    assert words in said.json["message"]
    assert said.json.keys() == {"error", "message", "notes", "exit_code"}
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_option_says_where_to_read_more():
    assistlearn("predict", "--colour").failed(2, "assistlearn predict --help")


# -- agents that do not go together --


def test_two_initiators_are_named(agents):
    agents[1].write_text(toml("lab", SECRET + 'label = "x0"\n'))
    simulate(agents).failed(2, f"Here {agents[0]} and {agents[1]} do", "Exactly one agent, the initiator")


def test_a_run_needs_an_initiator(agents):
    simulate(agents[1:]).failed(2, "Exactly one agent, the initiator", "none does")


def test_no_agent_takes_part_twice(agents):
    simulate([*agents, agents[1]]).failed(2, "both describe an agent 'lab'")


def test_two_agents_do_not_share_a_folder_of_models(agents):
    agents[2].write_text(toml("scans", SECRET + 'models = "lab-models"\n'))
    simulate(agents).failed(2, "both keep their models in", "folder of its own")


@pytest.mark.parametrize("who", [0, 1])
def test_without_a_secret_it_names_the_file_and_the_other_way(agents, who):
    agents[who].write_text(toml(agents[who].stem, LABEL if who == 0 else ""))
    simulate(agents).failed(2, f"{agents[who]}: agent", "no secret", "--align psi")
    assert not (agents[0].parent / "run").exists()


def test_a_secret_that_is_not_there_or_too_short_is_refused(agents):
    key = agents[0].parent / "shared.key"
    key.write_text("short")
    assistlearn("check", agents[1]).failed(2, f"{agents[1]}", "5 bytes; at least 16", "openssl rand")
    key.unlink()
    assistlearn("check", agents[1]).failed(2, f"{agents[1]}", "secret cannot be read")


def test_private_set_intersection_without_its_extra_says_how_to_install_it(agents, monkeypatch):
    monkeypatch.setitem(sys.modules, "private_set_intersection.python", None)  # as if it were not installed
    simulate(agents, "--align", "psi").failed(2, "pip install 'openmined-psi")
    assert not (agents[0].parent / "run").exists()


# -- runs --


def test_a_name_must_be_one_that_every_agent_can_keep(agents):
    simulate(agents, "--run", "../elsewhere").failed(2, "'../elsewhere' is not the name of a run")


@pytest.mark.parametrize("command", ["simulate", "worth"])
def test_the_first_option_that_cannot_be_given_with_resume_is_named(command):
    given = [["--seed", 0], ["--rounds", 5], ["--align", "hash"], ["--run", "other"], ["--out", "there"]]
    for options in (given, given[::-1]):
        said = assistlearn(command, "--resume", "run", *chain(*options))
        said.failed(2, f"{options[0][0]} cannot be given with --resume")


def test_init_writes_over_nothing(tmp_path):
    assert assistlearn("init", tmp_path).code == 0
    (tmp_path / "helper.toml").write_text("mine")
    (tmp_path / "initiator.toml").unlink()
    assistlearn("init", tmp_path).failed(2, "helper.toml is there already")
    assert (tmp_path / "helper.toml").read_text() == "mine"
    assert not (tmp_path / "initiator.toml").exists()


# -- the machine, and ourselves --


def test_a_refusing_machine_is_no_fault_of_the_program(tmp_path):
    (tmp_path / "file").write_text("")
    said = assistlearn("init", tmp_path / "file" / "below")
    said.failed(2, f"{tmp_path}/file/below", "correct its access rights")


def test_a_fault_of_the_program_ends_with_1_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("assistlearn.cli.begin.agent_toml", lambda *_: 1 / 0)
    said = assistlearn("init", tmp_path, "--json")
    assert said.code == said.json["exit_code"] == 1
    assert said.json["error"] == "ZeroDivisionError"
    assert "fault of assistlearn" in said.err
    assert "Traceback" in said.err


def test_ctrl_c_anywhere_ends_with_130(tmp_path, monkeypatch):
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("assistlearn.cli.begin.agent_toml", interrupted)
    assistlearn("init", tmp_path).failed(130, "Interrupted.")
    assert assistlearn("init", tmp_path, "--json").json["exit_code"] == 130


def test_messages_show_square_brackets_as_they_are(tmp_path):
    odd = tmp_path / "[bold]odd"
    assistlearn("check", odd).failed(2, "[bold]odd")
    said = assistlearn("init", odd)
    assert f"wrote {odd}/helper.toml" in said.out


def test_json_errors_are_valid_json_whatever_the_message_holds(tmp_path):
    said = assistlearn("check", tmp_path / 'a "quoted"\nname', "--json")
    assert json.loads(said.out)["error"] == "DescriptionError"


@pytest.mark.usefixtures("forked_agents")
def test_a_feature_that_is_the_label_is_said_when_a_run_begins(agents):
    table = agents[0].parent / "clinic.csv"
    rows = table.read_text().splitlines()
    codes = {"yes": "1", "no": "0"}
    table.write_text(
        "\n".join(f"{row},{codes.get(row.rpartition(',')[2], 'copy' * (n == 0))}" for n, row in enumerate(rows))
    )
    with pytest.warns(AssistLearnWarning, match="clinic.csv: The label under another name: 'copy'"):
        assert simulate(agents[:2], "--rounds", 1).code == 0
