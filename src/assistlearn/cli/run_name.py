"""What a run is called that nobody gave a name."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime


def new_name(kind: str) -> str:
    """Return a name with the time, and four letters of chance: two runs may begin within a second.

    >>> len(new_name("run"))
    24
    """
    return f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
