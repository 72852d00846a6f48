"""The transport: it carries the bytes of a request to an agent, and those of the reply back, in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from assistlearn.errors import UnreachableError


class Transport(Protocol):
    """Carries a request to an agent and its reply back."""

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply; raise ``UnreachableError`` where there is none."""


class MemoryTransport:
    """Agents in this process, reached through the same bytes as any others.

    >>> MemoryTransport({"lab": lambda request: request.upper()}).ask("lab", b"hello")
    b'HELLO'
    """

    def __init__(self, services: Mapping[str, Callable[[bytes], bytes]]) -> None:
        self._services = services

    def ask(self, agent: str, request: bytes) -> bytes:
        if agent not in self._services:
            raise UnreachableError(f"There is no agent {agent!r} here. The agents are {sorted(self._services)}.")
        return self._services[agent](request)


Result = TypeVar("Result")


def within(seconds: float, work: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of some work; raise ``TimeoutError`` if it takes longer than ``seconds``.

    FLARE, and servers of tables, may wait without limit. The work then goes on in a thread, which does not keep the
    program from ending.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work(*arguments))
        except BaseException as error:  # raised by the caller, below
            errors.append(error)

    thread = threading.Thread(target=do, name=f"within {seconds:g} s", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]
