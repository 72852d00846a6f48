"""The process of one agent: ``python -m assistlearn.reach.processes.agent_process agent.toml FD``."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from pathlib import Path

from assistlearn.errors import AssistLearnError
from assistlearn.reach.framing import receive, send
from assistlearn.reach.processes.process_transport import CANNOT_START
from assistlearn.service.agent_from_file import holdings_of
from assistlearn.service.service import AgentService


def main(file: str, descriptor: str) -> int:
    """Answer requests until nobody asks any more; return the exit code."""
    try:
        service = AgentService(holdings_of(Path(file)))
    except AssistLearnError as error:
        sys.stderr.write(f"{error}\n")
        return CANNOT_START
    with socket.socket(fileno=int(descriptor)) as end, suppress(ConnectionError):  # whoever asked is gone
        while (request := receive(end)) is not None:
            send(end, service.answer(request))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
