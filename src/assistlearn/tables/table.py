"""An agent's table in memory: ids, features, perhaps persons and, at the initiator, labels and perhaps weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.core.groups import Groups, groups_of
from assistlearn.tables.schema import Schema


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of an agent's table.

    Attributes
    ----------
    source : str
        Where it was read from, for messages.
    ids : Series
        Text or whole numbers, none missing, none twice. Ids from a CSV file are text, exactly as in the file.
    features : DataFrame
        Floats and, for categories, text; missing values are null.
    schema : Schema
        The kinds of the features.
    fingerprint : str
        A digest of ids, features, labels, weights and persons. It differs if the table or the order of its rows
        differs.
    labels : Series or None
        Whole numbers, booleans or text, missing where a row is not to be trained on; None at a helper.
    left_out : tuple of str
        Columns that would have been features, but have no value in any row.
    weights : Series or None
        Floats of 0 or more, missing only where a row has no label; None where all rows count the same.
    persons : Series or None
        Whom each row is about, as text; missing where nobody is named, who then has no other row. None where each row
        is about somebody else.
    index : tuple of str
        Columns that are not features because they are the index of a data frame.
    repeated : int
        How many rows were left out because they repeat an id.
    """

    source: str
    ids: pl.Series
    features: pl.DataFrame
    schema: Schema
    fingerprint: str
    labels: pl.Series | None = None
    left_out: tuple[str, ...] = ()
    weights: pl.Series | None = None
    persons: pl.Series | None = None
    index: tuple[str, ...] = ()
    repeated: int = 0

    def groups(self) -> Groups | None:
        """Return a number for whom each row is about; None where no two rows are about the same person."""
        if self.persons is None:
            return None
        number: dict[str, int] = {}
        named = [
            -row if who is None else number.setdefault(who, len(number) + 1) for row, who in enumerate(self.persons)
        ]
        return groups_of(np.array(named))

    def __len__(self) -> int:
        return len(self.ids)

    def says_something(self) -> NDArray[np.bool_] | None:
        """Return which rows have a value in any feature; None where all have, or where there are no features."""
        if not self.features.width:
            return None
        said = self.features.select(pl.any_horizontal(pl.all().is_not_null())).to_series().to_numpy()
        return None if said.all() else said
