"""A helper with an owner: a small table, an ``[allow]`` table with some limits, and messages to ask it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.consent import Inbox
from assistlearn.agent.file import Allowance, PrivacyRules
from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.loading import Holdings, gate
from assistlearn.agent.privacy import PrivacyKeeper
from assistlearn.agent.service import AgentService
from assistlearn.alignment import HashInitiator, Ids, Initiator, Minimum, PsiInitiator
from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.plan import Plan
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_numbers
from assistlearn.protocol.ledger import PeerCount, counted
from tests.papers_settings import PAPERS

SECRET = b"a secret that all agents share"
BANK, SHOP = "bank", "shop"
PEOPLE = [f"p-{i:05d}" for i in range(0, 6_000, 100)]
"""Sixty people, one in a hundred of all numbers that there are."""

X = np.random.RandomState(0).rand(len(PEOPLE), 3)
CODES = (X[:, 0] + 0.3 * np.random.RandomState(1).rand(len(PEOPLE)) > 0.6).astype(int)


@dataclass
class Lab:
    """The helper, as one who asks it sees it; what is limited is what its owner wrote."""

    home: Path
    allowance: Allowance | None = field(default_factory=lambda: Allowance((BANK, SHOP)))
    rules: PrivacyRules | None = None
    service: AgentService = field(init=False)
    taken: dict[str, m.TurnTaken] = field(default_factory=dict)
    now: datetime | None = None

    def __post_init__(self) -> None:
        self.restart()

    def restart(self, **changed: Any) -> None:
        """Start the helper anew, as every job does; its owner may have changed ``[allow]``."""
        if changed and self.allowance is not None:
            self.allowance = Allowance(**({"initiators": self.allowance.initiators} | changed))
        owner, ids = self.allowance, Ids(PEOPLE, "Agent 'lab'")
        self.service = AgentService(
            Holdings(
                name="lab",
                estimator=DecisionTreeClassifier(max_depth=1),
                ids=ids,
                features=X,
                home=self.home,
                secret=SECRET,
                allow=None if owner is None else gate("lab", owner, self.clock),
                answer_within=14 if owner is None else owner.answer_within,
                limits=None if owner is None else OwnerLimits("lab", owner, len(PEOPLE)),
                privacy=None if self.rules is None else PrivacyKeeper("lab", self.rules, self.home, ids),
            ),
            clock=self.clock,
        )

    def clock(self) -> datetime:
        """The time at the helper: as a test says, or as it is."""
        return self.now or datetime.now(UTC)

    def inbox(self) -> Inbox:
        """The inbox of the helper's owner, in another process than the service, as far as files can tell."""
        within = 14 if self.allowance is None else self.allowance.answer_within
        return Inbox(self.home, within, self.clock)

    def propose(self, asker: str | None = BANK, initiator: str | None = None, **said: Any) -> Any:
        """Ask the helper's owner for consent."""
        facts = {"run": "r1", "purpose": "a test", "method": "ascii", "n_samples": 60, "n_rounds": 5}
        return self.ask(m.Propose(initiator=initiator or asker or BANK, **(facts | said)), asker)

    def ask(self, message: m.Message | bytes, asker: str | None = BANK) -> Any:
        """Return the helper's answer."""
        return decode(self.service.answer(message if isinstance(message, bytes) else encode(message), asker))

    def count(self, peer: str = BANK) -> PeerCount:
        """Return what its ledger has counted."""
        return counted(self.home / "ledger.jsonl").of(peer)

    def open(self, run: str = "r1", asker: str = BANK, alignment: Any = "hash") -> Any:
        """Open a run."""
        return self.ask(opening(run, asker, alignment=alignment), asker)

    def find(self, ids: Sequence[str], run: str = "r1", purpose: Any = "predict", psi: bool = False) -> Any:
        """Ask which of some ids the helper holds: an array, or the problem."""
        side = initiator_of(ids, psi)
        reply = self.ask(m.Align(run=run, purpose=purpose, step=1, data=side.start()))
        return reply if isinstance(reply, m.Problem) else side.finish(reply.data)

    def align(self, ids: Sequence[str], run: str = "r1", purpose: Any = "train", psi: bool = False) -> Any:
        """Take both steps of an alignment; return the last answer."""
        side = initiator_of(ids, psi)
        reply = self.ask(m.Align(run=run, purpose=purpose, step=1, data=side.start()))
        if isinstance(reply, m.Problem):
            return reply
        side.finish(reply.data)
        return self.ask(m.Align(run=run, purpose=purpose, step=2, data=side.settle()))

    def begin(
        self,
        run: str = "r1",
        n: int = len(PEOPLE),
        aside: np.ndarray | None = None,
        codes: np.ndarray = CODES,
        weights: np.ndarray | None = None,
        **plan: Any,
    ) -> Any:
        """Set the task."""
        n_classes = int(codes.max()) + 1
        training = np.ones(n, dtype=bool) if aside is None else ~aside
        return self.ask(
            m.Begin(
                run=run,
                n_samples=n,
                n_classes=n_classes,
                labels=pack_codes(np.resize(codes, n)[training], n_classes),
                seed=3,
                turn_seeds=5,
                weights=None if weights is None else pack_numbers(weights[training]),
                holdout=None if aside is None else pack_bits(aside),
                **Plan(**(PAPERS | plan)).told(),
            )
        )

    def take(self, number: int, run: str = "r1") -> Any:
        """Ask for a turn; nobody else has kept a model since the last."""
        last = self.taken.get(run)
        kept = last is not None and last.turn < number and last.model_weight > NEGLIGIBLE
        news = [m.News(last.turn, last.turn, last.model_weight, None)] if last is not None and kept else []
        reply = self.ask(turn(number, run, 0 if last is None else last.turn, news))
        if isinstance(reply, m.TurnTaken):
            self.taken[run] = reply
        return reply

    def ready(self, run: str = "r1", people: Sequence[str] = PEOPLE, **task: Any) -> None:
        """Open a run and go as far as the first turn."""
        for reply in (self.open(run), self.align(people, run), self.begin(run, len(people), **task)):
            assert not isinstance(reply, m.Problem), reply

    def trained(self, n_turns: int, run: str = "r1", **task: Any) -> None:
        """Take some turns of a new run, and end it."""
        self.ready(run, **task)
        for number in range(1, n_turns + 1):
            assert isinstance(self.take(number, run), m.TurnTaken)
        assert isinstance(self.ask(m.End(run=run, n_rounds=n_turns)), m.Ended)

    def vote(self, ids: Sequence[str], run: str = "r1") -> Any:
        """Align some samples and ask for votes on all of them."""
        reply = self.align(ids, run, "predict")
        return reply if isinstance(reply, m.Problem) else self.ask(m.Predict(run=run, start=0, stop=len(ids)))


def lab_with(home: Path, **rules: Any) -> Lab:
    """A helper whose owner keeps these rules of ``[privacy]``."""
    return Lab(home, Allowance((BANK, SHOP), min_people=5), PrivacyRules(**rules))


def initiator_of(ids: Sequence[str], psi: bool = False) -> Initiator:
    """The initiator's side of an alignment of any overlap."""
    if psi:
        return PsiInitiator(Ids(ids, "bank"), "lab", Minimum(0, 0.0), n_jobs=1)
    return HashInitiator(Ids(ids, "bank"), SECRET, "lab", Minimum(0, 0.0))


def opening(run: str = "r1", initiator: str = BANK, purpose: str = "a test", alignment: Any = "hash") -> m.Open:
    """The message that opens a run."""
    return m.Open(run=run, initiator=initiator, purpose=purpose, alignment=alignment, overlap="abstain")


def turn(number: int, run: str = "r1", since: int = 0, news: Sequence[m.News] = ()) -> m.TakeTurn:
    """The message that asks for a turn."""
    return m.TakeTurn(run=run, turn=number, round=number, since=since, news=list(news))


def refused(reply: Any, *words: str) -> None:
    """Assert that a request was refused, in these words."""
    assert isinstance(reply, m.Problem), reply
    assert reply.kind in ("refused", "sits-out"), reply
    for word in words:
        assert word in reply.text, reply.text
