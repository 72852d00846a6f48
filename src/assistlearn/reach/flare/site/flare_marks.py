"""FLARE's marks for the methods that it may call, with the types that FLARE itself does not declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from nvflare.collab import collab

Method = TypeVar("Method", bound=Callable[..., Any])


def main(method: Method) -> Method:
    """Mark the method with which a job begins, at the relay."""
    marked: Method = collab.main(method)
    return marked


def published(method: Method) -> Method:
    """Mark a method that other sites, and the relay, may call."""
    marked: Method = collab.publish(method)
    return marked
