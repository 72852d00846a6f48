"""What is spent and left of each limit of an agent, and what each initiator was told about its people.

The commands ``assistlearn check``, ``audit`` and ``privacy`` show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from assistlearn.protocol.ledger import counted
from assistlearn.service.holdings import Holdings
from assistlearn.service.privacy.accountant import epsilon_at_delta
from assistlearn.service.privacy.privacy_keeper import PrivacyKeeper
from assistlearn.service.privacy.told_book import PeopleTold, ToldBook


@dataclass(frozen=True)
class LimitStanding:
    """One limit of an agent's file.

    Attributes
    ----------
    key : str
        Its table and its name: ``"privacy.max_rounds"``.
    initiator : str or None
        Whom it is counted for; None for a limit on each run by itself.
    counts : str
        What is counted, and over which time.
    allowed : float, tuple of str or None
        What is allowed; None for any amount.
    spent, left : float or None
        What one initiator has used, and may still ask for. Where each person is counted, these are the figures of the
        person about whom most was told. None for a limit on each run by itself.
    """

    key: str
    initiator: str | None
    counts: str
    allowed: float | tuple[str, ...] | None
    spent: float | None = None
    left: float | None = None


@dataclass(frozen=True)
class ToldStanding:
    """What one initiator was told about an agent's people, since its file has the table ``[privacy]``.

    Attributes
    ----------
    initiator : str
        The initiator's name.
    people : int
        About how many people anything was told.
    bits, mean_bits, predictions : float, float, int
        The most bits about one person, the mean bits about a person, and the most predictions about one person.
    epsilon, epsilon_at_delta : float, float or None
        The largest sum of epsilons of one person; and for that person the epsilon at a delta of one in a million, None
        if ``dp-accounting`` is not installed.
    """

    initiator: str
    people: int
    bits: float
    mean_bits: float
    predictions: int
    epsilon: float
    epsilon_at_delta: float | None

    @classmethod
    def of(cls, told: PeopleTold) -> ToldStanding:
        """Return the largest and mean figures of what one initiator was told."""
        sums = told.epsilon()
        worst = int(sums.argmax()) if len(sums) else 0
        answers = dict(zip(told.epsilons.tolist(), told.answers[worst].tolist() if len(sums) else [], strict=False))
        return cls(
            initiator=told.initiator,
            people=len(told.people),
            bits=float(told.bits.max(initial=0.0)),
            mean_bits=float(told.bits.mean()) if len(told.bits) else 0.0,
            predictions=int(told.votes.max(initial=0)),
            epsilon=float(sums.max(initial=0.0)),
            epsilon_at_delta=epsilon_at_delta(answers),
        )


def told_at(book: ToldBook) -> list[ToldStanding]:
    """Return what each initiator was told."""
    return [ToldStanding.of(book.of(initiator)) for initiator in book.initiators()]


def limits_at(own: Holdings, now: datetime) -> list[LimitStanding]:
    """Return every limit of an agent's file, of ``[allow]`` and of ``[privacy]``, with what is spent and left."""
    allowed = [] if own.limits is None else list(_allowed(own, now))
    names = {each.initiator: None for each in allowed if each.initiator is not None}
    return allowed + ([] if own.privacy is None else list(_private(own.privacy, list(names))))


def _allowed(own: Holdings, now: datetime) -> Iterator[LimitStanding]:
    assert own.limits is not None
    tally, day = counted(own.home / "ledger.jsonl"), now.date().isoformat()
    for initiator in dict.fromkeys([*own.limits.initiators, *tally.consented(now)]):
        for row in own.limits.standing(initiator, tally.of(initiator), day):
            key = f"allow.{row['limit']}"
            yield LimitStanding(key, initiator, row["counts"], row["allowed"], row["used"], row["left"])
    for name, most in own.limits.of_one_run().items():
        yield LimitStanding(f"allow.{name}", None, "in one run", most)


def _private(keeper: PrivacyKeeper, initiators: list[str]) -> Iterator[LimitStanding]:
    rules = keeper.rules
    for initiator in dict.fromkeys([*initiators, *keeper.book.initiators()]):
        told = keeper.book.of(initiator)
        for key, counts, most, values in (
            ("max_bits_per_sample", "bits of one person, in all", rules.max_bits_per_sample, told.bits),
            ("max_predictions", "predictions of one person, in all", rules.max_predictions, told.votes),
            ("max_epsilon", "epsilon of one person, in all", rules.max_epsilon, told.epsilon()),
        ):
            if most is not None:
                spent = float(np.max(values, initial=0))
                yield LimitStanding(f"privacy.{key}", initiator, counts, most, spent, max(most - spent, 0.0))
    for key, counts, said in (
        ("max_rounds", "turns that tell something of samples, in one run", rules.max_rounds),
        ("min_samples", "people of each class at the least, in one run", rules.min_samples),
        ("methods", "which methods", rules.methods),
        ("randomise", "epsilon of one answer", rules.randomise),
    ):
        if said is not None:
            yield LimitStanding(f"privacy.{key}", None, counts, said)
