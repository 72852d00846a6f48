"""The initiator's own columns of a run, as numbers: what a learned combination may look at beside the votes."""

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
    """The initiator's table, of which the columns with numbers are looked at.

    Attributes
    ----------
    table : table
        All its rows, as they were in training.
    columns : OwnColumns
        Which columns these are.
    """

    table: Any
    columns: OwnColumns

    @classmethod
    def of(cls, run: OpenRun) -> OwnNumbers:
        """Return the initiator's columns, as the run was trained with them."""
        if run.settings.label_only:  # whatever its table has by now
            return cls(np.empty((len(run.holdings.ids), 0)), OwnColumns(()))
        store = run.own.run(run.name).store
        table = run.holdings.features_as(store.schema() if store.exists else None)
        return cls(table, OwnColumns.found_in(table))

    def at(self, rows: Rows) -> Floats:
        """Return the numbers of some rows; NaN all over for a sample that the initiator does not hold, -1."""
        numbers = self.columns.numbers(self.table)
        out = np.full((len(rows), numbers.shape[1]), np.nan)
        out[rows >= 0] = numbers[rows[rows >= 0]]
        return out
