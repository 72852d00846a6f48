"""The options of ``assistlearn worth``."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from assistlearn.reach import A_YEAR

_run = partial(typer.Option, rich_help_panel="The run")
_asked = partial(typer.Option, rich_help_panel="What is asked")


class LossOption(StrEnum):
    """The loss that a pilot compares, with help and alone."""

    ZERO_ONE = "zero-one"
    LOG = "log"


class AlignOption(StrEnum):
    """How ids are matched."""

    HASH = "hash"
    PSI = "psi"


Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE", help="Two or more agent files, for a pilot on this machine; or one task file, for a network."
    ),
]
AtLeast = Annotated[
    float, _asked(metavar="GAIN", help="The smallest gain that is worth it to you; 0.02 is 2 points of accuracy.")
]
Loss = Annotated[
    LossOption | None,
    _asked(
        metavar="WHICH",
        help="How answers are scored. zero-one: right or wrong. log: log loss, if you need probabilities; none counts "
        "as less than 0.01.",
        show_default="zero-one; or what suits the task's metric",
    ),
]
Alpha = Annotated[float, _asked(metavar="CHANCE", help="The largest chance that any of the answers is wrong.")]
EachHelper = Annotated[
    bool, _asked("--each-helper", metavar="", help="Go on until there is also an answer for each helper by itself.")
]
Rounds = Annotated[int, _run(min=1, metavar="NUMBER", help="The number of rounds of training.")]
TrainShare = Annotated[
    float,
    _run(
        metavar="SHARE",
        help="The share of the labelled samples to train on, 5,000 at most. The others are for the test.",
    ),
]
Block = Annotated[int, _run(min=1, metavar="NUMBER", help="How many samples are tested at a time.")]
Seed = Annotated[
    int | None, _run(min=0, metavar="NUMBER", help="The seed of all randomness.", show_default="0, or the task's")
]
Align = Annotated[
    AlignOption | None,
    _run(
        metavar="WHICH",
        help="How agents find the people that they share. hash: fast, for agents that trust each other with a shared "
        "secret. psi: private set intersection; slower, for agents that do not.",
        show_default="hash, or the task's",
    ),
]
Purpose = Annotated[
    str | None,
    _run(
        metavar="WORDS",
        help="What the pilot is for, in a few words. Every helper is told.",
        show_default="the task's, or that it is a pilot",
    ),
]
Out = Annotated[
    Path | None, _run("--out", "-o", metavar="FOLDER", help="The folder for the pilot.", show_default="runs/NAME")
]
Run = Annotated[
    str, _run(metavar="NAME", help="The pilot's name.", show_default="pilot-, the time and four characters")
]
Resume = Annotated[Path | None, _run(metavar="FOLDER", help="Go on with the interrupted pilot in this folder.")]
Plot = Annotated[
    Path | None, _run(metavar="FILE", help="Draw how the answer became clear: a file that ends in .png, .svg or .pdf.")
]
Timeout = Annotated[
    float,
    _run(
        min=1,
        max=A_YEAR,
        metavar="SECONDS",
        help="How long to wait for an answer of an agent on this machine. A slow learner needs more.",
    ),
]
