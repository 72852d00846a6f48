"""Objects in a store such as S3: list them with their versions, and copy their bytes.

Credentials come from the environment. Every request has a time limit, and is tried again twice at the most.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any, BinaryIO, cast

from assistlearn.agent_files.addresses import scheme_of
from assistlearn.agent_files.reading_limits import ReadingLimits
from assistlearn.agent_files.table_source import TableUrl
from assistlearn.errors import MissingExtraError, MissingTableError
from assistlearn.extras import install_line

RETRIES = 2
CONNECTING, ANSWERING = 10, 60
"""Seconds for a connection, and for an answer with one piece of an object."""

PIECE, AT_ONCE = 33 << 20, 2
"""Bytes of a piece, and how many pieces are fetched at a time. Linux takes blocks above 32 MiB back as soon as they are
free; smaller ones would stay with the process while the table is read."""


@dataclass(frozen=True)
class RemoteObject:
    """One object, in the version that it has now: its key, its size, and the store's mark of the version."""

    key: str
    size: int
    version: str


class RemoteObjects:
    """The objects that a URL of a store names: one object, or all below a prefix that ends in ``/``."""

    def __init__(self, table: TableUrl) -> None:
        self._scheme = scheme_of(table.url)
        self._bucket, _, self.key = table.url.partition("://")[2].partition("/")

    def url(self, key: str) -> str:
        """Return the URL of an object."""
        return f"{self._scheme}://{self._bucket}/{key}"

    @contextmanager
    def opened(self, url: str) -> Iterator[BinaryIO]:
        """Open an object, to read a few pieces of it."""
        from obstore import open_reader

        yield cast(BinaryIO, open_reader(self._store, url.partition("://")[2].partition("/")[2]))

    def look(self) -> list[RemoteObject]:
        """Return the objects that there are now."""
        if not self.key or self.key.endswith("/"):
            metas = [meta for batch in self._store.list(self.key or None) for meta in batch]
        else:
            metas = [self._store.head(self.key)]
        return [_object(meta) for meta in metas]

    def fetch(self, file: Path, limits: ReadingLimits) -> None:
        """Write the object into a file, piece by piece, all of one version."""
        (wanted,) = self.look()
        limits.check_memory(self.url(self.key), wanted.size)
        with file.open("wb") as target, ThreadPool(AT_ONCE) as pool:  # its threads do not keep the program from ending
            fetch = partial(self._fetch_piece, wanted, target.fileno())
            for _ in pool.imap_unordered(fetch, range(0, wanted.size, PIECE)):
                pass
        if file.stat().st_size != wanted.size:
            raise ConnectionResetError(f"IncompleteRead: {file.stat().st_size} of {wanted.size} bytes")

    def _fetch_piece(self, wanted: RemoteObject, target: int, start: int) -> None:
        options = {"range": (start, min(start + PIECE, wanted.size)), "if_match": wanted.version or None}
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


def engine_options() -> dict[str, Any]:
    """Return the limits for the engine when it reads from a store. Its pieces are larger, so they may take longer."""
    return {"max_retries": RETRIES, "timeout": f"{5 * ANSWERING}s", "connect_timeout": f"{CONNECTING}s"}


def require_some(objects: list[Any], table: TableUrl, place: str) -> None:
    """Raise ``MissingTableError`` if there is no Parquet file below a prefix."""
    if not objects:
        raise MissingTableError(
            f"{place}: below {table} there is no Parquet file: none ends in .parquet. Correct the URL, or put one in."
        )


def _object(meta: Any) -> RemoteObject:
    return RemoteObject(meta["path"], meta["size"], meta["e_tag"] or "")


def _not_installed() -> MissingExtraError:
    return MissingExtraError(f"A table in an object store needs more packages: {install_line('s3')}")


def _profile() -> dict[str, Any]:
    """Return the credentials of an AWS profile; nothing where the environment has a key, or there is no profile."""
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
