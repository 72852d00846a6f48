"""Show an AssistedClassifier in a notebook: its agents side by side and, once known, whether help was worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from assistlearn.estimators.columns import Positions
from assistlearn.estimators.preparing import Prepared
from assistlearn.evaluation.figures_in_words import (
    SHARES,
    alone_in_words,
    answer_in_words,
    gained,
    measured,
    percent,
    points,
    shares_in_words,
    unchecked_in_words,
)
from assistlearn.evaluation.report import Report
from assistlearn.evaluation.result import Headline, SharedIn, ShareRow, findings


def agents_block(
    agents: Sequence[tuple[str, Any, Any]],
    columns: Mapping[str, Positions] | None,
    names: Sequence[str] | None,
    prepared: Mapping[str, Prepared],
) -> Any:
    """Return scikit-learn's drawing of the agents.

    Once fitted, they show their columns. If these are prepared, they also show the kinds and the preprocessing.
    """
    from sklearn.utils._repr_html.estimator import _VisualBlock

    return _VisualBlock(
        "parallel",
        [prepared[name].estimator if name in prepared else estimator for name, estimator, _ in agents],
        names=[name for name, _, _ in agents],
        name_details=[
            _shown(said, None if columns is None else columns.get(name), names, prepared.get(name))
            for name, _, said in agents
        ],
    )


def _shown(said: Any, found: Positions | None, names: Sequence[str] | None, prepared: Prepared | None) -> str:
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
    """Return the answer of the hold-out samples as HTML: alone, with help, the difference, and who helped.

    Parameters
    ----------
    report : Report
        What the hold-out samples show.
    metric : str
        The name of the metric that leads.
    initiator : str
        The name of the first agent.
    """
    found = findings(asdict(report), metric)
    answer, by_labels = found.answer, report.alone_by_labels
    if answer is None:
        return ""
    words = [answer_in_words(answer, by_labels), *(f"{name} made it worse." for name in found.worse)]
    words += [] if by_labels else [shares_in_words(found, initiator)]
    cells = [] if answer.assisted is None else _leading(answer, by_labels)
    accuracy = found.measured("accuracy")
    if metric != "accuracy" and accuracy is not None:
        cells.append(("accuracy: alone", percent(accuracy.alone)))
        cells.append(("accuracy: with help", percent(accuracy.assisted)))
    cells += [(f"due to {row.helper}", _due(row, found.shared_in)) for row in found.shares]
    rows = "".join(f"<tr><th>{escape(title)}</th><td>{escape(value)}</td></tr>" for title, value in cells)
    said, caption = escape(" ".join(filter(None, words))), escape(f"{answer.what[0].upper()}{answer.what[1:]}")
    return f"<p>{said}</p><table><caption>{caption}</caption>{rows}</table>"


def unchecked_block(helpers: Sequence[str]) -> str:
    """Return as HTML that nothing was checked, because nothing was held out."""
    return f"<p>{escape(unchecked_in_words(helpers))}</p>"


def _leading(answer: Headline, by_labels: bool) -> list[tuple[str, str]]:
    """Return the figures of the metric that leads."""
    alone = f"alone: {alone_in_words(answer.what)}" if by_labels else "alone"
    cells = [(alone, measured(answer, answer.alone)), ("with help", measured(answer, answer.assisted))]
    between = answer.difference
    if between is not None:
        unit = " points" if answer.what in SHARES else ""
        ends = f"{gained(answer, between.low)} to {gained(answer, between.high)}"
        cells.append(("difference (95 % interval)", f"{gained(answer, between.value)}{unit} ({ends})"))
    return cells


def _due(row: ShareRow, of: SharedIn) -> str:
    if of == "accuracy":
        return f"{points(row.accuracy)} ± {200 * row.accuracy_error:.1f} points of accuracy"
    return f"log loss lower by {row.loss:+.3f} ± {2 * row.loss_error:.3f}"
