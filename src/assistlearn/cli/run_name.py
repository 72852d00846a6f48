"""Make a name for a run that has none."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_name(kind: str) -> str:
    """Return a name with the time and four random characters, because two runs may begin in the same second.

    >>> len(new_name("run"))
    24
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
