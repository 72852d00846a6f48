"""A figure's settings, read from its ``settings.toml``, and what they stand for: curves, learner and samples."""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn.errors import SettingsError
from paper.datasets import FAMILIES, DataSet, blobs, fashion_mnist, mimic_long_stay, qsar, red_wine
from paper.datasets.sources import MissingDataError

FIGURES = ("fig1", "fig3a", "fig3b", "fig3c", "fig3d", "fig4a", "fig4b", "fig6a", "fig6b")
SETTINGS = "settings.toml"
CURVES = "published_curves.csv"

Method: TypeAlias = Literal["Single", "ASCII", "Oracle", "ASCII-Random", "ASCII-Simple", "Ensemble-Ada"]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
Parameters: TypeAlias = dict[str, Any]
Curve: TypeAlias = MappingProxyType[int, float]

LEARNERS = {
    "decision tree": DecisionTreeClassifier,
    "random forest": RandomForestClassifier,
    "logistic regression": LogisticRegression,
    "network": MLPClassifier,
}


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file: an unknown key is an error."""


class Blobs(_Part, frozen=True, tag_field="kind", tag="blobs"):
    """Synthetic samples. Every replication draws its own centres, samples and split of the columns."""

    family: str
    spread: float
    n_train: Positive
    n_test: Positive


class Shared(_Part, frozen=True, tag_field="kind", tag="table"):
    """A table of real samples; every replication trains on a share of them, at random, and tests on the others."""

    loader: Literal["qsar", "red_wine"]
    train: Share
    n_agents: int | None = None


class Pictures(_Part, frozen=True, tag_field="kind", tag="fashion_mnist"):
    """Fashion-MNIST, with its own training and test parts. Every replication cuts the pictures along another line."""

    divide_by: float
    n_train: Positive = 60_000
    n_test: Positive = 10_000


class Patients(_Part, frozen=True, tag_field="kind", tag="mimic"):
    """MIMIC-III: the credentialed files where the user has them, the open demo otherwise."""

    train: Share
    stay: Literal["icu", "hospital"]
    n_variables: Literal[15, 16]
    n_patients: Positive
    demo: bool = False


Data: TypeAlias = Blobs | Shared | Pictures | Patients


class LearnerSettings(_Part, frozen=True):
    kind: Literal["decision tree", "random forest", "logistic regression", "network"]
    parameters: Parameters
    standardise: bool = False


class Candidate(_Part, frozen=True):
    """One choice of settings that the paper does not state: the learner's parameters, and the spread of Blobs."""

    parameters: Parameters = {}
    spread: float | None = None


class Calibration(_Part, frozen=True):
    """The candidates for settings that the paper does not state. Single and Oracle alone decide among them."""

    replications: Positive
    n_test: Positive
    candidates: list[Candidate]
    guides: tuple[Literal["Single", "Oracle"], ...] = ("Single", "Oracle")


class Quick(_Part, frozen=True):
    """Small sizes for a first look, and for tests."""

    rounds: Positive
    n_train: Positive
    n_test: Positive
    parameters: Parameters = {}


class Transmission(_Part, frozen=True):
    """What the paper claims about the cost of sending, and how many bits a value of the helper's columns has."""

    claimed_ratio: float
    target: Share
    bits_per_value: Positive


class Picture(_Part, frozen=True):
    low: float
    high: float
    shown_rounds: tuple[int, ...] = ()


class FigureSettings(_Part, frozen=True, kw_only=True):
    """All of a figure's settings. ``figure`` is its number in the paper, such as "3c"."""

    figure: str
    title: str
    methods: tuple[Method, ...]
    rounds: Positive
    replications: Positive
    seed: int  # of the first replication; each other one has the next
    data: Data
    learner: LearnerSettings
    picture: Picture
    quick: Quick
    choice: str  # how the hyper-parameters were chosen
    remark: str = ""  # what a reader must know about the result
    calibration: Calibration | None = None
    transmission: Transmission | None = None

    @property
    def name(self) -> str:
        """The name of the figure's folder and command."""
        return f"fig{self.figure}"

    def digest(self) -> str:
        """Return a short text that changes with every setting that a replication's numbers depend on.

        It does not depend on the number of replications, nor on how the figure is drawn and explained.
        """
        decisive = [self.methods, self.rounds, self.seed, self.data, self.learner, self.transmission is not None]
        return hashlib.sha256(msgspec.json.encode(decisive, order="deterministic")).hexdigest()[:16]


def read_settings(name: str) -> FigureSettings:
    """Return the settings of a figure.

    >>> read_settings("fig3c").rounds
    10
    >>> read_settings("fig7")
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: There is no figure 'fig7'. There are fig1, fig3a, ...
    """
    if name not in FIGURES:
        raise SettingsError(f"There is no figure {name!r}. There are {', '.join(FIGURES)}.")
    text = files(__package__).joinpath("figures", name, SETTINGS).read_text(encoding="utf-8")
    return parse_settings(tomllib.loads(text), f"{name}/{SETTINGS}")


def parse_settings(values: Mapping[str, Any], where: str) -> FigureSettings:
    """Return the settings from the values of a TOML file. ``where`` names the file in errors."""
    try:
        return msgspec.convert(values, FigureSettings)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{where}: {error}.") from None


def quick(settings: FigureSettings) -> FigureSettings:
    """Return the settings with the small sizes of their ``quick`` table.

    >>> quick(read_settings("fig3a")).data.n_test
    500
    """
    small, data = settings.quick, settings.data
    if isinstance(data, Blobs | Pictures):
        data = msgspec.structs.replace(data, n_train=small.n_train, n_test=small.n_test)
    learner = msgspec.structs.replace(settings.learner, parameters=settings.learner.parameters | small.parameters)
    return msgspec.structs.replace(settings, rounds=small.rounds, data=data, learner=learner)


def published(figure: str) -> dict[str, Curve]:
    """Return a figure's published curves: for each, the accuracy after some of the rounds; empty where there are none.

    Rounds count from 1 here; the paper's plots, and the file beside this one, call the first round 0. The accuracies
    were read off the plots by eye, to about 0.01.

    >>> published("3c")["ASCII"][1], max(published("3c")["ASCII"])
    (0.797, 10)
    >>> published("1")
    {}
    """
    return dict(_curves().get(figure, {}))


@cache
def _curves() -> dict[str, dict[str, Curve]]:
    found: dict[str, dict[str, dict[int, float]]] = {}
    with files(__package__).joinpath(CURVES).open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            curve = found.setdefault(row["figure"], {}).setdefault(row["method"], {})
            curve[int(row["round"]) + 1] = float(row["accuracy"])
    return {
        figure: {method: MappingProxyType(curve) for method, curve in curves.items()}
        for figure, curves in found.items()
    }


def make_learner(learner: LearnerSettings) -> Any:
    """Return an unfitted classifier.

    >>> make_learner(LearnerSettings("decision tree", {"max_depth": 3}))
    DecisionTreeClassifier(max_depth=3)
    """
    kind = LEARNERS[learner.kind]
    try:
        made = kind(**learner.parameters)
    except TypeError as error:
        raise SettingsError(f"The learner {learner.kind!r} refuses its parameters: {error}.") from None
    return make_pipeline(StandardScaler(), made) if learner.standardise else made


def draw(data: Data, seed: int, folder: str | None = None) -> tuple[DataSet, DataSet]:
    """Return the samples to train on and those to test on. The same seed draws the same samples.

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
