"""Label-private runs: helpers hear nothing that depends on the true labels, but by those that chance has changed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.file import load_description
from assistlearn.alignment import Ids
from assistlearn.errors import DescriptionError, RefusedError, RunError, SettingsError
from assistlearn.events import LabelsTold
from assistlearn.initiator.label_ledger import LabelLedger
from assistlearn.initiator.prediction import predict
from assistlearn.initiator.training import train
from assistlearn.methods.label_private import spent_in_words
from assistlearn.plan import Plan
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_codes
from assistlearn.reach.opening import opened_run
from assistlearn.reach.processes import reach_processes
from tests.cli.program import assistlearn
from tests.initiator.parties import Parties, filed
from tests.initiator.sent_bytes import recorded
from tests.initiator.test_interruptions import CutError

DATA = {"two classes": load_breast_cancer, "three classes": load_wine}


def parties(folder: Path, data, labels=None, **options) -> Parties:
    X, y = data(return_X_y=True)
    learners = [
        DecisionTreeClassifier(max_depth=2),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    ]
    names, thirds = ["clinic", "lab", "scans"], np.array_split(np.arange(X.shape[1]), 3)
    agents = [(name, each, list(map(int, part))) for name, each, part in zip(names, learners, thirds, strict=True)]
    held = {"lab": np.arange(len(X)) % 7 != 0}
    return Parties(folder, agents, X, y if labels is None else labels, {"method": "label-private"} | options, held)


def told_at_random(labels: np.ndarray) -> dict[str, int]:
    """Return labels that helpers are told, by the ids that parties have."""
    n_classes = len(np.unique(labels))
    drawn = np.random.default_rng(5).integers(0, n_classes, len(labels))
    return {f"p-{i:04d}": int(code) for i, code in enumerate(np.where(drawn % 2 == 0, labels, drawn))}


def changed(labels: np.ndarray) -> np.ndarray:
    """Return quite other labels: about half of them, and of one class many more."""
    rng = np.random.default_rng(6)
    return np.where(rng.random(len(labels)) < 0.5, 0, rng.permutation(labels))


def run_and_predict(made: Parties):
    leader = made.leader()
    list(leader.train())
    ids = made.holdings("clinic").ids
    return leader, leader.predict_rows(np.arange(len(ids)))


@pytest.mark.parametrize(
    ("data", "options"),
    [("two classes", {}), ("three classes", {"holdout": 0.25, "order": "random", "class_weight": "balanced"})],
)
def test_other_true_labels_leave_every_byte_the_same_that_helpers_are_sent(tmp_path, data, options):
    labels = np.unique(DATA[data](return_X_y=True)[1], return_inverse=True)[1]
    told, sent, results = told_at_random(labels), [], []
    for place, true in enumerate((labels, changed(labels))):
        weights = np.where(true == 0, 2.0, 1.0)
        with recorded(told) as each:
            leader, _ = run_and_predict(parties(tmp_path / str(place), DATA[data], true, weights=weights, **options))
        sent.append(each)
        results.append(leader.folder.result())
    assert sent[0] == sent[1]
    kinds = {type(decode(content)) for _, content in sent[0]}
    assert kinds == {m.Open, m.Align, m.Begin, m.TakeTurn, m.End, m.Predict}
    assert results[0]["combination"] != results[1]["combination"]  # what the initiator learns is not the same


@pytest.mark.parametrize("helpers_too", [False, True])
def test_an_initiator_whose_model_is_worth_nothing_sends_the_same_bytes(tmp_path, helpers_too):
    y = load_breast_cancer(return_X_y=True)[1]
    noise, other = (np.random.default_rng(seed).permutation(np.arange(len(y)) % 2) for seed in (0, 8))
    told = {f"p-{i:04d}": int(code) for i, code in enumerate(other)} if helpers_too else told_at_random(y)
    sent, contributors = [], []
    for place, true in enumerate((y, noise)):
        with recorded(told) as each:
            leader, _ = run_and_predict(parties(tmp_path / str(place), load_breast_cancer, true))
        sent.append(each)
        contributors.append({c["agent"] for c in leader.folder.result()["contributions"]})
    helpers = set() if helpers_too else {"lab", "scans"}
    assert contributors == [{"clinic"} | helpers, helpers]
    assert sent[0] == sent[1]


@pytest.mark.parametrize("data", DATA)
def test_the_true_labels_are_not_what_helpers_are_told(tmp_path, data):
    made = parties(tmp_path, DATA[data])
    leader, _ = run_and_predict(made)
    told = leader.folder.told()
    n, n_classes = len(made.labels), len(np.unique(made.labels))
    for helper in ("lab", "scans"):
        begin = decode((tmp_path / helper / "runs" / "test-run" / "begin.msg").read_bytes())
        np.testing.assert_array_equal(unpack_codes(begin.labels, n, n_classes), told)
        assert (begin.epsilon, begin.weights, begin.reward) == (1.0, None, "out-of-fold")
    kept = np.e / (np.e + n_classes - 1)
    assert abs((told == made.labels).mean() - kept) < 5 * np.sqrt(kept * (1 - kept) / n)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("two classes", {}),
        ("three classes", {"holdout": 0.3, "class_weight": "balanced"}),
        ("two classes", {"score_bits": 8, "combine": "learned", "epsilon": 3.0}),
    ],
)
def test_a_run_is_the_estimator_in_one_process_to_the_bit(tmp_path, data, options, monkeypatch):
    made = parties(tmp_path, DATA[data], **options)
    made.held = {}
    leader, prediction = run_and_predict(made)
    monkeypatch.setattr(AssistedClassifier, "_told_codes", lambda self, plan, codes: leader.folder.told())
    clf = AssistedClassifier(made.agents, method="label-private", random_state=7, **options).fit(made.X, made.labels)
    result = leader.folder.result()
    assert [c["model_weight"] for c in result["contributions"]] == [c.model_weight for c in clf.contributions_]
    assert result["stop_reason"] == clf.stop_reason_.name
    np.testing.assert_array_equal(prediction.scores, sum(clf.agent_scores(made.X).values()))
    np.testing.assert_array_equal(prediction.probabilities, clf.predict_proba(made.X))


def test_each_helper_is_asked_once_and_hears_of_nobody(tmp_path):
    made = parties(tmp_path, load_wine, n_rounds=9)
    with recorded(told_at_random(made.labels)) as sent:
        run_and_predict(made)
    turns = [(agent, decode(content)) for agent, content in sent if isinstance(decode(content), m.TakeTurn)]
    assert [(agent, turn.round, turn.news) for agent, turn in turns] == [("lab", 1, []), ("scans", 1, [])]


def test_an_interrupted_run_tells_the_same_labels_and_ends_the_same(tmp_path):
    made = parties(tmp_path, load_wine)

    class Cut:
        def __init__(self, inner):
            self._inner = inner

        def ask(self, agent: str, request: bytes) -> bytes:
            if agent == "scans" and isinstance(decode(request), m.TakeTurn):
                raise CutError
            return self._inner.ask(agent, request)

    whole = made.leader()
    transport = whole.run.agents["lab"]._transport
    with pytest.raises(CutError):
        list(made.leader(Cut(transport)).train())
    told = whole.folder.told()
    ledger = tmp_path / "clinic" / "told-labels.sqlite"
    content = ledger.read_bytes()
    ledger.unlink()  # the folder of the run has them, too, but nothing is told of which the ledger does not know
    with pytest.raises(RunError, match=r"told-labels\.sqlite.* is missing: .* shows that run 'test-run' told labels"):
        list(whole.train())
    ledger.write_bytes(content)
    list(whole.train())
    np.testing.assert_array_equal(whole.folder.told(), told)
    assert whole.folder.result()["stop_reason"] == "ALL_ROUNDS_DONE"
    assert {c["agent"] for c in whole.folder.result()["contributions"]} >= {"clinic", "scans"}


def test_a_second_run_tells_the_same_labels_and_the_log_says_what_was_spent(tmp_path):
    first = parties(tmp_path, load_wine, run="first").leader()
    told = [event for event in train(first.run) if isinstance(event, LabelsTold)]
    assert told == []  # it is in the log of the run, as what messages are
    n = len(first.folder.told())
    (tmp_path / "run").rename(tmp_path / "first")
    second = parties(tmp_path, load_wine, epsilon=2.0).leader()
    list(second.train())
    lines = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").read_text().splitlines()]
    [fact] = [line for line in lines if line["event"] == "LabelsTold"]
    assert (fact["epsilon"], fact["n_samples"], fact["n_drawn"], fact["most_spent"]) == (2.0, n, n, 2.0)


def test_a_run_that_tells_the_labels_as_they_are_is_in_the_ledger_of_what_was_kept_back(tmp_path):
    def run(place: str, **options) -> None:
        list(parties(tmp_path, load_wine, run=place, **options).leader().train())
        (tmp_path / "run").rename(tmp_path / place)

    run("private")
    ledger = LabelLedger(tmp_path / "clinic", "", [0, 1, 2])
    assert set(ledger.spent()) == {1.0}
    run("plain", method="ascii", n_rounds=1)
    assert set(ledger.spent()) == {np.inf}


def test_true_labels_are_booked_from_the_first_run_on_and_a_later_run_says_so(tmp_path):
    first = parties(tmp_path, load_wine, run="first", method="soft", n_rounds=1).leader()
    list(first.train())
    (tmp_path / "run").rename(tmp_path / "first")
    made = parties(tmp_path, load_wine)
    told = []
    leader = made.leader()
    leader.run.log.listen(told.append)
    list(leader.train())
    [fact] = [event for event in told if isinstance(event, LabelsTold)]
    assert (fact.n_true, fact.most_spent) == (len(made.X), 0.0)
    assert "true label in another run: no epsilon limits" in spent_in_words(fact.most_spent, fact.n_true)


def test_a_limit_on_labels_is_kept_also_by_a_run_that_was_begun_without_it(tmp_path):
    made = parties(tmp_path, load_wine, method="ascii", n_rounds=1, max_label_epsilon=1.0)
    with pytest.raises(RefusedError, match=r"epsilon 1 at most .*but method 'ascii' tells the true labels"):
        list(made.leader().train())


def test_a_ledger_that_is_gone_is_missed_before_labels_are_told_anew(tmp_path):
    list(parties(tmp_path, load_wine, run="first").leader().train())
    (tmp_path / "run").rename(tmp_path / "first")
    (tmp_path / "clinic" / "told-labels.sqlite").unlink()
    with pytest.raises(
        RunError, match=r"told-labels\.sqlite.* is missing: .* shows that run 'first' told labels.* Restore"
    ):
        list(parties(tmp_path, load_wine).leader().train())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"weak_agent": "stop"}, "would end the run where the initiator's own model is no better than chance"),
        ({"order": "strongest"}, "may depend on what models are worth"),
        ({"order": "greedy"}, "lets each boost alone"),
        ({"epsilon": 0.0}, "must be a number above 0"),
        ({"epsilon": -1}, "must be a number above 0"),
        ({"epsilon": float("nan")}, "must be a number above 0"),
        ({"epsilon": "1"}, "must be a number above 0"),
        ({"epsilon": 20.5}, "must be a number above 0 and at most 20"),
        ({"epsilon": 37}, "must be a number above 0 and at most 20"),
    ],
)
def test_settings_that_would_tell_of_the_true_labels_are_refused(wrong, words):
    with pytest.raises(SettingsError, match=words):
        Plan(method="label-private", **wrong)


# -- real processes


def files(folder: Path, labels: np.ndarray, sort: bool) -> list[Path]:
    """Write three agents' files and tables; the initiator's rows may be sorted by their labels."""
    X, _ = load_wine(return_X_y=True)
    agents = [(name, GaussianNB(), list(part)) for name, part in (("clinic", range(4)), ("lab", range(4, 8)))]
    agents.append(("scans", GaussianNB(), list(range(8, 13))))
    out = filed(Parties(folder, agents, X, np.array([f"class {code}" for code in labels]), {}, {}))
    (folder / "clinic-models").mkdir()
    (folder / "clinic-models" / "class-order.key").write_text("ab" * 32 + "\n")  # one organisation, as it were
    if sort:
        pl.read_csv(folder / "clinic.csv").sort("y").write_csv(folder / "clinic.csv")
    return out


@pytest.mark.usefixtures("forked_agents")
def test_in_processes_too_other_labels_in_another_order_leave_every_byte_the_same(tmp_path):
    labels = load_wine(return_X_y=True)[1]
    told, sent = told_at_random(labels), []
    for place, (true, sort) in enumerate(((labels, False), (changed(labels), True))):
        made = files(tmp_path / str(place), true, sort)
        run = reach_processes.create_run(
            tmp_path / str(place) / "run", "wine", made, Plan(method="label-private", holdout=0.2)
        )
        with recorded(told) as each, opened_run(run, training=True) as (opened, own):
            list(train(opened))
            there = predict(opened, Ids(own.table.ids), np.arange(len(own.table)))
        assert there.absent == {}
        sent.append(each)
    assert len(sent[0]) > 10
    assert sent[0] == sent[1]


def test_people_who_are_asked_about_in_another_order_get_the_same_predictions(tmp_path):
    made = parties(tmp_path, load_wine)
    leader, there = run_and_predict(made)
    order = np.random.default_rng(3).permutation(len(made.X))
    again = leader.predict_rows(order)
    np.testing.assert_array_equal(again.scores, there.scores[order])
    np.testing.assert_array_equal(again.probabilities, there.probabilities[order])
    np.testing.assert_array_equal(again.known["lab"], there.known["lab"][order])


def test_a_run_whose_folder_lost_what_was_told_does_not_go_on_in_silence(tmp_path):
    made = parties(tmp_path, load_wine)
    leader = made.leader()
    next(leader.train())
    path = leader.folder.path / "told.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(RunError, match=r"told\.npy"):
        list(made.leader().train())


# -- what the initiator's owner lets be told


def owned(folder: Path, most: str) -> list[Path]:
    """Write the agents' files; the initiator's says how much helpers may be told of its labels."""
    made = files(folder, load_wine(return_X_y=True)[1], sort=False)
    made[0].write_text(made[0].read_text() + f"[privacy]\nmax_label_epsilon = {most}\n")
    return made


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"method": "ascii"}, r"clinic.toml.*epsilon 1 at most, but method 'ascii' tells them the true labels"),
        ({"method": "label-private", "epsilon": 1.5}, r"epsilon 1 at most, but the run asks for 1.5"),
        (
            {"method": "label-private", "epsilon": float("inf")},
            "An infinite epsilon would tell helpers",
        ),
    ],
)
def test_a_run_that_tells_more_of_the_labels_than_the_owner_lets_it_is_refused_before_anything_is_sent(
    tmp_path, settings, words
):
    with pytest.raises(SettingsError, match=words):
        reach_processes.create_run(tmp_path / "run", "wine", owned(tmp_path / "a", "1"), Plan(**settings))
    assert not (tmp_path / "run").exists()


def test_what_all_runs_have_told_is_held_to_what_the_owner_allows(tmp_path):
    labels = load_wine(return_X_y=True)[1]
    list(parties(tmp_path, load_wine, run="first", epsilon=1.5, max_label_epsilon=1.5).leader().train())
    (tmp_path / "run").rename(tmp_path / "first")
    limit = {"max_label_epsilon": 1.5, "told_labels": "afresh"}
    second = parties(tmp_path, load_wine, labels[::-1], epsilon=0.5, **limit).leader()
    with pytest.raises(
        RefusedError, match=r"add up to epsilon 2; at most 1.5 is allowed \(privacy.max_label_epsilon\)"
    ):
        list(second.train())


def test_check_says_how_much_of_the_labels_was_told(tmp_path):
    clinic = owned(tmp_path / "a", "1.5")[0]
    people = Ids([f"p-{i:04d}" for i in range(50)])
    LabelLedger(tmp_path / "a" / "clinic-models", "y", ["class 0", "class 1"]).tell("a", people, np.arange(50) % 2, 1.0)
    [limit] = assistlearn("check", clinic, "--json").json["limits"]
    assert limit["key"] == "privacy.max_label_epsilon"
    assert (limit["allowed"], limit["spent"], limit["left"]) == (1.5, 1.0, 0.5)
    shown = assistlearn("check", clinic).out
    assert "What remains of the limits" in shown
    assert "max_label" in shown


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            'told_labels = "afresh"',
            r'privacy.told_labels = "afresh" draws .* what all runs tell adds up.*max_label_eps',
        ),
        ('told_labels = "often"', "told_labels"),
    ],
)
def test_an_owner_who_lets_everybody_be_drawn_afresh_says_up_to_which_sum(tmp_path, lines, words):
    clinic = files(tmp_path / "a", load_wine(return_X_y=True)[1], sort=False)[0]
    clinic.write_text(clinic.read_text() + f"[privacy]\n{lines}\n")
    with pytest.raises(DescriptionError, match=words):
        load_description(clinic)


def test_a_helpers_file_cannot_limit_what_is_told_of_labels_that_it_has_not(tmp_path):
    lab = owned(tmp_path / "a", "1")[1]
    lab.write_text(lab.read_text() + "[privacy]\nmax_label_epsilon = 1\n")
    with pytest.raises(DescriptionError, match="names no column with labels"):
        load_description(lab)
