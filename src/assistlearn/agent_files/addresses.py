"""Check URLs of tables and databases: they must be of a known kind, and must not hold a secret."""

from __future__ import annotations

import ipaddress
import re
import socket
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

_SAYS_SECRET = re.compile(
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


def without_secrets(text: str) -> str:
    """Return a text in which dots stand for passwords and the like.

    >>> without_secrets("select * from postgres_scan('host=h password=hush', 't')")
    "select * from postgres_scan('host=h password=...', 't')"
    >>> without_secrets("postgres://me:hush@h/d")
    'postgres://me:...@h/d'
    """
    return _SAYS_SECRET.sub(lambda found: (found["key"] or found["user"]) + "...", text)


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


def is_own_host(host: str) -> bool:
    """Return whether a name or an address is one of this machine's own, as far as its text says.

    >>> [is_own_host(each) for each in ("localhost", "[::1]", "metadata.google.internal", "lab.example")]
    [True, True, True, False]
    """
    plain = unquote(host).strip("[]").rstrip(".").lower()
    named = plain == "localhost" or plain.endswith((".localhost", ".localdomain", "metadata.google.internal"))
    return named or is_own_address(plain)


def refusal_of_own_host(what: str) -> str:
    """Return why a table is not fetched from such a host, and what to do."""
    return (
        f"{what} is on this machine or its provider's own network, whose services answer everybody who asks from here. "
        "If the table is really there, say so in the agent's file: local_server = true"
    )


def check_table_url(url: str, local_server: bool = False) -> None:
    """Raise ``WrongKeyError`` if a table cannot be read from a URL, or if the URL holds a secret."""
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


def check_path(key: str, text: str) -> None:
    """Raise ``WrongKeyError`` if what should be a path looks like a way to connect, which may hold a password."""
    if _CONNECTION.search(text) or without_secrets(text) != text:
        raise WrongKeyError(
            key,
            f"{key} must be a path or a URL, and looks like words for a connection. It is not shown, as it may hold a "
            "password. Write postgresql://user@host:5432/name, and put the password into PGPASSWORD in the "
            "environment, or the file ~/.pgpass.",
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
