"""An initiator that says what it likes to a helper, in messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn.agent.file import MIN_EFFECTIVE
from assistlearn.agent.loading import Holdings
from assistlearn.agent.service import AgentService
from assistlearn.alignment import HashInitiator, Ids, Minimum
from assistlearn.core import State
from assistlearn.core.state import votes_of
from assistlearn.errors import RefusedError
from assistlearn.plan import Plan
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes, pack_numbers, unpack_bits, unpack_codes, unpack_votes
from assistlearn.types import Bools, Codes, Floats

SECRET = b"a secret that all agents share"
RUN = "r"
LAYERS = 10
"""How many pairs of invented models bring the ignorance to where the initiator wants it."""
SHARES = (0.0, 0.2, 0.5)
"""How much of an even weight is mixed in where a turn is refused."""


class HostileInitiator:
    """Opens a run with one helper and asks it for turns.

    Parameters
    ----------
    helper : Holdings
        What the helper has; its service is real.
    labels : ndarray of shape (n_samples,)
        The class codes that the helper is told.
    n_classes : int, default=2
        So many classes.
    weights : ndarray, optional
        Initial weights.
    holdout : ndarray of bool, optional
        Who is held out.
    seed : int, default=0
        What all seeds are drawn from.
    plan : dict, optional
        Other settings.

    Attributes
    ----------
    answers : list of ndarray of shape (n_samples,)
        What each model was seen to answer: class codes, -1 where that is not known.
    proofs : list of bool
        Whether the helper said anything of each model.
    """

    def __init__(
        self,
        helper: Holdings,
        labels: Codes,
        n_classes: int = 2,
        weights: Floats | None = None,
        holdout: Bools | None = None,
        seed: int = 0,
        **plan: Any,
    ) -> None:
        self.labels, self.n_classes = labels, n_classes
        self.aside = np.zeros(len(labels), bool) if holdout is None else holdout
        self.training = np.flatnonzero(~self.aside)
        own = None if weights is None else weights[self.training]
        self.state = State.start(len(self.training), n_classes, own)
        self.answers: list[Codes] = []
        self.proofs: list[bool] = []
        self.round = self._since = self._applied = 0
        self._own: list[m.News] = []
        self._service = AgentService(helper)
        papers = {"method": "ascii", "reward": "out-of-fold" if helper.proof else "in-sample"}
        self._ids = list(helper.ids.take(np.arange(len(labels))))
        self.say(m.Open(run=RUN, initiator="bank", purpose="", alignment="hash", overlap="abstain"))
        self._align("train", self._ids)
        self.task = m.Begin(
            run=RUN,
            n_samples=len(labels),
            n_classes=n_classes,
            labels=pack_codes(labels, n_classes),
            seed=seed,
            turn_seeds=seed,
            weights=None if weights is None else pack_numbers(weights),
            holdout=None if holdout is None else pack_bits(holdout),
            **Plan(**(papers | plan)).told(),
        )
        self.say(self.task)

    def say(self, message: m.Message) -> Any:
        """Return the helper's reply; raise where it refuses."""
        reply = decode(self._service.answer(encode(message)))
        if isinstance(reply, m.Problem):
            raise RefusedError(reply.text)
        return reply

    def turn(self, news: Sequence[m.News] = ()) -> Codes:
        """Ask for a turn, after these news, and return what the new model answers."""
        number = max([self._since, *(each.turn for each in news)]) + 1
        self.round += 1
        taken = self.say(
            m.TakeTurn(run=RUN, turn=number, round=self.round, since=self._since, news=[*self._own, *news])
        )
        for each in news:
            self._apply(each.round, unpack_bits(each.reward, len(self.training)), each.model_weight)
        reward = unpack_bits(taken.reward, len(self.training))
        self._own = []
        if taken.model_weight > 1e-10:
            self._own = [m.News(number, self.round, taken.model_weight, None)]
            self._apply(self.round, reward, taken.model_weight)
        self._since = number
        self.proofs.append(taken.model_weight > 1e-10)
        self.answers.append(self._answer(reward, taken))
        return self.answers[-1]

    def turn_under(self, target: Floats) -> Codes:
        """Ask for a turn under these weights, or under some that are as near to them as the helper allows."""
        uniform = np.full(len(self.training), target.sum() / len(self.training))
        for share in SHARES:
            before = self.round
            try:
                return self.turn(self.aim((1.0 - share) * target + share * uniform))
            except RefusedError as error:
                self.round, refusal = before, error
        raise refusal

    def told(self, reward: Bools) -> list[m.News]:
        """Return the news of a model of the initiator's own, in the coming round, with the weight that follows."""
        if self.round + 1 != self._applied:
            self.state.begin_round()
        weight = self.state.judge(reward).model_weight
        return [m.News(self._since + 1, self.round + 1, weight, pack_bits(reward))] if weight > 1e-10 else []

    def aim(self, target: Floats) -> list[m.News]:
        """Return news that bring the ignorance to these weights of the training samples, nearly.

        Two invented models for every step: one that is wrong about a person who hardly counts, so that it counts
        much in equation 13; and one that is wrong about whoever is to count more, and right about that person.
        """
        before = [None if vector is None else vector.copy() for vector in self.state.vectors()]
        number, rounds, news = self._since, self.round, []
        with np.errstate(divide="ignore"):
            want = np.log(np.maximum(target / target.max(), 1e-6))
        for _ in range(LAYERS):
            lacks = want - self.state.log_ignorance
            lacks -= lacks.min()
            if lacks.max() < 0.05:
                break
            raised = lacks > lacks.max() / 2
            rounds += 1
            self.state.begin_round()
            unheard = int(np.argmin(np.where(raised, np.inf, self.state.log_ignorance)))
            for wrong, most in ((np.arange(len(want)) == unheard, np.inf), (raised, lacks.max() / 2)):
                weight = min(self.state.judge(~wrong).model_weight, most)
                if weight > 1e-6:
                    number += 1
                    news.append(m.News(number, rounds, float(weight), pack_bits(~wrong)))
                    self.state.apply(~wrong, weight)
        self.state.restore(before)
        self.round = rounds
        return news

    def predict(self) -> Floats:
        """End the training, and return the votes for everybody."""
        self.say(m.End(run=RUN, n_rounds=self.round))
        self._align("predict", self._ids)
        n = len(self.labels)
        scores = self.say(m.Predict(run=RUN, start=0, stop=n)).scores
        return votes_of(unpack_votes(scores, n, self.n_classes))

    def said(self, n_turns: int | None = None) -> list[Codes]:
        """Return the answers of the first so many turns, without those of which the helper said nothing."""
        return [answer for answer, told in zip(self.answers[:n_turns], self.proofs[:n_turns], strict=True) if told]

    def _apply(self, round: int, reward: Bools, weight: float) -> None:
        if round != self._applied:
            self.state.begin_round()
            self._applied = round
        self.state.apply(reward, weight)

    def _answer(self, reward: Bools, taken: m.TurnTaken) -> Codes:
        answers = np.full(len(self.labels), -1)
        own = self.labels[self.training]
        otherwise = 1 - own if self.n_classes == 2 else -1
        answers[self.training] = np.where(reward, own, otherwise)
        if self.aside.any() and taken.holdout is not None:
            answers[self.aside] = unpack_codes(taken.holdout, int(self.aside.sum()), self.n_classes + 1)
        return answers

    def _align(self, purpose: Any, ids: list[str]) -> None:
        aligner = HashInitiator(Ids(ids, "bank"), SECRET, "lab", Minimum(0, 0.0))
        first = self.say(m.Align(run=RUN, purpose=purpose, step=1, data=aligner.start()))
        aligner.finish(first.data)
        self.say(m.Align(run=RUN, purpose=purpose, step=2, data=aligner.settle(np.ones(len(ids), dtype=bool))))


def helper(folder: Path, columns: Floats, learner: Any, **own: Any) -> Holdings:
    """Return what a helper with these private columns has."""
    ids = Ids([f"p-{i:04d}" for i in range(len(columns))], "Agent 'lab'")
    return Holdings("lab", learner, ids, columns, folder, SECRET, **({"min_effective": MIN_EFFECTIVE} | own))
