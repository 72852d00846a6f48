"""The paper's data sets, and others, with their columns split between agents."""

from assistlearn.datasets.biodegradation import qsar
from assistlearn.datasets.dataset import DataSet
from assistlearn.datasets.fashion import fashion_mnist
from assistlearn.datasets.gaussians import FAMILIES, BlobFamily, blobs
from assistlearn.datasets.guest_host import fate
from assistlearn.datasets.letters import letter
from assistlearn.datasets.mimic import mimic_long_stay
from assistlearn.datasets.wine import red_wine

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
