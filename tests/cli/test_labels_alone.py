"""An initiator with labels alone, as a user has it: files, training, prediction, a service, a pilot, and a page."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest

from assistlearn.agent.loading import holdings_of
from assistlearn.agent.service import AgentService
from assistlearn.initiator.training import train
from assistlearn.plan import Plan
from assistlearn.protocol import MemoryTransport
from assistlearn.reach.opening import with_own_table
from assistlearn.reach.processes.reach_processes import create_run
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, NEW, SECRET, know_the_key, write_agents
from tests.web.served_run import served

pytestmark = pytest.mark.usefixtures("forked_agents")

HEAD = 'name = "clinic"\ntable = "clinic.csv"\nid = "patient"\n' + SECRET + LABEL
PLAN = {"n_rounds": 2, "seed": 1, "holdout": 0.3, "models_per_turn": 2}
BY_SHARES = "(shares of the labels)"


def labels_alone(folder) -> list:
    """Write agents of whom the clinic has features that it does not use, and no learner."""
    files = write_agents(folder)
    files[0].write_text(HEAD + "[features]\ninclude = []\n")
    know_the_key(files[0])
    return files


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("labels")
    options = (word for name, value in PLAN.items() for word in (_option(name), value))
    files = labels_alone(place)
    trained = assistlearn("simulate", *files, "--run", "alone", "--out", place / "run", *options, "--json")
    assert trained.code == 0, trained.err
    return place / "run", trained.json


def _option(name: str) -> str:
    return {"n_rounds": "--rounds"}.get(name, f"--{name.replace('_', '-')}")


def predictions(run, out, *more: object) -> tuple[int, dict[str, dict]]:
    said = assistlearn("predict", run, "--out", out, "--force", *more)
    return said.code, {row["patient"]: row for row in pl.read_csv(out).to_dicts()}


def test_processes_end_with_what_memory_ends_with(run, tmp_path):
    folder, facts = run
    files = labels_alone(tmp_path / "again")
    made = create_run(tmp_path / "run", "alone", files, Plan(**PLAN))
    services = {name: AgentService(holdings_of(tmp_path / "again" / f"{name}.toml")) for name in ("lab", "scans")}
    transport = MemoryTransport({name: service.answer for name, service in services.items()})
    list(train(with_own_table(made, transport, training=True)[0]))
    result = made.result()
    for key in ("contributions", "evaluation", "combination", "class_shares", "stop_reason"):
        assert result[key] == facts["result"][key]
    assert made.combination() == (folder / "combination.bin").read_bytes()
    assert {each["agent"] for each in result["contributions"]} <= {"lab", "scans"}


def test_people_read_what_it_is_compared_with(run):
    folder, _ = run
    shown = " ".join(assistlearn("show", folder).out.split())
    assert "clinic has labels but no columns: it took no turns" in shown
    assert "alone (the most frequent class)" in shown
    assert "With help, and the initiator alone: the most frequent class, by the shares of the labels" in shown
    told = assistlearn("privacy", folder, "--json").json
    assert [each["kind"] for each in told["released"]["clinic"]] == ["labels"]


def test_a_page_says_so_and_that_other_helpers_models_are_told_of(run, tmp_path):
    folder, _ = run
    assert assistlearn("report", folder, "--out", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert "alone, the most frequent class" in page
    assert "clinic has no votes of its own: without help it answers the most frequent class" in page
    assert "Where other helpers' models were right" in page.replace("&#39;", "'").replace("&#x27;", "'")
    assert "its own and other helpers" not in page
    assert "training alone, to compare" not in page


def test_whoever_is_missing_is_said_and_the_shares_of_the_labels_are_what_is_left(run, tmp_path):
    folder, facts = run
    asked = tmp_path / "ids.csv"
    asked.write_text("patient\nnobody\n" + "\n".join(NEW) + "\n")
    code, whole = predictions(folder, tmp_path / "a.csv", "--ids", asked)
    shares = dict(zip(("no", "yes"), facts["result"]["class_shares"], strict=True))
    said = {label: pytest.approx(share) for label, share in shares.items()}
    assert code == 0
    assert whole["nobody"]["agents"] == BY_SHARES
    assert whole["nobody"]["prediction"] == max(shares, key=shares.get)
    assert {label: whole["nobody"][f"probability of {label}"] for label in shares} == said
    assert {whole[name]["agents"] for name in NEW} == {"lab scans"}
    files = {name: folder.parent / f"{name}.toml" for name in ("lab", "scans")}
    kept = {name: file.read_text() for name, file in files.items()}
    try:
        for file in files.values():
            file.write_text("nothing")
        code, alone = predictions(folder, tmp_path / "b.csv", "--ids", asked)
        assert code == 3
        assert {row["agents"] for row in alone.values()} == {BY_SHARES}
        assert {row["absent"] for row in alone.values()} == {"lab scans"}
        assert {label: alone[NEW[0]][f"probability of {label}"] for label in shares} == said
        refused = assistlearn("predict", folder, "--out", tmp_path / "c.csv", "--require-all")
        refused.failed(3, "Nothing was written, as not every agent takes part", "lab", "scans")
        assert not (tmp_path / "c.csv").exists()
    finally:
        for name, file in files.items():
            file.write_text(kept[name])


def test_a_service_says_who_is_answered_by_the_shares_of_the_labels(run):
    folder, facts = run
    with served(folder) as service:
        known, unknown = service.predict(NEW[0], "nobody")["predictions"]
        inputs = [{"name": "ids", "datatype": "BYTES", "shape": [2], "data": [NEW[0], "nobody"]}]
        status, infer = service.post(f"/v2/models/{service.model}/infer", {"inputs": inputs})
    assert (known["by_label_shares"], known["voted"]) == (False, ["lab", "scans"])
    assert (unknown["by_label_shares"], unknown["voted"]) == (True, [])
    assert list(unknown["probabilities"].values()) == facts["result"]["class_shares"]
    assert status == 200
    assert json.loads(infer["parameters"]["by_label_shares"]) == ["nobody"]
    assert json.loads(infer["parameters"]["unknown"]) == []


def test_a_pilot_is_asked_for_and_a_file_without_a_learner_is_known_as_an_agents(run, tmp_path):
    files = labels_alone(tmp_path / "pilot")
    said = assistlearn("worth", *files, "--rounds", 1, "--out", tmp_path / "run", "--loss", "log")
    assert said.code == 0, said.err
    assert "alone (the shares of the labels)" in " ".join(said.out.split())
    assistlearn("worth", files[0]).failed(2, "is an agent's file. Name its helpers' files")


BAD = {
    "features and no learner": (HEAD, "the key 'learner' is missing", "'x0', 'x1'", "[features] include = []"),
    "a learner and no features": (
        HEAD + 'learner = "sklearn.naive_bayes.GaussianNB"\n[features]\ninclude = []\n',
        "no feature is left",
        "labels alone",
        "remove the key 'learner'",
    ),
    "preprocessing": (
        HEAD + '[features]\ninclude = []\n[preprocessing]\nscale = "none"\n',
        "line 8",
        "[preprocessing] prepares features for a learner",
        "names no learner",
    ),
    "a helper": (
        'name = "lab"\ntable = "lab.csv"\nid = "patient"\n[features]\ninclude = []\n',
        "the key 'learner' is missing",
    ),
    "a helper without features": (
        'name = "lab"\ntable = "lab.csv"\nid = "patient"\nlearner = "sklearn.naive_bayes.GaussianNB"\n'
        "[features]\ninclude = []\n",
        "no feature is left",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_neither_the_one_nor_the_other_is_refused(run, tmp_path, case):
    text, *words = BAD[case]
    for name in ("clinic.csv", "lab.csv", "shared.key"):
        shutil.copy(run[0].parent / name, tmp_path / name)
    (tmp_path / "agent.toml").write_text(text)
    refused = assistlearn("check", tmp_path / "agent.toml")
    assert refused.code == 2
    assert all(word in " ".join(refused.err.split()) for word in words), refused.err


def test_a_table_of_ids_and_labels_is_well_and_marks_of_missing_labels_may_be_said(tmp_path):
    (tmp_path / "bank.csv").write_text("id,paid\n" + "".join(f"{i},{('yes', 'no', '?')[i % 3]}\n" for i in range(30)))
    (tmp_path / "bank.toml").write_text(
        'name = "bank"\ntable = "bank.csv"\nid = "id"\nlabel = "paid"\n[preprocessing]\nmissing_values = ["?"]\n'
    )
    facts = assistlearn("check", tmp_path / "bank.toml", "--json").json
    assert facts["learner"] == "none: the agent has labels alone, and takes no turns"
    assert (facts["columns"], facts["classes"]) == ([], {"no": 10, "yes": 10})
    assert not any("in each turn" in line for line in facts["leaves"])
