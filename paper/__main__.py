"""``python -m paper``: run the paper's experiments again, and say which of its claims hold."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from assistlearn.cli import main
from assistlearn.cli.output import Json, complaints, plain, say, say_json, show_table
from assistlearn.errors import InterruptedRunError, SettingsError
from assistlearn.evaluation.words import counted
from paper.calibration import trials
from paper.claims import checked_claims
from paper.figures import FIGURES, FigureSettings, quick, read_settings
from paper.page import facts, write, write_page
from paper.replication import FigureResult, Shelf, collect, prepared, run

program = typer.Typer(
    pretty_exceptions_enable=False, add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}
)
COLOURS = {"holds": "green", "holds in part": "yellow", "does not hold": "red", "cannot be judged": "yellow"}


@program.command()
def reproduce(
    figures: Annotated[
        list[str], typer.Argument(metavar="FIGURE", help="The figures: fig1, fig3a, ... fig6b, or all.")
    ],
    replications: Annotated[
        int | None, typer.Option(min=1, help="How many replications. The default is that of the figure.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many replications run at the same time.")] = 1,
    data: Annotated[
        Path | None,
        typer.Option(help="The folder with the data. Without it, the variable ASSISTLEARN_DATA counts, then OpenML."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for results and finished replications.")] = Path("reproduction"),
    page: Annotated[
        Path | None, typer.Option(help="Also write a page that compares with the paper, to this file.")
    ] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Run nothing. Report on the finished replications.")
    ] = False,
    small: Annotated[bool, typer.Option("--quick", help="Small sizes, for a first look.")] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Show how the settings were chosen, with the curves Single and Oracle only."),
    ] = False,
    json: Json = False,
) -> None:
    """Run the experiments of the paper again. After an interruption, the same command goes on where it stopped."""
    chosen = [_settings(name, replications, small) for name in _named(figures)]
    folder = None if data is None else str(data)
    if calibrate:
        _calibrate(chosen, folder, json)
        return
    if finished:
        results = _finished(chosen, out, folder)
    else:
        results = [_run(settings, out, jobs, folder, json) for settings in chosen]
    _report(results, out, folder, json)
    if page is not None:
        options = [*figures, *(["--quick"] if small else []), "--page", page.as_posix()]
        command = f"python -m paper {' '.join(options)}"
        write_page(results, page, folder, command=command, made=datetime.now(UTC).date().isoformat())
        if not json:
            say(f"The page is {plain(page)}.")


def _named(figures: list[str]) -> list[str]:
    names = list(FIGURES) if "all" in figures else list(dict.fromkeys(figures))
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise SettingsError(f"There is no figure {unknown[0]!r}. There are {', '.join(FIGURES)}, and all.")
    return names


def _settings(name: str, replications: int | None, small: bool) -> FigureSettings:
    settings = read_settings(name)
    settings = quick(settings) if small else settings
    return settings if replications is None else msgspec.structs.replace(settings, replications=replications)


def _run(settings: FigureSettings, out: Path, jobs: int, data: str | None, quiet: bool) -> FigureResult:
    settings = prepared(settings, data)
    done = []
    console = complaints()
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    try:
        with bar:
            task = bar.add_task(f"{settings.name} replications", total=settings.replications)
            for replication in run(settings, out, jobs, data):
                done.append(replication)
                bar.advance(task)
    except KeyboardInterrupt:
        interrupted = InterruptedRunError(
            f"Interrupted in {settings.name} after {counted(len(done), 'replication')} of {settings.replications}. "
            f"They are kept in {out / settings.name}."
        )
        interrupted.add_note("Go on with it: give the same command again.")
        raise interrupted from None
    return collect(settings, done)


def _finished(chosen: list[FigureSettings], out: Path, data: str | None) -> list[FigureResult]:
    results = []
    for settings in chosen:
        settings = prepared(settings, data)
        shelf = Shelf(out / settings.name)
        kept = [shelf.find(settings, number) for number in range(settings.replications)]
        there = [each for each in kept if each is not None]
        if there:
            results.append(collect(settings, there))
    if not results:
        raise SettingsError(f"{out} holds no finished replications of {', '.join(each.name for each in chosen)}.")
    return results


def _report(results: list[FigureResult], out: Path, data: str | None, as_json: bool) -> None:
    folders = [write(result, out, data) for result in results]
    if as_json:
        say_json({"out": str(out), "figures": [facts(result) for result in results]})
        return
    for result, folder in zip(results, folders, strict=True):
        _show(result)
        say(f"Numbers and pictures are in {plain(folder)}.")


def _show(result: FigureResult) -> None:
    settings = result.settings
    often = counted(len(result.replications), "replication")
    say(f"[bold]Figure {settings.figure}[/]: {plain(settings.title)}, {often}")
    if result.demo:
        say("[yellow]The open demo of 100 patients, not the paper's data.[/]")
    last = max((max(curve) for curve in result.published.values()), default=settings.rounds)
    last = min(last, settings.rounds)
    rows = []
    for method in settings.methods:
        mean, error, theirs = result.mean(method), result.standard_error(method), result.theirs(method, last)
        cells = f"{mean[0]:.3f}", f"{mean[last - 1]:.3f}", f"{error[last - 1]:.3f}"
        rows.append((method, *cells, "" if theirs is None else f"{theirs:.3f}"))
    show_table("", ["method"], ["first round", f"round {last}", "standard error", "published"], rows)
    for found in checked_claims(result):
        words = found.verdict.value
        say(f"[{COLOURS[words]}]{words}[/]: {plain(found.claim)} ({plain(found.evidence)})")


def _calibrate(chosen: list[FigureSettings], data: str | None, as_json: bool) -> None:
    tables = {}
    for settings in chosen:
        if settings.calibration is None:
            if len(chosen) == 1:
                list(trials(settings, data))  # raises an error that says why there is nothing to choose
            continue
        tables[settings.name] = [
            {
                "spread": trial.candidate.spread,
                "parameters": trial.candidate.parameters,
                "away": trial.away,
                "distance": trial.distance,
            }
            for trial in trials(settings, data)
        ]
    if as_json:
        say_json(tables)
        return
    for name, rows in tables.items():
        best = min(float(str(row["distance"])) for row in rows)
        cells = []
        for row in rows:
            away, spread = row["away"], row["spread"]
            assert isinstance(away, dict)
            counts = f"{row['distance']:.4f}{' (best)' if row['distance'] == best else ''}"
            values = f"{away['Single']:.4f}", f"{away['Oracle']:.4f}", counts
            cells.append(("" if spread is None else f"{spread:g}", row["parameters"], *values))
        show_table(name, ["spread", "parameters", "Single away", "Oracle away", "counts"], [], cells)


if __name__ == "__main__":
    main(program, "python -m paper")
