"""Ids: one rule that turns any column type into text, so that two tables name the same sample the same way.

The rule, in full:

1. A whole number is written in decimal digits, without sign if it is positive and without leading zeros: the integer
   ``17``, the float ``17.0`` and the decimal ``17.00`` are all ``17``.
2. Text is put into Unicode's composed form (NFC), and blanks at both ends are removed. If the text is a whole number
   with a fraction of zeros, the fraction is removed, because some programs write whole numbers in this way. Nothing
   else changes: case, blanks inside, signs and leading zeros can mean something. So ``" 17 "`` and ``"17.0"`` are the
   same id as the integer ``17``, and ``"0017"`` is another.
3. A date is written as ``2024-02-29``.
4. An id must not be missing: null, NaN and blank text are refused. So are fractions, floats so large that their last
   digits are lost (beyond ``2**53``, or ``2**24``), booleans, dates with a time of day, bytes, and everything else.
5. After this, all ids of a table must be different.

An id's bytes are the UTF-8 form of this text. Ids of several columns are joined with ``|`` between their parts; a
backslash stands before every ``|`` and backslash inside a part, so that no two people get the same id.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import AlignmentError, IdsError, SettingsError
from assistlearn.types import Bools

CodedIds: TypeAlias = NDArray[np.uint8]
"""One code in each row: a digest or a point of the curve, all of the same width."""

Rows: TypeAlias = NDArray[np.int64]
"""For each sample its row in a table, or -1 where the table has none."""

BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What rule 2 calls a blank: Unicode's white space, and the byte order mark that some files begin with."""

FRACTION = r"^(-?[0-9]+)\.0+$"
"""A whole number with a fraction of zeros, whose first group is the number."""

LARGEST_FLOAT = {8: 2**53, 4: 2**24, 2: 2**11}
"""For floats of this many bytes: beyond this number, neighbouring whole numbers are the same float."""

SHOWN = 3
"""How many offending rows an error message shows."""

BETWEEN = "|"
_PART = re.compile(r"(?:\\[\\|]|[^|])*", re.DOTALL)

FEW = 16
"""Up to this many codes are looked up one after the other; more are joined as tables."""

DIGEST_BYTES = 16
"""With 10**6 ids on each side two different ids share a digest with a chance below 10**-26."""

SHORTEST_SECRET = 16


class Ids:
    """The ids of one table: normalised, complete, all different, in the table's order.

    ``owner`` is the table in error messages, such as ``"Agent 'lab', column 'patient'"``.

    >>> Ids([17.0, 18.0]).texts.to_list()
    ['17', '18']
    >>> Ids(["a", "b", "a "], owner="Agent 'lab'")
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: Agent 'lab': 1 id occurs more than once (first: 'a' in rows 1 and 3). Keep one row ...
    """

    def __init__(self, values: Any, owner: str = "This table") -> None:
        self.owner = owner
        self.texts = normalise(values, owner)
        _refuse_duplicates(self.texts, owner)

    @classmethod
    def normalised(cls, texts: Sequence[str], owner: str = "This table") -> Ids:
        """Return ids from texts that are known to be normalised and all different, without checking them."""
        made = cls.__new__(cls)
        made.owner, made.texts = owner, pl.Series(texts, dtype=pl.String)
        return made

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<{len(self)} ids of {self.owner}>"  # never the ids themselves: a repr ends up in logs

    def take(self, rows: NDArray[np.integer[Any]]) -> pl.Series:
        return self.texts.gather(rows)


def _refuse_duplicates(texts: pl.Series, owner: str) -> None:
    repeated = texts.is_duplicated()
    if not repeated.any():
        return
    rows = pl.DataFrame({"id": texts, "row": np.arange(len(texts))}).filter(repeated)
    groups = rows.group_by("id", maintain_order=True).agg("row")
    shown = ", ".join(f"{text!r} in {name_rows(places)}" for text, places in groups.head(SHOWN).iter_rows())
    count = len(groups)
    what = "1 id occurs" if count == 1 else f"{count:,} ids occur"
    raise IdsError(
        f"{owner}: {what} more than once (first: {shown}). Keep one row for each id. Ids are compared as text without "
        "blanks around it: 17, 17.0 and ' 17' are the same id."
    )


def normalise(values: Any, owner: str = "This table") -> pl.Series:
    """Return the ids as text, by the rule. Duplicates are not refused here."""
    series = _as_series(values, owner)
    if series is None:
        texts = _one_by_one(values, owner)
    else:
        _refuse_missing(series, owner)
        texts = _by_type(series, owner)
    if len(texts) == 0:
        raise IdsError(f"{owner}: there are no ids. An empty table cannot take part.")
    _refuse_missing(texts, owner)
    return texts.rename("id")


def normalise_one(value: Any) -> str | None:
    """Return one id as text, by the rule, or ``None`` if it is missing. A ``ValueError`` says why it cannot be an id.

    >>> normalise_one(17.0), normalise_one(" 17 "), normalise_one("0017"), normalise_one(datetime.date(2024, 2, 29))
    ('17', '17', '0017', '2024-02-29')
    >>> normalise_one("17.0"), normalise_one("17.5")
    ('17', '17.5')
    """
    n_bytes = 8
    if _has_python_twin(value):
        n_bytes = value.itemsize
        value = value.item()
    if isinstance(value, bool):
        raise ValueError("which is a truth value")
    if isinstance(value, str):
        return _normalise_text(value) or None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | decimal.Decimal):
        return _normalise_number(value, n_bytes)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:  # pandas' ways to say missing
        return None
    raise ValueError(f"which has type {type(value).__name__}")


def _normalise_text(text: str) -> str:
    return re.sub(FRACTION, r"\1", unicodedata.normalize("NFC", text).strip(BLANKS))


def _has_python_twin(value: Any) -> bool:
    """Return whether a numpy scalar keeps its meaning in Python: moments in nanoseconds would become numbers."""
    if isinstance(value, np.datetime64):
        return bool(np.datetime_data(value.dtype)[0] == "D")
    return isinstance(value, np.generic) and value.dtype.kind in "iufbU"


def _normalise_number(number: float | decimal.Decimal, n_bytes: int) -> str | None:
    if math.isnan(number):
        return None
    if math.isinf(number) or number != int(number):
        raise ValueError("which is not a whole number")
    if isinstance(number, float) and abs(number) > LARGEST_FLOAT[n_bytes]:
        raise ValueError(f"which is a float beyond {LARGEST_FLOAT[n_bytes]:,}, so that its last digits are lost")
    return str(int(number))


def without_case(ids: pl.Series) -> pl.Series:
    return ids.str.to_lowercase() if ids.dtype == pl.String else ids


def _as_series(values: Any, owner: str) -> pl.Series | None:
    """Return a Series whose type says what the ids are, or ``None`` where they must be looked at one by one."""
    if isinstance(values, pl.Series):
        series = values
    else:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise IdsError(f"{owner}: ids must be a column of values, not {type(values).__name__}.")
        n_dimensions = getattr(values, "ndim", 1)
        if n_dimensions != 1:
            raise IdsError(f"{owner}: ids must have one dimension, not {n_dimensions}.")
        kind = getattr(getattr(values, "dtype", None), "kind", None)
        if kind not in ("i", "u", "f"):  # objects of Python or pandas: their values decide, not their container
            return None
        series = pl.Series(np.asarray(values))
    return None if series.dtype == pl.Object else series


def _by_type(series: pl.Series, owner: str) -> pl.Series:
    dtype = series.dtype
    if dtype.is_integer():
        return series.cast(pl.String)
    if dtype.is_float():
        return _whole_floats(series, owner)
    if dtype == pl.Decimal:
        return _whole_decimals(series, owner)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return _stripped(series.cast(pl.String))
    if dtype == pl.Date:
        return series.dt.to_string("%Y-%m-%d")
    if dtype == pl.Null:
        return series.cast(pl.String)
    raise IdsError(
        f"{owner}: ids of type {dtype} are not accepted. Use whole numbers, text or dates; turn others into text first."
    )


def _whole_floats(series: pl.Series, owner: str) -> pl.Series:
    numbers = series.to_numpy()
    with np.errstate(invalid="ignore"):
        too_large = np.abs(numbers) > LARGEST_FLOAT[numbers.dtype.itemsize]
        bad = ~np.isfinite(numbers) | (numbers != np.rint(numbers)) | too_large
    _refuse_first(numbers, bad, owner)
    return pl.Series(numbers.astype(np.int64)).cast(pl.String)


def _whole_decimals(series: pl.Series, owner: str) -> pl.Series:
    texts = series.cast(pl.String).str.replace(r"\.0*$", "")
    _refuse_first(series, texts.str.contains(".", literal=True).to_numpy(), owner)
    return texts


def _stripped(texts: pl.Series) -> pl.Series:
    foreign = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(value=False)
    if foreign.any():  # only text beyond ASCII has more than one form
        rows = foreign.arg_true()
        composed = [unicodedata.normalize("NFC", text) for text in texts.gather(rows).to_list()]
        texts = texts.scatter(rows, composed)
    return texts.str.strip_chars(BLANKS).str.replace(FRACTION, "$1")


def _one_by_one(values: Sequence[Any], owner: str) -> pl.Series:
    texts: list[str | None] = []
    for row, value in enumerate(values):
        try:
            texts.append(normalise_one(value))
        except ValueError:
            _refuse(value, row, 1, owner)
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError as error:
        raise IdsError(f"{owner}: an id is not valid Unicode text ({error.reason}).") from None


def _refuse_first(values: Any, bad: NDArray[np.bool_], owner: str) -> None:
    if bad.any():
        row = int(bad.argmax())
        _refuse(values[row], row, int(bad.sum()), owner)


def _refuse(value: Any, row: int, count: int, owner: str) -> None:
    try:
        normalise_one(value)
    except ValueError as reason:
        more = f" {count:,} rows have such ids." if count > 1 else ""
        shown = value.item() if isinstance(value, np.generic) else value
        raise IdsError(
            f"{owner}: row {row + 1} has id {shown!r}, {reason}.{more} Use whole numbers, text or dates."
        ) from None


def _refuse_missing(series: pl.Series, owner: str) -> None:
    missing = series.is_null()
    if series.dtype.is_float():
        missing |= series.is_nan().fill_null(value=True)
    if series.dtype == pl.String:
        missing |= (series == "").fill_null(value=True)
    count = int(missing.sum())
    if count:
        rows = missing.arg_true()[:SHOWN].to_list()
        raise IdsError(
            f"{owner}: {count:,} of {len(series):,} ids are missing or blank (first in {name_rows(rows)}). "
            "Remove these rows, or give them ids."
        )


def name_rows(rows: Sequence[int]) -> str:
    """Return how an error message names some rows; the first row is row 1.

    >>> name_rows([3]), name_rows([0, 2]), name_rows([0, 2, 5, 7])
    ('row 4', 'rows 1 and 3', 'rows 1, 3, 6, ...')
    """
    numbers = [str(row + 1) for row in rows]
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    if len(numbers) > SHOWN:
        return f"rows {', '.join(numbers[:SHOWN])}, ..."
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def join_ids(parts: Sequence[pl.Series], owner: str = "This table") -> pl.Series:
    r"""Return one id for each row: the text of all its parts, in the order that all agents agreed on.

    >>> join_ids([pl.Series(["a|b", "a"]), pl.Series(["c", "b|c"])]).to_list()
    ['a\\|b|c', 'a|b\\|c']
    """
    texts = [normalise(part, f"{owner}, column {part.name!r}") for part in parts]
    if len(texts) == 1:
        return texts[0]
    escaped = [text.str.replace_all(r"([\\|])", r"\${1}").rename(str(place)) for place, text in enumerate(texts)]
    return pl.DataFrame(escaped).select(pl.concat_str(pl.all(), separator=BETWEEN).alias("id"))["id"]


def split_ids(ids: pl.Series, names: Sequence[str], owner: str = "This table") -> list[pl.Series]:
    """Return the parts of ids, each in a column of its own.

    >>> split_ids(pl.Series(["FR"]), ["country", "number"])
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: This table: id 'FR' has 1 part, but there are 2: country|number. ...
    """
    if len(names) == 1:
        return [ids.rename(names[0])]
    rows = [_parts(text) for text in ids]
    for text, parts in zip(ids, rows, strict=True):
        if len(parts) != len(names):
            raise IdsError(
                f"{owner}: id {text!r} has {len(parts)} part{'s' * (len(parts) != 1)}, but there are {len(names)}: "
                f"{BETWEEN.join(names)}. Write {BETWEEN!r} between the parts."
            )
    return [pl.Series(name, [parts[place] for parts in rows], dtype=pl.String) for place, name in enumerate(names)]


def _parts(text: str) -> list[str]:
    parts, at = [], 0
    while True:
        found = _PART.match(text, at)
        assert found is not None  # the pattern matches an empty text, too
        parts.append(re.sub(r"\\([\\|])", r"\1", found[0]))
        at = found.end() + 1
        if at > len(text):
            return parts


# Digests of ids under a secret that all agents of a run share: BLAKE2b with a 32-byte key and 16 bytes of output.
# Whoever has the secret can try ids until a digest fits. Digests therefore hide ids from strangers, not from the agents
# that hold the secret.


def key_from(secret: bytes, token: bytes) -> bytes:
    """Return the key of one alignment: ``token`` keeps digests of two alignments from being compared."""
    if not isinstance(secret, bytes):
        raise SettingsError(f"The shared secret must be bytes, not {type(secret).__name__}.")
    if len(secret) < SHORTEST_SECRET:
        raise SettingsError(
            f"The shared secret has {len(secret)} bytes; it needs at least {SHORTEST_SECRET}. Make one with "
            "`python -c 'import secrets; print(secrets.token_hex(32))'` and give it to every agent."
        )
    return hashlib.blake2b(secret, digest_size=32, salt=token, person=b"alignment key").digest()


def key_check(key: bytes) -> bytes:
    """Return a digest of the key. It shows, before ids are compared, that two agents have the same secret."""
    return hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"same secret").digest()


def digests(ids: Ids, key: bytes) -> CodedIds:
    keyed = hashlib.blake2b(key=key, digest_size=DIGEST_BYTES, person=b"id")

    def digest(text: str) -> bytes:
        state = keyed.copy()  # the key is hashed once, not for each id
        state.update(text.encode())
        return state.digest()

    joined = b"".join(map(digest, ids.texts.to_list()))
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST_BYTES)


# Which entries of one list of codes (digests, or points of the curve) occur in another, and where.


def codes_from(data: bytes, width: int, what: str) -> CodedIds:
    if len(data) % width:
        raise AlignmentError(f"The {what} have {len(data):,} bytes in all, which is not a multiple of {width}.")
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, width)


def positions(wanted: CodedIds, among: CodedIds) -> Rows:
    """Return for each wanted code its position among the others, or -1. No code may occur twice in either."""
    if len(wanted) <= FEW:
        return _positions_of_few(_numbers(wanted), _numbers(among))
    left, right = _columns(wanted), _columns(among)
    both = left.with_row_index("to").join(right.with_row_index("from"), on=left.columns)
    found = np.full(len(wanted), -1, dtype=np.int64)
    found[both["to"].to_numpy()] = both["from"].to_numpy()
    return found


def _positions_of_few(wanted: NDArray[np.uint64], among: NDArray[np.uint64]) -> Rows:
    """Look up a few codes one after the other, as in the prediction of one sample."""
    found = np.full(len(wanted), -1, dtype=np.int64)
    for place, code in enumerate(wanted):
        near = np.flatnonzero(among[:, 0] == code[0])
        here = near[(among[near] == code).all(axis=1)]
        found[place] = here[0] if len(here) else -1
    return found


def refuse_repeated(codes: CodedIds, what: str) -> None:
    """Raise if a code occurs twice: no honest agent sends such a list, because ids are unique."""
    n_different = len(np.unique(_numbers(codes), axis=0)) if len(codes) <= FEW else _columns(codes).n_unique()
    if n_different < len(codes):
        raise AlignmentError(
            f"{len(codes) - n_different:,} of {len(codes):,} {what} are repeated; each must be sent once."
        )


def _numbers(codes: CodedIds) -> NDArray[np.uint64]:
    n, width = codes.shape
    padded = np.zeros((n, -(-width // 8) * 8), dtype=np.uint8)
    padded[:, :width] = codes
    return padded.view(np.uint64)


def _columns(codes: CodedIds) -> pl.DataFrame:
    """Return the codes as columns of 64-bit numbers, which polars joins fast and exactly."""
    numbers = _numbers(codes)
    return pl.DataFrame({f"part {part}": numbers[:, part] for part in range(numbers.shape[1])})


def pack(flags: Bools) -> bytes:
    return np.packbits(flags).tobytes()


def unpack(data: bytes, n: int, what: str) -> Bools:
    """Return ``n`` truth values from bits; the bits beyond them must be zero."""
    if len(data) != (n + 7) // 8:
        raise AlignmentError(f"The {what} have {len(data):,} bytes; {n:,} samples need {(n + 7) // 8:,}.")
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))
    if bits[n:].any():
        raise AlignmentError(f"The {what} speak of more than {n:,} samples.")
    return bits[:n].astype(np.bool_)
