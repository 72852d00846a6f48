"""``assistlearn privacy`` on a real run: what was released, against what there is, and a helper's attack on itself."""

from __future__ import annotations

import json
import math
import re
import shutil

import numpy as np
import polars as pl
import pytest

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.releases import transcript_of
from assistlearn.protocol import Ledger
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, toml
from tests.documentation import DOCS
from tests.papers_settings import PAPERS_OPTIONS

pytestmark = pytest.mark.usefixtures("forked_agents")

N, N_NEW, ROUNDS = 500, 20, 5


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A clinic and a lab whose columns decide the label, in files, after three runs and a prediction."""
    folder = tmp_path_factory.mktemp("house")
    rng = np.random.default_rng(5)
    sex, town = rng.integers(0, 2, N), rng.choice(["A", "B", "C"], N, p=[0.5, 0.3, 0.2])
    pulse, own = rng.normal(size=N).round(4), rng.normal(size=N)
    ill = np.where(2.0 * sex + pulse + own + rng.normal(size=N) > 1.0, "yes", "no").tolist()
    ill[-N_NEW:] = [None] * N_NEW
    ids = [f"p-{i:03d}" for i in range(N)]
    tables = {
        "clinic": {"patient": ids, "own": own, "ill": ill},
        "lab": {"patient": ids, "sex": sex, "pulse": pulse, "town": town, "ward": ["1"] * N},
    }
    for name, table in tables.items():
        frame = pl.DataFrame(table)
        (frame if name == "clinic" else frame.sample(N, shuffle=True, seed=2)).write_csv(folder / f"{name}.csv")
        (folder / f"{name}.toml").write_text(toml(name, SECRET + (LABEL if name == "clinic" else "")))
    with (folder / "lab.toml").open("a") as file:
        file.write('[allow]\ninitiators = ["clinic"]\nmax_total_votes = 100\n[privacy]\nmax_bits_per_sample = 1000\n')
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    files = folder / "clinic.toml", folder / "lab.toml"
    kinds = {
        "first": ["--holdout", 0.2],
        "second": ["--method", "soft"],
        "third": ["--method", "label-private", "--epsilon", 2],
    }
    for run, more in kinds.items():
        options = ["--out", folder / run, "--run", run, "--rounds", ROUNDS, *PAPERS_OPTIONS, *more]
        assert assistlearn("simulate", *files, *options).code == 0
    assert assistlearn("predict", folder / "first", "--out", folder / "predicted.csv").code == 0
    return folder


def by_kind(releases):
    return {release["kind"]: release for release in releases}


def test_the_initiator_sees_what_every_agent_has_released(house):
    facts = assistlearn("privacy", house / "first", "--json").json
    assert (facts["run"], facts["initiator"], facts["method"], facts["epsilon"]) == ("first", "clinic", "ascii", None)
    clinic, lab = (by_kind(facts["released"][name]) for name in ("clinic", "lab"))
    assert clinic.keys() == {"labels", "rewards"}  # its answers for hold-out samples stay with it
    assert clinic["labels"]["said"] == 1.0
    asked = map(json.loads, (house / "first" / "events.jsonl").read_text().splitlines())
    (begin,) = (each["bytes"] for each in asked if each["event"] == "Asked" and each["type"] == "begin")
    assert clinic["labels"]["sent"] == 8 * begin / 384  # of 480 samples 96 are held out: their labels stay
    assert lab.keys() == {"rewards", "hold-out answers", "votes"}
    assert lab["rewards"]["said"] == lab["rewards"]["times"] == lab["hold-out answers"]["times"] > 1
    assert 0 < lab["rewards"]["sent"] <= lab["rewards"]["said"] * 1.05
    assert (lab["votes"]["times"], lab["votes"]["said"]) == (1, 16)
    soft = by_kind(assistlearn("privacy", house / "second", "--json").json["released"]["lab"])
    assert soft.keys() == {"scores"}
    assert soft["scores"]["said"] == 8 * soft["scores"]["times"]
    words = assistlearn("privacy", house / "first").out
    assert "Helpers were told the true labels, as numbers." in words
    assert "No epsilon limits what the answers reveal about a helper's columns" in words
    assert "hold-out answers" in words
    assert "the bits as sent of labels are those of the whole message, for each training sample" in words


def test_a_helper_sees_the_same_of_itself(house):
    facts = assistlearn("privacy", house / "lab.toml", "--json").json
    for run in facts["runs"]:
        there = assistlearn("privacy", house / run["run"], "--json").json["released"]["lab"]
        for kind in ("rewards", "scores", "hold-out answers"):
            assert by_kind(run["releases"]).get(kind) == by_kind(there).get(kind)
    assert [(run["run"], run["n_samples"], run["n_holdout"]) for run in facts["runs"]] == [
        ("first", 384, 96),
        ("second", 480, 0),
        ("third", 480, 0),
    ]


def test_epsilon_is_said_where_chance_has_changed_the_labels(house):
    facts = assistlearn("privacy", house / "third", "--json").json
    assert (facts["epsilon"], facts["epsilon_spent"]) == (2.0, 0.0)  # of nobody who is left
    assert facts["true_labels_told"] > 0  # in the runs before
    assert "no epsilon limits what they know about these" in assistlearn("privacy", house / "third").out
    assert by_kind(facts["released"]["clinic"]).keys() == {"labels"}
    scores = by_kind(facts["released"]["lab"])["scores"]
    assert (scores["times"], scores["said"]) == (1, 4)
    assert "randomised labels: epsilon 2" in assistlearn("privacy", house / "third").out
    at_lab = assistlearn("privacy", house / "lab.toml", "--json").json["runs"]
    assert {run["run"]: run["epsilon"] for run in at_lab} == {"first": None, "second": None, "third": 2.0}
    assert "In run third the labels that came were randomised" in assistlearn("privacy", house / "lab.toml").out


def test_a_helper_compares_with_the_entropy_of_its_columns(house):
    facts = assistlearn("privacy", house / "lab.toml", "--json").json
    bits = {column["column"]: column["bits"] for column in facts["columns"]}
    assert bits["sex"] == pytest.approx(1.0, abs=0.01)
    assert bits["town"] == pytest.approx(1.485, abs=0.05)
    assert bits["pulse"] == pytest.approx(math.log2(32), abs=0.02)
    assert bits["ward"] == 0.0
    assert f"hold at most {sum(bits.values()):.1f} bits" in assistlearn("privacy", house / "lab.toml").out


def test_what_remains_of_the_limits_is_said(house):
    limits = assistlearn("privacy", house / "lab.toml", "--json").json["limits"]
    [votes] = [row for row in limits if row["key"] == "allow.max_total_votes"]
    assert (votes["initiator"], votes["allowed"], votes["spent"], votes["left"]) == ("clinic", 100, N_NEW, 80)
    [bits] = [row for row in limits if row["key"] == "privacy.max_bits_per_sample"]
    assert bits["allowed"] == 1_000
    assert 0 < bits["spent"] == 1_000 - bits["left"]
    said = assistlearn("privacy", house / "lab.toml")
    assert "What remains of the limits" in said.out
    [told] = assistlearn("privacy", house / "lab.toml", "--json").json["told"]
    assert (told["initiator"], told["bits"], told["epsilon"]) == ("clinic", bits["spent"], 0.0)
    assert f"about one person at most: {told['bits']:,g} bits" in said.out


def test_the_epsilon_that_randomised_answers_have_spent_is_said(house, tmp_path):
    copy = tmp_path / "house"
    shutil.copytree(house, copy)
    with (copy / "lab.toml").open("a") as file:
        file.write("randomise = 1.5\n")
    files = copy / "clinic.toml", copy / "lab.toml"
    assert (
        assistlearn(
            "simulate", *files, "--out", copy / "fourth", "--run", "fourth", "--rounds", 2, *PAPERS_OPTIONS
        ).code
        == 0
    )
    [told] = assistlearn("privacy", copy / "lab.toml", "--json").json["told"]
    n_told = transcript_of(holdings_of(copy / "lab.toml"), ["fourth"]).told.shape[1]
    assert told["epsilon"] == pytest.approx(1.5 * n_told)
    words = assistlearn("privacy", copy / "lab.toml").out
    assert f"epsilon {told['epsilon']:.1f} in all" in " ".join(words.split())
    assert "No epsilon limits" not in words


def test_one_run_can_be_named(house):
    facts = assistlearn("privacy", house / "lab.toml", "--run", "second", "--json").json
    assert [run["run"] for run in facts["runs"]] == ["second"]


@pytest.fixture(scope="module")
def attacked(house):
    picture = house / "pictures" / "attack.png"
    said = assistlearn("privacy", house / "lab.toml", "--attack", "--plot", picture, "--json")
    assert said.code == 0, said.err
    [attack] = said.json["attacks"]
    return attack, picture


def test_a_helper_finds_its_own_column_in_what_it_released(attacked):
    attack, _ = attacked
    assert (attack["initiator"], attack["runs"], attack["people"]) == ("clinic", ["first", "second", "third"], 480)
    columns = {column["column"]: column for column in attack["columns"]}
    assert list(columns) == ["sex", "pulse", "town", "ward"]
    sex = {found["share"]: found for found in columns["sex"]["inferred"]}
    assert sex.keys() == {0.05, 0.3}  # 1 % are fewer than ten
    assert sex[0.3]["auc"] > 0.95 > sex[0.3]["without"] + 0.05
    town = {found["share"]: found for found in columns["town"]["inferred"]}
    assert abs(town[0.3]["auc"] - 0.5) < 0.1  # it has nothing to do with the label
    assert columns["ward"] == {"column": "ward", "what": "", "inferred": []}


def test_the_picture_is_drawn_into_a_new_folder(attacked):
    assert attacked[1].read_bytes().startswith(b"\x89PNG")


@pytest.fixture
def asked_by_two(agents):
    """The file of a lab that has helped a clinic and a bank."""
    clinic, lab = agents[:2]
    bank = clinic.with_name("bank.toml")
    bank.write_text(clinic.read_text().replace("clinic", "bank"))
    shutil.copy(clinic.with_suffix(".csv"), bank.with_suffix(".csv"))
    for initiator in (clinic, bank):
        options = ["--out", lab.parent / initiator.stem, "--rounds", 1, *PAPERS_OPTIONS]
        assert assistlearn("simulate", initiator, lab, *options).code == 0
    return lab


def test_no_picture_of_a_further_initiator_replaces_a_file_unless_that_is_said(asked_by_two):
    picture, further = (asked_by_two.with_name(name) for name in ("guessed.png", "guessed-2.png"))
    command = "privacy", asked_by_two, "--attack", "--plot", picture
    further.write_text("mine")
    assistlearn(*command).failed(2, f"{further} is there already", "add --force to replace it")
    assert further.read_text() == "mine"
    assert not picture.exists()
    said = assistlearn(*command, "--force")
    assert said.code == 0, said.err
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in (picture, further))
    words = "".join(said.out.split())
    assert all(f"Thepicture:{file}" in words for file in (picture, further))


def test_an_attack_says_who_guesses_better(house):
    words = " ".join(assistlearn("privacy", house / "lab.toml", "--attack", "--run", "second").out.split())
    assert "An attacker with columns of its own guesses better" in words
    assert "Nothing has left this machine" in words
    assert "How well clinic could guess a column" in words


def test_the_transcript_has_the_labels_as_they_were_told_and_votes_where_there_were_any(house):
    own = holdings_of(house / "lab.toml")
    both, second = transcript_of(own, ["first", "second"]), transcript_of(own, ["second"])
    assert both.with_votes
    assert not second.with_votes
    assert both.labels.shape == (480, 2)
    assert np.isnan(both.labels[:, 0]).sum() == 96  # held out in the first run
    assert second.labels.shape == (480, 1)
    assert not np.isnan(second.told).any()
    labels = pl.read_csv(house / "clinic.csv").select("patient", "ill").drop_nulls()
    mine = pl.read_csv(house / "lab.csv")[second.rows]["patient"].to_frame()
    truth = mine.join(labels, on="patient", how="left", maintain_order="left")["ill"].to_numpy() == "yes"
    agreement = np.mean(second.labels[:, 0] == truth)
    assert agreement in (0.0, 1.0)  # the class order is a secret


def test_the_keys_are_documented(house, attacked):
    page = (DOCS / "reference" / "examples" / "privacy.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`(\w+)`", page.partition("\n## JSON\n")[2]))
    for place in (house / "first", house / "lab.toml"):
        for key in assistlearn("privacy", place, "--json").json:
            assert key in documented
    for key in attacked[0]:
        assert key in documented


# -- what cannot be


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere holds no run"),
        (["nowhere.toml"], "no agent's file nowhere.toml"),
        (["{house}"], "holds no run"),
        (["{house}/first", "--attack"], "--attack needs a helper's own table"),
        (["{house}/first", "--run", "first"], "--run chooses among a helper's runs"),
        (["{house}/clinic.toml"], "is the file of an initiator"),
        (["{house}/clinic.toml", "--attack"], "is the file of an initiator"),
        (
            ["{house}/lab.toml", "--run", "fourth"],
            "has helped in no run 'fourth'. The runs it remembers: first, second",
        ),
        (["{house}/lab.toml", "--plot", "x.png"], "Add --attack"),
        (["{house}/lab.toml", "--attack", "--plot", "x.doc"], "ends in .png, .svg or .pdf"),
        (["{house}/lab.csv"], "lab.csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_arguments_end_with_2(house, arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = [argument.format(house=house) for argument in arguments]
    assistlearn("privacy", *given).failed(2, words)
    assert words in assistlearn("privacy", *given, "--json").json["message"]
    assert list(tmp_path.iterdir()) == []


def test_an_agent_that_has_helped_nobody_has_released_nothing(agents):
    assert "It remembers no run in which it helped" in assistlearn("privacy", agents[1]).out
    assistlearn("privacy", agents[1], "--attack").failed(2, "there is nothing to attack")


def test_a_run_that_is_forgotten_is_still_counted_in_bits(agents):
    ledger = Ledger(agents[1].parent / "lab-models" / "ledger.jsonl")
    ledger.record("sent", "clinic", "gone", "turn-taken", b"x" * 10)
    assert assistlearn("privacy", agents[1], "--json").json["forgotten"] == {"gone": 80}
    assert "Run gone is forgotten here. Its answers were 80 bits" in assistlearn("privacy", agents[1]).out


def test_a_table_that_has_changed_cannot_be_attacked(house, tmp_path):
    copy = tmp_path / "house"
    shutil.copytree(house, copy)
    rows = (copy / "lab.csv").read_text().splitlines()
    (copy / "lab.csv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    assistlearn("privacy", copy / "lab.toml", "--attack").failed(2, "its table has changed since these runs")


def test_a_changed_ledger_is_no_witness(house, tmp_path):
    copy = tmp_path / "house"
    shutil.copytree(house, copy)
    ledger = copy / "lab-models" / "ledger.jsonl"
    lines = ledger.read_text().splitlines()
    entry = json.loads(lines[3])
    lines[3] = lines[3].replace(f'"bytes": {entry["bytes"]}', f'"bytes": {entry["bytes"] + 1}')
    ledger.write_text("\n".join(lines) + "\n")
    assistlearn("privacy", copy / "lab.toml").failed(4, "was changed")
