"""Locks on files, by which processes wait for each other. A lock ends with the process, however that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistlearn.storage.posix_locks import take, taken_alone, wait_for
else:
    try:
        from assistlearn.storage.posix_locks import take, taken_alone, wait_for
    except ImportError:  # there is no fcntl: this is Windows
        from assistlearn.storage.windows_locks import take, taken_alone, wait_for

__all__ = ["take", "taken_alone", "wait_for"]
