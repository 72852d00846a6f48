"""An agent that is reached by messages, as the session sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution, RunState, Verdict
from assistlearn.core.weight import LARGEST
from assistlearn.errors import ProtocolError, RefusedError
from assistlearn.methods.method import Method
from assistlearn.protocol import Encoded
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_numbers
from assistlearn.protocol.rewards import loudness, size_of, unpack_holdout, unpack_reward
from assistlearn.runs.correspondent import Correspondent


@dataclass(frozen=True)
class Sizes:
    """How large a run is: samples to train on, classes, hold-out samples."""

    n_samples: int
    n_classes: int
    n_holdout: int = 0


class RemoteParticipant:
    """An agent at the other end of a correspondence.

    It keeps the news that the agent has not heard yet, and sends them with its next turn; or, where that is smaller,
    the state of the run itself.

    Parameters
    ----------
    correspondent : Correspondent
        The way to the agent.
    run : str
        The run.
    method : Method
        Which rewards it exchanges, and whether agents hear of each other's models.
    state : RunState
        The initiator's state of the run, for an agent that has missed too much.
    sizes : Sizes
        Of the run.
    check : callable, optional
        Raises ``ProtocolError`` for an answer that does not fit what is known; by default nothing more is known.
    """

    def __init__(
        self,
        correspondent: Correspondent,
        run: str,
        method: Method,
        state: RunState,
        sizes: Sizes,
        check: Callable[[Answer], None] = lambda answer: None,
    ) -> None:
        self.name = correspondent.agent
        self._correspondent = correspondent
        self._run = run
        self._method = method
        self._state = state
        self._sizes = sizes
        self._check = check
        self._since = 0
        self._unheard: list[m.News] = []

    def ask(self, turn: Turn) -> tuple[Answer, bytes]:
        """Tell the agent what it has not heard, let it take its turn, and check what it says.

        Return its answer, and the bytes that this came in.
        """
        reply = self._correspondent.ask_any(self._request(turn))
        if isinstance(reply.message, m.Problem) and reply.message.kind == "behind":
            reply = self._correspondent.ask_any(self._request(turn, whole=True))  # it has lost what it knew
        if isinstance(reply.message, m.Problem):
            raise RefusedError(reply.message.text)
        return self.replay(turn, reply), reply.content

    def replay(self, turn: Turn, reply: Encoded) -> Answer:
        """Return the answer that a message holds, once it is checked; the agent knows everything up to here."""
        taken = reply.message
        if not isinstance(taken, m.TurnTaken) or taken.run != self._run or taken.turn != turn.number:
            raise ProtocolError(f"Agent {self.name!r} answered {type(taken).__name__} to turn {turn.number}.")
        answer = self.read(taken)
        self._since = turn.number
        self._unheard = []
        return answer

    def hear(self, contribution: Contribution, answer: Answer) -> None:
        """Keep the news for the agent's next turn; a reward is passed on as its owner packed it."""
        own = contribution.agent == self.name
        if not own and not self._method.shares_state:
            return
        packed = None if own else answer.packed
        self._unheard.append(m.News(contribution.turn, contribution.round, contribution.model_weight, packed))

    def read(self, reply: m.TurnTaken) -> Answer:
        """Return what a reply says, once every part of it is checked."""
        try:
            answer = self._checked(reply)
            self._check(answer)
            return answer
        except ProtocolError as error:
            raise ProtocolError(f"Agent {self.name!r}, turn {reply.turn}: {error}") from None

    def _checked(self, reply: m.TurnTaken) -> Answer:
        reward = unpack_reward(reply.reward, self._sizes.n_samples)
        self._method.check_reward(reward)
        if not (loudness(reward, reply.model_weight) <= LARGEST and 0.0 <= reply.mean_reward <= 1.0):
            raise ProtocolError(
                f"a model weight of {reply.model_weight} and a mean reward of {reply.mean_reward} cannot be."
            )
        verdict = Verdict(reply.model_weight, reply.mean_reward, reply.perfect)
        if self._sizes.n_holdout == 0 or verdict.useless:
            return Answer(reward, verdict, packed=reply.reward)
        holdout = unpack_holdout(reply.holdout, self._sizes.n_holdout, self._sizes.n_classes)
        self._method.check_holdout(holdout)
        if holdout is not None and not loudness(holdout, reply.model_weight) <= LARGEST:
            raise ProtocolError("the answers for the hold-out samples are louder than any model can be.")
        return Answer(reward, verdict, holdout, packed=reply.reward)

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
        return 8 * self._sizes.n_samples * sum(vector is not None for vector in self._state.vectors())

    def _snapshot(self, turn: Turn) -> m.Snapshot:
        vectors = [None if vector is None else pack_numbers(vector) for vector in self._state.vectors()]
        return m.Snapshot(turn.number, turn.round, vectors)
