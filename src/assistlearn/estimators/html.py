"""Show an AssistedClassifier in a notebook: its agents side by side and, once known, whether help was worth it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from assistlearn.estimators.columns import Positions
from assistlearn.estimators.preparing import Prepared
from assistlearn.evaluation.difference import Difference
from assistlearn.evaluation.report import Report


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


def answer_block(report: Report) -> str:
    """Return the accuracy on the hold-out samples as HTML: alone, with help, the difference, and who helped."""
    found = report.differences["accuracy"]
    words = [f"{_verdict(found)} On {report.n_samples:,} samples that no model was trained on:"]
    alone = "alone: the most frequent class" if report.alone_by_labels else "alone"
    figures = [(alone, report.alone["accuracy"]), ("with help", report.assisted["accuracy"])]
    cells = [(title, "-" if value is None else f"{value:.1%}") for title, value in figures]
    if found is not None:
        ends = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
        cells.append(("difference (95 % interval)", f"{100 * found.value:+.1f} points ({ends})"))
    if report.shares is not None:
        cells += [
            (f"due to {share.helper}", f"{100 * share.accuracy.value:+.1f} ± {200 * share.accuracy.error:.1f} points")
            for share in report.shares.helpers
        ]
    words += [f"{name} made it worse." for name in report.worse]
    rows = "".join(f"<tr><th>{escape(title)}</th><td>{escape(value)}</td></tr>" for title, value in cells)
    return f"<p>{escape(' '.join(words))}</p><table><caption>Accuracy</caption>{rows}</table>"


def _verdict(found: Difference | None) -> str:
    if found is None or found.low <= 0.0 <= found.high:
        return "It is not certain whether help was worth it."
    return "Help was worth it." if found.low > 0.0 else "Help made it worse."
