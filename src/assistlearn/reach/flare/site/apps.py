"""What FLARE runs in a job: one object at the relay, which starts the job and watches it, and one at each site.

Calls between sites are encrypted from end to end (``secure=True``): the relay passes them on and cannot read them.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nvflare.collab import collab

from assistlearn.errors import NetworkError
from assistlearn.protocol import encode
from assistlearn.protocol import messages as m
from assistlearn.reach.flare.carrying.asking import CALL, Asking
from assistlearn.reach.flare.carrying.command_socket import Errand, JobSocket, Outcome
from assistlearn.reach.flare.carrying.pieces import PIECE, Arrivals, check_number
from assistlearn.reach.flare.site import sealing
from assistlearn.reach.flare.site.environment import AGENT_FILE, COMMANDS, SITE
from assistlearn.reach.flare.site.flare_marks import main, published
from assistlearn.reach.flare.site.polled_work import PolledWork

if TYPE_CHECKING:
    from assistlearn.reach.flare.site.answering import Answering

WATCH = 2.0
"""Seconds between two looks of the relay at the initiator's site."""

MISSES = 5
"""How many looks in a row may fail before the relay ends the job."""

logger = logging.getLogger("assistlearn.reach.flare")


class Relay:
    """The relay's part: ask the initiator's site to lead, end the job when it no longer does.

    Parameters
    ----------
    initiator : str
        The site that leads.
    """

    def __init__(self, initiator: str) -> None:
        self._initiator = initiator

    @main
    def start(self) -> str:
        """Start the initiator's session and wait for its end."""
        site = collab.get_clients([self._initiator])[0]
        site(timeout=CALL).lead()
        missed = 0
        while missed < MISSES:
            time.sleep(WATCH)
            if collab.is_aborted:
                return "aborted"
            try:
                if not site(timeout=CALL).leads():
                    return "finished"
                missed = 0
            except Exception as error:  # whatever FLARE raises: the site may answer again
                missed += 1
                logger.warning("%s does not answer: %s", self._initiator, error)
        return f"{self._initiator} is gone"


class Site:
    """A site's part: answer for its agent and, at the initiator, carry requests to the other sites.

    Parameters
    ----------
    command : str
        Which of the initiator's commands this job belongs to: the name of its socket.
    """

    def __init__(self, command: str) -> None:
        from assistlearn.reach.flare.site.answering import Answering  # a large import, which the relay never needs

        if not re.fullmatch(r"[0-9a-f]{32}", command):
            raise NetworkError(f"{command!r} does not name the socket of a command.")
        self._command = command
        self._polled = PolledWork(self._answer)
        self._arrivals = Arrivals()
        self._make_agent = Answering
        self._agent: Answering | None = None
        self._leading: threading.Thread | None = None

    @published
    def ask(self, number: str, request: bytes | None) -> list[Any]:
        """Return how a request of another site stands, how long its answer is, and the answer's first piece."""
        asker = collab.caller
        check_number(number)
        if request is not None and not (isinstance(request, bytes) and len(request) <= PIECE):
            raise NetworkError(f"A request of more than {PIECE} bytes must come in pieces.")
        state, answer = self._polled.ask(asker, number, request or self._arrivals.take(asker, number))
        return [state, len(answer), answer[:PIECE]]

    @published
    def bring(self, number: str, at: int, total: int, piece: bytes) -> int:
        """Keep a piece of a large request; return how many bytes of the request are here.

        An asker whom the agent's owner allows nothing is refused first, and none of its pieces are kept.
        """
        self._answering().check_allowed(collab.caller)
        return self._arrivals.bring(collab.caller, number, at, total, piece)

    @published
    def fetch(self, number: str, start: int) -> bytes:
        """Return a piece of a large answer."""
        state, answer = self._polled.ask(collab.caller, number, None)
        if state != "done" or not 0 <= start < len(answer):
            raise NetworkError("There is no such piece of an answer.")
        return answer[start : start + PIECE]

    @published
    def lead(self) -> None:
        """Begin to carry requests for the command that waits at this site; only the relay may call this."""
        if collab.caller != "server":
            raise NetworkError("Only the relay starts a job.")
        if self._leading is None:
            sites = {site.name: site for site in collab.other_clients}
            socket = JobSocket(Path(os.environ[COMMANDS]), self._command)
            self._leading = threading.Thread(target=_carry, args=(socket, sites), daemon=True)
            self._leading.start()

    @published
    def leads(self) -> bool:
        """Return whether the command at this site is still there."""
        return self._leading is not None and self._leading.is_alive()

    def _answering(self) -> Answering:
        if self._agent is None:
            self._agent = self._make_agent(Path(os.environ[AGENT_FILE]))
        return self._agent

    def _answer(self, asker: str, request: bytes) -> bytes:
        try:
            return self._answering().answer(asker, request)
        except Exception as error:  # the asker must hear of it; the error may quote data, and stays in the log
            logger.exception("The agent cannot answer")
            why = type(error).__name__
        text = f"Agent {os.environ.get(SITE, '?')!r} cannot answer ({why}). Its owner finds the reason in its site.log."
        return encode(m.Problem(run="", kind="failed", text=text))


def _carry(socket: JobSocket, sites: dict[str, Any]) -> None:
    """Run the errands of the command at this site until it hangs up."""
    with socket:
        for errand in socket.errands():
            for outcome in _outcomes(errand, sites):
                socket.report(outcome)


def _outcomes(errand: Errand, sites: dict[str, Any]) -> Iterator[Outcome]:
    if errand.agent not in sites:
        yield Outcome("failed", failure=f"Organisation {errand.agent!r} is not connected to the relay.")
        return
    try:
        yield from Asking(sites[errand.agent], errand, sealing.SECURE).outcomes()
    except Exception as error:  # FLARE raises many kinds; the command decides what to do
        logger.warning("%s does not answer: %s", errand.agent, error)
        yield Outcome("failed", failure=f"Organisation {errand.agent!r} does not answer: {_why(error)}.")


def _why(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    return "no answer in time" if isinstance(cause, TimeoutError) else str(cause).strip().rstrip(".")[:300]
