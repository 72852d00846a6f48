"""One rule that turns ids of any column type into text, so that two tables name the same sample the same way.

The rule, in full:

1. A whole number is written in decimal digits, without sign if it is positive and without leading zeros: the integer
   ``17``, the float ``17.0`` and the decimal ``17.00`` are all ``17``.
2. Text is put into Unicode's composed form (NFC), and blanks at both ends are removed. If the text is a whole number
   with a fraction of zeros, the fraction is removed, because some programs write whole numbers in this way. Nothing
   else changes: case, blanks inside, signs and leading zeros can mean something. So ``" 17 "`` and ``"17.0"`` are the
   same id as the integer ``17``, and ``"0017"`` is another.
3. A date is written as ``2024-02-29``.
4. An id must not be missing: null, NaN and blank text are refused. So are fractions, floats so large that their last
   digits are lost (beyond ``2**53``; in single precision beyond ``2**24``), booleans, dates with a time of day, bytes,
   and everything else.
5. After this, all ids of a table must be different.

An id's bytes are the UTF-8 form of this text.
"""

from __future__ import annotations

import datetime
import decimal
import math
import re
import unicodedata
from typing import Any

import numpy as np

BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What rule 2 calls a blank: Unicode's white space, and the byte order mark that some files begin with."""

FRACTION = r"^(-?[0-9]+)\.0+$"
"""A whole number with a fraction of zeros, whose first group is the number."""

LARGEST_FLOAT = {8: 2**53, 4: 2**24, 2: 2**11}
"""For floats of this many bytes: beyond this number, neighbouring whole numbers are the same float."""


def normalise_one(value: Any) -> str | None:
    """Return one id as text, by the rule, or ``None`` if it is missing.

    Raises
    ------
    ValueError
        Says why this value cannot be an id.

    Examples
    --------
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
