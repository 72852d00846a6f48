"""An agent that is reached by messages, as the session sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from assistlearn.agents import Answer, Turn
from assistlearn.core import Contribution, Verdict
from assistlearn.core.votes import Codes
from assistlearn.core.weight import LARGEST
from assistlearn.errors import ProtocolError, RefusedError, RunError
from assistlearn.methods.method import Method
from assistlearn.protocol import Encoded
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.rewards import PackedReward, loudness, unpack_holdout, unpack_reward
from assistlearn.runs.correspondent import Correspondent
from assistlearn.runs.turn_again import TurnAgain


@dataclass(frozen=True)
class ToldTask:
    """What the agents were told of the samples: the labels of those to train on, the classes, how many are held out."""

    codes: Codes
    n_classes: int
    n_holdout: int = 0

    @property
    def n_samples(self) -> int:
        """How many samples are trained on."""
        return len(self.codes)


class RemoteParticipant:
    """An agent that is asked through a correspondent.

    This object keeps the news that the agent has not heard yet, and sends them with its next turn. An agent that has
    lost what it knew is sent all news since then, with their rewards from the run's folder.

    Parameters
    ----------
    correspondent : Correspondent
        The way to the agent.
    run : str
        The run.
    method : Method
        Which rewards it exchanges, and whether agents hear of each other's models.
    task : ToldTask
        What the agent was told of the samples.
    answers : callable, optional
        Returns the answer to a turn that was taken, as it came; None where there is none.
    check : callable, optional
        Raises ``ProtocolError`` for an answer that does not fit what is known; by default nothing more is known.
    again : mapping of int to TurnAgain, optional
        The turns of an earlier run that are taken again, by their rounds.
    """

    def __init__(
        self,
        correspondent: Correspondent,
        run: str,
        method: Method,
        task: ToldTask,
        answers: Callable[[int], bytes | None] = lambda turn: None,
        check: Callable[[Turn, Answer], None] = lambda turn, answer: None,
        again: Mapping[int, TurnAgain] | None = None,
    ) -> None:
        self.name = correspondent.agent
        self._correspondent = correspondent
        self._run = run
        self._method = method
        self._task = task
        self._answers = answers
        self._check = check
        self._again = again or {}
        self._since = 0
        self._unheard: list[m.News] = []
        self._told: list[m.News] = []

    def ask(self, turn: Turn) -> tuple[Answer, bytes]:
        """Send the agent the news that it has not heard, ask it to take its turn, and check its answer.

        Return the answer, and the bytes of its message.
        """
        reply = self._correspondent.ask_any(self._request(turn, self._since, [] if turn.apart else self._unheard))
        if isinstance(reply.message, m.Problem) and reply.message.kind == "behind":
            known = reply.message.known
            reply = self._correspondent.ask_any(self._request(turn, known, list(self._news_since(known))))
        if isinstance(reply.message, m.Problem) and reply.message.kind != "sits-out":
            raise RefusedError(reply.message.text)
        return self.replay(turn, reply), reply.content

    def replay(self, turn: Turn, reply: Encoded) -> Answer:
        """Check the answer in a message and return it; from now on, the agent counts as having heard all news.

        An agent that does not take the turn, because too few people count, sits it out. It has not heard the news.
        """
        taken = reply.message
        if isinstance(taken, m.Problem) and taken.kind == "sits-out":
            silence = self._method.silence(self._task.n_samples, self._task.n_classes)
            return Answer(silence, Verdict(0.0, 0.0, False), why=taken.text)
        if not isinstance(taken, m.TurnTaken) or taken.run != self._run or taken.turn != turn.number:
            raise ProtocolError(
                f"Agent {self.name!r} answered turn {turn.number} with a message of the wrong kind, "
                f"{type(taken).__name__}."
            )
        answer = self.read(turn, self._whole(turn.round, taken))
        if turn.apart:
            return answer  # it has heard nothing yet
        self._since = turn.number
        self._told += (msgspec.structs.replace(news, reward=None) for news in self._unheard)
        self._unheard = []
        return answer

    def whole(self, turn: Turn, reply: bytes) -> bytes | None:
        """Return the answer about all samples, from the bytes that it came in; None where it came as a whole."""
        if turn.round not in self._again:
            return None
        taken = decode(reply)
        if not isinstance(taken, m.TurnTaken):
            return None
        return Encoded.of(self._whole(turn.round, taken)).content

    def hear(self, contribution: Contribution, answer: Answer, step: float) -> None:
        """Keep the news for the agent's next turn; a reward is passed on as its owner packed it."""
        own = contribution.agent == self.name
        if not own and not self._method.shares_state:
            return
        packed = None if own else answer.packed
        self._unheard.append(m.News(contribution.turn, contribution.round, step, packed))

    def read(self, turn: Turn, reply: m.TurnTaken) -> Answer:
        """Check every part of a reply, and return the answer in it."""
        try:
            answer = self._checked(reply)
            self._check(turn, answer)
            return answer
        except ProtocolError as error:
            raise ProtocolError(f"Agent {self.name!r}, turn {reply.turn}: {error}") from None

    def _checked(self, reply: m.TurnTaken) -> Answer:
        reward = unpack_reward(reply.reward, self._task.codes, self._task.n_classes)
        self._method.check_reward(reward, self._task.n_classes)
        if not (loudness(reward, reply.model_weight) <= LARGEST and 0.0 <= reply.mean_reward <= 1.0):
            raise ProtocolError(
                f"the model weight {reply.model_weight} or the mean reward {reply.mean_reward} is not a possible value."
            )
        verdict = Verdict(reply.model_weight, reply.mean_reward, reply.perfect)
        if self._task.n_holdout == 0 or verdict.useless:
            return Answer(reward, verdict, packed=reply.reward)
        holdout = unpack_holdout(reply.holdout, self._task.n_holdout, self._task.n_classes)
        self._method.check_holdout(holdout, self._task.n_classes)
        if holdout is not None and not loudness(holdout, reply.model_weight) <= LARGEST:
            raise ProtocolError(
                "an answer for a hold-out sample, times the model weight, is larger than any model can give."
            )
        return Answer(reward, verdict, holdout, packed=reply.reward)

    def _whole(self, round: int, taken: m.TurnTaken) -> m.TurnTaken:
        """Return an answer about all samples. Of a turn that is taken again, only the new part was sent."""
        return self._again[round].whole(taken) if round in self._again else taken

    def _request(self, turn: Turn, since: int, news: list[m.News]) -> m.TakeTurn:
        if turn.round not in self._again:
            return m.TakeTurn(run=self._run, turn=turn.number, round=turn.round, since=since, news=news)
        number = self._again[turn.round].number
        return m.TakeAgain(run=self._run, turn=turn.number, round=turn.round, since=since, news=news, earlier=number)

    def _news_since(self, known: int) -> Iterator[m.News]:
        """Yield all news from a turn on, each with its reward, that of the agent's own models included."""
        for news in (*self._told, *self._unheard):
            if news.turn >= known:
                yield (
                    news
                    if news.reward is not None
                    else msgspec.structs.replace(news, reward=self._reward_of(news.turn))
                )

    def _reward_of(self, turn: int) -> PackedReward:
        """Return the reward of a turn of any agent, on all samples."""
        content = self._answers(turn)
        taken = None if content is None else decode(content)
        if not isinstance(taken, m.TurnTaken):
            raise RunError(
                f"Agent {self.name!r} has lost what it knew about run {self._run!r}, and the record of turn {turn} is "
                "missing here, too. Restore one of the two folders from a backup, or start a new run."
            )
        return taken.reward
