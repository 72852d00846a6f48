"""What a pilot has found, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from assistlearn.cli.output import counted, plain, say, say_table, size
from assistlearn.evaluation.figures_in_words import alone_in_words

if TYPE_CHECKING:
    from assistlearn.evaluation.gains import Gain, Worth
    from assistlearn.runs.folder import RunFolder

WORDS = {
    "yes": "[bold green]Yes[/]: help is worth it",
    "no": "[bold red]No[/]: help is not worth it",
    "undecided": "[bold yellow]Undecided[/]: these samples cannot tell whether help is worth it",
}


def show_pilot(folder: RunFolder) -> None:
    """Print what a pilot has found, or how far it is."""
    from assistlearn.evaluation.gains import Worth
    from assistlearn.reach.opening import resuming

    name, facts = f"Pilot [bold]{plain(folder.settings().run)}[/]", folder.worth()
    if facts is None:
        n_opened = sum(block.shape[1] for block in folder.opened())
        say(f"{name} is not finished: {counted(folder.n_turns, 'turn')} taken, {n_opened:,} samples opened.")
        say("Go on with it: " + plain(resuming(folder)))
        return
    say(f"{name} is finished.")
    show_worth(Worth.from_dict(facts))


def show_worth(found: Worth) -> None:
    """Print the answer, what it rests on, and the answers for each helper."""
    terms, gain = found.terms, found.together
    what = "error rate" if terms.loss == "zero-one" else "log loss"
    asked = f"a gain of at least {terms.at_least:g}" if terms.at_least else "any gain"
    say(f"{WORDS[found.answer]} ({asked} was asked for).")
    by_labels = f" ({alone_in_words(what)})" if found.alone_by_labels else ""
    say(
        f"The {what} is {found.loss_alone:.3f} alone{by_labels} and {found.loss_assisted:.3f} with help, on "
        f"{counted(found.n_opened, 'opened sample')}. {counted(found.n_closed, 'sample')} stayed closed. "
        f"Trained on {found.n_training:,}."
    )
    say(
        f"For samples like these the gain is about {gain.estimate:+.3f}. It lies between {gain.lower:+.3f} and "
        f"{gain.upper:+.3f}. These limits are right with a chance of {1 - gain.alpha:.1%}, whenever you stop."
    )
    if found.answer == "undecided":
        say("For an answer, use more labelled samples, or train on fewer of them (--train-share).")
    say_table(_helpers(found))


def _helpers(found: Worth) -> Table:
    view = Table("helper", title="Each helper alone with the initiator", title_justify="left")
    for title in ("worth it", "gain", "from", "to", "confidence", "exchanged"):
        view.add_column(title, justify="right")
    for name, gain in found.helpers.items():
        exchanged = "-" if found.n_bytes is None else size(found.n_bytes[name])
        view.add_row(plain(name), *_cells(gain), exchanged)
    return view


def _cells(gain: Gain) -> tuple[str, ...]:
    numbers = (f"{value:+.3f}" for value in (gain.estimate, gain.lower, gain.upper))
    return (gain.answer, *numbers, f"{1 - gain.alpha:.2%}")
