"""Make Polars give free memory back to the system sooner.

By default Polars keeps free memory for a second, and so uses a third more memory than a table needs. An environment
variable changes this. It must be set before Polars is imported. The processes of agents inherit it. A value that the
user has set is kept.
"""

from __future__ import annotations

import os

VARIABLE = "_RJEM_MALLOC_CONF"
SOON = "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0"
"""Give memory back after a tenth of a second, and wholly: muzzy memory still counts as used until the system needs it.
To give all of it back at once would cost a third of the time."""


def hand_memory_back() -> None:
    """Set the environment variable, unless it is set, so that Polars gives memory back soon after it is free."""
    os.environ.setdefault(VARIABLE, SOON)
