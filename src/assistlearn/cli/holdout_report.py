"""Print what the hold-out samples show about a run: figures with help and alone, who helped, and who did harm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from assistlearn.cli.output import counted, plain, say, say_table
from assistlearn.pages.figures_in_words import MOST_FREQUENT, TITLES, compared_in_words

MOST_CLASSES = 12
"""With more classes, the table leaves out how often each class was predicted. ``--json`` has these counts."""


def show_report(report: Mapping[str, Any], classes: Sequence[Any], rounds: str) -> None:
    """Print what the hold-out samples show about the result of a run."""
    samples = counted(report["n_samples"], "hold-out sample")
    say(f"On {samples}, whose labels helpers were not told, after {rounds}: {_verdict(report)}")
    say_table(_metrics(report))
    for helper in report["worse"]:
        done = (
            "its votes were left out"
            if helper in report["left_out"]
            else 'its votes count, because worse_agent is "keep"'
        )
        say(
            f"[yellow]{plain(helper)} makes the result worse on these samples, by more than chance explains:[/] {done}."
        )
    if report["shares"] is not None:
        say_table(_shares(report["shares"]))
    say_table(_classes(report, classes))


def _verdict(report: Mapping[str, Any]) -> str:
    """Return in words whether help was worth it, by the accuracy."""
    assisted, alone = report["assisted"]["accuracy"], report["alone"]["accuracy"]
    found = report["differences"]["accuracy"]
    by_labels = f" ({MOST_FREQUENT})" if report.get("alone_by_labels") else ""
    words = f"accuracy [bold]{assisted:.1%}[/] with help, {alone:.1%} alone{by_labels}"
    if found is None:
        return f"{words}."
    between = f"the difference lies between {found['low']:+.1%} and {found['high']:+.1%} (95 % interval)"
    if found["low"] > 0.0:
        return f"{words}. Help was worth it: {between}."
    if found["high"] < 0.0:
        return f"{words}. [yellow]Help made it worse:[/] {between}."
    return f"{words}. It is not certain whether help was worth it: {between}."


def _metrics(report: Mapping[str, Any]) -> Table:
    by_labels = bool(report.get("alone_by_labels"))
    view = Table("", title=compared_in_words(by_labels), title_justify="left")
    for title in ("with help", "alone", "difference", "95 % interval"):
        view.add_column(title, justify="right")
    for name, title in TITLES.items():
        found = report["differences"].get(name)
        difference = ("-", "-") if found is None else (f"{found['value']:+.3f}", _interval(found))
        view.add_row(title, _figure(report["assisted"].get(name)), _figure(report["alone"].get(name)), *difference)
    return view


def _shares(shares: Mapping[str, Any]) -> Table:
    view = Table(
        "helper", title="Who helped: how much of the result is due to each helper's votes", title_justify="left"
    )
    for title in ("accuracy", "± 2 std. errors", "log loss lower by", "± 2 std. errors", "accuracy lost without it"):
        view.add_column(title, justify="right")
    for share in shares["helpers"]:
        accuracy, loss = share["accuracy"], share["loss"]
        view.add_row(
            plain(share["helper"]),
            f"{accuracy['value']:+.3f}",
            f"{2 * accuracy['error']:.3f}",
            f"{loss['value']:+.3f}",
            f"{2 * loss['error']:.3f}",
            f"{share['accuracy_if_dropped']['value']:+.3f}",
        )
    view.add_section()
    view.add_row(
        "together", f"{shares['accuracy']['value']:+.3f}", f"{2 * shares['accuracy']['error']:.3f}",
        f"{shares['loss']['value']:+.3f}", f"{2 * shares['loss']['error']:.3f}", "",
    )  # fmt: skip
    return view


def _classes(report: Mapping[str, Any], classes: Sequence[Any]) -> Table:
    """Return a table of the true classes: which classes were predicted for them, and how often the right one."""
    view = Table("true class", title="Which class was predicted", title_justify="left")
    few = len(classes) <= MOST_CLASSES
    for title in [plain(each) for each in classes] if few else []:
        view.add_column(title, justify="right")
    view.add_column("found", justify="right")
    view.add_column("found alone", justify="right")
    for name, counts, found, alone in zip(
        classes, report["confusion"], report["recalls"], report["recalls_alone"], strict=True
    ):
        view.add_row(plain(name), *([f"{count:g}" for count in counts] if few else []), _share(found), _share(alone))
    return view


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _interval(found: Mapping[str, float]) -> str:
    return f"{found['low']:+.3f} to {found['high']:+.3f}"
