"""Where an agent's table is, how large it may be, and how its columns are prepared: keys of its file."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NoReturn
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec
from msgspec import Meta

from assistlearn.errors import TableError, WrongKeyError
from assistlearn.toml import Count, Places

STORES = ("s3", "gs", "az")

WEB = ("https", "http")

DATABASES = ("postgresql", "postgres")

ENDINGS = (".csv", ".csv.gz", ".parquet")

PER_BYTE = 3
"""Bytes of memory that reading takes for each byte of a table, about: text, columns, and what is made of them."""

PER_VALUE = 16
"""At least, for each value."""

DATE_FORM = (
    r"(?P<first>dd|mm|yyyy)(?P<sign>[./ -]?)(?P<second>(?!(?P=first))(?:dd|mm|yyyy))(?P=sign)"
    r"(?P<third>(?!(?P=first)|(?P=second))(?:dd|mm|yyyy))(?P<time> hh:mm(?::ss)?)?"
)
"""What a form of dates may be: day, month and year, each once, with one sign between them, and perhaps a time."""


@dataclass(frozen=True)
class TableFile:
    """A table in a file that ends in ``.csv``, ``.csv.gz`` or ``.parquet``, or in the Parquet files of a folder.

    ``is_folder`` says whether the owner wrote it with ``/`` at its end.
    """

    path: Path
    separator: str = ","
    is_folder: bool = False

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class TableUrl:
    """A table that a web server or an object store hands over.

    The URL holds no secret, and its path ends in ``.csv``, ``.csv.gz``, ``.parquet`` or ``/``.
    """

    url: str
    separator: str = ","

    def __str__(self) -> str:
        return shown(self.url)


@dataclass(frozen=True)
class TableQuery:
    """A table that is a database's answer to one SQL SELECT.

    Files that the query names are looked for in ``folder``. ``database`` is a file of DuckDB or SQLite, opened for
    reading only, or the URL of a PostgreSQL database without a password. Where it is None, DuckDB answers, and the
    query names its files itself.
    """

    query: str
    folder: Path
    database: Path | str | None = None

    def __str__(self) -> str:
        if self.database is None:
            return "query"
        return f"query on {shown(self.database) if isinstance(self.database, str) else self.database}"


class FeatureChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names, or patterns with ``*``, ``?`` and ``[...]``; by default all columns that have no other role."""

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


class ReadingLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[reading]``. A small file can be a large table, so it is looked at before reading."""

    max_rows: Count = 20_000_000
    max_columns: Count = 10_000  # also those that are not used
    max_cell: Count = 1_000_000  # bytes of one value
    max_memory: Count = 4_000  # megabytes that reading may take, about

    def memory_needed(self, n_bytes: int, n_values: int) -> int:
        return max(PER_BYTE * n_bytes, PER_VALUE * n_values)

    def check(self, name: str, n_rows: int | None = None, n_columns: int | None = None) -> None:
        if n_columns is not None and n_columns > self.max_columns:
            self.refuse(name, "max_columns", f"{n_columns:,} columns")
        if n_rows is not None and n_rows > self.max_rows:
            self.refuse(name, "max_rows", f"{n_rows:,} rows")

    def check_memory(self, name: str, n_bytes: int, n_values: int = 0) -> None:
        needed = self.memory_needed(n_bytes, n_values)
        if needed > self.max_memory * 1_000_000:
            self.refuse(name, "max_memory", f"so much in it that reading takes about {needed / 1e6:,.0f} megabytes")

    def refuse(self, name: str, key: str, found: str) -> NoReturn:
        raise TableError(
            f"{name} is not read: it has {found}, and {key} allows {getattr(self, key):,}. If the table is right, "
            f"raise {key} under [reading] in the agent's file."
        )


class PreprocessingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[preprocessing]`` of an agent's file: how columns are prepared for the learner.

    Columns are named, or matched by a pattern. ``dates`` may say how dates are written, if not as ``2020-02-29``: one
    form for all columns, such as ``"dd.mm.yyyy"``, or a form for each column.
    """

    enabled: bool = True  # else the learner must handle text and missing values itself
    categories: Literal["auto", "one-hot", "ordinal"] = "auto"
    max_categories: Annotated[int, Meta(ge=2)] = 20  # of one column; the rarest of more values share one
    as_category: tuple[str, ...] = ()  # columns whose numbers are codes and not amounts
    missing: Literal["auto", "impute", "keep"] = "auto"
    missing_values: tuple[str, ...] = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")  # in text, besides empty cells
    scale: Literal["auto", "standard", "none"] = "auto"
    dates: str | Mapping[str, str] = "days"  # days since 1970; or "refuse"
    decimal: Literal[".", ","] = "."  # what stands before the fraction of a number in text

    def __post_init__(self) -> None:
        if isinstance(self.dates, str):
            if self.dates not in ("days", "refuse"):
                _check_form(self.dates, "dates", named=False)
            return
        for column, form in self.dates.items():
            _check_form(form, f"dates of column {column!r}", named=True)


def _check_form(form: str, what: str, named: bool) -> None:
    """Refuse what is no form of dates. Days without signs between their parts are dates in named columns only."""
    parts = re.fullmatch(DATE_FORM, form)
    if parts is None:
        short = " Years need four digits, yyyy: 45 may be 1945 or 2045." if re.search(r"(?<!y)yy(?!y)", form) else ""
        raise WrongKeyError(
            "dates",
            f"preprocessing.{what} = {form!r} is not known. Choose 'days' or 'refuse'; or say how dates are written, "
            f"as in 'dd.mm.yyyy', 'mm/dd/yyyy' or 'yyyy-mm-dd hh:mm'.{short}",
        )
    if not parts["sign"] and not named:
        raise WrongKeyError(
            "dates",
            f"preprocessing.{what} = {form!r} has no sign between its parts, and other numbers would be taken for "
            f'dates. Name the columns: dates = {{ column = "{form}" }}',
        )


@dataclass(frozen=True)
class TableDescription:
    """What an agent's file says of its table; the description of the agent adds the rest.

    ``id`` names several columns where an id has several parts. A helper names no ``label``. ``places`` says where each
    key stands, for error messages.
    """

    table: TableFile | TableUrl | TableQuery
    id: tuple[str, ...]
    id_case: Literal["exact", "ignore"]
    duplicates: Literal["refuse", "first", "last"]
    label: str | None
    weight: str | None
    person: str | None
    features: FeatureChoice
    has_learner: bool
    preprocessing: PreprocessingSettings
    read_seconds: float
    local_server: bool
    reading: ReadingLimits
    places: Places = field(repr=False, compare=False)


# URLs of tables and databases must be of a known kind, and must not hold a secret or lead to this machine.

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

_SECRET_VALUE = re.compile(
    r"(?P<key>\b\w*(?:pass|pwd|secret|token|credential|api_?key)\w*\s*=\s*)(?:'[^']*'?|\"[^\"]*\"?|[^\s'\";&]+)"
    r"|(?P<user>://[^\s:/@]*:)[^\s@]*(?=@)",
    re.IGNORECASE,
)

_CONNECTION = re.compile(
    r"(^|[\s;?&])(host(addr)?|dbname|user|port|service|server|\w*pass\w*|pwd)\s*=|://", re.IGNORECASE
)

_METADATA = tuple(
    ipaddress.ip_network(net)
    for net in ("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::254/128")
)
"""Where providers of machines hand out credentials, besides link-local addresses."""

_INSIDE_IPV6 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))
"""IPv6 addresses that end in an IPv4 address, besides those that Python knows."""


def check_table_url(url: str, local_server: bool = False) -> None:
    parts = _parts(url, "table", (*STORES, *WEB))
    if parts.scheme in WEB and not local_server and is_own_host(parts.hostname or ""):
        raise WrongKeyError("table", refusal_of_own_host(f"the server of {shown(url)!r}"))
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


def check_database_url(url: str, local_server: bool = False) -> None:
    _parts(url, "database", DATABASES)
    if not local_server and any(map(is_own_host, database_hosts(url))):
        raise WrongKeyError("database", refusal_of_own_host(f"the server of {shown(url)!r}", "the database"))


def database_hosts(url: str) -> list[str]:
    """Return the hosts that a URL of PostgreSQL names: where it names none, this machine, or what a service says.

    >>> database_hosts("postgresql://me@a,b:5432/d?hostaddr=10.0.0.1"), database_hosts("postgresql:///d")
    (['a', 'b', '10.0.0.1'], ['localhost'])
    """
    parts = urlsplit(url)
    more = dict(parse_qsl(parts.query, keep_blank_values=True))
    named = [re.sub(r":\d*$", "", each) for each in unquote(parts.netloc.rpartition("@")[2]).split(",")]
    lists = [named] if parts.netloc else []
    lists += [more[key].split(",") for key in ("host", "hostaddr") if key in more]
    if not lists and ("service" in more or {"PGHOST", "PGHOSTADDR", "PGSERVICE"} & os.environ.keys()):
        return []
    return [host or "localhost" for hosts in lists for host in hosts] or ["localhost"]


def check_path(key: str, text: str) -> None:
    """Raise ``WrongKeyError`` if what should be a path looks like a way to connect, which may hold a password."""
    if _CONNECTION.search(text) or without_secrets(text) != text:
        raise WrongKeyError(
            key,
            f"{key} must be a path or a URL, and looks like words for a connection. It is not shown, as it may hold a "
            "password. Write postgresql://user@host:5432/name, and put the password into PGPASSWORD in the "
            "environment, or the file ~/.pgpass.",
        )


def is_url(text: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def scheme_of(url: str) -> str:
    return url.partition("://")[0].lower()


def shown(url: str) -> str:
    """Return a URL as it may be shown: without what follows ``?`` and ``#``, which may be private."""
    return re.split(r"[?#]", url, maxsplit=1)[0]


def credentials_go_to(url: str) -> str:
    return _WHERE[scheme_of(url)]


def without_secrets(text: str) -> str:
    """Return a text in which dots stand for passwords and the like.

    >>> without_secrets("select * from postgres_scan('host=h password=hush', 't')")
    "select * from postgres_scan('host=h password=...', 't')"
    >>> without_secrets("postgres://me:hush@h/d")
    'postgres://me:...@h/d'
    """
    return _SECRET_VALUE.sub(lambda found: (found["key"] or found["user"]) + "...", text)


def is_own_host(host: str) -> bool:
    """Return whether a name or an address is one of this machine's own, as far as its text says."""
    plain = unquote(host).strip("[]").rstrip(".").lower()
    if plain.startswith(("/", "@")):  # a socket, for programs of this machine
        return True
    named = plain == "localhost" or plain.endswith((".localhost", ".localdomain", "metadata.google.internal"))
    return named or is_own_address(plain)


def is_own_address(text: str) -> bool:
    """Return whether a text is an address of this machine, or of a service of its provider.

    Such addresses are loopback, link-local, and those of metadata services. All spellings count that the system takes.

    >>> [is_own_address(each) for each in ("127.0.0.1", "2130706433", "0177.1", "::ffff:169.254.169.254")]
    [True, True, True, True]
    >>> is_own_address("10.1.2.3"), is_own_address("lab.example")
    (False, False)
    """
    address = _address(text)
    if address is None:
        return False
    own = address.is_loopback or address.is_link_local or address.is_unspecified
    return own or any(address in net for net in _METADATA)


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a text spells, that of IPv4 within one of IPv6; None for a name."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(text))  # 127.1, 0x7f000001, 0177.0.0.1, 2130706433
        except (OSError, UnicodeEncodeError):
            return None
    if isinstance(address, ipaddress.IPv6Address) and int(address) > 1:
        inside = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inside is None and any(address in net for net in _INSIDE_IPV6):
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return inside or address
    return address


def refusal_of_own_host(what: str, table: str = "the table") -> str:
    return (
        f"{what} is on this machine or its provider's own network, whose services answer everybody who asks from here. "
        f"If {table} is really there, say so in the agent's file: local_server = true"
    )


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
    if re.search(r"[\x00-\x1f\x7f]", unquote(parts.netloc + parts.path)):
        raise WrongKeyError(key, f"{key} = {shown(url)!r} has a control character in it, such as %00. Take it out.")
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
