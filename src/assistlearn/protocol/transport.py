"""The transport: it carries the bytes of a request to an agent, and the bytes of the reply back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from assistlearn.errors import UnreachableError


class Transport(Protocol):
    """Carries a request to an agent and its reply back."""

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply; raise ``UnreachableError`` where there is none."""
        ...


class MemoryTransport:
    """Agents in this process, reached through the same bytes as any others.

    >>> MemoryTransport({"lab": lambda request: request.upper()}).ask("lab", b"hello")
    b'HELLO'
    """

    def __init__(self, services: Mapping[str, Callable[[bytes], bytes]]) -> None:
        self._services = services

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return what the service of the agent answers."""
        if agent not in self._services:
            raise UnreachableError(f"There is no agent {agent!r} here. The agents are {sorted(self._services)}.")
        return self._services[agent](request)
