"""Errors of a PostgreSQL server or its driver in our own words, with the remedy."""

from __future__ import annotations

import re

from assistlearn.errors import MissingTableError, TableError

_PASSWORD = "Put the password into PGPASSWORD in the environment, or into ~/.pgpass (which only you may read)."  # noqa: S105
_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("no password supplied", "it wants a password, and none was found", _PASSWORD),
    ("password authentication failed|pg_hba", "it does not let this user in", f"Name the user in the URL. {_PASSWORD}"),
    ("could not translate host name", "there is no such host", "Correct the URL."),
    ("Connection refused|No such file", "the connection is refused", "Check whether it runs, and on which port."),
    ('database ".*" does not exist', "there is no such database", "Correct the URL."),
    ("timeout expired|timed out", "it cannot be reached in time", "Check the network, or correct the URL."),
    ("SSL|certificate", "the encrypted connection failed", "Check sslmode and sslrootcert in the URL."),
    ("service file|definition of service", "the service is not known", "Check ~/.pg_service.conf or PGSERVICEFILE."),
    ("canceling statement due to statement timeout", "the query took too long",
     "Raise read_seconds in the agent's file, or make the query quicker."),
    ("starting up|shutting down|too many clients|remaining connection slots", "it is busy, or not up yet",
     "Try again in a while."),
    ("permission denied", "the user may not read all of it", "Ask its owner for: grant select on ... to ..."),
    ("read-only transaction|data-modifying statement", "the query would write", "It must be one SELECT."),
    ("server closed the connection|terminating connection|connection not open|SSL SYSCALL|no COPY in progress",
     "the connection broke", "Try again."),
)  # fmt: skip


def in_words(error: Exception, database: str, place: str) -> TableError:
    """Return our own error for one of the driver: what is wrong with the server, or with the query."""
    said = str(error)
    for sign, what, remedy in _SIGNS:
        if re.search(sign, said):
            kind = MissingTableError if what.startswith("there is no") else TableError
            return kind(f"{place}: {database} cannot be read: {what}. {remedy}")
    if "Failed to connect" in said:
        reason = said.partition("failed: ")[2] or said.partition("Failed to connect: ")[2]
        return TableError(f"{place}: {database} cannot be reached: {_line(reason)}. Correct the URL.")
    found = re.search(r"ERROR:\s*(.*)", said)
    reason = found[1] if found else said
    return TableError(
        f"{place}: the query failed: {_line(reason)}. It must be one SELECT, and only that. Correct it, or the "
        "database."
    )


def _line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")
