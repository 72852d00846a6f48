"""Real data: wines, molecules, letters, FATE's tables for a guest and a host, and Fashion-MNIST."""

from __future__ import annotations

import gzip
import io
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.errors import SettingsError
from paper.datasets.dataset import Array, DataSet, Label
from paper.datasets.sources import (
    CorruptDataError,
    File,
    MissingDataError,
    OpenmlTable,
    PathName,
    data_folder,
    fetch,
    read,
)

WINE_FILE = File(
    "winequality_red",
    "winequality-red.csv",
    "4a402cf041b025d4566d954c3b9ba8635a3a8a01e039005d97d6a710278cf05e",
    "the UCI Machine Learning Repository, data set 186 (Wine Quality)",
)
WINE = OpenmlTable(
    "red_wine",
    40691,
    "float64",
    {3: 10, 4: 53, 5: 681, 6: 638, 7: 199, 8: 18},
    11,
    "1817221a10eb7c18bc251763ce2025c7c0d2db6049ae611d174cde07904deca8",
)
WINE_FEATURES = (
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
WINE_CITATION = (
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
        agents = {"A": WINE_FEATURES[:6], "B": WINE_FEATURES[6:]}
    elif n_agents == 11:
        agents = {chr(ord("A") + place): (name,) for place, name in enumerate(WINE_FEATURES)}
    else:
        raise SettingsError(f"The red wine data are split between 2 or 11 agents, not n_agents={n_agents!r}.")
    folder = data_folder(data)
    features, labels = fetch(WINE) if folder is None else _wine(read(folder, WINE_FILE, WINE.otherwise))
    return DataSet(
        name="red_wine",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=WINE_FEATURES,
        agents=agents,
        class_names={grade: f"grade {grade}" for grade in WINE.counts},
        citation=WINE_CITATION,
        licence="CC BY 4.0",
    )


def _wine(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), separator=";", infer_schema=False)
    values = table.cast(pl.Float64).to_numpy()
    return np.ascontiguousarray(values[:, :-1]), values[:, -1].astype(np.int64)


QSAR_FILE = File(
    "qsar_biodegradation",
    "biodeg.csv",
    "c66ac1a23aba11fb166fd5054fea14ac97b8e4f7e4940ae679dc863d1cc4b3c9",
    "the UCI Machine Learning Repository, data set 254 (QSAR biodegradation)",
)
QSAR = OpenmlTable(
    "qsar",
    1494,
    "float64",
    {"NRB": 699, "RB": 356},
    41,
    "9d80426a8f27ec209abc048c04b7b1c8d0a9dcf6c00186833fb4f2324697b18e",
)
QSAR_FEATURES = (
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
QSAR_CITATION = (
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
    features, labels = fetch(QSAR) if folder is None else _qsar(read(folder, QSAR_FILE, QSAR.otherwise))
    return DataSet(
        name="qsar",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=QSAR_FEATURES,
        agents={"A": QSAR_FEATURES[:20], "B": QSAR_FEATURES[20:]},
        class_names={"NRB": "not ready biodegradable", "RB": "ready biodegradable"},
        citation=QSAR_CITATION,
        licence="CC BY 4.0",
    )


def _qsar(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), separator=";", has_header=False, infer_schema=False)
    values = table[:, :-1].cast(pl.Float64).to_numpy()
    return np.ascontiguousarray(values), np.array(table[:, -1].str.strip_chars().to_list())


LETTER_FILE = File(
    "letter_recognition",
    "letter-recognition.data",
    "2b89f3602cf768d3c8355267d2f13f2417809e101fc2b5ceee10db19a60de6e2",
    "the UCI Machine Learning Repository, data set 59 (Letter Recognition)",
)
LETTER = OpenmlTable(
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
LETTER_FEATURES = (
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
LETTER_CITATION = (
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
    each = len(LETTER_FEATURES) // n_agents
    folder = data_folder(data)
    features, labels = fetch(LETTER) if folder is None else _letter(read(folder, LETTER_FILE, LETTER.otherwise))
    return DataSet(
        name="letter",
        features=features,
        labels=labels,
        ids=np.arange(len(labels)),
        feature_names=LETTER_FEATURES,
        agents={"ABCD"[place]: LETTER_FEATURES[place * each : (place + 1) * each] for place in range(n_agents)},
        class_names={letter: letter for letter in string.ascii_uppercase},
        citation=LETTER_CITATION,
        licence="CC BY 4.0",
    )


def _letter(content: bytes) -> tuple[Array, Array]:
    table = pl.read_csv(io.BytesIO(content), has_header=False, infer_schema=False)
    return np.ascontiguousarray(table[:, 1:].cast(pl.Int64).to_numpy()), np.array(table[:, 0].to_list())


_FATE_GET = "the folder examples/data of the FATE project (FederatedAI/FATE on GitHub)"


@dataclass(frozen=True)
class _Pair:
    guest: str
    host: str
    class_names: Mapping[Label, str]
    citation: str


_FATE_PAIRS = {
    "breast": _Pair(
        "6b258b1514181bd645ea37a9ba3795a014075f465dfa51af08ecf19f068baeae",
        "8f9edc41763176ba12598f86646a177e347c1b85b5549896044f9532d964ea6f",
        {0: "malignant", 1: "benign"},
        "W. N. Street, W. H. Wolberg, O. L. Mangasarian: Nuclear feature extraction for breast tumor diagnosis. "
        "Biomedical Image Processing and Biomedical Visualization, 1993.",
    ),
    "default_credit": _Pair(
        "4fd6be40766423cd4fd567f3ed4162f9ec512388a2eab2f265f46247c5ae90b0",
        "36880a1b1e6a5b85bcb1e7d8b58cb2b024b45422ec29881c8df562e17c4bc6b7",
        {0: "paid", 1: "defaulted"},
        "I.-C. Yeh, C.-H. Lien: The comparisons of data mining techniques for the predictive accuracy of probability "
        "of default of credit card clients. Expert Systems with Applications 36(2), 2473-2480, 2009.",
    ),
    "vehicle_scale": _Pair(
        "43034770a34993675fdf34525f7f20805f1570066dfcb31f6145d5a70204a7ed",
        "ded56f6e71c96e9305f7bc3f283dc5e9e25ec52ede13d7db4ab6a86218e3314c",
        {0: "opel", 1: "saab", 2: "bus", 3: "van"},
        "J. P. Siebert: Vehicle recognition using rule based methods. Turing Institute Research Memorandum "
        "TIRM-87-018, 1987.",
    ),
}


def fate(name: Literal["breast", "default_credit", "vehicle_scale"], *, data: PathName | None = None) -> DataSet:
    """Load one of FATE's example data sets for parties with different columns.

    Parameters
    ----------
    name : {"breast", "default_credit", "vehicle_scale"}
        569 tumours, 10 + 20 features, 2 classes; 30,000 clients, 13 + 10 features, 2 classes; 846 vehicles, 9 + 9
        features, 4 classes.
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. These files are not on OpenML.

    Returns
    -------
    data : DataSet
        Its agents are the "guest" (the initiator) and the "host". Both files call their columns x0, x1, ...; here they
        are ``guest_x0`` and ``host_x0``. The rows are in the guest's order.

    Examples
    --------
    >>> fate("vehicle_scale")
    <DataSet 'vehicle_scale': 846 samples, 18 features, 4 classes; guest 9 + host 9>
    """
    if name not in _FATE_PAIRS:
        raise SettingsError(f"FATE's data sets here are {', '.join(_FATE_PAIRS)}, not {name!r}.")
    pair = _FATE_PAIRS[name]
    folder = data_folder(data)
    if folder is None:
        raise MissingDataError(
            f"No data folder was named, and {name} is not on OpenML. Get {name}_hetero_guest.csv and "
            f"{name}_hetero_host.csv from {_FATE_GET}, and name their folder (data=, or the environment variable "
            "ASSISTLEARN_DATA)."
        )
    guest = _side(folder, "guest", name, pair.guest)
    host = _side(folder, "host", name, pair.host)
    joined = guest.join(host, on="id", how="left", maintain_order="left", validate="1:1")
    if len(joined) != len(guest) or joined.null_count().sum_horizontal().item():
        raise CorruptDataError(f"{name}: the guest's and the host's files do not hold the same ids.")
    names = {
        "guest": tuple(column for column in guest.columns if column not in ("id", "y")),
        "host": tuple(column for column in host.columns if column != "id"),
    }
    return DataSet(
        name=name,
        features=np.ascontiguousarray(joined.select(*names["guest"], *names["host"]).to_numpy()),
        labels=joined["y"].cast(pl.Int64).to_numpy(),
        ids=joined["id"].cast(pl.Int64).to_numpy(),
        feature_names=names["guest"] + names["host"],
        agents=names,
        class_names=pair.class_names,
        citation=pair.citation,
        licence="Apache-2.0 (FATE's files); CC BY 4.0 (the data, from the UCI Machine Learning Repository)",
    )


def _side(folder: Path, side: str, name: str, sha256: str) -> pl.DataFrame:
    content = read(folder, File("fate_hetero", f"{name}_hetero_{side}.csv", sha256, _FATE_GET))
    table = pl.read_csv(io.BytesIO(content), infer_schema=False).cast(pl.Float64)
    return table.rename({column: f"{side}_{column}" for column in table.columns if column.startswith("x")})


SIDE = 28
FASHION_N_TRAIN = 60_000
FASHION_CLASSES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
_FASHION_GET = "the folder data/fashion of zalandoresearch/fashion-mnist on GitHub"
FASHION_FILES = {
    name: File("fashion_mnist", name, sha256, _FASHION_GET)
    for name, sha256 in (
        ("train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ("t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    )
}
FASHION = OpenmlTable(
    "fashion_mnist",
    40996,
    "uint8",
    dict.fromkeys(range(10), 7000),
    SIDE * SIDE,
    "e6bcaed72410a53722c0e5c6b5645ff4f4297a6659713a7ba73c123679ff1d10",
)
FASHION_CITATION = (
    "H. Xiao, K. Rasul, R. Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning "
    "algorithms. arXiv:1708.07747, 2017."
)


def fashion_mnist(
    part: Literal["train", "test"] = "train",
    *,
    cut: int = 0,
    data: PathName | None = None,
) -> DataSet:
    """Load Fashion-MNIST: 60,000 pictures to train with or 10,000 to test on, 28 x 28 pixels, 10 classes.

    Every picture is cut in two along the same irregular line from top to bottom. Agent A knows the left side, agent B
    the right side, 392 pixels each (the paper's Figures 4b and 5).

    Parameters
    ----------
    part : {"train", "test"}, default="train"
        Which part, as the authors divide them.
    cut : int, default=0
        The seed of the line. Use the same seed for both parts.
    data : path, default=None
        The data folder; by default what ``ASSISTLEARN_DATA`` says. Without either, the data come from OpenML, once.

    Returns
    -------
    data : DataSet
        Its features are grey values from 0 to 255, as unsigned bytes; ``r5c13`` is the pixel in row 5 and column 13,
        both from 0. Its labels are 0 to 9. The ids of the test part go on where those of the training part end.

    Examples
    --------
    >>> fashion_mnist("test")
    <DataSet 'fashion_mnist': 10000 samples, 784 features, 10 classes; A 392 + B 392>
    """
    if part not in ("train", "test"):
        raise SettingsError(f"part is 'train' or 'test', not {part!r}.")
    folder = data_folder(data)
    if folder is None:
        features, labels = fetch(FASHION)
        rows = slice(None, FASHION_N_TRAIN) if part == "train" else slice(FASHION_N_TRAIN, None)
        features, labels = features[rows], labels[rows]
    else:
        stem = "train" if part == "train" else "t10k"
        features, labels = (
            _fashion(read(folder, FASHION_FILES[f"{stem}-{kind}-ubyte.gz"], FASHION.otherwise))
            for kind in ("images-idx3", "labels-idx1")
        )
    names = tuple(f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE))
    left = left_of_cut(cut).ravel()
    first = 0 if part == "train" else FASHION_N_TRAIN
    return DataSet(
        name="fashion_mnist",
        features=features.reshape(len(labels), SIDE * SIDE),
        labels=labels.astype(np.int64),
        ids=np.arange(first, first + len(labels)),
        feature_names=names,
        agents={
            "A": tuple(name for name, known in zip(names, left, strict=True) if known),
            "B": tuple(name for name, known in zip(names, left, strict=True) if not known),
        },
        class_names=dict(enumerate(FASHION_CLASSES)),
        citation=FASHION_CITATION,
        licence="MIT",
    )


def left_of_cut(seed: int) -> NDArray[np.bool_]:
    """Return which of the 28 x 28 pixels lie left of an irregular line from top to bottom: exactly half of them.

    The line wanders from row to row by at most one pixel; it is then moved to the middle, and a few rows are moved by
    one more pixel, so that both sides have the same size.

    >>> left_of_cut(0).sum(axis=1)
    array([...])
    >>> int(left_of_cut(0).sum())
    392
    """
    rng = np.random.default_rng(seed)
    wander = np.empty(SIDE, dtype=np.int64)
    place = 0
    for row in range(SIDE):
        place = int(np.clip(place + rng.integers(-1, 2), -5, 5))  # both sides keep part of every row
        wander[row] = place
    wander -= round(wander.mean())
    surplus = int(wander.sum())
    wander[rng.choice(SIDE, abs(surplus), replace=False)] -= np.sign(surplus)
    return np.arange(SIDE) < (SIDE // 2 + wander)[:, None]


def _fashion(content: bytes) -> Array:
    """Return the array in a gzipped IDX file of unsigned bytes."""
    raw = gzip.decompress(content)
    n_axes = raw[3]
    shape = np.frombuffer(raw, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)
