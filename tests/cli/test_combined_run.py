"""A run with a combination that is learned in private: its result for people and for scripts, and a damaged file."""

from __future__ import annotations

import pytest

from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents

pytestmark = pytest.mark.usefixtures("forked_agents")

OPTIONS = ("--method", "soft", "--reward", "auto", "--combine", "auto")
OPTIONS += ("--models-per-turn", 3, "--rounds", 2, "--holdout", "none")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("combined")
    folder = place / "run"
    trained = assistlearn("simulate", *write_agents(place), "--run", "combined", "--out", folder, *OPTIONS, "--json")
    assert trained.code == 0, trained.err
    return folder, trained.json


def test_scripts_are_told_what_was_learned_and_what_each_round_brought_and_cost(run):
    folder, facts = run
    learned, rounds = facts["combination"], facts["rounds"]
    assert learned["kind"] in learned["losses"]
    assert learned["loss"] == learned["losses"][learned["kind"]]
    assert [each["round"] for each in rounds] == list(range(1, len(rounds) + 1))
    assert [each["bits"] for each in rounds] == sorted(each["bits"] for each in rounds)
    assert assistlearn("show", folder, "--json").json["rounds"] == rounds


def test_the_bits_are_those_of_the_ledger(run):
    _, facts = run
    last = facts["rounds"][-1]["bits"] * facts["result"]["n_samples"] / 8
    traffic = facts["result"]["traffic"].values()
    every = [count for each in traffic for way in ("sent", "received") for count in each[way].items()]
    ended = {"end", "ended", "align", "aligned"}
    assert last == pytest.approx(sum(bytes for type, bytes in every if type not in ended))


def test_people_see_loss_against_bits(run):
    folder, facts = run
    shown = assistlearn("show", folder).out
    assert "How the votes are combined:" in shown
    assert "What each round gained on unseen samples, and what it cost" in shown
    assert f"{facts['rounds'][0]['loss']:.4f}" in shown
    assert "bits per sample" in shown


@pytest.mark.parametrize("gone", [False, True], ids=["damaged", "gone"])
def test_a_combination_that_is_damaged_or_gone_is_named_and_nobody_is_asked_to_vote(run, tmp_path, gone):
    folder, _ = run
    path, ledger = folder / "combination.bin", folder.parent / "lab-models" / "ledger.jsonl"
    said = ledger.read_bytes()
    whole = path.read_bytes()
    try:
        path.unlink() if gone else path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        refused = assistlearn("predict", folder, "--out", tmp_path / "votes.csv")
        assert refused.code != 0
        assert "combination.bin" in refused.err
        assert not (tmp_path / "votes.csv").exists()
        assert ledger.read_bytes() == said
    finally:
        path.write_bytes(whole)
