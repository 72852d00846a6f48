"""Print the findings of ``assistlearn privacy`` for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from assistlearn.cli.output import counted, plain, say, say_table

KINDS = (
    "Rewards (was a model right?) and scores (how sure was it?) are about training samples, hold-out answers about "
    "hold-out samples. Votes are for prediction, and count each time a sample is asked about. 'Bits as sent' are "
    "those after compression."
)
LABELS = (
    "Labels go out in one message with the weights of samples, if there are any, and with which samples are held out: "
    "the bits as sent of labels are those of the whole message, for each training sample."
)
GUESSED = (
    "What is guessed: whether a number lies above the median, whether a category is the most frequent one, which of "
    "two values it is. In brackets the same guess without what was released; ± is the standard error over three tries. "
    "Rank is the rank correlation with the numbers, at the largest share. Shares of fewer than ten people are left out."
)
NO_EPSILON = "No epsilon limits what the answers reveal about a helper's columns: the answers are not randomised."
CLEAR = "Helpers were told the true labels, as numbers."
BETTER = (
    "This attack used only the labels, as they were told, and what was released. An attacker with columns of its own "
    "guesses better. Nothing has left this machine."
)


def show_run(facts: dict[str, Any]) -> None:
    """Print what the agents of a run have released."""
    from assistlearn.methods.label_private import spent_in_words

    say(f"Run [bold]{plain(facts['run'])}[/] ({plain(facts['method'])}), at its initiator {plain(facts['initiator'])}.")
    view = _released("agent")
    for agent, releases in facts["released"].items():
        for release in releases:
            _add(view, (plain(agent),), release)
    say_table(view)
    say(KINDS)
    say(LABELS)
    say("A helper can compare this with what its columns hold. It then types: assistlearn privacy FILE")
    if facts["epsilon"] is None:
        say(CLEAR)
    else:
        say(
            f"Helpers were told randomised labels: epsilon [bold]{facts['epsilon']:g}[/]. "
            f"{spent_in_words(facts['epsilon_spent'], facts['true_labels_told'])}"
        )
    say(f"{NO_EPSILON} A helper can try what an attacker would learn: assistlearn privacy FILE --attack")


def show_helper(facts: dict[str, Any], pictures: Sequence[Path] = ()) -> None:
    """Print what a helper has released, against what its columns hold, what an attack finds, and where it is drawn."""
    total = sum(column["bits"] for column in facts["columns"])
    columns = counted(len(facts["columns"]), "column")
    say(
        f"[bold]{plain(facts['agent'])}[/]: {columns} in {facts['rows']:,} rows hold at most {total:.1f} bits about a "
        "sample. This is the sum of their entropies; numbers with many values are put into 32 bins of equal counts."
    )
    if facts["runs"]:
        view = _released("run", "initiator")
        for run in facts["runs"]:
            for release in run["releases"]:
                _add(view, (plain(run["run"]), plain(run["initiator"])), release)
        say_table(view)
        say(KINDS)
        for run in facts["runs"]:
            if run["epsilon"] is not None:
                say(f"In run {plain(run['run'])} the labels that came were randomised: epsilon {run['epsilon']:g}.")
        _show_told(facts["told"])
    else:
        say("It remembers no run in which it helped.")
    for run, bits in facts["forgotten"].items():
        say(f"Run {plain(run)} is forgotten here. Its answers were {bits:,} bits, about all samples together.")
    _show_limits(facts["limits"])
    for attack in facts["attacks"] or ():
        _show_attack(attack)
    if facts["attacks"]:
        say(BETTER)
    for picture in pictures:
        say(f"The picture: {plain(picture)}")


def _released(*first: str) -> Table:
    view = Table(*first, "what", title="What was released about a sample", title_justify="left")
    for title in ("times", "bits", "bits as sent"):
        view.add_column(title, justify="right")
    return view


def _add(view: Table, first: tuple[str, ...], release: dict[str, Any]) -> None:
    bits = (f"{release[name]:,.1f}" for name in ("said", "sent"))
    view.add_row(*first, release["kind"], f"{release['times']:,}", *bits)


def _show_told(told: list[dict[str, Any]]) -> None:
    """Print how much was told about one person, and the epsilon that bounds what it reveals, if there is one."""
    for one in told:
        say(
            f"Counted person by person, because the file has a table {plain('[privacy]')}: {plain(one['initiator'])} "
            f"was told at most {one['bits']:,.0f} bits about one person, and {one['mean_bits']:,.1f} bits on average."
        )
        if one["epsilon"]:
            delta = "" if one["epsilon_at_delta"] is None else f" ({one['epsilon_at_delta']:.2f} at a delta of 1e-6)"
            say(f"Randomised answers to it add up to epsilon [bold]{one['epsilon']:g}[/] about one person{delta}.")
    if not any(one["epsilon"] for one in told):
        say(f"{NO_EPSILON} Add --attack to see what an attacker would learn.")


def _show_limits(limits: list[dict[str, Any]]) -> None:
    if not limits:
        say(
            f"No limits are set. They can be set in the tables {plain('[allow]')} and {plain('[privacy]')} of the "
            "agent file."
        )
        return
    view = Table("initiator", "limit", "counts", title="What remains of the limits", title_justify="left")
    for title in ("spent", "allowed", "left"):
        view.add_column(title, justify="right")
    for row in limits:
        numbers = (_amount(row[name]) for name in ("spent", "allowed", "left"))
        view.add_row(plain(row["initiator"] or "each run"), row["key"], row["counts"], *numbers)
    say_table(view)


def _amount(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,g}" if isinstance(value, int | float) and value < 1e6 else plain(_listed(value))


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list | tuple) else f"{value:,.0f}"


def _show_attack(attack: dict[str, Any]) -> None:
    shares = sorted({found["share"] for column in attack["columns"] for found in column["inferred"]})
    title = f"How well {attack['initiator']} could guess a column: AUC, 0.5 is chance, 1 is certain"
    view = Table("column", title=plain(title), title_justify="left")
    for share in shares:
        view.add_column(f"{share:.0%} known", justify="right")
    view.add_column("rank", justify="right")
    for column in attack["columns"]:
        by_share = {found["share"]: found for found in column["inferred"]}
        cells = [_cell(by_share.get(share)) for share in shares] if column["what"] else ["one value"] * len(shares)
        view.add_row(plain(column["column"]), *cells, _rank(by_share.get(max(shares, default=0.0))))
    say_table(view)
    votes = ", with votes as if these people had been asked for" if attack["with_votes"] else ""
    runs = ", ".join(map(plain, attack["runs"]))
    say(f"From the labels and what was released about {attack['people']:,} people in: {runs}{votes}.")
    say(GUESSED)
    for run in attack["left_out"]:
        say(f"[yellow]Run {plain(run)} is left out:[/] the table has changed since.")


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return "too few"
    return f"{found['auc']:.2f}±{found['auc_error']:.2f} ({found['without']:.2f})"


def _rank(found: dict[str, Any] | None) -> str:
    return "" if found is None or found["rank"] is None else f"{found['rank']:.2f}"
