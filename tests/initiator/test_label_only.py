"""A run whose initiator has labels alone: the same as in one process, whoever is there, and after any interruption."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain
from assistlearn.agent.service import AgentService
from assistlearn.alignment import Ids
from assistlearn.errors import RunError
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.words import Terms
from assistlearn.events import AgentLeft, RunFinished, StopReason, TurnFinished
from assistlearn.initiator.folder import releases_of_run
from assistlearn.initiator.label_ledger import check_ledger
from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m
from tests.initiator.parties import Parties
from tests.initiator.test_interruptions import CutError, CutTransport
from tests.initiator.test_pilot import found
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
OPTIONS = {
    "ascii": {"method": "ascii", "n_rounds": 3},
    "simple": {"method": "simple", "order": "random", "n_rounds": 3, "permutation": [2, 0, 1]},
    "ensemble": {"method": "ensemble", "holdout": 0.3, "n_rounds": 3},
    "hold-out": {"method": "ascii", "reward": "auto", "holdout": 0.3, "n_rounds": 3},
    "soft": {"method": "soft", "reward": "out-of-fold", "n_rounds": 2},
    "combined": {
        **{"method": "soft", "reward": "auto", "combine": "auto", "models_per_turn": 2, "n_rounds": 2},
        "holdout": 0.3,
    },
}
GONE = np.arange(178) % 9 == 4
"""Of these bottles neither helper knows anything."""


def parties(folder, held=None, data=load_wine, **options) -> Parties:
    X, y = data(return_X_y=True)
    middle = X.shape[1] // 2
    agents = [
        ("bank", None, []),
        ("lab", TREE, list(range(middle))),
        ("shop", GaussianNB(), list(range(middle, X.shape[1]))),
    ]
    return Parties(folder, agents, X, y, options, held or {})


def everybody(made: Parties) -> tuple[Ids, np.ndarray]:
    ids = made.holdings("bank").ids
    return Ids(ids.take(np.arange(len(ids))), "new"), np.arange(len(ids))


@pytest.mark.parametrize("name", OPTIONS)
def test_over_messages_it_is_the_estimator_bit_for_bit(tmp_path, name):
    held = dict.fromkeys(("lab", "shop"), ~GONE)
    made = parties(tmp_path, held, **OPTIONS[name])
    table = made.X.copy()
    table[GONE] = np.nan
    own = {key: value for key, value in OPTIONS[name].items() if key != "permutation"}
    clf = AssistedClassifier(made.agents, random_state=7, missing_agent="abstain", **(PAPERS | own))
    clf.fit(table, made.labels)
    leader = made.leader()
    list(leader.train())
    result = leader.folder.result()
    assert [c["model_weight"] for c in result["contributions"]] == [c.model_weight for c in clf.contributions_]
    assert {c["agent"] for c in result["contributions"]} == {"lab", "shop"}
    assert result["class_shares"] == clf.class_prior_.tolist()
    assert ScoreCalibration.from_json(result["calibration"]) == clf.calibration_
    report = None if clf.report_ is None else json.loads(json.dumps(asdict(clf.report_)))
    assert result["evaluation"] == report
    prediction = leader.predict(*everybody(made))
    assert [*prediction.known] == ["lab", "shop"]
    np.testing.assert_array_equal(prediction.scores, sum(clf.agent_scores(table).values()))
    np.testing.assert_array_equal(prediction.probabilities, clf.predict_proba(table))
    np.testing.assert_array_equal(prediction.labels, clf.predict(table))
    np.testing.assert_array_equal(prediction.by_shares, GONE)
    assert prediction.probabilities[4].tolist() == result["class_shares"]


@pytest.mark.parametrize("name", ["ascii", "combined"])
def test_with_all_helpers_gone_the_shares_of_the_labels_are_said_and_who_is_missing(tmp_path, name):
    made = parties(tmp_path, **OPTIONS[name])
    leader = made.leader()
    list(leader.train())
    both = leader.predict(*everybody(made))
    lab = made.leader(MemoryTransport({"lab": made.services()["lab"].answer})).predict(*everybody(made))
    assert [*lab.absent] == ["shop"]
    assert not lab.by_shares.any()
    assert (lab.scores != both.scores).any()
    nobody = made.leader(MemoryTransport({})).predict(*everybody(made))
    assert sorted(nobody.absent) == ["lab", "shop"]
    assert nobody.by_shares.all()
    shares = np.array(leader.folder.result()["class_shares"])
    np.testing.assert_allclose(shares, np.bincount(made.labels) / len(made.labels), atol=0.01)
    np.testing.assert_array_equal(nobody.probabilities, np.tile(shares, (len(made.labels), 1)))
    assert set(nobody.labels) == {int(shares.argmax())}


@pytest.mark.parametrize("name", ["soft"])
def test_cut_at_every_message_it_goes_on_and_ends_the_same(tmp_path, name):
    whole, cut = (parties(tmp_path / each, **OPTIONS[name] | {"n_rounds": 1}) for each in ("whole", "cut"))
    leader = whole.leader()
    list(leader.train())
    for at in range(1, 40):
        again = cut.leader(CutTransport(cut.transport(), at, after=at % 2 == 0))
        try:
            list(again.train())
        except CutError:
            continue
        break
    assert at > 6
    assert again.folder.result()["contributions"] == leader.folder.result()["contributions"]
    said, expected = cut.leader().predict(*everybody(cut)), leader.predict(*everybody(whole))
    np.testing.assert_array_equal(said.scores, expected.scores)


def test_the_initiator_takes_no_turn_and_releases_labels_alone(tmp_path):
    made = parties(tmp_path, **OPTIONS["ascii"])
    leader = made.leader()
    turns = [event for event in leader.train() if isinstance(event, TurnFinished)]
    assert [turn.agent for turn in turns] == ["lab", "shop"] * 3
    assert [each.kind for each in releases_of_run(leader.folder)["bank"]] == ["labels"]
    assert leader.run.own.run("test-run").loaded().agent.models == []


def test_a_helper_by_itself_hears_of_no_other_model(tmp_path):
    made = parties(tmp_path, **OPTIONS["ascii"])
    made.agents.pop()
    service, heard = made.services()["lab"], []

    def answer(request: bytes) -> bytes:
        message = decode(request)
        heard.extend(message.news if isinstance(message, m.TakeTurn) else ())
        return service.answer(request)

    leader = made.leader(MemoryTransport({"lab": answer}))
    list(leader.train())
    assert len(leader.folder.result()["contributions"]) == 3
    assert [news.reward for news in heard] == [None, None]  # it is told which of its own models are kept


def test_a_run_whose_helpers_are_all_gone_ends_with_what_it_has(tmp_path):
    made = parties(tmp_path, **OPTIONS["ascii"] | {"absent": "go on"})
    services, left = made.services(), [10]

    class Failing(MemoryTransport):
        def ask(self, agent: str, request: bytes) -> bytes:
            left[0] -= 1
            return (MemoryTransport({}) if left[0] < 0 else super()).ask(agent, request)

    leader = made.leader(Failing({name: service.answer for name, service in services.items()}))
    events = list(leader.train())
    assert {event.agent for event in events if isinstance(event, AgentLeft)} == {"lab", "shop"}
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason is StopReason.NO_AGENT_CONTRIBUTED
    assert leader.folder.result()["contributions"]


def test_a_label_private_run_tells_helpers_what_chance_has_changed_and_remembers_it(tmp_path):
    own = {"reward": None, "combine": None, "models_per_turn": 1}
    options = PAPERS | own | {"method": "label-private", "epsilon": 2.0, "holdout": 0.2}
    made = parties(tmp_path, data=load_breast_cancer, **options)
    services, told = made.services(), []

    def asked(name):
        def answer(request: bytes) -> bytes:
            message = decode(request)
            if isinstance(message, m.Begin):
                told.append(message)
            return services[name].answer(request)

        return answer

    leader = made.leader(MemoryTransport({name: asked(name) for name in services}))
    list(leader.train())
    assert len(told) == 2
    assert told[0].labels == told[1].labels
    assert told[0].epsilon == 2.0
    ledger = next(made.folder.glob("bank/*label*"))
    prediction = leader.predict(*everybody(made))
    assert np.mean(np.array(prediction.labels) == made.labels) > 0.75
    ledger.unlink()
    with pytest.raises(RunError, match="ledger of what helpers were told about labels, is missing"):
        _check_again(leader)


def _check_again(leader) -> None:
    """Ask what the next run would ask before it tells labels anew."""
    from assistlearn.initiator.label_ledger import LabelLedger

    run = replace(leader.run, settings=replace(leader.run.settings, run="another"))
    ledger = LabelLedger(run.holdings.home, run.table.label, run.settings.classes)
    check_ledger(ledger, run.folder, run.settings, run.holdings.home)


def test_a_pilot_finds_what_the_estimator_finds(tmp_path):
    terms = Terms(loss="log", block=40)
    options = {"method": "soft", "reward": "auto", "combine": "learned", "n_rounds": 1, "models_per_turn": 2}
    made = parties(tmp_path, data=load_breast_cancer, **options)
    clf = AssistedClassifier(made.agents, **options, random_state=7)
    asked = {name: getattr(terms, name) for name in ("at_least", "alpha", "loss", "block", "train_size", "each_helper")}
    here = assistance_gain(clf, made.X, made.labels, random_state=7, **asked)
    there = replace(found(made, terms), n_bytes=None)
    assert there == here
    assert (there.answer, there.alone_by_labels) == ("yes", True)


def test_who_has_labels_alone_can_help_nobody(tmp_path):
    made = parties(tmp_path, **OPTIONS["ascii"])
    service = AgentService(made.holdings("bank"))
    opening = m.Open(run="r", initiator="shop", purpose="", alignment="hash", overlap="abstain")
    reply = decode(service.answer(encode(opening)))
    assert isinstance(reply, m.Problem)
    assert reply.kind == "refused"
    assert "'bank' has only labels, and no learner: it can help nobody" in reply.text


def test_when_every_helper_is_left_out_nobody_is_asked_and_the_shares_are_said(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), (rng.random(600) < 0.25).astype(int)
    agents = [("bank", None, []), ("noise", DecisionTreeClassifier(max_depth=6), [0, 1, 2, 3])]
    made = Parties(tmp_path, agents, X, y, PAPERS | {"n_rounds": 3, "holdout": 0.4}, {})
    leader = made.leader()
    list(leader.train())
    assert leader.folder.result()["evaluation"]["left_out"] == ["noise"]
    prediction = leader.predict(*everybody(made))
    assert (prediction.known, prediction.absent) == ({}, {})
    assert prediction.by_shares.all()
    assert set(prediction.labels) == {0}


def test_a_forest_helper_and_weights_serve_too(tmp_path):
    rng = np.random.default_rng(0)
    made = parties(tmp_path, **OPTIONS["ascii"] | {"weights": rng.random(178)})
    made.agents[1] = ("lab", RandomForestClassifier(n_estimators=3, max_depth=2, random_state=0), made.agents[1][2])
    leader = made.leader()
    list(leader.train())
    expected = np.bincount(made.labels, weights=made.options["weights"])
    assert leader.folder.result()["class_shares"] == pytest.approx(expected / expected.sum())
