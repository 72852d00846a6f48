"""Count the bits that ASCII really sends, message by message, and compare them with sending the helper's columns.

The messages of :mod:`assistlearn.protocol` and :mod:`assistlearn.alignment` are made and encoded as in a run over a
network, and their sizes are added up. The paper counts differently: it compares one number per sample and round with
one number per sample and column. All numbers have the same size, and labels and ids do not count.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from assistlearn.alignment import HashHelper, HashInitiator, Ids
from assistlearn.core import Contribution
from assistlearn.estimators import AssistedClassifier
from assistlearn.plan import Plan
from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, pack_codes
from paper.datasets import DataSet

SECRET = b"sixteen bytes or more"
RUN = "reproduction"


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What must be sent, in bits."""

    n_samples: int
    n_columns: int  # that the helpers have together
    ids: int  # both directions, until the agents agree on the samples, by keyed hashes
    labels: int  # the messages with the task (class codes and settings), and the replies
    turns: list[int]  # in each round, the requests to the helpers and their replies
    end: int  # the messages that training is over, and the replies
    columns: int  # the helpers' columns, value by value as they are stored
    columns_compressed: int  # the same after zlib, where that is smaller

    def upto(self, round: int) -> int:
        """Return the bits of a run that ends after this round: labels, ids, every request and every reply."""
        return self.ids + self.labels + sum(self.turns[:round]) + self.end

    def ratio(self, round: int) -> float:
        """Return how many times more bits it takes to match the ids and send the columns than to train by ASCII."""
        return (self.ids + self.columns) / self.upto(round)

    def ratio_without_ids(self, round: int) -> float:
        """Return the same ratio for agents whose samples are matched already."""
        return self.columns / (self.upto(round) - self.ids)

    def ratio_compressed(self, round: int) -> float:
        """Return the first ratio for a sender that compresses the columns."""
        return (self.ids + self.columns_compressed) / self.upto(round)

    def papers_ratio(self, round: int) -> float:
        """Return the paper's ratio: one number per sample and column, to one per sample plus one more, in each round.

        >>> cost = Cost(n_samples=60_000, n_columns=392, ids=0, labels=0, turns=[], end=0, columns=0,
        ...             columns_compressed=0)
        >>> round(cost.papers_ratio(2))
        196
        """
        return self.n_samples * self.n_columns / (round * (self.n_samples + 1))


def cost_of(model: AssistedClassifier, train: DataSet, bits_per_value: int) -> Cost:
    """Return the size of the messages of a run that gave this model, whose first agent is the initiator.

    ``train`` are the samples that it was fitted to with ``method="ascii"``. ``bits_per_value`` is the size of a value
    in a helper's table, for sending the columns instead: 8 or 32.
    """
    codes = np.searchsorted(model.classes_, train.labels)
    _, *helpers = train.agents
    places = np.concatenate([train.columns(helper) for helper in helpers])
    values = train.features[:, places]
    columns = values.size * bits_per_value
    stored = np.round(values * 255).astype(np.uint8) if bits_per_value == 8 else values.astype(np.float32)
    compressed = 8 * len(zlib.compress(stored.tobytes(), 6))
    return Cost(
        n_samples=len(train),
        n_columns=len(places),
        ids=len(helpers) * _alignment(train),
        labels=len(helpers) * _task(codes, len(model.classes_)),
        turns=list(_rounds(model, train, codes, helpers)),
        end=len(helpers) * (_bits(m.End(run=RUN, n_rounds=model.n_rounds_)) + _bits(m.Ended(run=RUN, n_models=1))),
        columns=columns,
        columns_compressed=min(columns, compressed),
    )


def _alignment(train: DataSet) -> int:
    """Return the bits that match the samples of the initiator and of one helper who holds them all."""
    ids = Ids(train.ids)
    initiator, helper = HashInitiator(ids, SECRET), HashHelper(ids, SECRET)
    first = initiator.start()
    second = helper.answer(first)
    initiator.finish(second)
    third = initiator.settle()
    fourth = helper.agree(third)
    initiator.confirm(fourth)
    sent: list[m.Message] = [
        m.Open(run=RUN, initiator="A", purpose="", alignment="hash", overlap="abstain"),
        m.Opened(run=RUN, agent="B", n_rows=len(train)),
        m.Align(run=RUN, purpose="train", step=1, data=first),
        m.Aligned(run=RUN, step=1, data=second),
        m.Align(run=RUN, purpose="train", step=2, data=third),
        m.Aligned(run=RUN, step=2, data=fourth),
    ]
    return sum(map(_bits, sent))


def _task(codes: NDArray[Any], n_classes: int) -> int:
    begin = m.Begin(
        run=RUN,
        n_samples=len(codes),
        n_classes=n_classes,
        labels=pack_codes(codes, n_classes),
        seed=0,
        turn_seeds=0,
        weights=None,
        holdout=None,
        **Plan(method="ascii").told(),
    )
    return _bits(begin) + _bits(m.Ready(run=RUN, n_held=len(codes)))


def _rounds(model: AssistedClassifier, train: DataSet, codes: NDArray[Any], helpers: list[str]) -> Iterator[int]:
    """Yield the bits of each round: the requests with news that a helper has not heard yet, and the replies."""
    rewards = dict(_rewards(model, train, codes))
    made = {(c.round, c.agent): c for c in model.contributions_}
    unheard: dict[str, list[m.News]] = {helper: [] for helper in helpers}
    for round in range(1, model.n_rounds_ + 1):
        bits = 0
        for agent in train.agents:
            kept = made.get((round, agent))
            if agent in unheard:
                bits += _turn(unheard[agent], kept, rewards, round, len(train))
                unheard[agent] = []
            if kept is not None:
                for helper, news in unheard.items():
                    packed = None if helper == agent else pack_bits(rewards[kept.turn])
                    news.append(m.News(kept.turn, round, kept.model_weight, packed))
        yield bits


def _turn(
    news: list[m.News], kept: Contribution | None, rewards: Mapping[int, NDArray[np.bool_]], round: int, n: int
) -> int:
    """Return the bits of one helper's turn. The reply has a reward even if the helper sits out."""
    reward = np.arange(n) % 2 == 0 if kept is None else rewards[kept.turn]  # unknown: count one bit a sample
    weight, mean = (0.0, 0.0) if kept is None else (kept.model_weight, kept.mean_reward)
    request = m.TakeTurn(run=RUN, turn=2 * round, round=round, since=2 * round - 2, news=news)
    reply = m.TurnTaken(
        run=RUN, turn=2 * round, reward=pack_bits(reward), model_weight=weight, mean_reward=mean, perfect=False
    )
    return _bits(request) + _bits(reply)


def _rewards(model: AssistedClassifier, train: DataSet, codes: NDArray[Any]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield every kept model's turn, and where it is right on the training samples."""
    for name, agent in model.agents_.items():
        own = [c for c in model.contributions_ if c.agent == name]
        answers = agent.answers(train.features[:, train.columns(name)], len(model.classes_))
        for contribution, (_, said) in zip(own, answers, strict=True):
            yield contribution.turn, said == codes


def _bits(message: m.Message) -> int:
    return 8 * len(encode(message))
