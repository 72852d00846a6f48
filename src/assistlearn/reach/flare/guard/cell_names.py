"""Names of cells (FLARE's word for processes): ``bank`` is a site, ``bank.<job>`` a job at it, ``server`` the relay."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

RELAY = "server"
"""What FLARE calls the relay."""

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_JOB = re.compile(_UUID)
_CELL = re.compile(rf"([A-Za-z0-9][A-Za-z0-9_-]{{0,62}})(?:\.({_UUID}))?")
_ADMIN = re.compile(r"_admin_[0-9a-f-]{32,36}")


class CellName(NamedTuple):
    """A cell's name, in its parts.

    Attributes
    ----------
    site : str
        An organisation, the relay, or an admin's session.
    job : str
        The job that it belongs to; empty for the site itself.
    """

    site: str
    job: str = ""

    @property
    def is_admin(self) -> bool:
        """Whether it is a session of an admin."""
        return self.site.startswith("_")


@lru_cache(maxsize=1024)
def parsed(name: str) -> CellName | None:
    """Return the parts of a cell's name, or None where no cell of ours can have it.

    >>> parsed("bank")
    CellName(site='bank', job='')
    >>> parsed("bank.53ff6d65-22d2-42f9-9f10-3c34bba2b433").site
    'bank'
    >>> parsed("bank.models") is parsed("../bank") is None
    True
    """
    if found := _CELL.fullmatch(name):
        return CellName(found[1], found[2] or "")
    return CellName(name) if _ADMIN.fullmatch(name) else None


def is_job(name: object) -> bool:
    """Return whether this can be the name of a job: FLARE names jobs by UUIDs.

    >>> is_job("../models")
    False
    """
    return isinstance(name, str) and _JOB.fullmatch(name) is not None


def plain(text: object, length: int = 80) -> str:
    r"""Return a text from outside, shortened, with ``?`` for every character that a terminal could obey.

    >>> plain("sys.shell\x1b[2J")
    'sys.shell?[2J'
    """
    short = text[:length] if isinstance(text, str) else type(text).__name__
    return "".join(letter if letter.isprintable() else "?" for letter in short)
