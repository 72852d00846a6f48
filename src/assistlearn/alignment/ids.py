"""The ids of one table: normalised, complete, all different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.alignment.id_column import SHOWN, name_rows, normalise
from assistlearn.errors import IdsError


class Ids:
    """The ids of one table: normalised, complete, all different, in the table's order.

    Parameters
    ----------
    values : polars Series, numpy array, pandas Series or sequence
        One id for each sample, of any type that the rule accepts (:mod:`assistlearn.alignment.one_id`).
    owner : str, default="This table"
        What error messages call the table, for example ``"Agent 'lab', column 'patient'"``.

    Attributes
    ----------
    texts : polars Series of str
        The normalised ids.

    Examples
    --------
    >>> ids = Ids([17.0, 18.0])
    >>> ids.texts.to_list()
    ['17', '18']
    >>> len(Ids([" 17", "0017"]))
    2
    >>> Ids(["a", "b", "a "], owner="Agent 'lab'")
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: Agent 'lab': 1 id occurs more than once (first: 'a' in rows 1 and 3). Keep one row ...
    """

    def __init__(self, values: Any, owner: str = "This table") -> None:
        self.owner = owner
        self.texts = normalise(values, owner)
        _refuse_duplicates(self.texts, owner)

    @classmethod
    def normalised(cls, texts: Sequence[str], owner: str = "This table") -> Ids:
        """Return ids from texts that are known to be normalised and all different, without checking them.

        >>> len(Ids.normalised(["17", "18"]))
        2
        """
        made = cls.__new__(cls)
        made.owner, made.texts = owner, pl.Series(texts, dtype=pl.String)
        return made

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"<{len(self)} ids of {self.owner}>"  # never the ids themselves: a repr ends up in logs

    def take(self, rows: NDArray[np.integer[Any]]) -> pl.Series:
        """Return the texts of these rows, in this order."""
        return self.texts.gather(rows)


def _refuse_duplicates(texts: pl.Series, owner: str) -> None:
    repeated = texts.is_duplicated()
    if not repeated.any():
        return
    rows = pl.DataFrame({"id": texts, "row": np.arange(len(texts))}).filter(repeated)
    groups = rows.group_by("id", maintain_order=True).agg("row")
    shown = ", ".join(f"{text!r} in {name_rows(places)}" for text, places in groups.head(SHOWN).iter_rows())
    count = len(groups)
    what = "1 id occurs" if count == 1 else f"{count:,} ids occur"
    raise IdsError(
        f"{owner}: {what} more than once (first: {shown}). Keep one row for each id. Ids are compared as text without "
        "blanks around it: 17, 17.0 and ' 17' are the same id."
    )
