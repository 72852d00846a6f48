"""The label ledger: what helpers were told about each person's label, and how much that gave away.

It is kept in the initiator's folder, for good, and belongs to no run. A label that helpers were told once is told the
same again. Where another epsilon is wanted, the label is drawn given what was told before
(:mod:`assistlearn.core.randomised_response`), so that all runs together give away no more than the largest epsilon.
That holds as long as a person's label, and the classes there are, stay the same. What was told about another label of
the same person adds up.

Ids and true labels are not in it, only their digests under the initiator's own key.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assistlearn.alignment import Ids
from assistlearn.alignment.keyed_hash import digests
from assistlearn.core.ignorance import Floats
from assistlearn.core.randomised_response import draw
from assistlearn.core.votes import Codes
from assistlearn.errors import RefusedError, RunError
from assistlearn.runs.class_order import own_key
from assistlearn.storage import private_folder

NAME = "told-labels.sqlite"
"""The name of the file in the folder where the initiator keeps its models."""

_TABLE = """
CREATE TABLE IF NOT EXISTS told (
    label TEXT, id BLOB, secret BLOB, epsilon REAL, code INTEGER, PRIMARY KEY (label, id, secret, epsilon)
) WITHOUT ROWID
"""
"""``secret`` is a digest of the true label and of the classes: if either changes, it is another secret."""

_COLUMNS = {"id": pl.Binary, "secret": pl.Binary, "epsilon": pl.Float64, "code": pl.Int64}


@dataclass(frozen=True)
class LabelRelease:
    """What helpers are told about the labels of some people.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        The labels they are told, as positions among the classes.
    n_drawn : int
        How many of them were drawn now; the others were told before.
    most_spent : float
        The largest epsilon that all runs so far together, this one included, have given away about a person's label.
    """

    codes: Codes
    n_drawn: int
    most_spent: float


class LabelLedger:
    """What helpers were told about a label column.

    Parameters
    ----------
    home : path
        The folder where the initiator keeps its models.
    label : str
        The name of the column.
    classes : sequence
        The names of the classes, in their order.
    """

    def __init__(self, home: Path, label: str, classes: Sequence[Any]) -> None:
        self.path = home / NAME
        self._label = label
        self._classes = list(classes)
        self._home = home

    @property
    def exists(self) -> bool:
        """Whether any label was ever kept back."""
        return self.path.exists()

    def tell(self, ids: Ids, labels: Codes, epsilon: float, most: float | None = None) -> LabelRelease:
        """Return the labels that helpers are told; when this returns, they are in the ledger.

        Parameters
        ----------
        ids : Ids
            The people.
        labels : ndarray of shape (n,)
            Their true labels, as positions among the classes.
        epsilon : float
            How much a label that is told may say about the true one.
        most : float, optional
            How much may be given away about one person's label in all. By default what is asked for, or what was given
            away before about the same label.

        Raises
        ------
        RefusedError
            More than that would be given away. Nothing is told then.
        """
        key = own_key(self._home)
        people = pl.DataFrame(
            {
                "id": [bytes(each) for each in digests(ids, key)],
                "secret": self._secrets(ids, labels, key),
                "place": np.arange(len(ids)),
            }
        )
        with self._written() as connection:
            known = self._known(connection).join(people.rename({"secret": "own"}), on="id")
            same = known.filter(pl.col("secret") == pl.col("own"))
            others = known.filter(pl.col("secret") != pl.col("own"))
            spent = self._check(_spent(others, len(ids)), _spent(same, len(ids)), epsilon, most)
            codes, fresh = _draw(same, labels, epsilon, len(self._classes))
            told = people.filter(pl.Series(fresh)).with_columns(
                label=pl.lit(self._label), epsilon=pl.lit(epsilon), code=pl.Series(codes[fresh])
            )
            rows = told.select("label", "id", "secret", "epsilon", "code").iter_rows()
            connection.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?)", rows)
        return LabelRelease(codes, int(np.count_nonzero(fresh)), float(spent.max(initial=0.0)))

    def spent(self) -> Floats:
        """Return, for each person in the ledger, the epsilon that was given away in all."""
        if not self.path.exists():
            return np.zeros(0)
        with self._written() as connection:
            known = self._known(connection)
        each = known.group_by("id", "secret").agg(pl.col("epsilon").max()).group_by("id").agg(pl.col("epsilon").sum())
        return each["epsilon"].to_numpy()

    def _check(self, others: Floats, same: Floats, epsilon: float, most: float | None) -> Floats:
        """Return the epsilon that will have been given away about each person; refuse more than is allowed."""
        total: Floats = others + np.maximum(same, epsilon)
        if most is not None:
            over, allowed = total > most, f"at most {most:g} is allowed (privacy.max_label_epsilon)"
        else:
            over, allowed = others > 0.0, f"the run asks for {epsilon:g}"
        if over.any():
            raise RefusedError(
                f"Column {self._label!r}: what helpers were told about the labels of {int(over.sum()):,} of "
                f"{len(over):,} people would add up to epsilon {float(total[over].max()):g}; {allowed}. "
                f"{self._why(others[over])} Nothing was told."
            )
        return total

    def _why(self, others: Floats) -> str:
        if not (others > 0.0).any():
            return "Ask for a smaller epsilon, or set max_label_epsilon in the agent file to a larger number."
        return (
            f"Helpers were told about {int((others > 0.0).sum()):,} of them before, with other labels or other "
            "classes: both add up. Leave these people out, restore their old labels, or set max_label_epsilon in "
            "[privacy] of your agent file to what may be given away in all."
        )

    def _secrets(self, ids: Ids, labels: Codes, key: bytes) -> list[bytes]:
        """Return, for each person, a digest of the true label, the classes and the id."""
        named = json.dumps([str(each) for each in self._classes]).encode()
        keyed = hashlib.blake2b(named, key=key, digest_size=16, person=b"true label")
        out = []
        for text, code in zip(ids.texts.to_list(), labels.tolist(), strict=True):
            each = keyed.copy()
            each.update(code.to_bytes(4, "little") + text.encode())
            out.append(each.digest())
        return out

    def _known(self, connection: sqlite3.Connection) -> pl.DataFrame:
        rows = connection.execute("SELECT id, secret, epsilon, code FROM told WHERE label = ?", (self._label,))
        return pl.DataFrame(rows.fetchall(), schema=_COLUMNS, orient="row")

    @contextmanager
    def _written(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection while nobody else can write. All changes are kept, or none of them."""
        try:
            if not self.path.exists():
                private_folder(self.path.parent)
                os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(self.path, timeout=60.0, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_TABLE)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"{self.path}, the ledger of what helpers were told about labels, cannot be read or written: {error}. "
                "Restore it from a backup: without it the same labels would be told anew, which gives away more."
            ) from None


def _spent(told: pl.DataFrame, n: int) -> Floats:
    """Return what was given away about each of ``n`` people: of one secret the largest epsilon, of several the sum."""
    each = told.group_by("place", "secret").agg(pl.col("epsilon").max()).group_by("place").agg(pl.col("epsilon").sum())
    out = np.zeros(n)
    out[each["place"].to_numpy()] = each["epsilon"].to_numpy()
    return out


def _draw(told: pl.DataFrame, labels: Codes, epsilon: float, n_classes: int) -> tuple[Codes, Any]:
    """Return the labels that are told at this epsilon, and which of them were not told before.

    A label that was told at the same epsilon is told again. Labels that were told at other epsilons change the chances
    of what is drawn.
    """
    n = len(labels)
    below, above = _neighbour(told, n, epsilon, nearest_above=False), _neighbour(told, n, epsilon, nearest_above=True)
    codes: Codes = np.where(below[0] == epsilon, below[1], -1)
    fresh = codes < 0
    chance = _chance(n)
    for low, high in {*zip(below[0][fresh].tolist(), above[0][fresh].tolist(), strict=True)}:
        at = np.flatnonzero(fresh & (below[0] == low) & (above[0] == high))
        upper = labels[at] if math.isinf(high) else above[1][at]
        lower = None if low == 0.0 else below[1][at]
        codes[at] = draw(upper, lower, (high, epsilon, low), n_classes, chance[at])
    return codes, fresh


def _neighbour(told: pl.DataFrame, n: int, epsilon: float, *, nearest_above: bool) -> tuple[Floats, Codes]:
    """Return for each of ``n`` people the nearest epsilon above this one, or up to it, and the label told there."""
    side = pl.col("epsilon") > epsilon if nearest_above else pl.col("epsilon") <= epsilon
    nearest = told.filter(side).sort("epsilon", descending=nearest_above).group_by("place", maintain_order=True).last()
    epsilons, codes = np.full(n, math.inf if nearest_above else 0.0), np.full(n, -1)
    epsilons[nearest["place"].to_numpy()] = nearest["epsilon"].to_numpy()
    codes[nearest["place"].to_numpy()] = nearest["code"].to_numpy()
    return epsilons, codes


def _chance(n: int) -> Floats:
    """Return random numbers between zero and one from the operating system; they follow from no seed."""
    whole = np.frombuffer(os.urandom(8 * n), dtype="<u8") >> np.uint64(11)
    return whole.astype(np.float64) * 2.0**-53
