"""An agent that is reached by messages, as the session sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from assistlearn.agents import Answer, Turn
from assistlearn.agents.agent import ABSTAINS
from assistlearn.core import Contribution, Reward, RunState, Verdict
from assistlearn.core.votes import Codes
from assistlearn.core.weight import LARGEST
from assistlearn.errors import ProtocolError, RefusedError, StartedAnewError
from assistlearn.protocol import Transport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import ClassCodes, Levels, pack_numbers, unpack_codes
from assistlearn.protocol.rewards import loudness, pack_reward, size_of, unpack_reward, unpack_soft

Expected = TypeVar("Expected", bound=m.Message)


class Correspondent:
    """A line to one agent: requests out, replies in, refusals raised.

    Parameters
    ----------
    agent : str
        Whom it leads to.
    transport : Transport
        What carries the bytes.
    note : callable, optional
        Told of every message: ``note(direction, agent, run, type, content)``.
    """

    def __init__(
        self,
        agent: str,
        transport: Transport,
        note: Callable[[str, str, str, str, bytes], None] | None = None,
    ) -> None:
        self.agent = agent
        self._transport = transport
        self._note = note

    def ask(self, request: m.Request, expected: type[Expected]) -> Expected:
        """Return the agent's reply, which must be of the expected type and about the same run."""
        reply = self.ask_any(request)
        if isinstance(reply, m.Problem):
            raise StartedAnewError(reply.text) if reply.kind == "out-of-order" else RefusedError(reply.text)
        if not isinstance(reply, expected) or reply.run != request.run:
            raise ProtocolError(f"Agent {self.agent!r} answered {type(reply).__name__} to {type(request).__name__}.")
        return reply

    def ask_any(self, request: m.Request) -> m.AnyMessage:
        """Return the agent's reply, whatever it is."""
        content = encode(request)
        self._record("sent", request.run, request, content)
        answer = self._transport.ask(self.agent, content)
        try:
            reply = decode(answer)
        except ProtocolError as error:
            self._record("received", request.run, None, answer)
            raise ProtocolError(f"The answer of agent {self.agent!r} cannot be read: {error}") from None
        self._record("received", request.run, reply, answer)
        return reply

    def _record(self, direction: str, run: str, message: m.AnyMessage | None, content: bytes) -> None:
        if self._note is not None:
            type_ = "unreadable" if message is None else str(message.__struct_config__.tag)
            self._note(direction, self.agent, run, type_, content)


class RemoteParticipant:
    """An agent at the other end of a line.

    It keeps the news that the agent has not heard yet, and sends them with its next turn; or, where that is smaller,
    the state of the run itself.

    Parameters
    ----------
    line : Correspondent
        The way to the agent.
    run : str
        The run.
    state : RunState
        The initiator's state of the run, for an agent that has missed too much.
    n_samples, n_classes, n_holdout : int
        The sizes of the run.
    alone : bool, default=False
        Whether the agent boosts alone and hears of its own models only (Ensemble-AdaBoost).
    score_bits : int or None
        The bits of a soft reward; None in the hard methods.
    """

    def __init__(
        self,
        line: Correspondent,
        run: str,
        state: RunState,
        n_samples: int,
        n_classes: int,
        n_holdout: int = 0,
        alone: bool = False,
        score_bits: int | None = None,
    ) -> None:
        self.name = line.agent
        self._line = line
        self._run = run
        self._state = state
        self._n_samples = n_samples
        self._n_classes = n_classes
        self._n_holdout = n_holdout
        self._alone = alone
        self._score_bits = score_bits
        self._since = 0
        self._unheard: list[m.News] = []

    def take_turn(self, turn: Turn) -> Answer:
        """Tell the agent what it has not heard, let it take its turn, and check what it says."""
        return self.ask(turn)[0]

    def ask(self, turn: Turn) -> tuple[Answer, m.TurnTaken]:
        """Return the agent's answer to its turn, and the message that it came in."""
        reply = self._line.ask_any(self._request(turn))
        if isinstance(reply, m.Problem) and reply.kind == "behind":  # it has lost what it knew: tell it all
            reply = self._line.ask_any(self._request(turn, whole=True))
        if isinstance(reply, m.Problem):
            raise RefusedError(reply.text)
        if not isinstance(reply, m.TurnTaken) or reply.run != self._run or reply.turn != turn.number:
            raise ProtocolError(f"Agent {self.name!r} answered {type(reply).__name__} to turn {turn.number}.")
        return self.replay(turn, reply), reply

    def replay(self, turn: Turn, reply: m.TurnTaken) -> Answer:
        """Return the answer that a message holds, once it is checked; the agent knows everything up to here."""
        answer = self.read(reply)
        self._since = turn.number
        self._unheard = []
        return answer

    def hear(self, contribution: Contribution, reward: Reward) -> None:
        """Keep the news for the agent's next turn."""
        own = contribution.agent == self.name
        if self._alone and not own:
            return
        packed = None if own else pack_reward(reward, self._score_bits)
        self._unheard.append(m.News(contribution.turn, contribution.round, contribution.model_weight, packed))

    def read(self, reply: m.TurnTaken) -> Answer:
        """Return what a reply says, once every part of it is checked."""
        try:
            return self._checked(reply)
        except ProtocolError as error:
            raise ProtocolError(f"Agent {self.name!r}, turn {reply.turn}: {error}") from None

    def _checked(self, reply: m.TurnTaken) -> Answer:
        reward = unpack_reward(reply.reward, self._n_samples, self._score_bits)
        if not (loudness(reward, reply.model_weight) <= LARGEST and 0.0 <= reply.mean_reward <= 1.0):
            raise ProtocolError(
                f"a model weight of {reply.model_weight} and a mean reward of {reply.mean_reward} cannot be."
            )
        verdict = Verdict(reply.model_weight, reply.mean_reward, reply.perfect)
        if self._n_holdout == 0 or verdict.useless:
            return Answer(reward, verdict)
        if self._score_bits is not None and isinstance(reply.holdout, Levels):
            shape = self._n_holdout, self._n_classes
            votes = unpack_soft(reply.holdout, shape, self._score_bits)
            if not loudness(votes, reply.model_weight) <= LARGEST:
                raise ProtocolError(f"the answers for the hold-out samples have a scale of {votes.scale}.")
            return Answer(reward, verdict, votes)
        if self._score_bits is not None or not isinstance(reply.holdout, ClassCodes):
            raise ProtocolError("the answers for the hold-out samples are missing.")
        return Answer(reward, verdict, self._holdout_codes(reply.holdout))

    def _holdout_codes(self, packed: ClassCodes) -> Codes:
        codes = unpack_codes(packed, self._n_holdout, self._n_classes + 1)
        codes[codes == self._n_classes] = ABSTAINS
        return codes

    def _request(self, turn: Turn, whole: bool = False) -> m.TakeTurn:
        news, snapshot = self._unheard, None
        if whole or sum(size_of(item.reward) for item in news) > self._snapshot_bytes():
            news, snapshot = [], self._snapshot(turn)
        return m.TakeTurn(
            run=self._run,
            turn=turn.number,
            round=turn.round,
            seed=turn.seed,
            since=self._since,
            news=news,
            state=snapshot,
        )

    def _snapshot_bytes(self) -> int:
        return 8 * self._n_samples * sum(vector is not None for vector in self._state.vectors())

    def _snapshot(self, turn: Turn) -> m.Snapshot:
        vectors = [None if vector is None else pack_numbers(vector) for vector in self._state.vectors()]
        return m.Snapshot(turn.number, turn.round, vectors)
