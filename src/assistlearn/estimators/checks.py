"""Checks of an estimator's parameters, before any work begins."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, column_or_1d

from assistlearn.agent_files.suggestion import listed
from assistlearn.core.balance import without_scale
from assistlearn.core.ignorance import Floats
from assistlearn.errors import AssistLearnWarning, SettingsError
from assistlearn.estimators.columns import AllColumns, Positions, positions_of
from assistlearn.evaluation.constancy import changed
from assistlearn.methods.label_private import caution
from assistlearn.session.deciding import Votes
from assistlearn.tables.label_column import notes_on_classes

ALWAYS_RIGHT = (
    "Every agent's model was right about every training sample, so that the agents had nothing to tell each other. "
    "If their learners memorise the training samples, pass reward='out-of-fold' (or 'auto')."
)
"""A message for the log, not a warning: on an easy problem this is normal."""

AgentSpec: TypeAlias = tuple[str, Any, Any]


def check_agents(agents: Any) -> list[AgentSpec]:
    """Check the agents and return them as a list. None means one agent with all columns and trees of depth one."""
    if agents is None:
        return [("agent", DecisionTreeClassifier(max_depth=1), AllColumns())]
    if not isinstance(agents, Iterable):
        raise SettingsError(f"agents must be a list of (name, estimator, columns), not {agents!r}.")
    agents = list(agents)
    for item in agents:
        if not (isinstance(item, tuple | list) and len(item) == 3 and isinstance(item[0], str)):
            raise SettingsError(f"agents must be a list of (name, estimator, columns), but it holds {item!r}.")
        if not item[0].strip() or not item[0].isprintable():
            raise SettingsError(f"An agent's name must be a text that can be printed; {item[0]!r} is not.")
        if item[1] is None and item is agents[0]:
            _check_label_only(item[0], item[2], n_helpers=len(agents) - 1)
        elif isinstance(item[1], type) or not hasattr(item[1], "fit") or not is_classifier(item[1]):
            raise SettingsError(
                f"Agent {item[0]!r}: {item[1]!r} is not a classifier. Pass an instance, for example "
                "DecisionTreeClassifier()."
            )
    if not agents:
        raise SettingsError("agents is empty: at least one agent, the initiator, is needed.")
    return [(name, estimator, columns) for name, estimator, columns in agents]


def has_labels_alone(agents: Any) -> bool:
    """Return whether the first agent, the initiator, has labels but no learner. It then takes no turns.

    >>> has_labels_alone([("bank", None, []), ("lab", DecisionTreeClassifier(), [0])])
    True
    """
    return check_agents(agents)[0][1] is None


def _check_label_only(name: str, columns: Any, n_helpers: int) -> None:
    """Refuse an initiator without an estimator if it has columns, or if nobody can help it."""
    if not (isinstance(columns, Sized) and not isinstance(columns, str) and len(columns) == 0):
        raise SettingsError(
            f"Agent {name!r}: None is not a classifier. Pass an instance, for example DecisionTreeClassifier(), for "
            f"its columns {columns!r}. An initiator that has labels alone, and takes no turns, is ({name!r}, None, [])."
        )
    if n_helpers == 0:
        raise SettingsError(f"Agent {name!r} has only labels, and there is nobody to help it. Add a helper.")


def check_labels(y: Any, estimator_name: str) -> Any:
    """Return the labels as an array. Refuse missing labels, and texts mixed with other values.

    >>> check_labels(["ill", None, "well"], "AssistedClassifier")
    Traceback (most recent call last):
        ...
    assistlearn.errors.SettingsError: Input y contains NaN: 1 of 3 labels is missing (row 1). Leave it out, or label it.
    """
    labels = column_or_1d(y, warn=True)
    rows = [] if labels.dtype.kind not in "Of" else [i for i, label in enumerate(labels.tolist()) if is_missing(label)]
    if rows:
        verb, row, it = ("is", "row", "it") if len(rows) == 1 else ("are", "rows", "them")
        which = f"{row} {listed(rows, at_most=5)}"
        raise SettingsError(
            f"Input y contains NaN: {len(rows)} of {len(labels)} labels {verb} missing ({which}). Leave {it} out, or "
            f"label {it}."
        )
    if labels.dtype.kind == "O" and len({isinstance(label, str) for label in labels.tolist()}) > 1:
        numbers = [label for label in labels.tolist() if not isinstance(label, str)]
        raise SettingsError(
            f"Input y mixes texts and {len(numbers)} other values (first: {numbers[0]!r}). Write all labels as texts, "
            "or all as numbers."
        )
    assert_all_finite(labels, input_name="y", estimator_name=estimator_name)
    check_classification_targets(labels)
    return labels


def warn_of_labels(classes: Any) -> None:
    """Warn of labels that are probably no classes: a single one, many numbers, or texts that differ only by case."""
    plain = [label.item() if isinstance(label, np.generic) else label for label in classes]
    notes = notes_on_classes(plain)
    if len(plain) == 1:
        notes.append(f"All labels are {plain[0]!r}: there is nothing to learn, and every prediction is that.")
    for note in notes:
        warnings.warn(f"y: {note}", AssistLearnWarning, stacklevel=3)


def is_missing(label: Any) -> bool:
    """Return whether a value is None, not a number, or one of pandas' missing values."""
    nan = isinstance(label, float) and label != label
    return label is None or nan or type(label).__name__ in ("NAType", "NaTType")


def check_sample_weight(sample_weight: Any, X: Any) -> Floats | None:
    """Return the initial weights as an array without their scale, or None: equal weights are no weights."""
    if sample_weight is None:
        return None
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.sum() > 0.0:
        raise SettingsError("Every sample_weight is zero: there is nothing to learn from.")
    return without_scale(weight)


def class_factors(class_weight: Mapping[Any, float], classes: Any, labels: Any) -> dict[int, float]:
    """Return the factor of each class by its position among the classes.

    >>> class_factors({"ill": 3.0}, np.array(["ill", "well"]), np.array(["well", "ill"]))
    {0: 3.0, 1: 1.0}
    """
    try:
        factors = compute_class_weight(dict(class_weight), classes=classes, y=labels).astype(float)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"class_weight={class_weight!r} cannot be used: {error}") from None
    if not ((factors >= 0.0) & np.isfinite(factors)).all() or not factors.any():
        raise SettingsError(
            f"class_weight={class_weight!r} must have finite numbers of at least 0, and not all of them may be 0."
        )
    return dict(enumerate(factors.tolist()))


def find_columns(agents: Sequence[AgentSpec], X: Any, names: Sequence[str] | None) -> dict[str, Positions]:
    """Return the positions of every agent's columns. With several agents, warn of columns that none of them knows."""
    found = {
        name: np.empty(0, dtype=np.intp) if estimator is None else positions_of(columns, X, names, name)
        for name, estimator, columns in agents
    }
    unknown = np.setdiff1d(np.arange(X.shape[1]), np.concatenate(list(found.values())))
    if len(unknown) and len(agents) > 1:
        shown = [repr(str(names[i])) if names is not None else str(i) for i in unknown[:10]]
        more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
        warnings.warn(
            f"No agent knows {len(unknown)} of the {X.shape[1]} columns: {', '.join(shown)}{more}. They are not used.",
            AssistLearnWarning,
            stacklevel=3,
        )
    return found


def warn_nothing_learned(n_classes: int) -> None:
    """Say that no model was kept, and what to do."""
    warnings.warn(
        "No model was kept: no agent's model was better than chance, "
        f"that is, right on more than 1/{n_classes} of the ignorance. "
        "Predictions are the most frequent class. Give the agents other columns or learners.",
        AssistLearnWarning,
        stacklevel=3,
    )


def warn_large_epsilon(epsilon: float) -> None:
    """Warn if this epsilon hardly protects the labels."""
    words = caution(epsilon)
    if words:
        warnings.warn(words, AssistLearnWarning, stacklevel=4)


def warn_of_changed_votes(then: Mapping[str, Floats], said: Mapping[str, Votes]) -> None:
    """Name the helpers that vote otherwise than in training, and say how to predict without them.

    Each table that is predicted is a look of its own, with the whole rate of false alarms.
    """
    now = {name: each.scores / each.weight for name, each in said.items() if each.weight > 0.0}
    found = changed(then, now, next(iter(said)))
    if found:
        rest = [name for name in said if name not in {each.helper for each in found}]
        words = " ".join(str(each) for each in found)
        warnings.warn(f"{words} For predictions without: subset({rest}).", AssistLearnWarning, stacklevel=4)
