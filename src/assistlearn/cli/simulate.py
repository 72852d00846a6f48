"""``assistlearn simulate``: all agents on this machine, each in a process of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from assistlearn.cli.output import Json, console, say_json
from assistlearn.cli.show import show_result
from assistlearn.deployment.run_folder import RunFolder
from assistlearn.deployment.simulation import Options, create_run, opened_run
from assistlearn.errors import SettingsError
from assistlearn.session import Event, RoundFinished, TurnFinished


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


def simulate(
    files: Annotated[list[Path] | None, typer.Argument(help="The agents' TOML files.")] = None,
    run: Annotated[str, typer.Option(help="The run's name.")] = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The run's folder [default: runs/NAME].")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run in this folder.")] = None,
    method: Annotated[Method, typer.Option(help="How models are weighted.")] = Method.ASCII,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds at the most.")] = 20,
    order: Annotated[Order, typer.Option(help="The order of the agents in a round.")] = Order.CHAIN,
    weak_agent: Annotated[
        WeakAgent, typer.Option(help="What to do with a model no better than chance.")
    ] = WeakAgent.SKIP,
    holdout: Annotated[float | None, typer.Option(help="Share of the samples to hold out, to stop in time.")] = None,
    patience: Annotated[int, typer.Option(min=1, help="Rounds without improvement before stopping.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Where all chance comes from.")] = 0,
    align: Annotated[Alignment, typer.Option(help="How samples are matched.")] = Alignment.HASH,
    overlap: Annotated[
        Overlap, typer.Option(help="Helpers abstain on samples they lack, or common samples only.")
    ] = Overlap.ABSTAIN,
    purpose: Annotated[str, typer.Option(help="What for, as the helpers are told.")] = "",
    reward: Annotated[Reward, typer.Option(help="How an agent finds out where its model is right.")] = Reward.IN_SAMPLE,
    score_bits: Annotated[int, typer.Option(help="Bits per sample and turn in the soft method: 4, 8, 16 or 32.")] = 8,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for an agent's answer.")] = 3600.0,
    json: Json = False,
) -> None:
    """Train: every agent in a process of its own, with its own table, and nothing but messages between them."""
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise SettingsError(f"--holdout {holdout} must be a share between 0 and 1.")
    if score_bits not in (4, 8, 16, 32):
        raise SettingsError(f"--score-bits {score_bits} must be 4, 8, 16 or 32.")
    if resume is not None:
        folder = RunFolder(resume)
    else:
        if not files or len(files) < 2:
            raise SettingsError("Name the files of at least two agents, or a run to go on with: --resume FOLDER.")
        name = run or datetime.now(UTC).strftime("run-%Y%m%d-%H%M%S")
        options = Options(
            method=method,
            order=order,
            n_rounds=rounds,
            weak_agent=weak_agent,
            holdout=holdout,
            patience=patience,
            seed=seed,
            alignment=align,
            overlap=overlap,
            purpose=purpose,
            reward=reward,
            score_bits=score_bits,
        )
        folder = create_run(out or Path("runs") / name, name, files, options)
    if folder.result() is None:
        _train(folder, timeout, quiet=json)
    result = folder.result()
    assert result is not None
    if json:
        say_json({"folder": str(folder.path)} | result)
        return
    show_result(folder)
    console().print(f"The run lives in {folder.path}. Next: assistlearn predict {folder.path} -o predictions.csv")


def _train(folder: RunFolder, timeout: float, quiet: bool) -> None:
    settings = folder.settings()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        disable=quiet,
    )
    with bar, opened_run(folder, training=True, timeout=timeout) as (leader, _):
        task = bar.add_task("turns", total=settings.n_rounds * len(settings.agents), note="aligning samples")
        for event in leader.train():
            bar.update(task, advance=isinstance(event, TurnFinished), note=_note(event))


def _note(event: Event) -> str:
    if isinstance(event, TurnFinished):
        if event.contribution is None:
            return f"round {event.round}: {event.agent} sat out"
        return f"round {event.round}: {event.agent} is right on {event.contribution.accuracy:.1%} of the samples"
    if isinstance(event, RoundFinished) and event.holdout_accuracy is not None:
        return f"round {event.round}: accuracy on the hold-out samples {event.holdout_accuracy:.1%}"
    return ""
