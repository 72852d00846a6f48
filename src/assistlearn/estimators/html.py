"""How an AssistedClassifier looks in a notebook: its agents side by side, each with its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assistlearn.estimators.columns import Positions


def agents_block(
    agents: Sequence[tuple[str, Any, Any]],
    columns: Mapping[str, Positions] | None,
    names: Sequence[str] | None,
) -> Any:
    """Return scikit-learn's drawing of the agents; fitted ones show the columns they found."""
    from sklearn.utils._repr_html.estimator import _VisualBlock

    return _VisualBlock(
        "parallel",
        [estimator for _, estimator, _ in agents],
        names=[name for name, _, _ in agents],
        name_details=[_shown(said, None if columns is None else columns.get(name), names) for name, _, said in agents],
    )


def _shown(said: Any, found: Positions | None, names: Sequence[str] | None) -> str:
    if found is None:
        return str(said)
    shown = [str(names[i]) if names is not None else str(i) for i in found]
    return f"{len(shown)} columns: {', '.join(shown)}"
