"""How Polars hands memory back. By default it keeps what it has used for a second: a third more than a table needs.

It is told by a variable of the environment, which must be set before Polars is imported. The processes of agents
inherit it. Whoever has set it knows better.
"""

from __future__ import annotations

import os

VARIABLE = "_RJEM_MALLOC_CONF"
SOON = "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:100"
"""After a tenth of a second: at once would cost a third of the time."""


def hand_memory_back() -> None:
    """Let Polars hand memory back soon after it is free."""
    os.environ.setdefault(VARIABLE, SOON)
