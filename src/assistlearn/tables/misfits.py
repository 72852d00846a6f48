"""Refuse columns of text that are numbers, dates or booleans except for some cells, or numbers in another notation.

One bad cell would turn a column of numbers into categories, and nobody would notice. Common marks of missing values
are read as missing. Any other misfit is refused, with its column and row.
"""

from __future__ import annotations

import polars as pl

from assistlearn.errors import TableError

MARKS = ("-", "--", ".", "?", "n.a.", "na", "none", "null", "missing", "unknown", "#n/a", "#value!", "#div/0!")
"""Marks of missing values, in upper or lower case, in columns whose other values are numbers, dates or booleans."""

MANY = 20
"""A column with up to this many different values may be categories that look like amounts: ``2nd``, ``3d``."""

_NOTATIONS = {
    "commas": r"^[-+]?\d+(,\d+)+(\.\d+)?$",
    "thousands set apart": r"^[-+]?\d{1,3}([' .]\d{3})+([.,]\d+)?$",
    "a unit": r"^[-+]?\d+([.,]\d+)?\s*[^\W\d_%]{1,6}\d?$|^[-+]?\d+([.,]\d+)?\s*%$|^[-+]?[$€£¥]\s*\d[\d.,]*$",
}


def without_marks(text: pl.Series) -> pl.Series:
    """Return text with null for every mark of a missing value.

    >>> without_marks(pl.Series(["1", " - ", "None"])).to_list()
    ['1', None, None]
    """
    gone = text.str.strip_chars().str.to_lowercase().is_in(MARKS).fill_null(False)
    return text.set(gone, None) if gone.any() else text


def few_values(text: pl.Series) -> pl.Series | None:
    """Return the different values of a column if, judging by its first rows, they are few; otherwise None.

    It is much quicker to check these values than all rows.

    >>> few_values(pl.Series(["a", "b"] * 1000)).sort().to_list()
    ['a', 'b']
    >>> few_values(pl.Series([str(n) for n in range(2000)])) is None
    True
    """
    first = text.head(1000)
    if len(first) == len(text) or 4 * first.n_unique() > len(first):
        return None
    return text.unique()


def refuse_misfits(text: pl.Series, wrong: pl.Series, noun: str, source: str) -> None:
    """Raise ``TableError`` if most values of a column are of a kind, and some are not.

    Parameters
    ----------
    text : Series of str
        All values of the column; missing ones are null.
    wrong : Series of bool
        Which of them are not of the kind.
    noun : str
        What one value of the kind is called: ``number``.
    source : str
        Where the table is.

    Examples
    --------
    >>> refuse_misfits(pl.Series("x17", ["oops", "1", "2.5"]), pl.Series([True, False, False]), "number", "lab.csv")
    Traceback (most recent call last):
        ...
    assistlearn.errors.TableError: lab.csv: column 'x17': 1 of 3 values is not a number ('oops', row 1). Correct it,
    leave it empty or list it under preprocessing.missing_values. If these are codes and not amounts, name the column
    under preprocessing.as_category.
    """
    n_known, n_wrong = len(text) - text.null_count(), int(wrong.sum())
    if 2 * n_wrong >= n_known:
        return
    row = wrong.arg_true()[0]
    it, are, first = ("it", f"is not a {noun}", "") if n_wrong == 1 else ("them", f"are not {noun}s", "first: ")
    which = f"{first}{text[row]!r}, row {row + 1}"
    raise TableError(
        f"{source}: column {text.name!r}: {n_wrong:,} of {n_known:,} values {are} ({which}). "
        f"Correct {it}, leave {it} empty or list {it} under preprocessing.missing_values. If these are codes and not "
        "amounts, name the column under preprocessing.as_category."
    )


def refuse_notations(text: pl.Series, source: str) -> None:
    """Raise ``TableError`` if most values of a column are numbers with commas, units or signs for thousands.

    >>> refuse_notations(pl.Series("height", ["1,82", "1,75"]), "lab.csv")
    Traceback (most recent call last):
        ...
    assistlearn.errors.TableError: lab.csv: column 'height' looks like numbers with commas ('1,82', row 1). If the comma
    is a decimal sign, add under [preprocessing]: decimal = ",". Else write plain numbers such as 1234.5. If
    these are codes and not amounts, name the column under preprocessing.as_category.
    """
    n_known = len(text) - text.null_count()
    few = few_values(text)
    for notation, pattern in _NOTATIONS.items():
        if few is not None and not few.str.contains(pattern).any():
            continue
        like = text.str.contains(pattern).fill_null(False)
        enough = notation == "commas" or text.n_unique() > MANY
        if enough and 2 * int(like.sum()) > n_known:
            row = like.arg_true()[0]
            remedy = " Write"
            if notation == "commas":
                remedy = ' If the comma is a decimal sign, add under [preprocessing]: decimal = ",". Else write'
            raise TableError(
                f"{source}: column {text.name!r} looks like numbers with {notation} ({text[row]!r}, row {row + 1})."
                f"{remedy} plain numbers such as 1234.5. If these are codes and not amounts, name the column "
                "under preprocessing.as_category."
            )
