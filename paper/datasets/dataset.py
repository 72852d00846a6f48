"""What a loader returns: features, labels, ids, and who knows which columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import ColumnsError, SettingsError

Array: TypeAlias = NDArray[Any]
Label: TypeAlias = int | str


@dataclass(frozen=True, eq=False, repr=False)
class DataSet:
    """A classification problem whose columns are split between agents.

    The arrays cannot be written to. A data set can be pickled, so that it can be sent to worker processes.

    Attributes
    ----------
    name : str
        What it is called.
    features : ndarray of shape (n_samples, n_features)
        All agents' columns. A missing value is NaN.
    labels : ndarray of shape (n_samples,)
        One label per sample.
    ids : ndarray of shape (n_samples,)
        The names by which all agents know the samples; no two are equal.
    feature_names : tuple of str
        The names of the columns.
    agents : mapping of str to tuple of str
        Who knows which columns. The first agent is the initiator.
    class_names : mapping of label to str
        What each label means.
    citation : str
        Whom to cite.
    licence : str
        Under which licence the data may be used.

    Examples
    --------
    >>> from paper.datasets import blobs
    >>> data = blobs("fig3a")
    >>> data
    <DataSet 'fig3a': 1000 samples, 8 features, 10 classes; A 2 + B 2 + C 2 + D 2>
    >>> data.agents["B"]
    ('x2', 'x3')
    >>> data.columns("B")
    array([2, 3])
    """

    name: str
    features: Array
    labels: Array
    ids: Array
    feature_names: tuple[str, ...]
    agents: Mapping[str, tuple[str, ...]]
    class_names: Mapping[Label, str]
    citation: str
    licence: str

    def __post_init__(self) -> None:
        for field in ("features", "labels", "ids"):
            array = getattr(self, field).view()
            array.flags.writeable = False
            object.__setattr__(self, field, array)
        for field in ("agents", "class_names"):
            object.__setattr__(self, field, MappingProxyType(dict(getattr(self, field))))
        _check_shapes(self)
        for agent in self.agents:
            self.columns(agent)

    def columns(self, agent: str) -> NDArray[np.intp]:
        """Return the positions of the columns that an agent knows, for tables without names."""
        if agent not in self.agents:
            raise SettingsError(f"{self.name}: there is no agent {agent!r}. The agents are {list(self.agents)}.")
        position = {name: place for place, name in enumerate(self.feature_names)}
        unknown = [name for name in self.agents[agent] if name not in position]
        if unknown:
            raise ColumnsError(f"{self.name}: agent {agent!r} is given columns that do not exist: {unknown}.")
        return np.array([position[name] for name in self.agents[agent]], dtype=np.intp)

    def table(self, agent: str | None = None) -> pl.DataFrame:
        """Return a polars table: the ids and one agent's columns, or everybody's columns and the labels.

        The initiator's table has the labels too, in its last column.

        >>> from paper.datasets import blobs
        >>> blobs("fig3a").table("B").columns
        ['id', 'x2', 'x3']
        """
        names = self.feature_names if agent is None else self.agents.get(agent, ())
        places = range(len(names)) if agent is None else self.columns(agent)
        table = {"id": pl.Series(self.ids)}
        table |= {name: pl.Series(self.features[:, place]) for name, place in zip(names, places, strict=True)}
        if agent is None or agent == next(iter(self.agents)):
            table["label"] = pl.Series(self.labels)
        return pl.DataFrame(table)

    def take(self, rows: Any) -> DataSet:
        """Return the data set of these samples: positions, a slice or a boolean mask."""
        changed = {"features": self.features[rows], "labels": self.labels[rows], "ids": self.ids[rows]}
        return DataSet(**(dict(_values(self)) | changed))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        known = " + ".join(f"{agent} {len(columns)}" for agent, columns in self.agents.items())
        known = known if len(self.agents) <= 4 else f"{len(self.agents)} agents"
        size = f"{len(self)} samples, {len(self.feature_names)} features, {len(self.class_names)} classes"
        return f"<DataSet {self.name!r}: {size}; {known}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views of mappings cannot be pickled, and pickled arrays become writable again: build it anew.
        plain = (dict(value) if isinstance(value, MappingProxyType) else value for _, value in _values(self))
        return DataSet, tuple(plain)


def _values(data: DataSet) -> Iterator[tuple[str, Any]]:
    return ((field.name, getattr(data, field.name)) for field in fields(data))


def _check_shapes(data: DataSet) -> None:
    n_samples = len(data.labels)
    shape = (n_samples, len(data.feature_names))
    if data.features.shape != shape or len(data.ids) != n_samples:
        raise SettingsError(
            f"{data.name}: {n_samples} labels and {len(data.feature_names)} feature names do not fit features of shape "
            f"{data.features.shape} and {len(data.ids)} ids."
        )
    if len(set(data.feature_names)) < len(data.feature_names):
        raise ColumnsError(f"{data.name}: a feature name occurs twice.")
    if len(np.unique(data.ids)) < n_samples:
        raise SettingsError(f"{data.name}: {n_samples - len(np.unique(data.ids))} of the ids occur more than once.")
