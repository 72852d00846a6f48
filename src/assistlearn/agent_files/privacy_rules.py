"""What an agent's owner lets others be told about each person: the table ``[privacy]`` of its file."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.agent_files.toml_file import Count, Text
from assistlearn.errors import WrongKeyError
from assistlearn.methods import names
from assistlearn.setting import LARGEST_EPSILON

Epsilon: TypeAlias = Annotated[float, Meta(gt=0.0, le=LARGEST_EPSILON)]
Positive: TypeAlias = Annotated[float, Meta(gt=0.0)]


class PrivacyRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[privacy]`` of an agent's file. A rule is None where the file does not say.

    Attributes
    ----------
    max_bits_per_sample : float or None
        The most bits that one initiator is told about any one person, in training and prediction, over all its runs.
    max_rounds : int or None
        The most turns of one run in which this agent tells something about samples.
    max_predictions : int or None
        The most times that one initiator is given votes on the same person, over all its runs.
    min_samples : int or None
        How many of a run's training samples this agent must hold, in all and of each class that it holds any of.
    methods : tuple of str or None
        The methods of runs in which this agent takes part.
    randomise : float or None
        The epsilon of randomised response on what is told about a person: on one-bit rewards, and on the classes that a
        model answers for hold-out samples and in prediction.
    max_epsilon : float or None
        The most that these epsilons may sum to, for one initiator and any one person, over all its runs.
    max_label_epsilon : float or None
        In an initiator's file: how much helpers may be told about any one person's label, over all runs.
    told_labels : {"stay", "afresh"}
        In an initiator's file: whether what helpers were told about a person's label stays told, also if the label
        changes; or the labels of everybody in a run are drawn anew, which adds up.
    label_name : str or None
        In an initiator's file: by which name the ledger of told labels knows the column; by default by its own.

    Examples
    --------
    >>> PrivacyRules(methods=("ascii",), randomise=1.0).methods
    ('ascii',)
    >>> PrivacyRules(max_epsilon=5.0)
    Traceback (most recent call last):
        ...
    assistlearn.errors.WrongKeyError: privacy.max_epsilon limits what privacy.randomise spends, which the file ...
    """

    max_bits_per_sample: Positive | None = None
    max_rounds: Count | None = None
    max_predictions: Count | None = None
    min_samples: Count | None = None
    methods: tuple[str, ...] | None = None
    randomise: Epsilon | None = None
    max_epsilon: Positive | None = None
    max_label_epsilon: Positive | None = None
    told_labels: Literal["stay", "afresh"] = "stay"
    label_name: Text | None = None

    def __post_init__(self) -> None:
        if self.methods == ():
            raise WrongKeyError("methods", "privacy.methods names no method. List some, or remove the line.")
        if self.max_epsilon is not None and self.randomise is None:
            raise WrongKeyError(
                "max_epsilon",
                "privacy.max_epsilon limits what privacy.randomise spends, which the file does not set. Add a line "
                "such as: randomise = 1.0",
            )
        if self.told_labels == "afresh" and self.max_label_epsilon is None:
            raise WrongKeyError(
                "told_labels",
                'privacy.told_labels = "afresh" draws the labels of everybody anew in each run, and what all runs tell '
                "adds up. Say up to which sum, with a line such as: max_label_epsilon = 3.0",
            )

    def check_methods(self) -> None:
        """Raise for a method that is not known. A method of another package is known once that package is imported."""
        for name in self.methods or ():
            if name not in names():
                raise WrongKeyError(
                    "methods",
                    f"privacy.methods has {name!r}, which is not known.{did_you_mean(name, names())} The methods are "
                    f"{listed(names())}.",
                )
