"""Fashion-MNIST, each picture cut in two."""

from __future__ import annotations

import gzip
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assistlearn.datasets import openml
from assistlearn.datasets.dataset import Array, DataSet
from assistlearn.datasets.files import File, PathName, data_folder, read
from assistlearn.errors import SettingsError

SIDE = 28
N_TRAIN = 60_000
CLASSES = (
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
_GET = "the folder data/fashion of zalandoresearch/fashion-mnist on GitHub"
FILES = {
    name: File("fashion_mnist", name, sha256, _GET)
    for name, sha256 in (
        ("train-images-idx3-ubyte.gz", "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"),
        ("train-labels-idx1-ubyte.gz", "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"),
        ("t10k-images-idx3-ubyte.gz", "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"),
        ("t10k-labels-idx1-ubyte.gz", "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"),
    )
}
OPENML = openml.OpenmlTable(
    "fashion_mnist",
    40996,
    "uint8",
    dict.fromkeys(range(10), 7000),
    SIDE * SIDE,
    "e6bcaed72410a53722c0e5c6b5645ff4f4297a6659713a7ba73c123679ff1d10",
)
CITATION = (
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
        features, labels = openml.fetch(OPENML)
        rows = slice(None, N_TRAIN) if part == "train" else slice(N_TRAIN, None)
        features, labels = features[rows], labels[rows]
    else:
        stem = "train" if part == "train" else "t10k"
        features, labels = (
            _parse(read(folder, FILES[f"{stem}-{kind}-ubyte.gz"], OPENML.otherwise))
            for kind in ("images-idx3", "labels-idx1")
        )
    names = tuple(f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE))
    left = left_of_cut(cut).ravel()
    first = 0 if part == "train" else N_TRAIN
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
        class_names=dict(enumerate(CLASSES)),
        citation=CITATION,
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


def _parse(content: bytes) -> Array:
    """Return the array in a gzipped IDX file of unsigned bytes."""
    raw = gzip.decompress(content)
    n_axes = raw[3]
    shape = np.frombuffer(raw, dtype=">i4", count=n_axes, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * n_axes).reshape(shape)
