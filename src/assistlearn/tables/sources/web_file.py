"""A table on a web server, copied into a temporary file that is removed after the table has been read."""

from __future__ import annotations

import base64
import netrc
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPMessage, HTTPSConnection
from pathlib import Path
from socket import getaddrinfo
from tempfile import TemporaryDirectory
from typing import IO, Any
from urllib.parse import quote, unquote, urlsplit

from assistlearn.agent_files.addresses import is_own_address, is_own_host, refusal_of_own_host, shown
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.table_source import TableUrl
from assistlearn.errors import TableError
from assistlearn.protocol.bounded import within
from assistlearn.tables.sources.remote_trouble import told_apart

SILENCE = 30.0
"""How many seconds may pass without a byte from the server."""

PIECE = 1 << 20


@contextmanager
def web_file(table: TableUrl, place: str, seconds: float, limits: ReadingLimits, local_server: bool) -> Iterator[Path]:
    """Copy a table from a web server into a temporary file, and yield its path. The file is removed afterwards."""
    with TemporaryDirectory(prefix="assistlearn-") as folder:
        file = Path(folder, "table" + ending_of(table))
        with told_apart(table, place):
            within(seconds, _fetch, table.url, file, min(SILENCE, seconds), limits, local_server, place)
        refuse_page(file, table, place)
        yield file


def ending_of(table: TableUrl) -> str:
    """Return the ending of a table's file, which decides how it is read."""
    name = unquote(urlsplit(table.url).path).rpartition("/")[2].lower()
    return next(ending for ending in (".csv.gz", ".csv", ".parquet") if name.endswith(ending))


def refuse_page(file: Path, table: TableUrl, place: str) -> None:
    """Raise ``TableError`` if a server sent a web page, as many do in place of an error."""
    with file.open("rb") as opened:
        start = opened.read(512).lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise TableError(
            f"{place}: {table} gives a web page in place of a table: perhaps one to log in, or an error. Open the URL "
            "in a browser, and name that of the table itself."
        )


def _fetch(url: str, file: Path, silence: float, limits: ReadingLimits, local_server: bool, place: str) -> None:
    guards = () if local_server else (_Http, _Https)
    opener = urllib.request.build_opener(_Redirects, *guards)
    try:
        answered = opener.open(_request(url), timeout=silence)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    except TableError as error:
        raise TableError(f"{place}: {error}") from None
    with answered as answer, file.open("wb") as target:
        expected = answer.headers.get("Content-Length")
        while piece := answer.read(PIECE):
            target.write(piece)
            limits.check_memory(f"{place}: the table {shown(url)}", target.tell())
        if expected is not None and target.tell() != int(expected):
            raise ConnectionResetError(f"IncompleteRead: {target.tell()} of {expected} bytes")


def _request(url: str) -> urllib.request.Request:
    plain = quote(url, safe="%/:=&?~#+!$,;'@()*[]")
    request = urllib.request.Request(plain, headers={"User-Agent": "assistlearn", "Accept-Encoding": "identity"})  # noqa: S310 checked
    host = urlsplit(url).hostname or ""
    known = _known_user(host)
    if known is not None:
        request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(known.encode()).decode()}")
    return request


def _known_user(host: str) -> str | None:
    """Return the user's name and password for a host, with ``:`` between them, if ``~/.netrc`` has them."""
    try:
        known = netrc.netrc().authenticators(host)
    except FileNotFoundError:
        return None
    except (netrc.NetrcParseError, OSError) as error:
        line = getattr(error, "lineno", None)
        raise TableError(
            f"The file ~/.netrc cannot be read{f' (line {line})' if line else ''}. Correct it; it must be yours, and "
            "nobody else may read it."
        ) from None
    return None if known is None else f"{known[0]}:{known[2]}"


def _refuse_own(request: urllib.request.Request) -> None:
    """Refuse a host that is this machine's own by its text, or by an address that its name has."""
    host = urlsplit(request.full_url).hostname or ""
    found = set() if request.has_proxy() or is_own_host(host) else {each[4][0] for each in getaddrinfo(host, None)}
    if is_own_host(host) or any(is_own_address(str(address)) for address in found):
        raise TableError(refusal_of_own_host(f"{host!r}, where the table's URL or a redirect leads,"))


class _Connection(HTTPConnection):
    """A connection that looks at the address it has reached before anything is sent: a name may change its own."""

    def connect(self) -> None:
        super().connect()
        reached = str(self.sock.getpeername()[0])
        if is_own_address(reached):
            self.close()
            raise TableError(refusal_of_own_host(f"{self.host!r} leads to {reached}, which"))


class _SafeConnection(HTTPSConnection, _Connection):
    """The same, encrypted afterwards."""


class _Http(urllib.request.HTTPHandler):
    """Opens ``http://``, but not at this machine's own addresses."""

    def http_open(self, req: urllib.request.Request) -> Any:
        _refuse_own(req)
        return self.do_open(HTTPConnection if req.has_proxy() else _Connection, req)


class _Https(urllib.request.HTTPSHandler):
    """Opens ``https://``, but not at this machine's own addresses."""

    def https_open(self, req: urllib.request.Request) -> Any:
        _refuse_own(req)
        return self.do_open(HTTPSConnection if req.has_proxy() else _SafeConnection, req)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to another place, but never from an encrypted connection to a plain one."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Any:
        if req.type == "https" and not newurl.lower().startswith("https:"):
            raise urllib.error.URLError("redirect from https to another scheme")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
