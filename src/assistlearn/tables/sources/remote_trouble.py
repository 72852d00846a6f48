"""Errors between this machine and a server that holds tables: what went wrong, and what to do.

Servers quote keys and signatures in their answers. So an error shows our own words and the status, and nothing else of
an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException

from assistlearn.agent_files.addresses import credentials_go_to
from assistlearn.agent_files.table_source import TableUrl
from assistlearn.errors import AssistLearnError, MissingTableError, TableError

_STATUS = re.compile(r"(?:status code:|HTTP Error) (\d{3})")
_SIGNS = (
    (r"No space left|quota exceeded", "there is no room for a copy of it on this machine", "room"),
    (r"169\.254\.169\.254|NoCredentials|ProfileNotFound|metadata server|Account must be",
     "no credentials were found", "credentials"),
    (r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken",
     "the credentials are refused", "credentials"),
    (r"NoSuchBucket|ContainerNotFound", "there is no such bucket", "missing"),
    (r"AccessDenied|status code: 40[13]|HTTP Error 40[13]", "access is denied", "credentials"),
    (r"NoSuchKey|status code: 404|HTTP Error 4(04|10)|No such file", "there is no such table", "missing"),
    (r"PermanentRedirect|status code: 301|configured region", "the bucket is in another region", "region"),
    (r"status code: 412|Precondition", "it was changed while it was read", "again"),
    (r"dns error|Name or service not known|gaierror|No address associated|^Unicode", "there is no such host", "host"),
    (r"Connection refused", "the connection is refused", "server"),
    (r"certificate|CERTIFICATE|UnknownIssuer", "its certificate is not trusted", "certificate"),
    (r"timed out|Timeout", "the server does not answer in time", "late"),
    (r"IncompleteRead|body error|end of file|connection closed|ConnectionReset|RemoteDisconnected|reset by peer",
     "the connection broke, and only a part has come", "again"),
    (r"redirect|HTTP Error 30\d", "it redirects without end, or to where a table must not be fetched from", "url"),
)  # fmt: skip
_REMEDIES = {
    "room": "Make room in the folder for temporary files, or name another one: set TMPDIR in the environment.",
    "missing": "Correct the URL, or put the table there.",
    "region": "Name its region: set AWS_REGION in the environment.",
    "again": "Try again; write tables under a new name, so that nobody reads half of one.",
    "host": "Correct the URL{endpoint}, or check the network.",
    "late": "Check whether the server runs. If it needs more time, raise read_seconds in the agent's file.",
    "server": "Check whether the server runs and can be reached from here, then try again.",
    "certificate": "Ask its owner to correct that, or name the certificates of your own authority in SSL_CERT_FILE.",
    "url": "Name the URL of the table itself.",
}


@contextmanager
def told_apart(table: TableUrl, place: str) -> Iterator[None]:
    """Turn what libraries say about a server into an error that names the agent's file, the URL and the remedy."""
    try:
        yield
    except AssistLearnError:
        raise
    except Exception as error:
        known = trouble_with(error, table, place)
        if known is None:
            raise
        raise known from None


def trouble_with(error: BaseException, table: TableUrl, place: str) -> TableError | None:
    """Return our own error for this one; None where it is not about a server."""
    said = f"{type(error).__name__}: {error} {getattr(error, 'reason', '')!r}"
    if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in said:
        said += " NoSuchKey"
    found = next(((what, remedy) for sign, what, remedy in _SIGNS if re.search(sign, said)), None)
    status = _STATUS.search(said)
    if found is None and status is None and not _is_remote(error, said):
        return None
    failed = f"the server failed, with status {status[1]}" if status else "the server does not speak as expected"
    what, remedy = found or (failed, "server")
    kind = MissingTableError if remedy == "missing" else TableError
    if remedy == "credentials":
        advice = f"Put credentials that may read it into {credentials_go_to(table.url)}."
    else:
        endpoint = ", or AWS_ENDPOINT_URL in the environment" if table.url.startswith("s3:") else ""
        advice = _REMEDIES[remedy].format(endpoint=endpoint)
    return kind(f"{place}: the table {table} cannot be read: {what}. {advice}")


def _is_remote(error: BaseException, said: str) -> bool:
    about_files = "parquet" in said.lower() and "object-store" not in said
    own = isinstance(error, OSError | HTTPException) or type(error).__module__.startswith(("obstore", "botocore"))
    return ("object-store error" in said or own) and not about_files
