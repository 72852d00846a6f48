"""Check URLs of tables and databases: they must be of a known kind, and must not hold a secret."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from assistlearn.errors import WrongKeyError

STORES = ("s3", "gs", "az")
WEB = ("https", "http")
DATABASES = ("postgresql", "postgres")
ENDINGS = (".csv", ".csv.gz", ".parquet")

_SECRET = re.compile(r"sig$|signature|token|password|passwd|secret|credential|api_?key|access_?key", re.IGNORECASE)
_WHERE = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, in the environment",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS in the environment",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY in the environment",
    "https": "the file ~/.netrc, by the name of the host",
    "http": "the file ~/.netrc, by the name of the host",
    "postgresql": "PGPASSWORD in the environment, or the file ~/.pgpass",
    "postgres": "PGPASSWORD in the environment, or the file ~/.pgpass",
}


def is_url(text: str) -> bool:
    r"""Return whether the place of a table is a URL and not a path.

    >>> is_url("s3://lab/visits.parquet"), is_url("tables/visits.parquet"), is_url("C:\\lab.csv")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def scheme_of(url: str) -> str:
    """Return the scheme of a URL, in lower case."""
    return url.partition("://")[0].lower()


def shown(url: str) -> str:
    """Return a URL as it may be shown: without what follows ``?`` and ``#``, which may be private.

    >>> shown("https://lab.example/visits.csv?day=3")
    'https://lab.example/visits.csv'
    """
    return re.split(r"[?#]", url, maxsplit=1)[0]


def credentials_go_to(url: str) -> str:
    """Return where the owner puts the credentials for a server."""
    return _WHERE[scheme_of(url)]


def check_table_url(url: str) -> None:
    """Raise ``WrongKeyError`` if a table cannot be read from a URL, or if the URL holds a secret."""
    parts = _parts(url, "table", (*STORES, *WEB))
    if parts.scheme in DATABASES:
        raise WrongKeyError("table", f"{shown(url)!r} is a database: write it as database = ..., with query = ...")
    if parts.username is not None:
        _refuse_secret("table", url, "a user's name")
    path = unquote(parts.path)
    if parts.scheme in WEB and path.endswith("/"):
        raise WrongKeyError(
            "table", f"the table {shown(url)!r} is a folder, which web servers do not list. Name a file."
        )
    if not path.lower().endswith((*ENDINGS, "/")):
        raise WrongKeyError(
            "table",
            f"the format of the table {shown(url)!r} is not known. It must end in {', '.join(ENDINGS)}, or in / for "
            "all Parquet files below.",
        )


def check_database_url(url: str) -> None:
    """Raise ``WrongKeyError`` if a URL is not that of a known kind of database, or if it holds a secret."""
    _parts(url, "database", DATABASES)


def _parts(url: str, key: str, known: tuple[str, ...]) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise WrongKeyError(key, f"{key} is no URL that can be read: {error}. Correct it.") from None
    if parts.scheme not in (*known, *DATABASES):
        listed = ", ".join(f"{each}://" for each in known)
        hint = " Write the path of a file without file://." if parts.scheme == "file" else ""
        raise WrongKeyError(key, f"{key} begins with {parts.scheme}://, which is not known.{hint} Known are {listed}.")
    if parts.password is not None:
        _refuse_secret(key, url, "a password")
    for name, _value in parse_qsl(parts.query, keep_blank_values=True):
        if _SECRET.search(name):
            _refuse_secret(key, url, repr(name))
    if not parts.netloc and parts.scheme not in DATABASES:
        raise WrongKeyError(
            key, f"{key} = {shown(url)!r} names no {'host' if parts.scheme in WEB else 'bucket'}. Add it."
        )
    return parts


def _refuse_secret(key: str, url: str, what: str) -> None:
    raise WrongKeyError(
        key,
        f"the URL under {key!r} holds {what}. An agent's file is no place for secrets: take it out, and put it into "
        f"{credentials_go_to(url)}.",
    )
