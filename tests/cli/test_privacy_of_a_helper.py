"""The rules of ``[privacy]`` in an agent's file, in real processes: kept over runs, and shown by every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import assistlearn
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")


def owner_says(agent: Path, *lines: str) -> None:
    head = agent.read_text().split("[privacy]")[0]
    agent.write_text("\n".join([head, "[privacy]", *lines, ""]))


def simulated(agents: list[Path], run: str, *options: object):
    return assistlearn(
        "simulate", *agents[:2], "--run", run, "--out", agents[0].parent / run, "--rounds", 3, *PAPERS_OPTIONS, *options
    )


def test_rules_are_kept_over_runs_and_shown(agents):
    owner_says(agents[1], "max_bits_per_sample = 5", "max_rounds = 2", "min_samples = 10", 'methods = ["ascii"]')
    assert simulated(agents, "first").code == 0
    shown = assistlearn("show", agents[0].parent / "first")
    assert "lab sat 1 turn out, the first of them turn 6" in " ".join(shown.out.split())
    assert "max_rounds, under [privacy]" in " ".join(shown.out.split())
    sat_out = assistlearn("show", agents[0].parent / "first", "--json").json["sat_out"]
    assert sat_out["lab"]["turns"] == 1
    assert simulated(agents, "second").code == 0
    checked = assistlearn("check", agents[1], "--json").json
    limits = {row["key"]: row for row in checked["limits"]}
    bits = limits["privacy.max_bits_per_sample"]
    assert (bits["initiator"], bits["spent"], bits["allowed"], bits["left"]) == ("clinic", 4, 5, 1)
    assert limits["privacy.methods"]["allowed"] == ["ascii"]
    assert [row["people"] for row in checked["told"]] == [72]
    assert "clinic was told about 72 people; about one person at most: 4 bits" in assistlearn("check", agents[1]).out
    assert "clinic was told about 72 people; about one person at most: 4 bits" in assistlearn("audit", agents[1]).out
    assert assistlearn("audit", agents[1], "--json").json["told"] == checked["told"]
    refused = simulated(agents, "third", "--method", "soft")
    assert refused.code != 0
    assert "takes part only in runs with method 'ascii', not 'soft'" in " ".join(refused.err.split())


def test_randomised_answers_train_and_predict_in_processes(agents, tmp_path):
    owner_says(agents[1], "randomise = 2.0")
    run = agents[0].parent / "first"
    assert simulated(agents, "first").code == 0
    predicted = assistlearn("predict", run, "--out", tmp_path / "votes.csv")
    assert predicted.code == 0, predicted.err
    [told] = assistlearn("check", agents[1], "--json").json["told"]
    assert told["epsilon"] >= 2.0
    assert "epsilon" in assistlearn("check", agents[1]).out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('methods = ["asci"]', "privacy.methods has 'asci', which is not known. Did you mean 'ascii'?"),
        ("max_bits_per_person = 3", "Did you mean 'max_bits_per_sample'?"),
        ("randomise = 0", "privacy.randomise = 0 must be a number between 0 and 20"),
        ("min_samples = 0", "privacy.min_samples = 0 must be a whole number of at least 1"),
        ("max_epsilon = 3.0", "randomise = 1.0"),
        ("methods = []", "privacy.methods names no method"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(agents, line, words):
    owner_says(agents[1], line)
    number = agents[1].read_text().splitlines().index(line) + 1
    assistlearn("check", agents[1]).failed(2, f"lab.toml, line {number}: ", words)
