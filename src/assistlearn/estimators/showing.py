"""How an estimator shows itself: its documentation, its page in a notebook, its progress bar."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from html import escape
from typing import Any, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from assistlearn.estimators.checks import Positions, Prepared
from assistlearn.evaluation import words
from assistlearn.evaluation.metrics import METRICS
from assistlearn.evaluation.result import Headline, Report, SharedIn, ShareRow, findings
from assistlearn.events import AloneBegan, Event, RoundFinished, RunFinished, TurnFinished
from assistlearn.methods import method_class, names
from assistlearn.methods.orders import ORDERS
from assistlearn.plan import SETTINGS, Plan

# -- its documentation: the settings of a plan, as parameters ----------------------------------------------------------

Class = TypeVar("Class", bound=type[Any])

WIDTH = 112


def documents_plan(estimator: Class) -> Class:
    """Replace ``{plan}`` in the estimator's docstring by an entry for every setting that it has."""
    entries = [_entry(name) for name, known in SETTINGS.items() if known.estimator]
    estimator.__doc__ = (estimator.__doc__ or "").replace("    {plan}\n", textwrap.indent("".join(entries), "    "))
    return estimator


def _entry(name: str) -> str:
    known = SETTINGS[name]
    [field] = [field for field in dataclasses.fields(Plan) if field.name == name]
    own = known.goes_with_method
    default = f"None means the method's own default: {own}." if own else ""
    words = f"{known.explanation} {known.more} {default}".strip()
    lines = textwrap.wrap(words, WIDTH, break_on_hyphens=False)
    if name == "method":
        summaries = [f"{_shown(each)}: {method_class(each).summary}." for each in names()]
        listed = [textwrap.wrap(each, WIDTH, initial_indent="- ", subsequent_indent="  ") for each in summaries]
        lines += ["", *itertools.chain(*listed)]
    return f"{name} : {_type(name, field.type)}, default={_shown(field.default)}\n" + textwrap.indent(
        "\n".join(lines) + "\n", "    "
    )


def _type(name: str, annotation: Any) -> str:
    known = SETTINGS[name]
    if name == "order":
        return f"{{{', '.join(map(_shown, ORDERS))}}} or callable"
    if name == "class_weight":
        return f"{{{', '.join(map(_shown, known.choices() if known.choices else ()))}}} or dict"
    if known.choices is not None:
        return f"{{{', '.join(map(_shown, known.choices()))}}}"
    return str(annotation).replace(" | None", "")


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# -- its page in a notebook: the agents side by side and, once known, whether help was worth it ------------------------


def agents_block(
    agents: Sequence[tuple[str, Any, Any]],
    columns: Mapping[str, Positions] | None,
    names: Sequence[str] | None,
    prepared: Mapping[str, Prepared],
) -> Any:
    from sklearn.utils._repr_html.estimator import _VisualBlock

    return _VisualBlock(
        "parallel",
        [prepared[name].estimator if name in prepared else estimator for name, estimator, _ in agents],
        names=[name for name, _, _ in agents],
        name_details=[
            _shown_of_html(said, None if columns is None else columns.get(name), names, prepared.get(name))
            for name, _, said in agents
        ],
    )


def _shown_of_html(said: Any, found: Positions | None, names: Sequence[str] | None, prepared: Prepared | None) -> str:
    if found is None:
        return str(said)
    if len(found) == 0:
        return "labels alone"
    shown = [str(names[i]) if names is not None else str(i) for i in found]
    if prepared is not None:
        kinds = dict(zip(prepared.reader.positions, prepared.reader.kinds, strict=True))
        shown = [f"{name} ({kinds.get(place, 'no value')})" for place, name in enumerate(shown)]
    return f"{len(shown)} columns: {', '.join(shown)}"


def answer_block(report: Report, metric: str, initiator: str) -> str:
    """Return the answer of the hold-out samples as HTML: alone, with help, the difference, and who helped."""
    found = findings(asdict(report), metric)
    answer, by_labels = found.answer, report.alone_by_labels
    if answer is None:
        return ""
    sentences = [words.answer_in_words(answer, by_labels), *(f"{name} made it worse." for name in found.worse)]
    sentences += [] if by_labels else [words.shares_in_words(found, initiator)]
    cells = [] if answer.assisted is None else _leading(answer, by_labels)
    accuracy = found.measured("accuracy")
    if metric != "accuracy" and accuracy is not None:
        cells.append(("accuracy: alone", words.percent(accuracy.alone)))
        cells.append(("accuracy: with help", words.percent(accuracy.assisted)))
    cells += [(f"due to {row.helper}", _due(row, found.shared_in)) for row in found.shares]
    rows = "".join(f"<tr><th>{escape(title)}</th><td>{escape(value)}</td></tr>" for title, value in cells)
    said, caption = escape(" ".join(filter(None, sentences))), escape(f"{answer.what[0].upper()}{answer.what[1:]}")
    return f"<p>{said}</p><table><caption>{caption}</caption>{rows}</table>"


def unchecked_block(helpers: Sequence[str]) -> str:
    return f"<p>{escape(words.unchecked_in_words(helpers))}</p>"


def _leading(answer: Headline, by_labels: bool) -> list[tuple[str, str]]:
    alone = f"alone: {words.alone_in_words(answer.what)}" if by_labels else "alone"
    cells = [(alone, words.measured(answer, answer.alone)), ("with help", words.measured(answer, answer.assisted))]
    between = answer.difference
    if between is not None:
        unit = " points" if answer.what in words.SHARES else ""
        ends = f"{words.gained(answer, between.low)} to {words.gained(answer, between.high)}"
        cells.append(("difference (95 % interval)", f"{words.gained(answer, between.value)}{unit} ({ends})"))
    return cells


def _due(row: ShareRow, of: SharedIn) -> str:
    if of == "accuracy":
        return f"{words.points(row.accuracy)} ± {200 * row.accuracy_error:.1f} points of accuracy"
    return f"log loss lower by {row.loss:+.3f} ± {2 * row.loss_error:.3f}"


# -- its progress bar --------------------------------------------------------------------------------------------------


@contextmanager
def progress(n_turns: int, metric: str) -> Iterator[Callable[[Event], None]]:
    wrapped = Column(no_wrap=False)  # a long note must not crowd out the bar
    note_text = TextColumn("{task.fields[note]}", table_column=wrapped)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), note_text
    )
    task = bar.add_task("turns", total=n_turns, note="")

    def show(event: Event) -> None:
        match event:
            case TurnFinished():
                weight = f"model weight {event.model_weight:.3f}" if event.contribution else "sat out"
                right = f"right on {event.mean_reward:.1%} of the ignorance"
                bar.update(task, advance=1, note=f"round {event.round}, {event.agent}: {right}, {weight}")
            case RoundFinished(metric=float(measured)):
                bar.update(task, note=f"round {event.round}: hold-out {METRICS[metric].title} {measured:.3f}")
            case AloneBegan():
                bar.update(task, note="the initiator alone, to compare")
            case RunFinished():
                bar.update(task, note=str(event.reason))

    with bar:
        yield show
