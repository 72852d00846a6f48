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
    """What is compared."""

    ZERO_ONE = "zero-one"
    LOG = "log"


class AlignOption(StrEnum):
    """How ids are matched."""

    HASH = "hash"
    PSI = "psi"


Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE", help="Two or more agents' TOML files; or one task's file, for a network."),
]
AtLeast = Annotated[
    float, _asked(metavar="GAIN", help="How much lower the loss must be: 0.02 are 2 points of accuracy.")
]
Loss = Annotated[LossOption, _asked(metavar="WHICH", help="Wrong or right (zero-one); or log loss, clipped (log).")]
Alpha = Annotated[float, _asked(metavar="CHANCE", help="Of a wrong answer, at the most; shared by all answers.")]
EachHelper = Annotated[
    bool, _asked("--each-helper", metavar="", help="Go on until there is an answer for every helper, too.")
]
Rounds = Annotated[int, _run(min=1, metavar="NUMBER", help="Rounds of training.")]
TrainShare = Annotated[
    float, _run(metavar="SHARE", help="The share of the labelled samples to train on, at most 5,000.")
]
Block = Annotated[int, _run(min=1, metavar="NUMBER", help="How many samples are opened at a time.")]
Seed = Annotated[
    int | None, _run(min=0, metavar="NUMBER", help="Where all chance comes from.", show_default="0, or the task's")
]
Align = Annotated[
    AlignOption | None,
    _run(
        metavar="WHICH",
        help="How ids are matched: by keyed hashes (hash) or private set intersection (psi).",
        show_default="hash, or the task's",
    ),
]
Purpose = Annotated[
    str | None, _run(metavar="WORDS", help="What helpers are told.", show_default="the task's, or that it is a pilot")
]
Out = Annotated[
    Path | None, _run("--out", "-o", metavar="FOLDER", help="The pilot's folder.", show_default="runs/NAME")
]
Run = Annotated[str, _run(metavar="NAME", help="The pilot's name.", show_default="pilot-, the time and four letters")]
Resume = Annotated[Path | None, _run(metavar="FOLDER", help="Go on with the pilot in this folder.")]
Plot = Annotated[Path | None, _run(metavar="FILE", help="Draw the interval against opened samples.")]
Timeout = Annotated[
    float,
    _run(min=1, max=A_YEAR, metavar="SECONDS", help="How long to wait for an answer of an agent on this machine."),
]
