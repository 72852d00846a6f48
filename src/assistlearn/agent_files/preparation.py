"""How an agent wants its columns prepared: the table ``[preprocessing]`` of its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from assistlearn.errors import WrongKeyError

DATE_FORM = (
    r"(?P<first>dd|mm|yyyy)(?P<sign>[./ -]?)(?P<second>(?!(?P=first))(?:dd|mm|yyyy))(?P=sign)"
    r"(?P<third>(?!(?P=first)|(?P=second))(?:dd|mm|yyyy))(?P<time> hh:mm(?::ss)?)?"
)
"""What a form of dates may be: day, month and year, each once, with one sign between them, and perhaps a time."""


class PreprocessingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How columns are prepared for the learner.

    Attributes
    ----------
    enabled : bool
        False: the learner gets the columns unprepared, and must handle text and missing values itself.
    categories : {"auto", "one-hot", "ordinal"}
        How text becomes numbers.
    max_categories : int
        The most categories of one column. If it has more values, the rarest ones share a category.
    as_category : tuple of str
        Columns, by name or pattern, whose numbers are codes and not amounts.
    missing : {"auto", "impute", "keep"}
        Whether missing numbers are filled with the median, and marked, or left to the learner.
    missing_values : tuple of str
        Words that mean a missing value in a CSV file. An empty cell always means one.
    scale : {"auto", "standard", "none"}
        Whether numbers are brought to mean zero and variance one.
    dates : {"days", "refuse"}, str or mapping from str to str
        Whether dates become days since 1970, or are an error. Or how they are written, if not as ``2020-02-29``: one
        form for all columns, such as ``"dd.mm.yyyy"``, or a form for each column, by name or pattern.
    decimal : {".", ","}
        What stands before the fraction of a number in text.
    """

    enabled: bool = True
    categories: Literal["auto", "one-hot", "ordinal"] = "auto"
    max_categories: Annotated[int, Meta(ge=2)] = 20
    as_category: tuple[str, ...] = ()
    missing: Literal["auto", "impute", "keep"] = "auto"
    missing_values: tuple[str, ...] = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
    scale: Literal["auto", "standard", "none"] = "auto"
    dates: str | Mapping[str, str] = "days"
    decimal: Literal[".", ","] = "."

    def __post_init__(self) -> None:
        if isinstance(self.dates, str):
            if self.dates not in ("days", "refuse"):
                _check_form(self.dates, "dates", named=False)
            return
        for column, form in self.dates.items():
            _check_form(form, f"dates of column {column!r}", named=True)


def _check_form(form: str, what: str, named: bool) -> None:
    """Refuse what is no form of dates. Days without signs between their parts are dates in named columns only."""
    said = re.fullmatch(DATE_FORM, form)
    if said is None:
        short = " Years need four digits, yyyy: 45 may be 1945 or 2045." if re.search(r"(?<!y)yy(?!y)", form) else ""
        raise WrongKeyError(
            "dates",
            f"preprocessing.{what} = {form!r} is not known. Choose 'days' or 'refuse'; or say how dates are written, "
            f"as in 'dd.mm.yyyy', 'mm/dd/yyyy' or 'yyyy-mm-dd hh:mm'.{short}",
        )
    if not said["sign"] and not named:
        raise WrongKeyError(
            "dates",
            f"preprocessing.{what} = {form!r} has no sign between its parts, and other numbers would be taken for "
            f'dates. Name the columns: dates = {{ column = "{form}" }}',
        )
