"""A run of three agents with a learned combination, whose turns are overheard, and may be changed on the way."""

from __future__ import annotations

from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from tests.initiator.parties import Parties

LEARNER = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
RECOMMENDED = {"method": "soft", "reward": "auto", "combine": "learned"}


class Overheard:
    """The way to the agents, which keeps every turn that is asked for, and may change it."""

    def __init__(self, made: Parties, spoil=lambda agent, turn: turn) -> None:
        self.start_anew(made)
        self._spoil = spoil
        self.turns: list[tuple[str, m.TakeTurn]] = []

    def start_anew(self, made: Parties) -> None:
        """Replace the helpers by new ones, who know what is on their disks."""
        self._transport = made.transport()

    def ask(self, agent: str, request: bytes) -> bytes:
        message = decode(request)
        if isinstance(message, m.TakeTurn):
            message = self._spoil(agent, message)
            self.turns.append((agent, message))
            request = encode(message)
        return self._transport.ask(agent, request)


def parties(folder, n_rounds=2, columns=(range(4), range(4, 8), range(8, 13)), **options) -> Parties:
    X, y = load_wine(return_X_y=True)
    agents = [(name, LEARNER, list(part)) for name, part in zip(["clinic", "lab", "scans"], columns, strict=True)]
    return Parties(folder, agents, X, y, RECOMMENDED | {"n_rounds": n_rounds} | options, {})
