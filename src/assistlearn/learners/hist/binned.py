"""A table as histogram trees take it: its categorical columns as numbers, and binned once for any number of fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from assistlearn.errors import LearnerError, SettingsError
from assistlearn.learners.hist.models import Frozen, Margins

Categories: TypeAlias = list[NDArray[Any] | None]
"""For every column its categories in the order of their codes; None for a column of numbers."""


@dataclass(eq=False)
class BinnedTable:
    """What ``prepare`` returns, and ``fit``, ``predict`` and ``predict_proba`` take in place of ``X``.

    XGBoost's form needs one or two bytes per value, twice (by row and by column), and 16 bytes per sample. Categories
    are None where the table is not a data frame with categories.
    """

    matrix: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    n_features: int
    feature_names: NDArray[Any] | None
    categories: Categories | None
    categorical: bool
    _latest: tuple[Frozen, Margins] | None = field(default=None, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.y)

    def check_labels(self, y: Any) -> None:
        """Refuse labels other than those that the table was prepared with, because it holds their class codes."""
        if y is self.y:
            return
        if len(y) != len(self.y) or not np.array_equal(y, self.y):
            raise LearnerError(
                f"The table was prepared with other labels ({len(self.y)} of them) than it is fitted with ({len(y)}). "
                "Prepare it again with the new ones."
            )

    def forget(self) -> None:
        self._latest = None

    def remember(self, booster: Frozen, margins: Margins) -> None:
        """Keep the margins of the model that was fitted last: they are known when its trees have grown."""
        self._latest = booster, margins

    def recall(self, booster: Frozen) -> Margins | None:
        """Return the margins of this model and drop them; None where it was not fitted last."""
        if self._latest is None or self._latest[0] is not booster:
            return None
        _, margins = self._latest
        self._latest = None
        return margins


# -- categorical columns of a data frame (pandas or polars), the same in training and in prediction --------------------


def has_categories(X: Any) -> bool:
    return _is_frame(X) and any(_is_categorical(column) for _, column in _columns(X))


def find_categories(X: Any) -> Categories:
    return [_split(column, name)[0] if _is_categorical(column) else None for name, column in _columns(X)]


def to_numbers(X: Any, known: Sequence[NDArray[Any] | None]) -> NDArray[np.float32]:
    """Return a data frame as an array, every category as its code. An unknown category counts as missing."""
    out = np.empty(X.shape, dtype=np.float32)
    for position, ((name, column), categories) in enumerate(zip(_columns(X), known, strict=True)):
        if _is_categorical(column) != (categories is not None):
            raise SettingsError(
                f"Column {name!r} is {'' if categories is None else 'not '}categorical, "
                f"but was{' not' if categories is None else ''} when the model was fitted."
            )
        out[:, position] = _numbers(column, name) if categories is None else _codes(column, name, categories)
    assert_all_finite(out, allow_nan=True, input_name="X")
    return out


def _codes(column: Any, name: str, known: NDArray[Any]) -> NDArray[np.float32]:
    own, positions = _split(column, name)
    code_of = {category: code for code, category in enumerate(known.tolist())}
    codes = np.array([code_of.get(category, np.nan) for category in own.tolist()] + [np.nan], dtype=np.float32)
    return codes[positions]  # a missing value has the position -1, that of the nan at the end


def _split(column: Any, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the categories of a column, and every value's position among them: -1 where it is missing."""
    if hasattr(column, "cat") and hasattr(column.cat, "codes"):  # pandas
        own, positions = column.cat.categories.tolist(), column.cat.codes.to_numpy().astype(np.intp)
    else:  # polars, whose physical codes may be those of a larger pool
        texts = column.cast(str)
        own, positions = np.unique(texts.fill_null("").to_numpy().astype(str), return_inverse=True)
        positions = np.where(texts.is_null().to_numpy(), -1, positions)
    categories = np.asarray(own)
    if categories.dtype.kind not in "Uiufb":
        raise SettingsError(f"Column {name!r} has categories that are neither text nor numbers. Make them text.")
    return categories, positions


def _numbers(column: Any, name: str) -> NDArray[Any]:
    try:
        if hasattr(column, "iloc"):
            numbers: NDArray[Any] = column.to_numpy(dtype=np.float32, na_value=np.nan)
            return numbers
        return np.asarray(column.cast(float).to_numpy())
    except Exception as error:  # each library has errors of its own
        raise SettingsError(
            f"Column {name!r} does not hold numbers ({column.dtype}). Make it categorical, or encode it."
        ) from error


def _columns(X: Any) -> Iterator[tuple[str, Any]]:
    for position, name in enumerate(X.columns):
        yield str(name), X.iloc[:, position] if hasattr(X, "iloc") else X.to_series(position)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "to_series"))


def _is_categorical(column: Any) -> bool:
    return str(column.dtype).partition("(")[0] in ("category", "Categorical", "Enum")
