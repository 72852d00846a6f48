"""QSAR biodegradation: 41 descriptors of a molecule, and whether it degrades readily."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

from assistlearn.datasets import openml
from assistlearn.datasets.dataset import Array, DataSet
from assistlearn.datasets.files import File, PathName, data_folder, read

FILE = File(
    "qsar_biodegradation",
    "biodeg.csv",
    "c66ac1a23aba11fb166fd5054fea14ac97b8e4f7e4940ae679dc863d1cc4b3c9",
    "the UCI Machine Learning Repository, data set 254 (QSAR biodegradation)",
)
OPENML = openml.OpenmlTable(
    "qsar",
    1494,
    "float64",
    {"NRB": 699, "RB": 356},
    41,
    "9d80426a8f27ec209abc048c04b7b1c8d0a9dcf6c00186833fb4f2324697b18e",
)
FEATURES = (
    "SpMax_L",
    "J_Dz(e)",
    "nHM",
    "F01[N-N]",
    "F04[C-N]",
    "NssssC",
    "nCb-",
    "C%",
    "nCp",
    "nO",
    "F03[C-N]",
    "SdssC",
    "HyWi_B(m)",
    "LOC",
    "SM6_L",
    "F03[C-O]",
    "Me",
    "Mi",
    "nN-N",
    "nArNO2",
    "nCRX3",
    "SpPosA_B(p)",
    "nCIR",
    "B01[C-Br]",
    "B03[C-Cl]",
    "N-073",
    "SpMax_A",
    "Psi_i_1d",
    "B04[C-Br]",
    "SdO",
    "TI2_L",
    "nCrt",
    "C-026",
    "F02[C-N]",
    "nHDon",
    "SpMax_B(m)",
    "Psi_i_A",
    "nN",
    "SM6_B(m)",
    "nArCOOR",
    "nX",
)
CITATION = (
    "K. Mansouri, T. Ringsted, D. Ballabio, R. Todeschini, V. Consonni: Quantitative structure-activity relationship "
    "models for ready biodegradability of chemicals. Journal of Chemical Information and Modeling 53(4), 867-878, 2013."
)


def qsar(*, data: PathName | None = None) -> DataSet:
    """Load the QSAR biodegradation data: 1,055 molecules, 41 features, 2 classes.

    Agents A and B know the first 20 and the last 21 features, in the file's order (the paper's Figure 3c).

    Parameters
    ----------
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. Without either, the data come from OpenML, once.

    Returns
    -------
    data : DataSet
        Its labels are "RB" and "NRB".

    Examples
    --------
    >>> qsar()
    <DataSet 'qsar': 1055 samples, 41 features, 2 classes; A 20 + B 21>
    """
    folder = data_folder(data)
    features, labels = openml.fetch(OPENML) if folder is None else _parse(read(folder, FILE, OPENML.otherwise))
    return DataSet(
        name="qsar",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=FEATURES,
        agents={"A": FEATURES[:20], "B": FEATURES[20:]},
        class_names={"NRB": "not ready biodegradable", "RB": "ready biodegradable"},
        citation=CITATION,
        licence="CC BY 4.0",
    )


def _parse(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), separator=";", has_header=False, infer_schema=False)
    values = table[:, :-1].cast(pl.Float64).to_numpy()
    return np.ascontiguousarray(values), np.array(table[:, -1].str.strip_chars().to_list())
