"""``assistlearn simulate``: all agents on this machine, each in a process of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli.output import Json
from assistlearn.cli.training import report_run, train_run
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.runs.folder import RunFolder


class Method(StrEnum):
    """What ``--method`` may say."""

    ASCII = "ascii"
    SIMPLE = "simple"
    ENSEMBLE = "ensemble"
    SOFT = "soft"


class Reward(StrEnum):
    """What ``--reward`` may say."""

    IN_SAMPLE = "in-sample"
    OUT_OF_FOLD = "out-of-fold"
    AUTO = "auto"


class Order(StrEnum):
    """What ``--order`` may say."""

    CHAIN = "chain"
    RANDOM = "random"
    STRONGEST = "strongest"


class WeakAgent(StrEnum):
    """What ``--weak-agent`` may say."""

    SKIP = "skip"
    STOP = "stop"


class Alignment(StrEnum):
    """What ``--align`` may say."""

    HASH = "hash"
    PSI = "psi"


class Overlap(StrEnum):
    """What ``--overlap`` may say."""

    ABSTAIN = "abstain"
    INTERSECTION = "intersection"


class Loss(StrEnum):
    """What ``--loss`` may say."""

    LOGISTIC = "logistic"
    EXPONENTIAL = "exponential"


_run = partial(typer.Option, rich_help_panel="The run")
_samples = partial(typer.Option, rich_help_panel="Samples")
_training = partial(typer.Option, rich_help_panel="Training")
_soft = partial(typer.Option, rich_help_panel="The soft method")

OF_THE_PROGRAM = {"resume", "timeout", "json"}
"""Options that do not belong to a run's settings, so that they may be given when it is resumed."""


def simulate(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(metavar="FILE", help="Two or more agents' TOML files.")] = None,
    out: Annotated[
        Path | None, _run("--out", "-o", metavar="FOLDER", help="The run's folder.", show_default="runs/NAME")
    ] = None,
    run: Annotated[str, _run(metavar="NAME", help="The run's name.", show_default="run- and the time")] = "",
    purpose: Annotated[str, _run(metavar="WORDS", help="What for, as the helpers are told.", show_default="none")] = "",
    resume: Annotated[Path | None, _run(metavar="FOLDER", help="Go on with the run in this folder.")] = None,
    timeout: Annotated[
        float, _run(min=1, metavar="SECONDS", help="How long to wait for an answer of an agent.")
    ] = 3600.0,
    align: Annotated[
        Alignment, _samples(metavar="HOW", help="Match ids by keyed hashes (hash) or private set intersection (psi).")
    ] = Alignment.HASH,
    overlap: Annotated[
        Overlap,
        _samples(
            metavar="HOW",
            help="Use all of the initiator's samples, helpers abstain where they lack one (abstain); or only those "
            "that all hold (intersection).",
        ),
    ] = Overlap.ABSTAIN,
    holdout: Annotated[
        float | None,
        _samples(
            metavar="SHARE",
            help="Hold out a share of the samples, 0.2 say, to tell the accuracy and when to stop.",
            show_default="none",
        ),
    ] = None,
    patience: Annotated[
        int, _samples(min=1, metavar="ROUNDS", help="With --holdout: stop after so many rounds without improvement.")
    ] = 3,
    method: Annotated[
        Method, _training(metavar="HOW", help="How models are weighted: ascii, simple, ensemble or soft.")
    ] = Method.ASCII,
    rounds: Annotated[int, _training(min=1, metavar="NUMBER", help="Rounds at the most.")] = 20,
    order: Annotated[
        Order,
        _training(
            metavar="HOW",
            help="Who is next in a round: the initiator, then helpers as their files are given (chain); by chance "
            "(random); who had the largest weight (strongest).",
        ),
    ] = Order.CHAIN,
    weak_agent: Annotated[
        WeakAgent,
        _training(metavar="HOW", help="A model no better than chance: its agent sits out (skip), or the end (stop)."),
    ] = WeakAgent.SKIP,
    reward: Annotated[
        Reward,
        _training(
            metavar="HOW",
            help="Where a model is right is told by the samples it has seen (in-sample), by others (out-of-fold), or "
            "by others once the first say nothing any more (auto).",
        ),
    ] = Reward.IN_SAMPLE,
    cv: Annotated[int, _training(min=2, max=100, metavar="NUMBER", help="Folds of out-of-fold rewards.")] = 5,
    seed: Annotated[int, _training(min=0, metavar="NUMBER", help="Where all chance comes from.")] = 0,
    loss: Annotated[Loss, _soft(metavar="WHICH", help="What is made small: logistic or exponential.")] = Loss.LOGISTIC,
    shrinkage: Annotated[float, _soft(metavar="FACTOR", help="What model weights are multiplied by.")] = 0.5,
    score_bits: Annotated[int, _soft(metavar="BITS", help="Per sample and turn: 4, 8, 16 or 32.")] = 8,
    json: Json = False,
) -> None:
    """Train: every agent in a process of its own, with its own table, and nothing but messages between them.

    One file, the initiator's, names a label column. Ctrl-C leaves a run that --resume goes on with.
    """
    from assistlearn.reach.processes.opening import train
    from assistlearn.runs.folder import RunFolder

    if resume is not None:
        _refuse_settings(context)
        folder = RunFolder(resume)
    else:
        _check_ranges(holdout, shrinkage, score_bits)
        folder = _new_run(
            files or [],
            run or datetime.now(UTC).strftime("run-%Y%m%d-%H%M%S"),
            out,
            method=method.value,
            order=order.value,
            n_rounds=rounds,
            weak_agent=weak_agent.value,
            holdout=holdout,
            patience=patience,
            seed=seed,
            alignment=align.value,
            overlap=overlap.value,
            purpose=purpose,
            reward=reward.value,
            cv=cv,
            loss=loss.value,
            shrinkage=shrinkage,
            score_bits=score_bits,
        )
    train_run(folder, lambda bar: train(folder, timeout, bar.tell), quiet=json)
    report_run(folder, json)


def _refuse_settings(context: typer.Context) -> None:
    """Refuse what cannot be changed in a run that has begun, rather than pass over it in silence."""
    for name in context.params.keys() - OF_THE_PROGRAM:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            given = "The agents' files" if name == "files" else f"--{name.replace('_', '-')}"
            raise SettingsError(
                f"{given} cannot be given with --resume: a run goes on as it was begun. Leave it out, or start a new "
                "run without --resume."
            )


def _check_ranges(holdout: float | None, shrinkage: float, score_bits: int) -> None:
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise SettingsError(f"--holdout {holdout} must be a share between 0 and 1.")
    if not 0.0 < shrinkage <= 1.0:
        raise SettingsError(f"--shrinkage {shrinkage} must be above 0 and at most 1.")
    if score_bits not in (4, 8, 16, 32):
        raise SettingsError(f"--score-bits {score_bits} must be 4, 8, 16 or 32.")


def _new_run(files: list[Path], name: str, out: Path | None, **options: Any) -> RunFolder:
    from assistlearn.runs.simulation import Options, create_run

    if len(files) < 2:
        named = f"only {files[0]} is named" if files else "none is named"
        raise SettingsError(
            f"A run needs the files of at least two agents; {named}. (To go on with a run: --resume FOLDER. "
            "For files to start from: assistlearn init demo --example)"
        )
    return create_run(out or Path("runs") / name, name, files, Options(**options))
