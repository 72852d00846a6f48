"""The settings of a figure, read from its ``settings.toml`` and checked."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from assistlearn.errors import SettingsError

FIGURES = ("fig1", "fig3a", "fig3b", "fig3c", "fig3d", "fig4a", "fig4b", "fig6a", "fig6b")
SETTINGS = "settings.toml"

Method: TypeAlias = Literal["Single", "ASCII", "Oracle", "ASCII-Random", "ASCII-Simple", "Ensemble-Ada"]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1)]
Share: TypeAlias = Annotated[float, msgspec.Meta(gt=0.0, lt=1.0)]
Parameters: TypeAlias = dict[str, Any]


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
    """The learner that every agent fits."""

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
    """How the figure is drawn."""

    low: float
    high: float
    shown_rounds: tuple[int, ...] = ()


class FigureSettings(_Part, frozen=True, kw_only=True):
    """All of a figure's settings.

    Attributes
    ----------
    figure : str
        Its number in the paper, such as "3c".
    title : str
        Data, split and learner in a line.
    methods : tuple of str
        The curves.
    rounds, replications, seed : int
        The number of rounds and of replications, and the seed of the first replication. Each other one has the next
        seed.
    data, learner, picture, quick, calibration, transmission
        The tables of the file.
    choice : str
        How the hyper-parameters were chosen.
    remark : str
        What a reader must know about the result.
    """

    figure: str
    title: str
    methods: tuple[Method, ...]
    rounds: Positive
    replications: Positive
    seed: int
    data: Data
    learner: LearnerSettings
    picture: Picture
    quick: Quick
    choice: str
    remark: str = ""
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

    Parameters
    ----------
    name : str
        The name of its folder, such as "fig3c".

    Examples
    --------
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
