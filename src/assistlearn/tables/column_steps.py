"""The steps that prepare numbers and categories, made of scikit-learn's own transformers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

from assistlearn.tables.schema import Schema


@dataclass(frozen=True)
class Steps:
    """How columns are prepared for a learner.

    Attributes
    ----------
    categories : {"one-hot", "ordinal"}
        One column for each category, or one column of codes.
    max_categories : int
        The most categories of one column. If it has more values, the rarest ones share a category.
    impute : bool
        Whether missing numbers are filled with the median, and a new column marks where they were missing.
    scale : {"standard", "minmax", "none"}
        Whether numbers are brought to mean zero and variance one, or between 0 and 1.
    unknown_value : float
        The code of a category that training has not seen.
    """

    categories: Literal["one-hot", "ordinal"]
    max_categories: int
    impute: bool
    scale: Literal["standard", "minmax", "none"]
    unknown_value: float

    @property
    def leaves_numbers(self) -> bool:
        """Whether numbers are left unchanged."""
        return not self.impute and self.scale == "none"

    def transformer(self, schema: Schema) -> ColumnTransformer:
        """Return the unfitted transformer for the columns of a schema. Numbers come first, then categories."""
        branches: list[tuple[str, Any, list[str]]] = []
        if schema.numbers:
            branches.append(("numbers", "passthrough" if self.leaves_numbers else self._of_numbers(), schema.numbers))
        if schema.categories:
            branches.append(("categories", self._encoder(), schema.categories))
        return ColumnTransformer(branches, sparse_threshold=0.0)

    def _of_numbers(self) -> Pipeline:
        steps: list[tuple[str, Any]] = []
        if self.impute:
            steps.append(("impute", SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)))
        if self.scale != "none":
            steps.append(("scale", MinMaxScaler(clip=True) if self.scale == "minmax" else StandardScaler()))
        return Pipeline(steps)

    def _encoder(self) -> Any:
        if self.categories == "one-hot":
            return OneHotEncoder(
                max_categories=self.max_categories, handle_unknown="infrequent_if_exist", sparse_output=False
            )
        return OrdinalEncoder(
            max_categories=self.max_categories,
            handle_unknown="use_encoded_value",
            unknown_value=self.unknown_value,
        )
