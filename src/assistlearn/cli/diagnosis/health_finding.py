"""One thing that was looked at: how it stands, and the line that mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "look", "wrong"]
"""``missing`` is something that may be installed and need not be; ``look`` may be trouble; ``wrong`` is."""


@dataclass(frozen=True)
class HealthFinding:
    """What was found.

    Attributes
    ----------
    topic : str
        What it belongs to, such as ``"Extras"``.
    name : str
        What was looked at.
    state : {"ok", "missing", "look", "wrong"}
        How it stands.
    says : str
        What was found, in words.
    remedy : str, default=""
        What to type or to do, where something is to be done.
    """

    topic: str
    name: str
    state: State
    says: str
    remedy: str = ""
