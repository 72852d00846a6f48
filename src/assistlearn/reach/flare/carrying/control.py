"""The initiator's session with the relay: it lists who is connected, submits jobs and ends them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from functools import partial
from io import StringIO
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assistlearn.errors import NetworkError
from assistlearn.protocol.codec import within
from assistlearn.reach.flare.provisioning.kit import Kit

CONNECT = 10.0
"""Seconds to reach the relay."""

PATIENCE = 60.0
"""Seconds for anything that is done at the relay. FLARE itself may wait for ever, for example when it ends a
session with a relay that it has not reached."""


_one_at_a_time = threading.Lock()
"""Held while FLARE's output is kept from standard output, which all threads share."""


class Control:
    """A session with the relay, under the name in an admin kit.

    Parameters
    ----------
    kit : Kit
        The admin kit.
    """

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._session: Any = None

    def connected(self) -> list[str]:
        """Return the sites that are connected to the relay."""
        return [client.name for client in self._do("get_connected_client_list")]

    def submit(self, job: Path) -> str:
        """Submit a job and return its name."""
        return str(self._do("submit_job", str(job)))

    def status(self, job: str) -> str:
        """Return the status of a job in FLARE's words, such as ``RUNNING``."""
        return str(self._do("get_job_status", job))

    def facts(self, job: str) -> dict[str, Any]:
        """Return what the relay knows of a job."""
        return dict(self._do("get_job_meta", job))

    def abort(self, job: str) -> None:
        """End a job; an error is only logged, since the job may have ended already."""
        try:
            self._do("abort_job", job)
        except NetworkError as error:
            logging.getLogger("assistlearn.reach.flare").info("Job %s: %s", job, error)

    def close(self) -> None:
        """End the session."""
        if self._session is not None:
            session, self._session = self._session, None
            with suppress(TimeoutError):
                within(CONNECT, session._close_ignore_errors)

    def _do(self, verb: str, *arguments: Any) -> Any:
        """Call a method of FLARE's session; connect first, and once more where the connection was lost."""
        for last in (False, True):
            try:
                if self._session is None:
                    self._session = self._connect()
                return within(PATIENCE, getattr(self._session, verb), *arguments)
            except Exception as error:  # FLARE raises many kinds for a lost connection
                self.close()
                if last or isinstance(error, NetworkError):
                    raise NetworkError(self._why(error)) from None
        raise AssertionError

    def _connect(self) -> Any:
        from nvflare.fuel.flare_api.flare_api import new_secure_session

        silence_flare()
        try:
            with _one_at_a_time, redirect_stdout(StringIO()):
                return within(
                    PATIENCE, partial(new_secure_session, timeout=CONNECT), self._kit.name, str(self._kit.folder)
                )
        except Exception as error:
            raise NetworkError(self._why(error)) from None

    def _why(self, error: Exception) -> str:
        if isinstance(error, NetworkError):
            return str(error)
        return (
            f"The relay at {self._kit.host}:{self._kit.port} does not accept commands from {self._kit.name!r}: "
            f"{type(error).__name__}: {error}. Check whether the relay is running: assistlearn site check "
            f"{self._kit.folder}"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def silence_flare() -> None:
    """Keep FLARE's own log out of a command's output; the command itself says what matters in it."""
    log = logging.getLogger("nvflare")
    log.propagate = False
    log.addHandler(logging.NullHandler())


def missing(wanted: Sequence[str], connected: Sequence[str]) -> list[str]:
    """Return who is wanted but not connected."""
    return [name for name in wanted if name not in connected]
