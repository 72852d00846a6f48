"""The paper's data sets, and others, with their columns split between agents."""

from paper.datasets.dataset import DataSet
from paper.datasets.gaussians import FAMILIES, BlobFamily, blobs
from paper.datasets.mimic import mimic_long_stay
from paper.datasets.tables import fashion_mnist, fate, letter, qsar, red_wine

__all__ = [
    "FAMILIES",
    "BlobFamily",
    "DataSet",
    "blobs",
    "fashion_mnist",
    "fate",
    "letter",
    "mimic_long_stay",
    "qsar",
    "red_wine",
]
