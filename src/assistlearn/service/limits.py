"""The limits that an agent's owner sets, their defaults, and the check of each request against them.

The ledger's tally counts (:mod:`assistlearn.protocol.tally`): for each initiator by itself, and for ever. Forgetting a
run does not reduce the count. To add a limit, add a line to :data:`KINDS` and a key of the same name to
:class:`~assistlearn.agent_files.Allowance`. To count something new, add a line to the tally's ``UNITS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from assistlearn.agent_files import Allowance
from assistlearn.errors import RefusedError, SitsOutError
from assistlearn.protocol import messages as m
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.tally import UNITS, Claim, PeerCount, Span

MIN_PEOPLE = 20
"""The default for the fewest training samples that the agent must hold: as many as two agents must share anyway."""

OVER: dict[Span, str] = {"all": "in all", "day": "a day", "run": "in one run"}

ANSWERED_IN_BITS = (type_of(m.TakeTurn), type_of(m.TakeAgain), type_of(m.Predict))
"""Requests that are refused when no bits are left for the answer."""


@dataclass(frozen=True)
class LimitKind:
    """One kind of limit that an owner can set.

    Attributes
    ----------
    key : str
        Its key in ``[allow]``.
    unit : str
        What is counted.
    span : {"all", "day", "run"}
        Over which time it is counted.
    default : callable
        Returns how much is allowed if the owner does not say, given the number of rows of the table; None for any
        amount.
    """

    key: str
    unit: str
    span: Span
    default: Callable[[int], int | None]


KINDS = (
    LimitKind("max_runs", "runs", "all", lambda rows: 100),
    LimitKind("max_turns", "turns", "run", lambda rows: 100),
    LimitKind("max_total_turns", "turns", "all", lambda rows: None),
    LimitKind("max_ids_a_day", "ids", "day", lambda rows: max(10_000, 10 * rows)),
    LimitKind("max_total_ids", "ids", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    LimitKind("max_votes_a_day", "votes", "day", lambda rows: max(10_000, 10 * rows)),
    LimitKind("max_total_votes", "votes", "all", lambda rows: max(1_000_000, 1_000 * rows)),
    LimitKind("max_total_bits", "bits", "all", lambda rows: None),
)
"""Every limit on what is counted. A day has room for ten times the people in the table. That is enough to train and to
predict, to begin again after an interruption, and for an initiator that knows more people. The totals have room for
years of such days."""


@dataclass(frozen=True)
class Limit:
    """One limit that holds: its kind, and how much is allowed."""

    kind: LimitKind
    most: int


class OwnerLimits:
    """How much an owner lets others ask of an agent.

    Parameters
    ----------
    agent : str
        The agent's name.
    allowance : Allowance
        What its owner wrote under ``[allow]``.
    rows : int
        The number of rows of its table.

    Examples
    --------
    >>> limits = OwnerLimits("lab", Allowance(("clinic",), max_runs=5, max_turns="none"), rows=1_000)
    >>> {limit.kind.key: limit.most for limit in limits}
    {'max_runs': 5, 'max_ids_a_day': 10000, 'max_total_ids': 1000000, 'max_votes_a_day': 10000,
     'max_total_votes': 1000000}
    >>> limits.check_samples(1_000_000)
    """

    def __init__(self, agent: str, allowance: Allowance, rows: int) -> None:
        self.initiators = allowance.initiators
        self._agent = agent
        self._limits = tuple(_holding(allowance, rows))
        self._max_samples = _number(allowance.max_samples, None)
        self._min_people = _number(allowance.min_people, MIN_PEOPLE)

    def __iter__(self) -> Iterator[Limit]:
        return iter(self._limits)

    @property
    def most_samples(self) -> int | None:
        """How many samples can be asked about at once; None where nothing bounds them."""
        bounds = [limit.most for limit in self._limits if limit.kind.unit == "ids"]
        return min([*bounds, *([] if self._max_samples is None else [self._max_samples])], default=None)

    def claim(self, peer: str, type: str, run: str, amount: int, turn: int | None = None) -> Claim:
        """Return what a message counts for, with the check of every limit that applies to it."""

        def check(count: PeerCount, fresh: int, day: str) -> None:
            if fresh:
                self._check(count, fresh, day, peer, type, run)

        return Claim(amount, check, turn)

    def _check(self, count: PeerCount, amount: int, day: str, peer: str, type: str, run: str) -> None:
        for limit in self._limits:
            kind = limit.kind
            used = count.used(kind.unit, kind.span, day, run)
            if kind.unit == UNITS.get(type):
                asked = amount
            elif kind.unit == "bits" and type in ANSWERED_IN_BITS:
                asked = 1
            else:
                continue
            if used + asked > limit.most:
                later = " Or ask again tomorrow (UTC)." if kind.span == "day" and asked <= limit.most else ""
                goes_on = type in (type_of(m.TakeTurn), type_of(m.TakeAgain))  # without this agent's further turns
                raise (SitsOutError if goes_on else RefusedError)(
                    f"Agent {self._agent!r} allows {peer!r} {limit.most:,} {kind.unit} {OVER[kind.span]}: {used:,} "
                    f"are used, {asked:,} more are asked for. Its owner may raise {kind.key}, under [allow] in the "
                    f"agent file.{later}"
                )

    def check_samples(self, n_samples: int) -> None:
        """Raise if a run, an alignment or a prediction has too many samples."""
        if self._max_samples is not None and n_samples > self._max_samples:
            raise RefusedError(
                f"Agent {self._agent!r} allows at most {self._max_samples:,} samples at once; {n_samples:,} are asked "
                "for. Its owner may raise max_samples, under [allow] in the agent file."
            )

    def check_people(self, n_people: int) -> None:
        """Raise if a run would train on too few of the agent's rows; how many they are is not said."""
        if self._min_people is not None and n_people < self._min_people:
            raise RefusedError(
                f"Agent {self._agent!r} only trains on at least {self._min_people:,} people that it knows; this run "
                "has fewer. Its owner may lower min_people, under [allow] in the agent file."
            )

    def standing(self, peer: str, count: PeerCount, day: str) -> list[dict[str, Any]]:
        """Return what is used and left of each limit that is not about one run, as plain values."""
        rows = []
        for limit in self._limits:
            kind = limit.kind
            if kind.span != "run":
                used = count.used(kind.unit, kind.span, day, "")
                rows.append(
                    {
                        "initiator": peer,
                        "limit": kind.key,
                        "counts": f"{kind.unit} {OVER[kind.span]}",
                        "used": used,
                        "allowed": limit.most,
                        "left": max(limit.most - used, 0),
                    }
                )
        return rows

    def of_one_run(self) -> dict[str, int | None]:
        """Return the limits on each run by itself, by their keys; None for no limit."""
        turns = {limit.kind.key: limit.most for limit in self._limits if limit.kind.span == "run"}
        return {"max_turns": None} | turns | {"max_samples": self._max_samples, "min_people": self._min_people}


def _holding(allowance: Allowance, rows: int) -> Iterator[Limit]:
    for kind in KINDS:
        most = _number(getattr(allowance, kind.key), kind.default(rows))
        if most is not None:
            yield Limit(kind, most)


def _number(said: int | str | None, default: int | None) -> int | None:
    """Return a limit: what the owner said, the default where it said nothing, None where it said ``"none"``."""
    if said is None:
        return default
    return said if isinstance(said, int) else None
