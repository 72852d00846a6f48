"""Draw the samples of a replication: those to train on, and those to test on."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np

from assistlearn.datasets import FAMILIES, DataSet, blobs, fashion_mnist, mimic_long_stay, qsar, red_wine
from assistlearn.errors import MissingDataError
from assistlearn.experiments.figures import Blobs, Data, Patients, Pictures, Shared


def draw(data: Data, seed: int, folder: str | None = None) -> tuple[DataSet, DataSet]:
    """Return the samples to train on and those to test on.

    Parameters
    ----------
    data : Blobs, Shared, Pictures or Patients
        Which data, from a figure's settings.
    seed : int
        The seed of the replication. The same seed draws the same samples.
    folder : str, optional
        The data folder.

    Examples
    --------
    >>> train, test = draw(Blobs("fig3a", spread=1.0, n_train=100, n_test=300), seed=0)
    >>> len(train), len(test)
    (100, 300)
    """
    match data:
        case Blobs():
            family = replace(FAMILIES[data.family], spread=data.spread)
            return (
                blobs(family, "train", n_samples=data.n_train, random_state=seed),
                blobs(family, "test", n_samples=data.n_test, random_state=seed),
            )
        case Pictures():
            return _pictures(data, "train", seed, folder), _pictures(data, "test", seed, folder)
        case Shared():
            return _divided(whole(data, folder), data.train, seed)
        case Patients():
            return _divided(whole(data, folder), data.train, seed)


def settled(data: Data, folder: str | None = None) -> Data:
    """Return the data that will be used: the demo of MIMIC-III if the credentialed files are missing."""
    if not isinstance(data, Patients) or data.demo:
        return data
    try:
        whole(data, folder)
    except MissingDataError:
        return msgspec.structs.replace(data, demo=True)
    return data


def _divided(data: DataSet, share: float, seed: int) -> tuple[DataSet, DataSet]:
    """Return a random share of the samples, and the others."""
    rows = np.random.default_rng(seed).permutation(len(data))
    n_train = round(share * len(data))
    return data.take(rows[:n_train]), data.take(rows[n_train:])


def _pictures(data: Pictures, part: str, seed: int, folder: str | None) -> DataSet:
    pictures = fashion_mnist("train" if part == "train" else "test", cut=seed, data=folder)
    n_samples = data.n_train if part == "train" else data.n_test
    some = pictures.take(slice(None, n_samples))
    # Half the bytes of float64, and the network is fitted in the type that it is given.
    return replace(some, features=some.features.astype(np.float32) / np.float32(data.divide_by))


_LOADED: dict[tuple[Shared | Patients, str | None], DataSet] = {}


def whole(data: Shared | Patients, folder: str | None = None) -> DataSet:
    """Return all samples of a table. It is read only once in this process, because MIMIC-III takes minutes."""
    if (data, folder) not in _LOADED:
        remember(data, folder, _patients(data, folder) if isinstance(data, Patients) else _table(data, folder))
    return _LOADED[data, folder]


def remember(data: Shared | Patients, folder: str | None, samples: DataSet) -> None:
    """Keep a table that another process has read, so that this one need not read it."""
    _LOADED[data, folder] = samples


def _table(data: Shared, folder: str | None) -> DataSet:
    if data.loader == "qsar":
        return qsar(data=folder)
    return red_wine(11 if data.n_agents == 11 else 2, data=folder)


def _patients(data: Patients, folder: str | None) -> DataSet:
    everybody = mimic_long_stay(data=folder, demo=data.demo, stay=data.stay, n_variables=data.n_variables)
    if len(everybody) <= data.n_patients:
        return everybody
    rows = np.sort(np.random.default_rng(0).choice(len(everybody), data.n_patients, replace=False))
    return everybody.take(rows)
