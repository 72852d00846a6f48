"""Tables on a web server or in an object store: Parquet is read in the store, all else is copied here first."""

from __future__ import annotations

import base64
import netrc
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from multiprocessing.pool import ThreadPool
from pathlib import Path
from socket import getaddrinfo
from tempfile import TemporaryDirectory
from typing import IO, Any, BinaryIO, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

import polars as pl

from assistlearn.errors import AssistLearnError, MissingExtraError, MissingTableError, TableError
from assistlearn.extras import install_line
from assistlearn.protocol.codec import within
from assistlearn.tables.settings import (
    WEB,
    ReadingLimits,
    TableUrl,
    credentials_go_to,
    is_own_address,
    is_own_host,
    refusal_of_own_host,
    scheme_of,
    shown,
)
from assistlearn.tables.sources.parquet import ParquetFile, ParquetSource, partition_of, table_files

Result = TypeVar("Result")

SILENCE = 30.0
"""How many seconds may pass without a byte from the server."""

PIECE = 1 << 20

RETRIES = 2

CONNECTING, ANSWERING = 10, 60
"""Seconds for a connection, and for an answer with one piece of an object."""

OBJECT_PIECE, AT_ONCE = 33 << 20, 2
"""Bytes of a piece, and how many pieces are fetched at a time. Linux takes blocks above 32 MiB back as soon as they are
free; smaller ones would stay with the process while the table is read."""


@contextmanager
def remote_file(
    table: TableUrl, place: str, seconds: float, limits: ReadingLimits, local_server: bool
) -> Iterator[Path]:
    with TemporaryDirectory(prefix="assistlearn-") as folder:
        file = Path(folder, "table" + ending_of(table))
        with named_errors(table, place):
            if scheme_of(table.url) in WEB:
                within(seconds, _fetch, table.url, file, min(SILENCE, seconds), limits, local_server, place)
            else:
                within(seconds, RemoteObjects(table).fetch, file, limits)
        refuse_page(file, table, place)
        yield file


def refuse_page(file: Path, table: TableUrl, place: str) -> None:
    """Refuse a web page, which many servers send in place of an error."""
    with file.open("rb") as opened:
        start = opened.read(512).lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if start.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise TableError(
            f"{place}: {table} gives a web page in place of a table: perhaps one to log in, or an error. Open the URL "
            "in a browser, and name that of the table itself."
        )


def ending_of(table: TableUrl) -> str:
    name = unquote(urlsplit(table.url).path).rpartition("/")[2].lower()
    return next(ending for ending in (".csv.gz", ".csv", ".parquet") if name.endswith(ending))


def _fetch(url: str, file: Path, silence: float, limits: ReadingLimits, local_server: bool, place: str) -> None:
    guards = () if local_server else (_Guarded,)
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
    known = _known_user(urlsplit(url).hostname or "")
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


class _Guarded(urllib.request.HTTPSHandler, urllib.request.HTTPHandler):
    """Opens ``http://`` and ``https://``, but not at this machine's own addresses."""

    def http_open(self, req: urllib.request.Request) -> Any:
        _refuse_own(req)
        return self.do_open(HTTPConnection if req.has_proxy() else _Connection, req)

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


# Objects in a store such as S3. Credentials come from the environment; every request has a time limit, and is tried
# again twice at the most.


class ObjectParquetSource:
    """Parquet in an object store: one object, or all below a prefix. Objects that change while read are refused."""

    from_text = False

    def __init__(self, table: TableUrl, place: str, seconds: float, limits: ReadingLimits) -> None:
        self._table = table
        self._place = place
        self._seconds = seconds
        self._limits = limits
        self._objects = RemoteObjects(table)
        self._seen = self._bounded(self._objects.look)
        self._parquet = self._source()

    def names(self) -> list[str]:
        return self._bounded(self._parquet.names)

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Refuse objects that have changed in the meantime."""
        try:
            frame = self._bounded(self._parquet.read, columns, text)
        except TableError:
            self._refuse_changed()  # if it was changed, that explains the error
            raise
        self._refuse_changed()
        return frame

    def _source(self) -> ParquetSource:
        if not self._seen:
            raise MissingTableError(
                f"{self._place}: below {self._table} there is no Parquet file: none ends in .parquet. Correct the URL, "
                "or put one in."
            )
        n = self._objects.key.rfind("/") + 1
        files = [
            ParquetFile(self._objects.url(each.key), self._objects.url(each.key), partition_of(each.key[n:]))
            for each in self._seen
        ]
        trouble = partial(trouble_with, table=self._table, place=self._place)
        source = (files, str(self._table), self._limits, self._seconds)
        return ParquetSource(*source, engine_options(), trouble, self._objects.opened)

    def _refuse_changed(self) -> None:
        if self._bounded(self._objects.look) != self._seen:
            raise TableError(
                f"{self._place}: the table {self._table} was changed while it was read. Try again. Write tables under "
                "a new name, so that nobody reads half of one."
            )

    def _bounded(self, work: Callable[..., Result], *arguments: object) -> Result:
        with named_errors(self._table, self._place):
            return within(self._seconds, work, *arguments)


@dataclass(frozen=True)
class RemoteObject:
    key: str
    size: int
    version: str


class RemoteObjects:
    """One object, or all below a prefix that ends in ``/``."""

    def __init__(self, table: TableUrl) -> None:
        self._scheme = scheme_of(table.url)
        self._bucket, _, self.key = table.url.partition("://")[2].partition("/")

    def url(self, key: str) -> str:
        return f"{self._scheme}://{self._bucket}/{key}"

    @contextmanager
    def opened(self, url: str) -> Iterator[BinaryIO]:
        from obstore import open_reader

        yield cast(BinaryIO, open_reader(self._store, url.partition("://")[2].partition("/")[2]))

    def look(self) -> list[RemoteObject]:
        """Return the objects that there are now; below a prefix, the Parquet files of a table."""
        if self.key and not self.key.endswith("/"):
            return [_object(self._store.head(self.key))]
        found = [_object(meta) for batch in self._store.list(self.key or None) for meta in batch]
        below = {each.key[len(self.key) :]: each for each in found}
        return [below[key] for key in table_files(below)]

    def fetch(self, file: Path, limits: ReadingLimits) -> None:
        """Write the object into a file, all pieces of one version."""
        (wanted,) = self.look()
        limits.check_memory(self.url(self.key), wanted.size)
        with file.open("wb") as target, ThreadPool(AT_ONCE) as pool:  # its threads do not keep the program from ending
            fetch = partial(self._fetch_piece, wanted, target.fileno())
            for _ in pool.imap_unordered(fetch, range(0, wanted.size, OBJECT_PIECE)):
                pass
        if file.stat().st_size != wanted.size:
            raise ConnectionResetError(f"IncompleteRead: {file.stat().st_size} of {wanted.size} bytes")

    def _fetch_piece(self, wanted: RemoteObject, target: int, start: int) -> None:
        options = {
            "range": (start, min(start + OBJECT_PIECE, wanted.size)),
            "if_match": wanted.version or None,
        }
        piece = memoryview(self._store.get(self.key, options=options).bytes())
        while piece:
            written = os.pwrite(target, piece, start)
            piece, start = piece[written:], start + written

    @cached_property
    def _store(self) -> Any:
        try:
            from obstore import store
        except ImportError as error:
            raise _not_installed() from error
        from_url: Any = store.from_url  # its parameters depend on the scheme, which is known only at run time
        client: dict[str, Any] = {"timeout": f"{ANSWERING}s", "connect_timeout": f"{CONNECTING}s"}
        if os.environ.get("AWS_ENDPOINT_URL", "").lower().startswith("http://"):
            client["allow_http"] = True  # the owner chose a server without encryption
        retries: Any = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=ANSWERING)}
        more = _profile() if self._scheme == "s3" else {}
        return from_url(f"{self._scheme}://{self._bucket}", client_options=client, retry_config=retries, **more)


def _object(meta: Any) -> RemoteObject:
    return RemoteObject(meta["path"], meta["size"], meta["e_tag"] or "")


def engine_options() -> dict[str, Any]:
    """Return the limits for the engine when it reads from a store. Its pieces are larger, so they may take longer."""
    return {"max_retries": RETRIES, "timeout": f"{5 * ANSWERING}s", "connect_timeout": f"{CONNECTING}s"}


def _not_installed() -> MissingExtraError:
    return MissingExtraError(f"A table in an object store needs more packages: {install_line('s3')}")


def _profile() -> dict[str, Any]:
    """Return an AWS profile's credentials; nothing where the environment has a key."""
    named, home = os.environ.get("AWS_PROFILE"), Path("~/.aws").expanduser()
    if "AWS_ACCESS_KEY_ID" in os.environ or (named is None and not (home / "credentials").is_file()):
        return {}
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as error:
        raise _not_installed() from error
    session = boto3.Session()
    region = {"region": session.region_name} if session.region_name else {}
    return {"credential_provider": Boto3CredentialProvider(session), **region}


# Servers quote keys and signatures in their answers. So an error shows our own words and the status, and nothing else
# of an answer.

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
def named_errors(table: TableUrl, place: str) -> Iterator[None]:
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
    message = f"{type(error).__name__}: {error} {getattr(error, 'reason', '')!r}"
    if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in message:
        message += " NoSuchKey"
    found = next(((what, remedy) for sign, what, remedy in _SIGNS if re.search(sign, message)), None)
    status = _STATUS.search(message)
    if found is None and status is None and not _is_remote(error, message):
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


def _is_remote(error: BaseException, message: str) -> bool:
    about_files = "parquet" in message.lower() and "object-store" not in message
    own = isinstance(error, OSError | HTTPException) or type(error).__module__.startswith(("obstore", "botocore"))
    return ("object-store error" in message or own) and not about_files
