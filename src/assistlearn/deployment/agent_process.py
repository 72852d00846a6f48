"""The process of one agent: ``python -m assistlearn.deployment.agent_process agent.toml FD``."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from pathlib import Path

from assistlearn.agents.desk import Desk
from assistlearn.deployment.household import household_of
from assistlearn.deployment.processes import CANNOT_START, receive, send
from assistlearn.errors import AssistLearnError


def main(file: str, descriptor: str) -> int:
    """Answer requests until nobody asks any more; return the exit code."""
    try:
        desk = Desk(household_of(Path(file)))
    except AssistLearnError as error:
        sys.stderr.write(f"{error}\n")
        return CANNOT_START
    with socket.socket(fileno=int(descriptor)) as line, suppress(ConnectionError):  # whoever asked is gone
        while (request := receive(line)) is not None:
            send(line, desk.answer(request))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
