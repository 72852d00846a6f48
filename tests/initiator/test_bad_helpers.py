"""A helper that answers nonsense is named, nothing it says is used, and after repair the run ends as it should."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from assistlearn.errors import AssistLearnError
from assistlearn.protocol import MemoryTransport, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, ClassCodes, Levels, pack_bits, pack_codes, pack_levels, plain_levels
from assistlearn.protocol.ledger import read, verify
from tests.agent.recording import three_agents
from tests.initiator.spoiled import Spoiled, with_

METHODS = {
    "ascii": {"method": "ascii", "holdout": 0.2},
    "soft": {"method": "soft", "holdout": 0.2, "models_per_turn": 3},
}


def made(folder, method: str):
    return three_agents(folder, n_rounds=2, **METHODS[method])


def outcome(parties, leader) -> tuple[list, bytes]:
    prediction = leader.predict_rows(np.arange(40))
    assert prediction.absent == {}
    return leader.folder.result()["contributions"], prediction.scores.tobytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, tuple[list, bytes]]:
    """What the runs end with when everybody behaves."""
    out = {}
    for method in METHODS:
        parties = made(tmp_path_factory.mktemp("whole"), method)
        leader = parties.leader()
        list(leader.train())
        out[method] = outcome(parties, leader)
    return out


def other_version(message: Any) -> bytes:
    data = bytearray(encode(message))
    data[4] = 9
    return bytes(data)


ANY = {
    "nothing": lambda message: b"",
    "noise": lambda message: b"\x80\x04\x95 not a message",
    "half": lambda message: encode(message)[:-20],
    "another version": other_version,
    "another run": with_(run="another-run"),
    "another type": lambda message: m.Ended(run=message.run, n_models=3),
    "a request": lambda message: m.Forget(run=message.run),
    "a problem": lambda message: m.Problem(run=message.run, kind="failed", text="Agent 'lab' failed."),
}
N_HELD_OUT = 36
TURNS = ANY | {
    "another turn": lambda message: msgspec.structs.replace(message, turn=message.turn + 1),
    "a weight that is not a number": with_(model_weight=math.nan),
    "an infinite weight": with_(model_weight=math.inf),
    "a weight beyond all weights": with_(model_weight=1e300),
    "an impossible mean": with_(mean_reward=1.5),
    "a mean that is not a number": with_(mean_reward=math.nan),
    "fewer samples": with_(reward=pack_bits(np.ones(10, bool))),
    "fewer levels": with_(reward=pack_levels(np.ones(10, int), 8, 0.1)),
    "no bytes": with_(reward=Bits(142, 3, "range", b"")),
    "a huge claim": with_(reward=Bits(2**31, 0, "range", b"")),
    "a huge claim of levels": with_(reward=Levels(2**31, 8, 1.0, False, b"")),
    "no answers for the hold-out": with_(holdout=None),
    "too few answers for the hold-out": with_(holdout=pack_codes(np.zeros(3, int), 4)),
    "answers that are no class": with_(holdout=ClassCodes(N_HELD_OUT, 4, False, b"\x07" * N_HELD_OUT)),
    "answers beyond all scales": with_(holdout=Levels(N_HELD_OUT * 3, 8, 1e300, False, b"\x01" * N_HELD_OUT * 3)),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", TURNS)
def test_a_bad_answer_to_a_turn_stops_the_run_names_the_agent_and_leaves_no_trace(tmp_path, whole, method, what):
    parties = made(tmp_path, method)
    leader = parties.leader(Spoiled(parties.transport(), m.TurnTaken, TURNS[what], nth=2))
    with pytest.raises(AssistLearnError, match="'lab'"):
        list(leader.train())
    assert leader.folder.result() is None
    again = parties.leader()
    list(again.train())
    assert outcome(parties, again) == whole[method]


@pytest.mark.parametrize("kind", [m.Opened, m.Aligned, m.Ready, m.Ended], ids=lambda kind: kind.__name__)
def test_a_bad_answer_before_or_after_the_turns_does_the_same(tmp_path, whole, kind):
    """All kinds of nonsense one after the other, each in a new process of the initiator."""
    parties = made(tmp_path, "ascii")
    for what, spoil in ANY.items():
        if what == "another type" and kind is m.Ended:
            continue
        leader = parties.leader(Spoiled(parties.transport(), kind, spoil, nth=1))
        with pytest.raises(AssistLearnError, match="'lab'"):
            list(leader.train())
        assert leader.folder.result() is None
    again = parties.leader()
    list(again.train())
    assert outcome(parties, again) == whole["ascii"]


@pytest.mark.parametrize("step", [1, 2])
def test_a_bad_answer_inside_the_alignment_does_the_same(tmp_path, whole, step):
    parties = made(tmp_path, "ascii")
    for data in (b"", b"noise", bytes(200)):
        leader = parties.leader(Spoiled(parties.transport(), m.Aligned, with_(data=data), nth=step))
        with pytest.raises(AssistLearnError):
            list(leader.train())
    again = parties.leader()
    list(again.train())
    assert outcome(parties, again) == whole["ascii"]


SCORES = ANY | {
    "votes for fewer samples": with_(known=pack_bits(np.ones(3, bool))),
    "fewer votes": lambda reply: msgspec.structs.replace(
        reply, scores=plain_levels(np.zeros(3, np.int16), reply.scores.bits, reply.scores.scale)
    ),
    "votes of other bits": lambda reply: msgspec.structs.replace(
        reply, scores=plain_levels(np.zeros(reply.scores.n, np.int8), 8, reply.scores.scale)
    ),
    "votes that are not numbers": lambda reply: msgspec.structs.replace(
        reply, scores=msgspec.structs.replace(reply.scores, scale=math.nan)
    ),
    "a weight that is not a number": with_(total_weight=math.nan),
    "an infinite weight": with_(total_weight=math.inf),
    "a negative weight": with_(total_weight=-1.0),
}


@pytest.mark.parametrize("what", SCORES)
def test_a_helper_that_votes_nonsense_does_not_vote(tmp_path_factory, trained, what):
    parties, alone = trained
    leader = parties.leader(Spoiled(parties.transport(), m.Scores, SCORES[what], nth=1))
    prediction = leader.predict_rows(np.arange(40))
    assert list(prediction.absent) == ["lab"]
    assert prediction.absent["lab"]
    np.testing.assert_array_equal(prediction.scores, alone)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run, and the votes without the lab's."""
    parties = made(tmp_path_factory.mktemp("trained"), "ascii")
    list(parties.leader().train())
    services = parties.services()
    leader = parties.leader(MemoryTransport({"scans": services["scans"].answer}))
    prediction = leader.predict_rows(np.arange(40))
    assert list(prediction.absent) == ["lab"]
    return parties, prediction.scores


def test_an_answer_that_cannot_be_read_is_in_the_ledger_all_the_same(tmp_path):
    parties = made(tmp_path, "ascii")
    leader = parties.leader(Spoiled(parties.transport(), m.TurnTaken, ANY["noise"], nth=2))
    with pytest.raises(AssistLearnError):
        list(leader.train())
    path = tmp_path / "clinic" / "ledger.jsonl"
    verify(path)
    last = list(read(path))[-1]
    assert (last.direction, last.peer, last.run, last.type) == ("received", "lab", "test-run", "unreadable")
