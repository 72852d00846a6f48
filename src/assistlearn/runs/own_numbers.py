"""The initiator's own columns of a run, as numbers: a learned combination may use them beside the votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assistlearn.alignment.matching import Rows
from assistlearn.combination.own_columns import OwnColumns
from assistlearn.core.ignorance import Floats
from assistlearn.runs.open_run import OpenRun


@dataclass(frozen=True)
class OwnNumbers:
    """The initiator's table, and which of its columns are numbers.

    Attributes
    ----------
    table : table
        All its rows, with the columns of the training.
    columns : OwnColumns
        Which columns are numbers.
    """

    table: Any
    columns: OwnColumns

    @classmethod
    def of(cls, run: OpenRun) -> OwnNumbers:
        """Return the initiator's columns, as the run was trained with them."""
        if run.settings.label_only:  # whatever columns its table has by now
            return cls(np.empty((len(run.holdings.ids), 0)), OwnColumns(()))
        store = run.own.run(run.name).store
        table = run.holdings.features_as(store.schema() if store.exists else None)
        return cls(table, OwnColumns.found_in(table))

    def at(self, rows: Rows) -> Floats:
        """Return the numbers of some rows; only NaN for row -1, a sample that the initiator does not hold."""
        numbers = self.columns.numbers(self.table)
        out = np.full((len(rows), numbers.shape[1]), np.nan)
        out[rows >= 0] = numbers[rows[rows >= 0]]
        return out
