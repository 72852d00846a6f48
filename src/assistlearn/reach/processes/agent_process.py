"""The process of one agent: ``python -m assistlearn.reach.processes.agent_process agent.toml FD``."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from assistlearn.agent.file import load_description
from assistlearn.errors import AssistLearnError
from assistlearn.reach.framing import receive, send
from assistlearn.reach.processes.process_transport import CANNOT_START, SHARED

if TYPE_CHECKING:
    from assistlearn.agent.service import AgentService


def main(file: str, descriptor: str) -> int:
    """Answer requests until nobody asks any more; return the exit code."""
    try:
        service = service_of(Path(file))
    except (AssistLearnError, OSError) as error:  # the text of an OSError names the file
        sys.stderr.write(f"{error}\n")
        return CANNOT_START
    with _socket(descriptor) as end, suppress(ConnectionError):  # whoever asked is gone
        while (request := receive(end)) is not None:
            send(end, service.answer(request))
    return 0


def _socket(descriptor: str) -> socket.socket:
    """Return the socket on which requests come."""
    if descriptor == SHARED:
        end: socket.socket = getattr(socket, "fromshare")(sys.stdin.buffer.read())  # noqa: B009  known on Windows only
        return end
    return socket.socket(fileno=int(descriptor))


def service_of(file: Path) -> AgentService:
    """Return the service of an agent's file, which is read before the slow imports, to show its faults at once."""
    description = load_description(file)
    from assistlearn.agent.loading import from_loaded, load_agent
    from assistlearn.agent.service import AgentService

    return AgentService(from_loaded(load_agent(description)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
