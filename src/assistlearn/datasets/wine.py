"""Red wine quality: eleven measurements of a wine, and the grade that tasters gave it."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import polars as pl

from assistlearn.datasets import openml
from assistlearn.datasets.dataset import Array, DataSet
from assistlearn.datasets.files import File, PathName, data_folder, read
from assistlearn.errors import SettingsError

FILE = File(
    "winequality_red",
    "winequality-red.csv",
    "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    "the UCI Machine Learning Repository, data set 186 (Wine Quality)",
)
OPENML = openml.OpenmlTable(
    "red_wine",
    40691,
    "float64",
    {3: 10, 4: 53, 5: 681, 6: 638, 7: 199, 8: 18},
    11,
    "1817221a10eb7c18bc251763ce2025c7c0d2db6049ae611d174cde07904deca8",
)
FEATURES = (
    "fixed acidity",
    "volatile acidity",
    "citric acid",
    "residual sugar",
    "chlorides",
    "free sulfur dioxide",
    "total sulfur dioxide",
    "density",
    "pH",
    "sulphates",
    "alcohol",
)
CITATION = (
    "P. Cortez, A. Cerdeira, F. Almeida, T. Matos, J. Reis: Modeling wine preferences by data mining from "
    "physicochemical properties. Decision Support Systems 47(4), 547-553, 2009."
)


def red_wine(n_agents: Literal[2, 11] = 2, *, data: PathName | None = None) -> DataSet:
    """Load the red wine quality data: 1,599 wines, 11 features, 6 classes (grades 3 to 8).

    Parameters
    ----------
    n_agents : {2, 11}, default=2
        2: agents A and B know the first six and the last five features, in the file's order (the paper's Figure 3d).
        11: every agent, A to K, knows one (Figure 6b).
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. Without either, the data come from OpenML, once.

    Returns
    -------
    data : DataSet
        Its labels are the grades, as integers.

    Examples
    --------
    >>> red_wine()
    <DataSet 'red_wine': 1599 samples, 11 features, 6 classes; A 6 + B 5>
    """
    if n_agents == 2:
        agents = {"A": FEATURES[:6], "B": FEATURES[6:]}
    elif n_agents == 11:
        agents = {chr(ord("A") + place): (name,) for place, name in enumerate(FEATURES)}
    else:
        raise SettingsError(f"The red wine data are split between 2 or 11 agents, not n_agents={n_agents!r}.")
    folder = data_folder(data)
    features, labels = openml.fetch(OPENML) if folder is None else _parse(read(folder, FILE, OPENML.otherwise))
    return DataSet(
        name="red_wine",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=FEATURES,
        agents=agents,
        class_names={grade: f"grade {grade}" for grade in OPENML.counts},
        citation=CITATION,
        licence="CC BY 4.0",
    )


def _parse(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), separator=";", infer_schema=False)
    values = table.cast(pl.Float64).to_numpy()
    return np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64)
