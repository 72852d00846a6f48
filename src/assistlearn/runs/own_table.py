"""The initiator's table in a run: its classes, its labels as codes, its weights, and the rows of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.alignment import Ids, normalise
from assistlearn.tables import Table
from assistlearn.tables.label_column import classes_in


def classes_of(table: Table) -> list[Any]:
    """Return the classes in the order of their values."""
    assert table.labels is not None
    return classes_in(table.labels, table.source)


def codes_of(table: Table, classes: Sequence[Any]) -> NDArray[Any]:
    """Return the position of each row's label among the classes; -1 for no label, or for one that is not among them."""
    if table.labels is None:
        return np.full(len(table), -1)
    place = {label: position for position, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in table.labels.to_list()], dtype=np.int64)


def weights_of(table: Table) -> NDArray[Any] | None:
    """Return each row's weight; None where all count alike. Rows without a label may have none, and get 0."""
    return None if table.weights is None else table.weights.fill_null(0.0).to_numpy()


def rows_of(ids: Ids, table_ids: pl.Series) -> NDArray[Any]:
    """Return the row of each id in a table, or -1 where it has none."""
    table = pl.DataFrame({"id": normalise(table_ids), "row": np.arange(len(table_ids))})
    asked = pl.DataFrame({"id": ids.take(np.arange(len(ids)))})
    found = asked.join(table, on="id", how="left", maintain_order="left")["row"]
    return found.fill_null(-1).to_numpy().astype(np.int64)
