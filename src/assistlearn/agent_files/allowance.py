"""What an agent's owner allows: who may start runs with it, for what, how many, how large, until when."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from assistlearn.agent_files.keys import Keys

KEYS = ("initiators", "purpose", "max_runs", "max_samples", "expires")


@dataclass(frozen=True)
class Allowance:
    """The table ``[allow]`` of an agent's file.

    Attributes
    ----------
    initiators : tuple of str
        The agents that may start a run; at least one.
    purpose : str or None
        The purpose that a run must state, word for word. None: any.
    max_runs : int or None
        How many runs may be started in all. None: any number.
    max_samples : int or None
        How many samples one run may have. None: any number.
    expires : datetime or None
        From this moment on nothing is allowed; it has a time zone. None: never.

    Examples
    --------
    >>> allowance = Allowance(("clinic",), expires=dt.datetime(2030, 1, 1, tzinfo=dt.UTC))
    >>> allowance.expired(dt.datetime(2029, 12, 31, tzinfo=dt.UTC))
    False
    """

    initiators: tuple[str, ...]
    purpose: str | None = None
    max_runs: int | None = None
    max_samples: int | None = None
    expires: dt.datetime | None = None

    def expired(self, now: dt.datetime) -> bool:
        """Whether nothing is allowed any more at this moment, which must have a time zone."""
        return self.expires is not None and now >= self.expires


def read_allowance(keys: Keys) -> Allowance:
    """Return the allowance that these keys describe."""
    keys.required("initiators", 'initiators = ["clinic"]')
    initiators = keys.texts("initiators")
    if not initiators or not all(name.strip() for name in initiators):
        raise keys.error(
            "initiators", "allow.initiators names nobody. List the agents that may start a run, or remove [allow]."
        )
    return Allowance(
        initiators=initiators,
        purpose=keys.text("purpose"),
        max_runs=keys.count("max_runs"),
        max_samples=keys.count("max_samples"),
        expires=_moment(keys),
    )


def _moment(keys: Keys) -> dt.datetime | None:
    value = keys.get("expires")
    if value is None:
        return None
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    if isinstance(value, dt.date):  # the day itself is still allowed
        return dt.datetime.combine(value + dt.timedelta(days=1), dt.time(), tzinfo=dt.UTC)
    raise keys.error(
        "expires", f"allow.expires = {value!r} must be a date or a moment without quotes: expires = 2030-12-31"
    )
