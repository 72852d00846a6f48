"""A run from its beginning to its end, by scripts: one JSON object from every command, with the documented keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from assistlearn.events import StopReason
from tests.cli.program import Said, assistlearn, modules_after
from tests.cli.small_agents import IDS, N_NEW, N_SAMPLES, NEW, lines_of, toml
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

ROUNDS = 2


def test_a_run_lives_from_simulate_to_forget(agents, tmp_path):
    run = tmp_path / "run"
    trained = assistlearn(
        "simulate", *agents, "--run", "first", "--out", run, "--rounds", ROUNDS, *PAPERS_OPTIONS, "--json"
    )
    assert trained.err == ""
    check_training(trained, run)
    check_result_for_people(run)
    check_that_it_is_shown_and_audited_without_scikit_learn(agents, run)
    check_that_names_are_unique(agents, run)
    check_audit(agents, tmp_path)
    check_prediction(run, tmp_path)
    check_that_absent_agents_are_reported(agents, run, tmp_path)
    check_that_the_others_forget_and_one_does_later(agents, run)


def check_training(trained: Said, run: Path) -> None:
    facts = trained.json
    assert facts.keys() == {
        *("folder", "run", "finished", "turns", "holdout_accuracy", "labels", "sat_out", "evaluation"),
        *("goes_on", "log_is_whole", "combination", "unchecked", "answer", "agents", "rounds", "accuracy_of_own_votes"),
        "result",
    }
    assert (facts["folder"], facts["run"], facts["finished"]) == (str(run), "first", True)
    result = facts["result"]
    assert result["n_samples"] == N_SAMPLES - N_NEW
    assert result["stop_reason"] in StopReason.__members__
    assert facts["turns"] == result["n_turns"]
    assert {"turn", "round", "agent", "model_weight", "mean_reward", "accuracy", "perfect"} == set(
        result["contributions"][0]
    )
    shown = assistlearn("show", run, "--json").json
    assert shown.keys() == (facts.keys() - {"run"}) | {"settings"}
    assert shown["result"] == result
    assert shown["settings"]["agents"] == ["clinic", "lab", "scans"]
    assert "permutation" not in str(shown)
    assert shown["unchecked"].startswith("Training is finished, but no samples were held out. So nothing that lab and")


def check_result_for_people(run: Path) -> None:
    shown = assistlearn("show", run).out
    assert "Run first (ascii) on 72 samples" in shown
    assert "no samples were held out" in shown
    again = assistlearn("simulate", "--resume", run)
    assert again.code == 0
    assert again.out.startswith(shown)


def check_that_it_is_shown_and_audited_without_scikit_learn(agents: list[Path], run: Path) -> None:
    commands = [["show", str(run)], ["audit", str(agents[1])]]
    loaded = modules_after(f"import assistlearn.cli as p\nassert [p.run(c) for c in {commands!r}] == [0, 0]")
    assert {"assistlearn.initiator.folder", "assistlearn.protocol.ledger"} <= loaded
    assert loaded.isdisjoint({"sklearn", "scipy", "pandas", "skops", "matplotlib"})


def check_that_names_are_unique(agents: list[Path], run: Path) -> None:
    assistlearn("simulate", *agents, "--run", "first", "--out", run).failed(
        2, f"{run} holds a run already", f"simulate --resume {run}"
    )
    assistlearn("simulate", *agents, "--run", "first", "--out", f"{run}2").failed(
        2, "Agent 'clinic' has a run 'first' already", f"assistlearn forget first --agent {agents[0]}"
    )


def check_audit(agents: list[Path], folder: Path) -> None:
    for file in agents:
        audit = assistlearn("audit", file, "--json").json
        keys = "ledger whole entries runs first last totals counted rebuilt decisions told"
        assert audit.keys() == set(keys.split())
        assert audit["whole"] is True
        assert audit["runs"] == ["first"]
        noted = file == agents[0]  # the initiator has a line that is no message: what was booked of its labels
        assert audit["entries"] == sum(row["messages"] for row in audit["totals"]) + noted
    helper, initiator = assistlearn("audit", agents[1], "--json").json, assistlearn("audit", agents[0], "--json").json
    sent = {row["type"]: row["bytes"] for row in helper["totals"] if row["direction"] == "sent"}
    received = {
        r["type"]: r["bytes"] for r in initiator["totals"] if (r["direction"], r["peer"]) == ("received", "lab")
    }
    assert sent == received  # what the lab says that it sent is what the clinic says that it got
    assert "Runs: first." in assistlearn("audit", agents[1]).out
    assert "No message of run second" in assistlearn("audit", agents[1], "--run", "second").out
    forged = folder / "forged.jsonl"
    ledger = Path(helper["ledger"])
    forged.write_text(ledger.read_text().replace('"peer": "clinic"', '"peer": "nobody"', 1))
    shutil.copy(f"{ledger}.head", f"{forged}.head")
    assistlearn("audit", forged).failed(4, "line 1: entry 1 was changed")
    assert assistlearn("audit", forged, "--json").json["exit_code"] == 4


def check_prediction(run: Path, folder: Path) -> None:
    out = folder / "new" / "votes.csv"
    predicted = assistlearn("predict", run, "--out", out, "--json")
    assert predicted.json == {
        "file": str(out),
        "samples": N_NEW,
        "unknown_to_all": 0,
        "known": {"clinic": N_NEW, "lab": N_NEW, "scans": N_NEW},
        "absent": {},
        "warnings": [],
        "trained_on": 0,
        "by_label_shares": 0,
        "changed": {},
        "without": [],
        "escaped": 0,
    }
    table = pl.read_csv(out)
    assert table.columns == ["patient", "prediction", "probability of no", "probability of yes", "agents", "absent"]
    assert table["patient"].to_list() == NEW
    likelier = table.select(pl.when(pl.col("probability of yes") > 0.5).then(pl.lit("yes")).otherwise(pl.lit("no")))
    assert table["prediction"].to_list() == likelier.to_series().to_list()


def check_that_absent_agents_are_reported(agents: list[Path], run: Path, folder: Path) -> None:
    """One agent's file is gone and another's process dies: the initiator's votes remain. One id is nobody's."""
    _, lab, scans = agents
    kept = lab.read_text()
    (folder / "deadly.py").write_text("import os\n\ndef learner():\n    os._exit(7)\n")
    lab.write_text(toml("lab", learner='"deadly:learner"'))
    os.rename(scans, folder / "away.toml")
    ids = folder / "ids.csv"
    ids.write_text("patient,why\np-900,stranger\n" + f"{IDS[0]},friend\n")
    predicted = assistlearn("predict", run, "--ids", ids, "--out", folder / "few.csv")
    assert predicted.code == 3  # the predictions are written, and a script sees that they are not those of all
    assert "1 sample predicted" in predicted.out
    assert "1 sample unknown to every agent" in predicted.out
    assert "lab did not take part: Agent 'lab': its process ended with exit code 7" in predicted.out
    assert "scans did not take part: Agent 'scans' cannot start: There is no agent's file" in predicted.out
    stranger, friend = lines_of(folder / "few.csv")[1:]
    assert stranger == "p-900,,,,,lab scans"
    assert friend.startswith(f"{IDS[0]},")
    assert friend.endswith(",clinic,lab scans")
    accepted = assistlearn("predict", run, "--ids", ids, "--out", folder / "few.csv", "--allow-absent", "-f", "--json")
    assert accepted.code == 0
    assert accepted.json["absent"].keys() == {"lab", "scans"}
    lab.write_text(kept)
    ids.write_text("patient\np-001\np-001\n")
    refused = assistlearn("predict", run, "--ids", ids, "--out", folder / "none.csv")
    refused.failed(2, str(ids), "1 id occurs more than once")
    assistlearn("predict", run, "--ids", folder / "nothing.csv").failed(2, "nothing.csv: there is no such file")
    assert not (folder / "none.csv").exists()


def check_that_the_others_forget_and_one_does_later(agents: list[Path], run: Path) -> None:
    """The scanner's file is still away."""
    clinic, lab, scans = agents
    forgotten = assistlearn("forget", "--yes", run, "--json")
    assert forgotten.code == 3
    assert forgotten.json.keys() == {"run", "removed", "absent", "lives_on"}
    assert forgotten.json["removed"].keys() == {"clinic", "lab"}
    assert "cannot start" in forgotten.json["absent"]["scans"]
    assistlearn("predict", run, "--timeout", 60).failed(3, "No agent can vote", "knows no run 'first'")
    os.rename(scans.parent / "away.toml", scans)
    assistlearn("forget", "--yes", "first", "--agent", lab).failed(
        2, "'lab' knows no run 'first'. The runs it knows: none"
    )
    one = assistlearn("forget", "--yes", "first", "--agent", scans)
    assert one.out == f"scans: {ROUNDS} models removed\n"
    again = assistlearn("forget", "--yes", run)
    assert again.code == 0
    assert again.out == "clinic: 0 models removed\nlab: 0 models removed\nscans: 0 models removed\n"
    assert not run.exists()
    assert not list(clinic.parent.glob("*-models/runs/*"))
    assert "forget: a request to remove a run" in assistlearn("audit", clinic).out
