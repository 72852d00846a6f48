"""The initiator's side of a run: align, train, end, predict; over any transport, and resumable at any instant."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.agents import Answer, Turn
from assistlearn.alignment import HashInitiator, Ids, Initiator, Minimum, PsiInitiator, samples_of_run
from assistlearn.core import Contribution, Reward, RunState, votes
from assistlearn.core.ignorance import Bools, Floats
from assistlearn.core.starting import start_state
from assistlearn.errors import (
    AgentGoneError,
    AssistLearnError,
    ProtocolError,
    RefusedError,
    RunError,
    SettingsError,
    StartedAnewError,
    UnreachableError,
)
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.protocol import Ledger, MemoryTransport, Transport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, unpack_bits, unpack_numbers
from assistlearn.protocol.ledger import read
from assistlearn.runs.folder import RunFolder, RunSettings
from assistlearn.runs.remote import Correspondent, RemoteParticipant
from assistlearn.service.service import AgentService
from assistlearn.session import Event, HoldOut, RunFinished, Settings, TurnFinished, order_of, run
from assistlearn.session.holdout import split

BLOCK = 100_000
"""How many samples' votes are asked for at a time, at the most."""

BLOCK_SCORES = 10_000_000
"""How many numbers these votes are at the most: samples times classes."""

STARTS_ANEW = 3
"""How often a helper may start anew while samples are matched or votes are asked for."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with an agent, how many samples are done with it, and of how many; of 0 while that is not known."""


class Leader:
    """Leads one run.

    Parameters
    ----------
    folder : RunFolder
        Where the run lives.
    own : AgentService
        The initiator's own agent.
    transport : Transport
        The way to the helpers.
    ids : Ids
        The ids of the initiator's table.
    labels : ndarray
        Its labels as positions in ``settings.classes``; -1 where a row has none.
    home : path
        Where the initiator keeps its ledger.
    secret : bytes, optional
        For alignment by keyed hashes.
    minimum : Minimum, optional
        How many samples a helper must hold.
    progress : callable, optional
        Told how far it is with an agent, in alignment and in prediction: ``progress(agent, done, total)``.
    """

    def __init__(
        self,
        folder: RunFolder,
        own: AgentService,
        transport: Transport,
        ids: Ids,
        labels: NDArray[Any],
        home: Any,
        secret: bytes | None = None,
        minimum: Minimum | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.folder = folder
        self.settings: RunSettings = folder.settings()
        self._ids = ids
        self._labels = labels
        self._secret = secret
        self._minimum = minimum
        self._progress = progress or _say_nothing
        self._n_samples = 0
        self._ledger = Ledger(home / "ledger.jsonl")
        self._own = own
        here = MemoryTransport({self.settings.initiator: own.answer})
        self._lines = {self.settings.initiator: Correspondent(self.settings.initiator, here)}
        for name in self.settings.agents[1:]:
            self._lines[name] = Correspondent(name, transport, self._note)

    # -- training --

    def train(self) -> Generator[Event, None, None]:
        """Align, then run the session from wherever it was left, yielding what happens; write the result."""
        rows = self._align()
        codes = np.asarray(self.folder.permutation())[self._labels[rows]]
        n_classes = len(self.settings.classes)
        train, aside = self._split(self._labels[rows])  # by class, not by secret code: the seed alone decides
        self._begin(codes, n_classes, aside)
        states = self._states(len(train), n_classes)
        self._n_samples = len(train)
        holdout = None
        if len(aside):
            majority = self.settings.method == "ensemble"
            holdout = HoldOut(codes[aside], n_classes, self.settings.patience, majority)
        parties = [
            _Recorded(
                RemoteParticipant(
                    self._lines[name],
                    self.settings.run,
                    states[name],
                    len(train),
                    n_classes,
                    len(aside),
                    self.settings.method == "ensemble",
                    self.settings.score_bits if self.settings.method == "soft" else None,
                ),
                self.folder,
                self.settings.absent == "go on" and name != self.settings.initiator,
            )
            for name in self.settings.agents
        ]
        settings = Settings(
            self.settings.n_rounds,
            order_of(self.settings.order),
            self.settings.weak_agent,  # type: ignore[arg-type]
            self.settings.seed,
        )
        yield from self._follow(run(settings, parties, states, holdout))

    def _follow(self, events: Iterator[Event]) -> Generator[Event, None, None]:
        """Pass events on; at the end tell the agents and write the result."""
        seen: list[Event] = []
        for event in events:
            seen.append(event)
            if isinstance(event, RunFinished):
                result = self._result(seen, event)
                self._end(event.n_rounds, [contribution["agent"] for contribution in result["contributions"]])
                self.folder.write_events([{"event": type(e).__name__} | asdict(e) for e in seen])
                self.folder.write_result(result)
            yield event

    def _end(self, n_rounds: int, contributors: Sequence[str]) -> None:
        """Tell the agents that training is over; each must still have the models that the result is made of."""
        for name in self._lines:
            try:
                kept = self._tell_end(name, n_rounds)
            except (UnreachableError, RefusedError):
                if name in self.folder.left():
                    continue  # it will be told when it is back, before it votes; or it has not begun at all
                raise
            if kept != contributors.count(name):
                raise RunError(
                    f"Agent {name!r} has {kept} models, but the result is made of {contributors.count(name)} of its "
                    "own: it has lost some since they were made, perhaps to an old backup. Bring its folder back as it "
                    "was, or start a new run."
                )

    def _tell_end(self, name: str, n_rounds: int) -> int:
        """Tell an agent that training is over; return how many models it has."""
        left = self.folder.left().get(name)
        end = m.End(run=self.settings.run, n_rounds=n_rounds, last_turn=left["turn"] - 1 if left else None)
        return self._lines[name].ask(end, m.Ended).n_models

    def _result(self, seen: Sequence[Event], end: RunFinished) -> dict[str, Any]:
        made = [e.contribution for e in seen if isinstance(e, TurnFinished) and e.contribution is not None]
        return {
            "run": self.settings.run,
            "stop_reason": end.reason.name,
            "n_rounds": end.n_rounds,
            "contributions": [asdict(c) for c in made if c.round <= end.n_rounds],
            "n_turns": sum(isinstance(e, TurnFinished) for e in seen),
            "n_samples": self._n_samples,
            "left": self.folder.left(),
            "traffic": self._traffic(seen),
        }

    def _states(self, n_samples: int, n_classes: int) -> dict[str, RunState]:
        if self.settings.method == "ensemble":
            return {name: self._state(n_samples, n_classes) for name in self.settings.agents}
        return dict.fromkeys(self.settings.agents, self._state(n_samples, n_classes))

    def _state(self, n_samples: int, n_classes: int) -> RunState:
        settings = self.settings
        return start_state(
            settings.method,
            n_samples,
            n_classes,
            loss=settings.loss,
            shrinkage=settings.shrinkage,
            score_bits=settings.score_bits,
        )

    def _split(self, classes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the training and the hold-out samples, as the estimator with the same seed has them."""
        if self.settings.holdout is None:
            return np.arange(len(classes)), np.empty(0, dtype=np.intp)
        return split(classes, self.settings.holdout, np.random.RandomState([self.settings.seed, 2]))

    def _begin(self, codes: NDArray[Any], n_classes: int, aside: NDArray[Any]) -> None:
        """Send every agent the task; one that has it already answers the same again."""
        mask = np.zeros(len(codes), dtype=bool)
        mask[aside] = True
        rng = np.random.RandomState([self.settings.seed, 3])
        for name in self._lines:
            begin = m.Begin(
                run=self.settings.run,
                method=self.settings.method,  # type: ignore[arg-type]
                n_samples=len(codes),
                n_classes=n_classes,
                labels=pack_codes(codes, n_classes),
                seed=int(rng.randint(MAX_SEED)),
                holdout=pack_bits(mask) if len(aside) else None,
                reward=self.settings.reward,  # type: ignore[arg-type]
                cv=self.settings.cv,
                loss=self.settings.loss,  # type: ignore[arg-type]
                shrinkage=self.settings.shrinkage,
                score_bits=self.settings.score_bits,  # type: ignore[arg-type]
            )
            self._reach(name, begin, m.Ready)

    def _reach(self, name: str, request: m.Request, expected: type[m.Message]) -> None:
        """Ask an agent before the first or the next turn; one that is gone is left out where the settings say so."""
        if name in self.folder.left():
            return
        try:
            self._lines[name].ask(request, expected)
        except UnreachableError as error:
            if self.settings.absent != "go on" or self.folder.samples() is None:
                raise
            self.folder.leave(name, self.folder.n_turns + 1, str(error))

    # -- alignment --

    def _align(self) -> NDArray[Any]:
        """Return the initiator's rows that take part, settled with every helper."""
        for name in self._lines:
            self._progress(name, 0, 0)
            self._reach(name, self._opening(), m.Opened)
        rows = self.folder.samples()
        if rows is not None:
            return rows
        labelled = np.flatnonzero(self._labels >= 0)
        ids = self._ids_at(labelled)
        aligners = {name: self._aligner(ids, name, self._minimum) for name in self.settings.agents[1:]}
        held = {name: self._step(name, aligner, "train") for name, aligner in aligners.items()}
        kept = np.ones(len(labelled), dtype=bool)
        if held:
            kept = samples_of_run(held, self.settings.overlap, self._minimum)  # type: ignore[arg-type]
        for name, aligner in aligners.items():
            self._settle_anew(name, aligner, ids, held[name], kept)
        rows = labelled[kept]
        self._check_classes(rows)
        self._own.place(self.settings.run, rows, "train")
        self.folder.write_samples(rows, {name: mask[kept] for name, mask in held.items()})
        return rows

    def _check_classes(self, rows: NDArray[Any]) -> None:
        present = np.unique(self._labels[rows])
        if len(present) < len(self.settings.classes):
            lost = [self.settings.classes[i] for i in range(len(self.settings.classes)) if i not in present]
            raise RunError(
                f"The {len(rows):,} common samples have no sample of class {lost[0]!r} ({len(lost)} classes are lost). "
                "Use overlap 'abstain', or more samples."
            )

    def _opening(self) -> m.Open:
        return m.Open(
            run=self.settings.run,
            initiator=self.settings.initiator,
            purpose=self.settings.purpose,
            alignment=self.settings.alignment,  # type: ignore[arg-type]
            overlap=self.settings.overlap,  # type: ignore[arg-type]
        )

    def _aligner(self, ids: Ids, helper: str, minimum: Minimum | None) -> Initiator:
        if self.settings.alignment == "psi":
            return PsiInitiator(ids, helper=helper, minimum=minimum, progress=partial(self._progress, helper))
        if self._secret is None:
            raise SettingsError(
                f"Agent {self.settings.initiator!r} has no secret for alignment by keyed hashes. Name one in its file "
                "(secret = ...), the same for all agents, or align by psi."
            )
        return HashInitiator(ids, self._secret, helper, minimum)

    def _step(self, name: str, aligner: Initiator, purpose: Any) -> Bools:
        self._progress(name, 0, 0)
        request = m.Align(run=self.settings.run, purpose=purpose, step=1, data=aligner.start())
        self._progress(name, 0, 0)  # now it is the helper's turn, who does not say how far it is
        return aligner.finish(self._lines[name].ask(request, m.Aligned).data)

    def _settle(self, name: str, aligner: Initiator, kept: Bools, purpose: Any) -> None:
        request = m.Align(run=self.settings.run, purpose=purpose, step=2, data=aligner.settle(kept))
        aligner.confirm(self._lines[name].ask(request, m.Aligned).data)

    def _settle_anew(self, name: str, aligner: Initiator, ids: Ids, held: Bools, kept: Bools) -> None:
        """Settle the samples with a helper; one that has started anew since the first step takes it again."""
        for _ in range(STARTS_ANEW):
            try:
                return self._settle(name, aligner, kept, "train")
            except StartedAnewError:
                aligner = self._aligner(ids, name, self._minimum)
                if not np.array_equal(self._step(name, aligner, "train"), held):
                    raise RunError(
                        f"Agent {name!r} has started anew in the middle of matching samples, with another table. "
                        "Start the run again."
                    ) from None
        return self._settle(name, aligner, kept, "train")

    def _ids_at(self, rows: NDArray[Any]) -> Ids:
        return Ids(self._ids.take(rows), f"Agent {self.settings.initiator!r}")

    # -- prediction --

    def predict(self, ids: Ids, rows: NDArray[Any]) -> Prediction:
        """Return the votes on samples, with whoever can be reached.

        Parameters
        ----------
        ids : Ids
            The samples.
        rows : ndarray of int
            The initiator's row of each, or -1 where it has none.
        """
        if self.folder.result() is None:
            raise RunError(f"Run {self.settings.run!r} is not finished. Finish it first, with --resume.")
        n, n_classes = len(ids), len(self.settings.classes)
        scores: dict[str, Floats] = {}
        weights: dict[str, float] = {}
        known: dict[str, Bools] = {}
        absent: dict[str, str] = {}
        for name in self.settings.agents:
            try:
                known[name], scores[name], weights[name] = self._votes_of(name, ids, rows, n, n_classes)
            except (AssistLearnError, ProtocolError) as error:
                absent[name] = str(error)
        if self.settings.method == "ensemble":
            scores = votes.majority_votes(scores, weights)
        total = sum(scores.values(), np.zeros((n, n_classes)))
        permutation = np.asarray(self.folder.permutation())
        return Prediction(total[:, permutation], known, absent, self.settings.classes)

    def _votes_of(self, name: str, ids: Ids, rows: NDArray[Any], n: int, n_classes: int) -> tuple[Bools, Floats, float]:
        """Return an agent's votes; one that has started anew in the middle is asked again, from the beginning."""
        for _ in range(STARTS_ANEW):
            try:
                return self._ask_votes(name, ids, rows, n, n_classes)
            except StartedAnewError:
                continue
        return self._ask_votes(name, ids, rows, n, n_classes)

    def _ask_votes(
        self, name: str, ids: Ids, rows: NDArray[Any], n: int, n_classes: int
    ) -> tuple[Bools, Floats, float]:
        line, run = self._lines[name], self.settings.run
        if name in self.folder.left():
            self._tell_end(name, (self.folder.result() or {})["n_rounds"])
        if name == self.settings.initiator:
            self._own.place(run, rows, "predict")
        else:
            aligner = self._aligner(ids, name, Minimum(0, 0.0))
            self._step(name, aligner, "predict")
            self._settle(name, aligner, np.ones(n, dtype=bool), "predict")
        known, scores, weight = np.zeros(n, dtype=bool), np.zeros((n, n_classes)), 0.0
        block = max(min(BLOCK, BLOCK_SCORES // n_classes), 1)
        for start in range(0, n, block):
            stop = min(start + block, n)
            reply = line.ask(m.Predict(run=run, start=start, stop=stop), m.Scores)
            known[start:stop] = unpack_bits(reply.known, stop - start)
            there = np.flatnonzero(known[start:stop]) + start
            scores[there] = unpack_numbers(reply.scores, len(there) * n_classes).reshape(-1, n_classes)
            weight = reply.total_weight
            if not 0.0 <= weight < np.inf:
                raise ProtocolError(f"Agent {name!r} says that its models weigh {weight} in all, which cannot be.")
            self._progress(name, stop, n)
        return known, scores, weight

    def forget(self) -> tuple[dict[str, int], dict[str, str]]:
        """Ask every agent to remove what it keeps of the run.

        Returns
        -------
        removed : dict of str to int
            How many models each agent has removed; 0 where it does not know the run any more.
        absent : dict of str to str
            Who did not, and why.
        """
        removed: dict[str, int] = {}
        absent: dict[str, str] = {}
        for name, line in self._lines.items():
            try:
                reply = line.ask_any(m.Forget(run=self.settings.run))
            except AssistLearnError as error:
                absent[name] = str(error)
                continue
            if isinstance(reply, m.Forgotten):
                removed[name] = reply.n_models
            elif isinstance(reply, m.Problem) and reply.kind == "unknown-run":
                removed[name] = 0
            else:
                absent[name] = reply.text if isinstance(reply, m.Problem) else f"It answered {type(reply).__name__}."
        return removed, absent

    def _note(self, direction: str, agent: str, run: str, type_: str, content: bytes) -> None:
        """Record a message in the ledger."""
        self._ledger.record(direction, agent, run, type_, content)  # type: ignore[arg-type]

    def _traffic(self, seen: Sequence[Event]) -> dict[str, Any]:
        """Return the bytes of the run's messages with each helper, by type, as the ledger has them.

        With it: how many turns the helper took, and of how many other models it heard by then.
        """
        traffic: dict[str, Any] = {}
        for helper in self.settings.agents[1:]:
            mine = [e.turn for e in seen if isinstance(e, TurnFinished) and e.agent == helper]
            others = [
                e.turn
                for e in seen
                if isinstance(e, TurnFinished) and e.agent != helper and e.contribution and mine and e.turn < mine[-1]
            ]
            alone = self.settings.method == "ensemble"
            traffic[helper] = {"sent": {}, "received": {}, "turns": len(mine), "news": 0 if alone else len(others)}
        for entry in read(self._ledger.path):
            if entry.run == self.settings.run and entry.peer in traffic:
                count = traffic[entry.peer][entry.direction]
                count[entry.type] = count.get(entry.type, 0) + entry.bytes
        return traffic


class _Recorded:
    """A party whose answers are kept in the run's folder, and taken from there after an interruption."""

    def __init__(self, party: RemoteParticipant, folder: RunFolder, may_leave: bool) -> None:
        self.name = party.name
        self._party = party
        self._folder = folder
        self._may_leave = may_leave

    def take_turn(self, turn: Turn) -> Answer:
        left = self._folder.left().get(self.name)
        if left is not None and turn.number >= left["turn"]:
            raise AgentGoneError(self.name, left["reason"])
        past = self._folder.turn(turn.number)
        if past is not None:
            reply = decode(past)
            if not isinstance(reply, m.TurnTaken) or reply.turn != turn.number:
                raise RunError(f"{self._folder.path}: the record of turn {turn.number} is damaged.")
            return self._party.replay(turn, reply)
        try:
            answer, reply = self._party.ask(turn)
        except UnreachableError as error:
            if not self._may_leave:
                raise
            self._folder.leave(self.name, turn.number, str(error))
            raise AgentGoneError(self.name, str(error)) from None
        self._folder.write_turn(turn.number, encode(reply))
        return answer

    def hear(self, contribution: Contribution, reward: Reward) -> None:
        self._party.hear(contribution, reward)


def _say_nothing(agent: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Prediction:
    """The votes on some samples, and who took part.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        The sum of the votes, in the order of ``classes``.
    known : dict of str to ndarray of bool
        Which of the samples each agent holds.
    absent : dict of str to str
        The agents that did not answer, and why.
    classes : list
        The names of the classes.
    """

    scores: Floats
    known: Mapping[str, Bools]
    absent: Mapping[str, str]
    classes: Sequence[Any]

    @property
    def labels(self) -> list[Any]:
        """The class with the most votes; None for a sample that no agent holds."""
        anyone = np.logical_or.reduce(list(self.known.values())) if self.known else np.zeros(len(self.scores), bool)
        return [
            self.classes[code] if there else None
            for code, there in zip(votes.winners(self.scores), anyone, strict=True)
        ]
