"""A reward is packed by its owner alone, a message encoded once; wire, ledger and folders have the same bytes."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from assistlearn.protocol import arrays as rewards
from assistlearn.protocol import codec, decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.ledger import read
from tests.agent.recording import Recorder, three_agents

N_ROUNDS, N_AGENTS = 3, 3


class Calls:
    """Counts the calls of some functions, and lets them do their work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **functions: Any) -> None:
        self.count: Counter[str] = Counter()
        for name, module in functions.items():
            monkeypatch.setattr(module, name, self._counting(name, getattr(module, name)))

    def _counting(self, name: str, function: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.count[name] += 1
            return function(*arguments, **named)

        return called


@pytest.mark.parametrize("method", ["ascii", "soft", "ensemble"])
def test_every_reward_is_packed_once_and_every_message_encoded_once(tmp_path, monkeypatch, method):
    parties = three_agents(tmp_path, method=method, n_rounds=N_ROUNDS)
    recorder = Recorder(parties.transport())
    leader = parties.leader(recorder)
    calls = Calls(monkeypatch, encode=codec, pack_bits=rewards, pack_levels=rewards)
    turns = [event for event in leader.train() if type(event).__name__ == "TurnFinished"]
    assert len(turns) == N_ROUNDS * N_AGENTS
    packed = "pack_levels" if method == "soft" else "pack_bits"
    assert calls.count[packed] == len(turns)
    # with each agent: Open, Begin, a TakeTurn per round and End; with a helper two steps of matching; and the replies
    requests = N_AGENTS * (3 + N_ROUNDS) + (N_AGENTS - 1) * 2
    assert calls.count["encode"] == 2 * requests


@pytest.mark.parametrize("method", ["ascii", "soft"])
def test_folders_ledgers_and_news_have_the_bytes_of_the_wire(tmp_path, method):
    parties = three_agents(tmp_path, method=method, n_rounds=N_ROUNDS)
    recorder = Recorder(parties.transport())
    leader = parties.leader(recorder)
    list(leader.train())
    said: dict[int, Any] = {}
    for agent, request, reply in recorder.exchanges:
        asked, answer = decode(request), decode(reply)
        if not isinstance(asked, m.TakeTurn):
            continue
        assert isinstance(answer, m.TurnTaken)
        store = parties.folder / agent / "runs" / "test-run" / "turns" / f"{asked.turn:06d}"
        assert (store / "request.msg").read_bytes() == request
        assert (store / "reply.msg").read_bytes() == leader.folder.turn(asked.turn) == reply
        said[asked.turn] = answer.reward
        for news in asked.news:
            assert news.reward is None or news.turn not in said or news.reward == said[news.turn]
    wire = [hashlib.sha256(part).hexdigest() for _, request, reply in recorder.exchanges for part in (request, reply)]
    entries = [entry for entry in read(parties.folder / "clinic" / "ledger.jsonl") if entry.direction != "noted"]
    assert [entry.digest for entry in entries] == wire
    other = {"sent": "received", "received": "sent"}  # a helper's ledger has the same messages, from its side
    own = read(parties.folder / "lab" / "ledger.jsonl")
    lab = [(other[each.direction], each.type, each.bytes, each.digest) for each in own]
    assert lab == [(each.direction, each.type, each.bytes, each.digest) for each in entries if each.peer == "lab"]
