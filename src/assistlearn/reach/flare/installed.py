"""NVIDIA FLARE itself: whether it is installed, and in the version that all this was written for."""

from __future__ import annotations

from importlib import metadata, util

from assistlearn.errors import MissingExtraError
from assistlearn.extras import install_line

VERSION = "2.9.0"
"""``nvflare.collab`` is new; another version may behave differently, so this one is pinned."""


def require_flare() -> None:
    """Raise ``MissingExtraError`` where FLARE is not installed, or another version is."""
    if util.find_spec("nvflare") is None:
        raise MissingExtraError(
            f"Networks of several machines need NVIDIA FLARE, which is not installed: {install_line('flare')}"
        )
    found = metadata.version("nvflare")
    if found != VERSION:
        raise MissingExtraError(
            f"This release works with NVIDIA FLARE {VERSION}; version {found} is installed: "
            f"pip install nvflare=={VERSION}"
        )
