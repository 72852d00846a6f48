"""Where the transport says who asks, a service answers the run's initiator alone; and what the end of a run leaves."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.answers import helper_of
from assistlearn.agent.holdings import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.agent.store import runs_at
from assistlearn.alignment import HashInitiator, Ids, Minimum
from assistlearn.core.quantise import votes_of
from assistlearn.plan import Plan
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_codes
from assistlearn.protocol.ledger import read
from assistlearn.protocol.scores import unpack_votes

SECRET = b"a secret that all agents share"
N = 60
X = np.random.RandomState(0).rand(N, 3)
CODES = (X[:, 0] + 0.3 * np.random.RandomState(1).rand(N) > 0.6).astype(int)
IDS = [f"p{i}" for i in range(N)]
RUN, BANK, SHOP = "r1", "bank", "shop"


def service(home: Path, estimator=None) -> AgentService:
    estimator = estimator or DecisionTreeClassifier(max_depth=1)
    return AgentService(Holdings("lab", estimator, Ids(IDS, "Agent 'lab'"), X, home, SECRET))


def ask(at: AgentService, message: m.Message, asker: str | None = BANK) -> m.Message:
    return decode(at.answer(encode(message), asker))


def messages(n_turns: int = 2, estimator=None) -> list[m.Message]:
    """What an initiator says from the opening to the last turn, that all models of the helper count included."""
    opening = m.Open(run=RUN, initiator=BANK, purpose="", alignment="hash", overlap="abstain")
    begin = m.Begin(
        run=RUN,
        n_samples=N,
        n_classes=2,
        labels=pack_codes(CODES, 2),
        seed=3,
        turn_seeds=4,
        weights=None,
        holdout=None,
        **Plan(method="ascii").told(),
    )
    said = [opening, *aligned("train"), begin]
    with TemporaryDirectory() as home:
        at = service(Path(home), estimator)
        for message in said:
            ask(at, message)
        news: list[m.News] = []
        for turn in range(1, n_turns + 1):
            said.append(m.TakeTurn(run=RUN, turn=turn, round=turn, since=turn - 1, news=news))
            news = [m.News(turn, turn, ask(at, said[-1]).model_weight, None)]
    return said


def aligned(purpose: str) -> list[m.Message]:
    aligner = HashInitiator(Ids(IDS, "bank"), SECRET, "lab", Minimum(0, 0.0))
    first = m.Align(run=RUN, purpose=purpose, step=1, data=aligner.start())
    own = Holdings("lab", GaussianNB(), Ids(IDS, "Agent 'lab'"), X, Path("/nowhere"), SECRET)
    helper = helper_of(own, "hash", purpose)
    aligner.finish(helper.answer(first.data))
    return [first, m.Align(run=RUN, purpose=purpose, step=2, data=aligner.settle(np.ones(N, dtype=bool)))]


def told(home: Path, said: list[m.Message], estimator=None) -> AgentService:
    at = service(home, estimator)
    for message in said:
        reply = ask(at, message)
        assert not isinstance(reply, m.Problem), reply
    return at


# -- who asks --


def everything() -> list[m.Message]:
    return [
        *messages(),
        m.End(run=RUN, n_rounds=2),
        *aligned("predict"),
        m.Predict(run=RUN, start=0, stop=N),
        m.Forget(run=RUN),
    ]


@pytest.mark.parametrize("asker", [BANK, None], ids=["the initiator", "a transport that does not know"])
def test_the_initiator_is_answered(tmp_path, asker):
    at = service(tmp_path)
    for message in everything():
        assert not isinstance(ask(at, message, asker), m.Problem)


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("ledger")
    }


def test_nobody_else_is_answered_at_any_time_whatever_is_asked(tmp_path):
    at = service(tmp_path)
    said = everything()
    for message in said[:-1]:
        assert not isinstance(ask(at, message), m.Problem)
        before = files(tmp_path)
        for other in said:
            problem = ask(at, other, SHOP)
            assert isinstance(problem, m.Problem)
            assert (problem.kind, files(tmp_path)) == ("refused", before)
            assert "'bank'; 'shop' has no part in it" in problem.text
            assert "lab" in problem.text
    assert ask(at, said[-1]) == m.Forgotten(run=RUN, n_models=2)


def test_nobody_opens_a_run_in_anothers_name(tmp_path):
    at = service(tmp_path)
    assert ask(at, everything()[0], SHOP).kind == "refused"
    assert runs_at(tmp_path) == []
    opening = msgspec.structs.replace(everything()[0], initiator=SHOP)
    assert isinstance(ask(at, opening, SHOP), m.Opened)
    assert ask(at, everything()[0], BANK).kind == "out-of-order"  # it is the shop's now
    assert ask(at, opening, BANK).kind == "refused"


def test_a_refusal_is_in_the_ledger_under_the_name_of_whoever_asked(tmp_path):
    at = told(tmp_path, messages())
    before = len(list(read(tmp_path / "ledger.jsonl")))
    ask(at, m.Forget(run=RUN), SHOP)
    entries = list(read(tmp_path / "ledger.jsonl"))[before:]
    assert [(entry.direction, entry.peer, entry.type, entry.run) for entry in entries] == [
        ("received", SHOP, "forget", RUN),
        ("sent", SHOP, "problem", RUN),
    ]


# -- what the end leaves --


def scores(at: AgentService) -> np.ndarray:
    for message in aligned("predict"):
        ask(at, message)
    reply = ask(at, m.Predict(run=RUN, start=0, stop=N))
    assert isinstance(reply, m.Scores), reply
    return votes_of(unpack_votes(reply.scores, N, 2))


def kept(home: Path) -> list[str]:
    return sorted(path.parent.name for path in home.glob(f"runs/{RUN}/turns/*/model.skops"))


@pytest.mark.parametrize("last_turn", [0, 1, 2, 3, 4, 9, None])
def test_models_after_the_last_turn_do_not_count(tmp_path, last_turn):
    n = 4 if last_turn is None else min(last_turn, 4)
    at = told(tmp_path / "cut", messages(4))
    assert ask(at, m.End(run=RUN, n_rounds=9, last_turn=last_turn)) == m.Ended(run=RUN, n_models=n)
    assert kept(tmp_path / "cut") == [f"{turn:06d}" for turn in range(1, n + 1)]
    if n:
        never = told(tmp_path / "never", messages(n))
        ask(never, m.End(run=RUN, n_rounds=9))
        np.testing.assert_array_equal(scores(at), scores(never))
    else:
        assert not scores(at).any()


def test_rounds_and_the_last_turn_both_cut(tmp_path):
    for n_rounds, last_turn, n in ((3, 2, 2), (2, 3, 2), (0, 3, 0), (3, 0, 0)):
        home = tmp_path / f"{n_rounds}-{last_turn}"
        at = told(home, messages(4))
        assert ask(at, m.End(run=RUN, n_rounds=n_rounds, last_turn=last_turn)).n_models == n
        assert len(kept(home)) == n


def test_after_a_restart_the_same_models_count(tmp_path):
    at = told(tmp_path, messages(4))
    end = m.End(run=RUN, n_rounds=9, last_turn=2)
    ask(at, end)
    before = scores(at)
    again = service(tmp_path)
    assert ask(again, end) == m.Ended(run=RUN, n_models=2)
    np.testing.assert_array_equal(scores(again), before)
