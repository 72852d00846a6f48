"""The initiator's table in a run: its classes, its labels as codes, its weights, and the rows of ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.agent_files import AgentDescription
from assistlearn.alignment import Ids, normalise
from assistlearn.errors import SettingsError
from assistlearn.tables import Table

MANY_CLASSES = 10
"""With up to this many classes, a small table may have hardly more rows than classes."""


def classes_of(table: Table, initiator: AgentDescription) -> list[Any]:
    """Return the classes in the order of their values."""
    assert table.labels is not None
    classes: list[Any] = table.labels.drop_nulls().unique().sort().to_list()
    if len(classes) < 2:
        raise SettingsError(
            f"{table.source}: column {initiator.label!r} has {len(classes)} class ({classes}); at least two are needed."
        )
    n_labelled = len(table.labels) - table.labels.null_count()
    if len(classes) > MANY_CLASSES and 2 * len(classes) > n_labelled:
        raise SettingsError(
            f"{table.source}: column {initiator.label!r} has {len(classes):,} different labels in {n_labelled:,} "
            "rows: too many to be classes. Name another column, or cut amounts into a few classes."
        )
    return classes


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
