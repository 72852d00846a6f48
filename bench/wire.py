"""Bits per sample and turn on the wire, measured by the transport on the messages of real runs.

    python -m bench.wire [--sizes 100000 1000000] [--agents 2 3] [--rounds 3] [--json]

A turn's reward travels once to everybody else: from a helper to the initiator in its reply, and from the initiator to a
helper among the news of its next turn. So ``bits`` is: all bytes of all turns' requests and replies, headers, model
weights and everything, over samples and rewards that travelled. ``entropy`` is what these rewards tell at the least, if
samples are told one by one. Labels, alignment and prediction are counted apart, as ``once``: bytes per sample in all.

The second table is what it takes to bring an agent up to date that has missed turns: their rewards, whatever they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.agent import Answer, Turn
from assistlearn.core import Contribution, Verdict
from assistlearn.errors import RefusedError
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.run import Connection
from assistlearn.initiator.training import RemoteParticipant
from assistlearn.plan import Plan
from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, Levels, pack_reward, unpack_bits, unpack_codes, unpack_levels
from tests.initiator.parties import Parties

N_CLASSES = 5
METHODS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii"},
    "simple": {"method": "simple"},
    "ensemble": {"method": "ensemble"},
    "soft, 8 bits": {"method": "soft", "score_bits": 8},
    "soft, 4 bits": {"method": "soft", "score_bits": 4},
}
AT_MOST = {
    "ascii": 1.05,
    "simple": 1.05,
    "ensemble": 1.05,
    "soft, 8 bits": 8.1 * N_CLASSES,
    "soft, 4 bits": 4.05 * N_CLASSES,
}


class Meter:
    """A transport that counts the bytes of every message, and the rewards in them."""

    def __init__(self, inner: MemoryTransport) -> None:
        self._inner = inner
        self._codes = np.zeros(0, dtype=np.int64)
        self.turn_bytes = 0
        self.other_bytes = 0
        self.turns = 0
        self.entropies: list[float] = []

    def ask(self, agent: str, request: bytes) -> bytes:
        """Carry a request and its reply, and count both."""
        reply = self._inner.ask(agent, request)
        message, answer = decode(request), decode(reply)
        n_bytes = len(request) + len(reply)
        if isinstance(message, m.Begin):
            self._codes = unpack_codes(message.labels, message.n_samples, message.n_classes)
        if isinstance(message, m.TakeTurn) and isinstance(answer, m.TurnTaken):
            self.turns += 1
            self.turn_bytes += n_bytes
            rewards = [answer.reward, *(news.reward for news in message.news)]
            self.entropies += [entropy(reward, self._codes) for reward in rewards if reward is not None]
        else:
            self.other_bytes += n_bytes
        return reply


def entropy(reward: Bits | Levels, codes: np.ndarray) -> float:
    """Return the bits per sample that a reward carries, were its values drawn one by one."""
    n = len(codes)
    if isinstance(reward, Bits):
        values: np.ndarray = unpack_bits(reward, n)
    else:
        values, _ = unpack_levels(reward, reward.n, reward.bits, reward.n // n, codes)
    shares = np.unique(values, return_counts=True)[1] / len(values)
    return float(-np.sum(shares * np.log2(shares))) * len(values) / n


def measure(n: int, n_agents: int, method: str, n_rounds: int, folder: Path) -> dict[str, Any]:
    """Run separate agents in memory and return what their turns cost."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n)
    X = rng.normal(size=(n, 2 * n_agents)) + np.eye(N_CLASSES)[y] @ rng.normal(
        scale=1.2, size=(N_CLASSES, 2 * n_agents)
    )
    learners = [DecisionTreeClassifier(max_depth=3), GaussianNB(), DecisionTreeClassifier(max_depth=2)]
    agents = [(f"agent{i}", learners[i % 3], [2 * i, 2 * i + 1]) for i in range(n_agents)]
    parties = Parties(folder, agents, X, y, METHODS[method] | {"n_rounds": n_rounds}, {})
    meter = Meter(MemoryTransport({name: service.answer for name, service in parties.services().items()}))
    leader = parties.leader(meter)
    for _ in leader.train():
        pass
    rewards = len(meter.entropies)
    return {
        "n": n,
        "method": method,
        "agents": n_agents,
        "turns": meter.turns,
        "rewards": rewards,
        "entropy": float(np.mean(meter.entropies)),
        "bits": 8 * meter.turn_bytes / n / rewards,
        "at most": AT_MOST[method],
        "once": meter.other_bytes / n,
    }


def catching_up(n: int) -> Iterator[dict[str, Any]]:
    """Yield what it takes to bring an agent up to date on several turns, against the state itself."""
    rng = np.random.default_rng(1)
    for share in (0.6, 0.9, 0.99):
        for missed in (1, 4, 16, 64, 128, 512):
            sent = len(encode(_request(n, missed, share, rng)))
            yield {"n": n, "right": share, "missed": missed, "sent": sent / n, "the state": 16.0}


def _request(n: int, missed: int, share: float, rng: np.random.Generator) -> m.TakeTurn:
    """Return what a participant asks its agent after so many turns of another one."""
    caught: list[bytes] = []

    def refuse(request: bytes) -> bytes:
        caught.append(request)
        return encode(m.Problem(run="r", kind="refused", text="only here to be measured"))

    lab = Connection("lab", MemoryTransport({"lab": refuse}))
    codes = np.zeros(n, dtype=np.int64)
    method, nowhere = Plan(method="ascii").make_method(), RunFolder(Path("nowhere"))
    participant = RemoteParticipant(lab, nowhere, "r", method, codes, N_CLASSES)
    for turn in range(1, missed + 1):
        reward = rng.random(n) < share
        answer = Answer(reward, Verdict(0.5, share, False), packed=pack_reward(reward, codes))
        participant.hear(Contribution(turn, turn, "other", 0.5, share, share, False), answer, 0.5)
    with suppress(RefusedError):
        participant.take_turn(Turn(missed + 1, missed + 1, 0))
    request = decode(caught[0])
    assert isinstance(request, m.TakeTurn)
    return request


def show(title: str, rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(title=title)
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return value if isinstance(value, str) else f"{value:,}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--agents", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for n in arguments.sizes:
        for n_agents in arguments.agents:
            for method in arguments.methods:
                with tempfile.TemporaryDirectory() as place:
                    rows.append(measure(n, n_agents, method, arguments.rounds, Path(place)))
                if arguments.json:
                    print(json.dumps(rows[-1]), flush=True)
    late = list(catching_up(min(arguments.sizes)))
    if arguments.json:
        for row in late:
            print(json.dumps(row))
    else:
        console = Console()
        show("Bits per sample and reward that travelled, headers included", rows, console)
        show("An agent that has missed turns: bytes per sample", late, console)
    return 0 if all(row["bits"] <= row["at most"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
