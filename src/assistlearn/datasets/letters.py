"""Letter recognition: sixteen measurements of a printed capital letter."""

from __future__ import annotations

import io
import string
from typing import Literal

import numpy as np
import polars as pl

from assistlearn.datasets import openml
from assistlearn.datasets.dataset import Array, DataSet
from assistlearn.datasets.files import File, PathName, data_folder, read
from assistlearn.errors import SettingsError

FILE = File(
    "letter_recognition",
    "letter-recognition.data",
    "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    "the UCI Machine Learning Repository, data set 59 (Letter Recognition)",
)
OPENML = openml.OpenmlTable(
    "letter",
    6,
    "int64",
    {
        "A": 789,
        "B": 766,
        "C": 736,
        "D": 805,
        "E": 768,
        "F": 775,
        "G": 773,
        "H": 734,
        "I": 755,
        "J": 747,
        "K": 739,
        "L": 761,
        "M": 792,
        "N": 783,
        "O": 753,
        "P": 803,
        "Q": 783,
        "R": 758,
        "S": 748,
        "T": 796,
        "U": 813,
        "V": 764,
        "W": 752,
        "X": 787,
        "Y": 786,
        "Z": 734,
    },
    16,
    "39a9587756845b2b41d22a67dbccc867fdcdff42d1d9cf50aec80a366786e54e",
)
FEATURES = (
    "x-box",
    "y-box",
    "width",
    "high",
    "onpix",
    "x-bar",
    "y-bar",
    "x2bar",
    "y2bar",
    "xybar",
    "x2ybr",
    "xy2br",
    "x-ege",
    "xegvy",
    "y-ege",
    "yegvx",
)
CITATION = (
    "P. W. Frey, D. J. Slate: Letter recognition using Holland-style adaptive classifiers. Machine Learning 6, "
    "161-182, 1991."
)


def letter(n_agents: Literal[2, 4] = 2, *, data: PathName | None = None) -> DataSet:
    """Load the letter recognition data: 20,000 letters, 16 features, 26 classes.

    Parameters
    ----------
    n_agents : {2, 4}, default=2
        Two agents know eight features each, four agents know four each, in the file's order.
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. Without either, the data come from OpenML, once.

    Returns
    -------
    data : DataSet
        Its labels are the capital letters. By the authors' custom the first 16,000 rows are for training and the last
        4,000 for testing.

    Examples
    --------
    >>> letter(n_agents=4)
    <DataSet 'letter': 20000 samples, 16 features, 26 classes; A 4 + B 4 + C 4 + D 4>
    """
    if n_agents not in (2, 4):
        raise SettingsError(f"The letters' features are split between 2 or 4 agents, not n_agents={n_agents!r}.")
    each = len(FEATURES) // n_agents
    folder = data_folder(data)
    features, labels = openml.fetch(OPENML) if folder is None else _parse(read(folder, FILE, OPENML.otherwise))
    return DataSet(
        name="letter",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=FEATURES,
        agents={"ABCD"[place]: FEATURES[place * each : (place + 1) * each] for place in range(n_agents)},
        class_names={letter: letter for letter in string.ascii_uppercase},
        citation=CITATION,
        licence="CC BY 4.0",
    )


def _parse(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), has_header=False, infer_schema=False)
    return np.ascontiguousarray(table[:, 1:].cast(pl.Int64).to_numpy()), np.array(table[:, 0].to_list())
