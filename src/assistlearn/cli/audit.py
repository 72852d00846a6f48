"""What has left an organisation: ``audit`` and ``privacy``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assistlearn.cli import output
from assistlearn.cli.output import Json, flag, plain, say, say_json, show_table
from assistlearn.errors import SettingsError
from assistlearn.evaluation.words import counted, size
from assistlearn.extras import install_line

if TYPE_CHECKING:
    from assistlearn.agent.loading import Holdings, LoadedAgent
    from assistlearn.protocol.ledger import Entry, Tally


COUNTED = ("runs", "turns", "ids", "votes", "bits")
"""What is counted for each initiator. The limits under ``[allow]`` have the same units."""


def audit(
    agent: Annotated[Path, typer.Argument(metavar="FILE", help="The agent's TOML file, or its ledger.")],
    run: Annotated[str, typer.Option(metavar="NAME", help="Only this run.", show_default="all runs")] = "",
    json: Json = False,
) -> None:
    """List what left this organisation, in words and bytes, and check that the ledger was not changed."""
    from assistlearn.agent.limits import ToldBook, told_at
    from assistlearn.protocol.ledger import followed, read

    path = _ledger(agent)
    chain = followed(path)
    entries = [entry for entry in read(path) if not run or entry.run == run]
    facts = {
        "ledger": str(path),
        "whole": True,
        "entries": chain.number,
        "runs": sorted({entry.run for entry in entries if entry.run}),
        "first": entries[0].time if entries else None,
        "last": entries[-1].time if entries else None,
        "totals": _totals(entries),
        "counted": {} if run else _counted(chain.tally),
        "decisions": [entry.decision for entry in entries if entry.decision is not None],
        "rebuilt": [{"initiator": e.peer, "time": e.time} for e in entries if e.counts is not None],
        "told": [] if run else told_at(ToldBook(path.parent / "told")),
    }
    if json:
        say_json(facts)
    else:
        _show(facts, run)


def _ledger(agent: Path) -> Path:
    """Return the path of an agent's ledger; raise an error if it was removed, or lacks what other files show."""
    from assistlearn.agent.file import load_description
    from assistlearn.agent.limits import check_counts
    from assistlearn.agent.store import ledger_of

    if agent.suffix == ".jsonl":
        if not agent.exists():
            raise SettingsError(f"There is no ledger {agent}. Check the path, or name the agent's TOML file.")
        return agent
    description = load_description(agent)
    path = ledger_of(description.models)
    check_counts(description.models, description.name)
    return path


def _totals(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the number of messages and bytes for each direction, peer and type. Types are in the order of a run."""
    from assistlearn.report.story import WORDS

    sums: dict[tuple[str, str, str], list[int]] = {}
    for entry in entries:
        if entry.direction not in ("sent", "received", "refused"):
            continue
        total = sums.setdefault((entry.direction, entry.peer, entry.type), [0, 0])
        total[0] += 1
        total[1] += entry.bytes
    places = {type_: place for place, type_ in enumerate(WORDS)}
    return [
        {"direction": d, "peer": p, "type": t, "words": WORDS.get(t, "no message of a run"), "messages": n, "bytes": b}
        for (d, p, t), (n, b) in sorted(sums.items(), key=lambda sum: (*sum[0][:2], places.get(sum[0][2], 99)))
    ]


def _counted(tally: Tally) -> dict[str, dict[str, int]]:
    """Return what each other agent has asked for and been sent since the first entry, forgotten runs included."""
    return {peer: {unit: count.units.get(unit, 0) for unit in COUNTED} for peer, count in sorted(tally.peers.items())}


def _show(facts: dict[str, Any], run: str) -> None:
    if not facts["totals"]:
        say(f"No message{f' of run {plain(run)}' if run else ''} has left this organisation or come in.")
    else:
        _show_messages(facts["totals"], "sent", "What left this organisation", "to")
        _show_messages(facts["totals"], "received", "What came in", "from")
        if any(row["direction"] == "refused" for row in facts["totals"]):
            _show_messages(facts["totals"], "refused", "What was refused unread", "from")
        runs = ", ".join(map(plain, facts["runs"])) or "none"
        say(f"Runs: {runs}. From {_moment(facts['first'])} to {_moment(facts['last'])}, UTC.")
    for decision in facts["decisions"]:
        say(decision_in_words(decision))
    for rebuilt in facts["rebuilt"]:
        say(
            f"[yellow]The counts of {plain(rebuilt['initiator'])} were lost, and rebuilt[/] at "
            f"{_moment(rebuilt['time'])}, UTC (assistlearn recount)."
        )
    for peer, counts in facts["counted"].items():
        told = ", ".join(counted(n, unit.removesuffix("s")) for unit, n in counts.items())
        say(f"Counted for {plain(peer)}, since the first run: {told}.")
    for told in facts["told"]:
        say(told_in_words(told))
    if facts["entries"]:
        entries = "1 entry" if facts["entries"] == 1 else f"{facts['entries']:,} entries"
        say(f"[green]The ledger is whole:[/] {entries}, none changed or removed. ({plain(facts['ledger'])})")


def decision_in_words(decision: dict[str, Any]) -> str:
    until = f", until {_moment(decision['until'])}" if decision["until"] else ""
    reason = f" ({plain(decision['reason'])})" if decision["reason"] else ""
    who, what = plain(decision["initiator"]), plain(decision["purpose"] or "no purpose")
    return (
        f"Decided by {plain(decision['by'])}, {_moment(decision['time'])}: request {plain(decision['request'])} of "
        f"{who} for {what} is {plain(decision['answer'])}{until}{reason}."
    )


def _moment(time: str) -> str:
    return time[:19].replace("T", " ")


def _show_messages(totals: Sequence[dict[str, Any]], direction: str, title: str, towards: str) -> None:
    rows = [row for row in totals if row["direction"] == direction]
    n_bytes, n_messages = sum(row["bytes"] for row in rows), sum(row["messages"] for row in rows)
    cells = (
        (row["peer"], f"{row['type']}: {row['words']}", f"{row['messages']:,}", f"{row['bytes']:,}") for row in rows
    )
    title = f"{title}: {size(n_bytes)} in {counted(n_messages, 'message')}"
    show_table(title, [towards, "what"], ["messages", "bytes"], cells)


def told_in_words(told: dict[str, Any]) -> str:
    """Return the sentence for the values of :func:`~assistlearn.agent.limits.told_at`.

    >>> told = {"initiator": "clinic", "people": 9, "bits": 18.0, "predictions": 1}
    >>> print(told_in_words(told | {"epsilon": 12.0, "epsilon_at_delta": 11.9}))  # doctest: +NORMALIZE_WHITESPACE
    clinic was told about 9 people; about one person at most: 18 bits, 1 prediction,
    epsilon 12.0 in all (11.9 at delta 1e-6).
    """
    parts = [f"{told['bits']:,g} bits", counted(told["predictions"], "prediction")]
    if told["epsilon"]:
        near = told["epsilon_at_delta"]
        more = install_line("privacy") + " for the epsilon at a delta" if near is None else f"{near:.1f} at delta 1e-6"
        parts.append(f"epsilon {told['epsilon']:.1f} in all ({plain(more)})")
    people = "1 person" if told["people"] == 1 else f"{told['people']:,} people"
    return f"{plain(told['initiator'])} was told about {people}; about one person at most: {', '.join(parts)}."


def show_limits(limits: Sequence[dict[str, Any]]) -> None:
    """Print what is spent and left of limits, given those of :func:`~assistlearn.agent.releases.limits_at`."""
    rows = (
        (
            *(row["initiator"] or "each run", row["key"], row["counts"]),
            *(_amount(row["spent"]), _amount(row["allowed"], "none"), _amount(row["left"])),
        )
        for row in limits
    )
    numbers = ["spent", "allowed", "left"]
    show_table("What remains of the limits", ["initiator", "limit", "counts"], numbers, rows)


def _amount(value: Any, none: str = "-") -> str:
    if value is None:
        return none
    if isinstance(value, list | tuple):
        return ", ".join(value)
    return f"{value:,g}" if value < 1e6 else f"{value:,.0f}"


# ``assistlearn privacy``: what was released about a sample, compared with what the columns hold; and an attack.


def privacy(
    place: Annotated[
        Path,
        typer.Argument(metavar="RUN|FILE", help="At the initiator: the run's folder. At a helper: its TOML file."),
    ],
    run: Annotated[str, typer.Option(metavar="NAME", help="Only this run of a helper.", show_default="all runs")] = "",
    attack: Annotated[bool, flag("--attack", "Try here how well this helper's columns can be guessed.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the attack's result: a .png, .svg or .pdf file.")
    ] = None,
    force: output.Force = False,
    json: Json = False,
) -> None:
    """Show how many bits were told about a sample, and what is left of the limits. Try an attack with --attack."""
    helper = place.suffix == ".toml" or place.is_file()
    _check_options(place, helper, run, attack, plot)
    if plot is not None:
        output.check_picture(plot, force=force, quiet=json)
    facts = _of_helper(place, run, attack, plot, force, quiet=json) if helper else _of_run(place)
    drawn = [] if plot is None else _draw(facts, plot)
    if json:
        say_json(facts)
    elif helper:
        show_helper(facts, drawn)
    else:
        show_run(facts)


def _check_options(place: Path, helper: bool, run: str, attack: bool, plot: Path | None) -> None:
    if attack and not helper:
        raise SettingsError(
            f"--attack needs a helper's own table, and {place} is not an agent's file. Name the helper's TOML file."
        )
    if run and not helper:
        raise SettingsError(f"--run chooses among a helper's runs; {place} is the folder of one run. Leave --run out.")
    if plot is not None and not attack:
        raise SettingsError("--plot draws the result of an attack. Add --attack.")


def _of_run(place: Path) -> dict[str, Any]:
    from assistlearn.cli.report import logged
    from assistlearn.initiator.folder import RunFolder, refuse_incomplete, releases_of_run

    folder = RunFolder(place)
    refuse_incomplete(folder)
    settings, released, labels = folder.settings(), releases_of_run(folder), logged(folder)["labels"]
    return {
        "run": settings.run,
        "initiator": settings.initiator,
        "method": settings.plan.method,
        "released": {agent: [asdict(each) for each in releases] for agent, releases in released.items()},
        "epsilon": None if labels is None else labels["epsilon"],
        "epsilon_spent": None if labels is None else labels["most_spent"],
        "true_labels_told": None if labels is None else labels["n_true"],
    }


def _of_helper(file: Path, run: str, attack: bool, plot: Path | None, force: bool, quiet: bool) -> dict[str, Any]:
    from assistlearn.agent.limits import told_at
    from assistlearn.agent.loading import from_loaded, load_agent
    from assistlearn.agent.releases import forgotten_runs, limits_at, releases_of, runs_as_helper
    from assistlearn.protocol.ledger import entries_of, followed

    agent = load_agent(file)
    own, description = from_loaded(agent), agent.description
    runs = runs_as_helper(own.home, own.name, run)
    if description.is_initiator and not runs:
        raise SettingsError(
            f"{file} is the file of an initiator: it names a label, and has helped in no run. Name the folder of a "
            "run, to see what its helpers have released; or a helper's file."
        )
    ledger = own.home / "ledger.jsonl"
    followed(ledger)  # raises an error if the ledger was changed
    released = [releases_of(own.home, name, entries_of(ledger, name)) for name in runs]
    if plot is not None:
        for further in _pictures(plot, len({each.initiator for each in released}))[1:]:
            output.check_picture(further, force=force, quiet=quiet)
    return {
        "agent": own.name,
        "rows": len(agent.table),
        "columns": _columns(agent),
        "runs": [asdict(each) for each in released],
        "forgotten": {} if run else forgotten_runs(ledger, runs),
        "told": [] if own.privacy is None else told_at(own.privacy.book),
        "limits": limits_at(own, datetime.now(UTC)),
        "attacks": _attacks(agent, own, {each.run: each.initiator for each in released}, quiet) if attack else None,
    }


def _columns(agent: LoadedAgent) -> list[dict[str, Any]]:
    from assistlearn.evaluation.attacks import column_entropy

    features = agent.table.features
    return [
        {"column": column.name, "kind": str(column.kind), "bits": column_entropy(features[column.name].to_numpy())}
        for column in agent.table.schema.columns
    ]


def _attacks(agent: LoadedAgent, own: Holdings, initiators: dict[str, str], quiet: bool) -> list[dict[str, Any]]:
    """Return what each initiator could guess of this agent's columns from what it was told in all its runs."""
    from assistlearn.agent.releases import attack, transcript_of
    from assistlearn.cli.progress import Bar

    if not initiators:
        raise SettingsError(f"Agent {own.name!r} has helped in no run that it remembers: there is nothing to attack.")
    found = []
    n_columns = len(agent.table.schema.columns)
    with Bar(quiet, words="", total=n_columns * len(set(initiators.values()))) as bar:
        for initiator in sorted(set(initiators.values())):
            transcript = transcript_of(own, [run for run, whose in initiators.items() if whose == initiator])
            columns = []
            for column in attack(agent.table.features, transcript):
                columns.append(column)
                bar.count(f"guessing {column['column']}")
            found.append(
                {
                    "initiator": initiator,
                    "runs": list(transcript.runs),
                    "left_out": list(transcript.left_out),
                    "people": len(transcript.rows),
                    "with_votes": transcript.with_votes,
                    "columns": columns,
                }
            )
    return found


def _pictures(plot: Path, n_initiators: int) -> list[Path]:
    """Return the file for each initiator's picture: the one that was named, then those beside it, numbered from 2."""
    return [plot, *(plot.with_stem(f"{plot.stem}-{number}") for number in range(2, n_initiators + 1))]


def _draw(facts: dict[str, Any], plot: Path) -> list[Path]:
    from assistlearn.report.displays import draw_attack

    pictures = _pictures(plot, len(facts["attacks"]))
    for attack, picture in zip(facts["attacks"], pictures, strict=True):
        title = f"What {attack['initiator']} could guess of the columns of {facts['agent']}"
        draw_attack(attack["columns"], title, picture)
    return pictures


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
BETTER = (
    "This attack used only the labels, as they were told, and what was released. An attacker with columns of its own "
    "guesses better. Nothing has left this machine."
)


def show_run(facts: dict[str, Any]) -> None:
    from assistlearn.methods.label_private import spent_in_words

    say(f"Run [bold]{plain(facts['run'])}[/] ({plain(facts['method'])}), at its initiator {plain(facts['initiator'])}.")
    _show_released(["agent"], [((agent,), each) for agent, releases in facts["released"].items() for each in releases])
    say(KINDS)
    say(LABELS)
    say("A helper can compare this with what its columns hold. It then types: assistlearn privacy FILE")
    if facts["epsilon"] is None:
        say("Helpers were told the true labels, as numbers.")
    else:
        say(
            f"Helpers were told randomised labels: epsilon [bold]{facts['epsilon']:g}[/]. "
            f"{spent_in_words(facts['epsilon_spent'], facts['true_labels_told'])}"
        )
    say(f"{NO_EPSILON} A helper can try what an attacker would learn: assistlearn privacy FILE --attack")


def show_helper(facts: dict[str, Any], pictures: Sequence[Path] = ()) -> None:
    total = sum(column["bits"] for column in facts["columns"])
    columns = counted(len(facts["columns"]), "column")
    say(
        f"[bold]{plain(facts['agent'])}[/]: {columns} in {facts['rows']:,} rows hold at most {total:.1f} bits about a "
        "sample. This is the sum of their entropies; numbers with many values are put into 32 bins of equal counts."
    )
    if facts["runs"]:
        _show_helped(facts["runs"], facts["told"])
    else:
        say("It remembers no run in which it helped.")
    for run, bits in facts["forgotten"].items():
        say(f"Run {plain(run)} is forgotten here. Its answers were {bits:,} bits, about all samples together.")
    if facts["limits"]:
        show_limits(facts["limits"])
    else:
        say(plain("No limits are set. They can be set in the tables [allow] and [privacy] of the agent file."))
    for attack in facts["attacks"] or ():
        _show_attack(attack)
    if facts["attacks"]:
        say(BETTER)
    for picture in pictures:
        say(f"The picture: {plain(picture)}")


def _show_helped(runs: Sequence[dict[str, Any]], told: Sequence[dict[str, Any]]) -> None:
    releases = [((run["run"], run["initiator"]), each) for run in runs for each in run["releases"]]
    _show_released(["run", "initiator"], releases)
    say(KINDS)
    for run in runs:
        if run["epsilon"] is not None:
            say(f"In run {plain(run['run'])} the labels that came were randomised: epsilon {run['epsilon']:g}.")
    for each in told:
        say(told_in_words(each))
    if not any(each["epsilon"] for each in told):
        say(f"{NO_EPSILON} Add --attack to see what an attacker would learn.")


def _show_released(first: Sequence[str], releases: Sequence[tuple[tuple[str, ...], dict[str, Any]]]) -> None:
    rows = (
        (*whose, each["kind"], f"{each['times']:,}", f"{each['said']:,.1f}", f"{each['sent']:,.1f}")
        for whose, each in releases
    )
    show_table("What was released about a sample", [*first, "what"], ["times", "bits", "bits as sent"], rows)


def _show_attack(attack: dict[str, Any]) -> None:
    shares = sorted({found["share"] for column in attack["columns"] for found in column["inferred"]})
    title = f"How well {attack['initiator']} could guess a column: AUC, 0.5 is chance, 1 is certain"
    rows = []
    for column in attack["columns"]:
        by_share = {found["share"]: found for found in column["inferred"]}
        cells = [_guess(by_share.get(share)) for share in shares] if column["what"] else ["one value"] * len(shares)
        rank = by_share.get(max(shares, default=0.0), {"rank": None})["rank"]
        rows.append((column["column"], *cells, "" if rank is None else f"{rank:.2f}"))
    show_table(title, ["column"], [*(f"{share:.0%} known" for share in shares), "rank"], rows)
    votes = ", with votes as if these people had been asked for" if attack["with_votes"] else ""
    runs = ", ".join(map(plain, attack["runs"]))
    say(f"From the labels and what was released about {attack['people']:,} people in: {runs}{votes}.")
    say(GUESSED)
    for run in attack["left_out"]:
        say(f"[yellow]Run {plain(run)} is left out:[/] the table has changed since.")


def _guess(found: dict[str, Any] | None) -> str:
    if found is None:
        return "too few"
    return f"{found['auc']:.2f}±{found['auc_error']:.2f} ({found['without']:.2f})"
