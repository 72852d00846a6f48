"""What an agent's owner allows: who may start runs with it, for what, how much, until when."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from assistlearn.agent_files.toml_file import Count, Text
from assistlearn.errors import WrongKeyError

MIN_EFFECTIVE = 3
"""On how many people the ignorance must lie for an agent to take a turn, where its owner says nothing else."""

ANSWER_WITHIN = 14
"""Days in which a request for consent can be answered before it expires, where the owner does not say."""

Most: TypeAlias = Count | Annotated[str, Meta(pattern=r"\Anone\Z", description='"none"')] | None
"""How much is allowed: a number, ``"none"`` for no limit, or None where the file does not say."""


class Allowance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[allow]`` of an agent's file.

    Attributes
    ----------
    initiators : tuple of str
        The agents that may start a run; at least one, unless ``unknown`` says that others may ask.
    purpose : str or None
        The purpose that a run must state, word for word. None: any.
    unknown : {"ask", "refuse"} or None
        What happens to a run of another initiator, or for another purpose: its request waits for the owner's consent
        (:mod:`assistlearn.service.permission`), or it is refused. None, where the file does not say, is ``"ask"``.
    answer_within : int
        Days in which such a request can be answered before it expires.
    max_runs, max_turns, max_total_turns, max_ids_a_day, max_total_ids, max_votes_a_day, max_total_votes, \
    max_total_bits : int, "none" or None
        How much one initiator may ask for; :mod:`assistlearn.service.limits` says what is counted, and what holds where
        the file does not say.
    max_samples : int, "none" or None
        The most samples of one run, of one alignment and of one prediction.
    min_people : int, "none" or None
        How many of a run's training samples this agent must hold.
    min_effective : int
        On how many people the ignorance must lie for the agent to take a turn: the effective sample size.
    proof : bool
        Whether the agent says nothing about a model unless the model is clearly better than chance, on samples that it
        was not fitted to.
    expires : datetime or None
        From this moment on nothing is allowed. It has a time zone. A day may be given in its place; then it is the last
        day that is allowed. None: it never expires.

    Examples
    --------
    >>> allowance = Allowance(("clinic",), expires=dt.date(2029, 12, 31))
    >>> str(allowance.expires)
    '2030-01-01 00:00:00+00:00'
    >>> allowance.expired(dt.datetime(2029, 12, 31, 23, tzinfo=dt.UTC))
    False
    >>> Allowance(("clinic",), expires=dt.date(9999, 12, 31)).expired(dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
    False
    """

    initiators: Annotated[tuple[str, ...], Meta(examples=[["clinic"]])]
    purpose: Text | None = None
    unknown: Literal["ask", "refuse"] | None = None
    answer_within: Annotated[int, Meta(ge=1, le=3650)] = ANSWER_WITHIN
    max_runs: Most = None
    max_samples: Most = None
    min_people: Most = None
    max_turns: Most = None
    max_total_turns: Most = None
    max_ids_a_day: Most = None
    max_total_ids: Most = None
    max_votes_a_day: Most = None
    max_total_votes: Most = None
    max_total_bits: Most = None
    min_effective: Count = MIN_EFFECTIVE
    proof: bool = False
    expires: Any = None  # msgspec cannot accept both a date and a moment in one field

    def __post_init__(self) -> None:
        nobody = not self.initiators and self.unknown != "ask"
        if nobody or not all(name.strip() for name in self.initiators):
            raise WrongKeyError(
                "initiators",
                "allow.initiators names nobody. List the agents that may start a run, or let everybody ask for consent "
                '(unknown = "ask"), or remove [allow].',
            )
        msgspec.structs.force_setattr(self, "expires", _moment(self.expires))

    @property
    def until(self) -> str:
        """Until when something is allowed, in words: the last day, or the moment.

        >>> Allowance(("clinic",), expires=dt.date(2029, 12, 31)).until
        'the end of 2029-12-31'
        """
        if self.expires is None:
            return "ever"
        if self.expires.time() == dt.time() and self.expires.tzinfo is dt.UTC:
            return f"the end of {self.expires.date() - dt.timedelta(days=1)}"
        return str(self.expires)

    def expired(self, now: dt.datetime) -> bool:
        """Return whether the permission has expired at this moment, which must have a time zone."""
        return self.expires is not None and now >= self.expires


def _moment(value: object) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    if value == dt.date.max:  # there is no later day
        return dt.datetime.max.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):
        return dt.datetime.combine(value + dt.timedelta(days=1), dt.time(), tzinfo=dt.UTC)
    if value is not None:
        raise WrongKeyError(
            "expires", f"allow.expires = {value!r} must be a date or a moment without quotes: expires = 2030-12-31"
        )
    return None
