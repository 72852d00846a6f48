"""The bar tells who is at work and how right its model is; it stays out of the way of scripts."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from assistlearn.cli.progress import Bar, TrainingBar
from assistlearn.core import Contribution
from assistlearn.events import Asked, RoundFinished, SamplesDone, TurnFinished
from assistlearn.plan import Plan

SETTINGS = SimpleNamespace(plan=Plan(n_rounds=3, method="ascii"), turn_takers=["clinic", "lab"])


def terminal(is_one: bool = True) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_one, width=120, color_system=None)


def last_line(console: Console) -> str:
    """Return what the bar shows last: it is drawn again and again on the same line."""
    assert isinstance(console.file, io.StringIO)
    drawn = [line for line in console.file.getvalue().replace("\r", "\n").splitlines() if "\x1b[?25" not in line]
    return [line for line in drawn if line.replace("\x1b[2K", "").strip()][-1]


def turn(number: int, agent: str, accuracy: float | None) -> TurnFinished:
    made = None if accuracy is None else Contribution(number, 1, agent, 1.5, 0.8, accuracy, False)
    return TurnFinished(number, 1, agent, 1.5, 0.8, made)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([turn(1, "clinic", 0.912)], ["round 1 of 3", "1/6", "clinic right on 91.2%"]),
        ([turn(1, "clinic", 0.912), turn(2, "lab", None)], ["2/6", "lab sat out"]),
        (
            [RoundFinished(1, 0.953), turn(3, "clinic", 0.9)],
            ["clinic right on 90.0%; together 95.3% on the hold-out samples"],
        ),
    ],
    ids=["a turn", "sitting out", "hold-out"],
)
def test_a_turn_shows_its_accuracy_and_what_all_reach_together(events, words):
    console = terminal()
    with TrainingBar(SETTINGS, quiet=False, console=console) as bar:
        for event in events:
            bar.show(event)
        bar.progress.refresh()
        shown = last_line(console)
    assert all(word in shown for word in words), shown


def test_the_bar_shows_the_metric_that_was_chosen():
    console = terminal()
    settings = SimpleNamespace(plan=Plan(n_rounds=3, method="ascii", metric="roc_auc"), turn_takers=["clinic", "lab"])
    with TrainingBar(settings, quiet=False, console=console) as bar:
        bar.show(RoundFinished(1, 0.99, metric=0.731))
        bar.show(turn(3, "clinic", 0.9))
        bar.progress.refresh()
        shown = last_line(console)
    assert "together ROC AUC 0.731 on the hold-out samples" in shown


def test_alignment_shows_with_whom_and_how_far_it_is():
    console = terminal()
    with Bar(quiet=False, console=console) as bar:
        bar.progress.refresh()
        assert "starting the agents" in last_line(console)
        bar.show(Asked("lab", "align", 2_000))
        bar.progress.refresh()
        assert "waiting for lab" in last_line(console)
        assert "2.0 kB exchanged" in last_line(console)
        bar.show(SamplesDone("lab", 2_000, 10_000))
        bar.progress.refresh()
        assert "samples with lab" in last_line(console)
        assert "2000/10000" in last_line(console)


@pytest.mark.parametrize(("quiet", "is_terminal"), [(True, True), (False, False)])
def test_nothing_is_drawn_for_scripts_or_into_files(quiet, is_terminal):
    console = terminal(is_terminal)
    with TrainingBar(SETTINGS, quiet=quiet, console=console) as bar:
        bar.show(SamplesDone("lab", 1, 2))
        bar.show(turn(1, "clinic", 0.9))
    assert console.file.getvalue() == ""
