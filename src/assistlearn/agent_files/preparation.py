"""How an agent wants its columns prepared: the table ``[preprocessing]`` of its file."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


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
    dates : {"days", "refuse"}
        Whether dates become days since 1970, or are an error.
    """

    enabled: bool = True
    categories: Literal["auto", "one-hot", "ordinal"] = "auto"
    max_categories: Annotated[int, Meta(ge=2)] = 20
    as_category: tuple[str, ...] = ()
    missing: Literal["auto", "impute", "keep"] = "auto"
    missing_values: tuple[str, ...] = ("NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
    scale: Literal["auto", "standard", "none"] = "auto"
    dates: Literal["days", "refuse"] = "days"
