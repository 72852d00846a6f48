"""Check what users pass to a histogram classifier: its settings, its tables and their labels."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from assistlearn.core.ignorance import Floats
from assistlearn.errors import SettingsError
from assistlearn.learners.hist.categories import Categories, find_categories, has_categories, to_numbers


class CheckedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A classifier that takes arrays, and data frames with categories; missing values are NaN."""

    max_depth: int | None
    max_bin: int
    subsample: float
    n_jobs: int | None
    categories_: Categories | None

    # The smallest and largest value of each setting, and whether it is a whole number.
    _ranges: ClassVar[dict[str, tuple[float, float, bool]]] = {
        "max_depth": (1, np.inf, True),
        "max_bin": (2, 65_536, True),
        "subsample": (1e-6, 1, False),
    }

    def _checked(self, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Check a table and its labels for fitting, and return them as arrays."""
        if y is None:
            raise SettingsError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.categories_ = None
        if has_categories(X):
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            self.categories_ = find_categories(X)
            X = to_numbers(X, self.categories_)
        else:
            X, y = validate_data(self, X, y, dtype="numeric", ensure_all_finite="allow-nan")
        check_classification_targets(y)
        return X, y

    def _checked_new(self, X: Any) -> NDArray[Any]:
        """Check a table for predicting, and return it as an array."""
        if self.categories_ is None and not has_categories(X):
            numbers: NDArray[Any] = validate_data(self, X, dtype="numeric", ensure_all_finite="allow-nan", reset=False)
            return numbers
        if not hasattr(X, "columns"):
            raise SettingsError(
                "The model was fitted to a data frame with categories. Pass a data frame with the same columns."
            )
        validate_data(self, X, skip_check_array=True, reset=False)
        return to_numbers(X, self.categories_ or [None] * self.n_features_in_)

    def _check_settings(self) -> None:
        for name, (least, most, whole) in self._ranges.items():
            value = getattr(self, name)
            if value is None and name == "max_depth":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
                raise SettingsError(f"{name}={value!r} must be a {'whole ' if whole else ''}number.")
            if not least <= float(value) <= most:
                raise SettingsError(f"{name}={value!r} must lie between {least:g} and {most:g}.")

    def _n_threads(self) -> int:
        """Return how many threads XGBoost may use; zero means all cores, or as many as ``OMP_NUM_THREADS`` says."""
        return 0 if self.n_jobs is None else int(effective_n_jobs(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def refuse_weightless(weights: Floats) -> None:
    """Refuse weights that are all zero."""
    if not weights.sum() > 0.0:
        raise SettingsError("Every sample_weight is zero: there is nothing to learn from.")
