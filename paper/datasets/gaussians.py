"""Gaussian blobs: the paper's synthetic data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.datasets import make_blobs

from assistlearn.errors import SettingsError
from assistlearn.types import Floats
from paper.datasets.dataset import DataSet

N_TRAIN, N_TEST = 1_000, 100_000


@dataclass(frozen=True)
class BlobFamily:
    """How a family of blobs is made.

    Attributes
    ----------
    name : str
        What it is called.
    n_classes : int
        How many blobs there are, one per class.
    n_features : int
        How many features tell the classes apart.
    n_agents : int
        How many agents the features are split between. All agents know equally many.
    n_redundant : int, default=0
        How many features are added that tell nothing new.
    redundant : {"noise", "mixtures"}, default="noise"
        "noise": they are drawn without regard to the class; "mixtures": they are random linear combinations of the
        features that tell the classes apart.
    spread : float, default=1.0
        The standard deviation of a blob in every direction.
    box : float, default=10.0
        The centres are drawn uniformly between minus and plus this number.
    """

    name: str
    n_classes: int
    n_features: int
    n_agents: int
    n_redundant: int = 0
    redundant: Literal["noise", "mixtures"] = "noise"
    spread: float = 1.0
    box: float = 10.0


FAMILIES = {
    family.name: family
    for family in (
        BlobFamily("fig1", n_classes=9, n_features=2, n_agents=2),
        BlobFamily("fig3a", n_classes=10, n_features=8, n_agents=4),
        BlobFamily("fig4a", n_classes=10, n_features=5, n_agents=2, n_redundant=195),
        BlobFamily("fig6a", n_classes=20, n_features=20, n_agents=20),
    )
}


def blobs(
    family: str | BlobFamily,
    part: Literal["train", "test"] = "train",
    *,
    n_samples: int | None = None,
    random_state: int = 0,
) -> DataSet:
    """Draw samples from a family of Gaussian blobs.

    Parameters
    ----------
    family : {"fig1", "fig3a", "fig4a", "fig6a"} or BlobFamily
        The paper's families, in this order: 9 classes and 2 agents with a feature each; 10 classes and 4 agents with
        two features each; 10 classes and 2 agents with a random half each of 5 useful and 195 redundant features;
        20 classes and 20 agents with a feature each. Pass a ``BlobFamily`` of your own to change any of this.
    part : {"train", "test"}, default="train"
        Both parts have the same centres and the same split between the agents, and no sample in common.
    n_samples : int, default=None
        How many samples; by default 1,000 to train with and 100,000 to test on. Classes are of equal size, as far as
        the number allows.
    random_state : int, default=0
        The seed of everything: centres, samples, split. Each replication of an experiment has its own seed.

    Returns
    -------
    data : DataSet
        Features ``x0``, ``x1``, ... tell the classes apart; ``r0``, ``r1``, ... are redundant. Agents are called A, B,
        and so on.

    Examples
    --------
    >>> train, test = blobs("fig3a"), blobs("fig3a", "test")
    >>> len(train), len(test)
    (1000, 100000)

    Wider blobs, which overlap more:

    >>> from dataclasses import replace
    >>> from paper.datasets import FAMILIES
    >>> blobs(replace(FAMILIES["fig6a"], spread=4.0), n_samples=100)
    <DataSet 'fig6a': 100 samples, 20 features, 20 classes; 20 agents>
    """
    family = _checked(family)
    if part not in ("train", "test"):
        raise SettingsError(f"part is 'train' or 'test', not {part!r}.")
    if n_samples is None:
        n_samples = N_TRAIN if part == "train" else N_TEST
    centres = _rng(random_state, 0).uniform(-family.box, family.box, (family.n_classes, family.n_features))
    seed = int(_rng(random_state, 1 if part == "train" else 2).integers(2**32))
    features, labels = make_blobs(n_samples, centers=centres, cluster_std=family.spread, random_state=seed)
    if family.n_redundant:
        features = np.hstack([features, _redundant(family, features, random_state, seed)])
    names = [f"x{place}" for place in range(family.n_features)] + [f"r{place}" for place in range(family.n_redundant)]
    return DataSet(
        name=family.name,
        features=features,
        labels=labels.astype(np.int64),
        ids=np.array([f"{part}-{place}" for place in range(n_samples)]),
        feature_names=tuple(names),
        agents=_split(family, names, random_state),
        class_names={code: f"blob {code}" for code in range(family.n_classes)},
        citation="Synthetic: isotropic Gaussian blobs, after the paper's Section on experiments.",
        licence="none needed",
    )


def _checked(family: str | BlobFamily) -> BlobFamily:
    if isinstance(family, str):
        if family not in FAMILIES:
            raise SettingsError(f"There is no family of blobs {family!r}. There are {', '.join(FAMILIES)}.")
        family = FAMILIES[family]
    n_columns = family.n_features + family.n_redundant
    if family.n_agents < 1 or n_columns % family.n_agents:
        raise SettingsError(f"{n_columns} features cannot be split equally between {family.n_agents} agents.")
    return family


def _rng(random_state: int, stream: int) -> np.random.Generator:
    """Return a random generator for one purpose, so that both parts share the centres and the split, and no samples."""
    return np.random.default_rng([random_state, stream])


def _redundant(family: BlobFamily, features: Floats, random_state: int, seed: int) -> Floats:
    if family.redundant == "mixtures":
        shares = _rng(random_state, 3).uniform(-1, 1, (family.n_features, family.n_redundant))
        mixtures: Floats = features @ shares
        return mixtures
    # As wide as the other features, so that their scale does not give them away.
    return _rng(seed, 4).uniform(-family.box, family.box, (len(features), family.n_redundant))


def _split(family: BlobFamily, names: list[str], random_state: int) -> dict[str, tuple[str, ...]]:
    places = np.arange(len(names))
    if family.n_redundant:  # the paper divides them at random
        places = _rng(random_state, 5).permutation(places)
    shares = np.split(places, family.n_agents)
    return {_letters(agent): tuple(names[place] for place in np.sort(share)) for agent, share in enumerate(shares)}


def _letters(place: int) -> str:
    """Return the name of an agent: A to Z, then AA, AB, ..."""
    place, last = divmod(place, 26)
    return (_letters(place - 1) if place else "") + chr(ord("A") + last)
