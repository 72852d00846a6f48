"""How an agent wants its columns prepared: the table ``[preprocessing]`` of its file."""

from __future__ import annotations

from dataclasses import dataclass

from assistlearn.agent_files.keys import Keys

KEYS = (
    "enabled",
    "categories",
    "max_categories",
    "as_category",
    "missing",
    "missing_values",
    "scale",
    "dates",
)
CATEGORIES = ("auto", "one-hot", "ordinal")
MISSING = ("auto", "impute", "keep")
SCALE = ("auto", "standard", "none")
DATES = ("days", "refuse")
MISSING_VALUES = ("NA", "NaN", "nan", "null", "NULL")


@dataclass(frozen=True)
class PreprocessingSettings:
    """How columns are prepared for the learner.

    Attributes
    ----------
    enabled : bool
        False: the learner gets the numbers as they are, and does the rest itself.
    categories : {"auto", "one-hot", "ordinal"}
        How text becomes numbers.
    max_categories : int
        How many values of a column are told apart; the rarest share one.
    as_category : tuple of str
        Columns, by name or pattern, whose numbers are codes and not amounts.
    missing : {"auto", "impute", "keep"}
        Whether missing numbers are filled with the median, and marked, or left to the learner.
    missing_values : tuple of str
        What stands for a missing value in a CSV file, besides nothing at all.
    scale : {"auto", "standard", "none"}
        Whether numbers are brought to mean zero and variance one.
    dates : {"days", "refuse"}
        Whether dates become days since 1970, or are an error.
    """

    enabled: bool = True
    categories: str = "auto"
    max_categories: int = 20
    as_category: tuple[str, ...] = ()
    missing: str = "auto"
    missing_values: tuple[str, ...] = MISSING_VALUES
    scale: str = "auto"
    dates: str = "days"


def read_settings(keys: Keys) -> PreprocessingSettings:
    """Return the settings that these keys describe."""
    defaults = PreprocessingSettings()
    enabled = keys.flag("enabled")
    missing_values = keys.texts("missing_values")
    return PreprocessingSettings(
        enabled=defaults.enabled if enabled is None else enabled,
        categories=keys.choice("categories", CATEGORIES, defaults.categories),
        max_categories=keys.count("max_categories", least=2) or defaults.max_categories,
        as_category=keys.texts("as_category") or (),
        missing=keys.choice("missing", MISSING, defaults.missing),
        missing_values=defaults.missing_values if missing_values is None else missing_values,
        scale=keys.choice("scale", SCALE, defaults.scale),
        dates=keys.choice("dates", DATES, defaults.dates),
    )
