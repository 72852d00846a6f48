"""Check the trees of a model that was read from a file before anyone predicts with it.

Prediction follows a tree's numbers without checking them: a crafted tree could send it outside its arrays, or in
circles. The shapes and types of the arrays are checked when a tree is read. This module checks their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import UntrustedFileError

AUDITED_TYPES = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
"""Types that may be read because :func:`audit` checks their values."""


def audit(model: Any, source: str) -> None:
    """Refuse a model with a tree that leads anywhere but to its own leaves and columns, or with a folder of pickles.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> audit(DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]), "a file")
    """
    from sklearn.ensemble import BaggingClassifier

    for part in _parts(model):
        n_columns = getattr(part, "n_features_in_", None)
        if getattr(part, "memory", None) is not None and hasattr(part, "get_params"):
            raise UntrustedFileError(
                f"{source}: {type(part).__name__} has a memory, a folder whose pickles it would run."
            )
        if hasattr(part, "check_kept"):  # a model whose trees are not scikit-learn's checks them itself
            part.check_kept(source)
        if hasattr(part, "tree_"):
            _check_tree(part.tree_, n_columns, source)
        # A bag gives each of its models some of the columns, and the model checks them. A forest checks only once.
        together = () if type(part) is BaggingClassifier else getattr(part, "estimators_", ())
        for inner in _flat(together):
            if hasattr(inner, "tree_") and getattr(inner, "n_features_in_", None) != n_columns:
                raise UntrustedFileError(
                    f"{source}: a forest of {n_columns} columns contains a tree with another number of columns."
                )
        for predictor in _flat(getattr(part, "_predictors", ())):
            _check_predictor(predictor, n_columns, source)


def _check_tree(tree: Any, n_columns: int | None, source: str) -> None:
    if tree.n_features != n_columns:
        raise UntrustedFileError(f"{source}: a tree has {tree.n_features} columns, but its model has {n_columns}.")
    inner = tree.children_left != -1
    _check_nodes(tree.children_left, tree.children_right, tree.feature, inner, n_columns, source)


def _check_predictor(predictor: Any, n_columns: int | None, source: str) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    _check_nodes(nodes["left"], nodes["right"], nodes["feature_idx"], inner, n_columns, source)
    by_category = inner & (nodes["is_categorical"] != 0)
    n_sets = min(len(predictor.raw_left_cat_bitsets), len(predictor.binned_left_cat_bitsets))
    if by_category.any() and int(nodes["bitset_idx"][by_category].max()) >= n_sets:
        raise UntrustedFileError(f"{source}: a tree splits by categories that it does not list.")


def _check_nodes(
    left: NDArray[Any],
    right: NDArray[Any],
    column: NDArray[Any],
    inner: NDArray[np.bool_],
    n_columns: int | None,
    source: str,
) -> None:
    """Refuse nodes whose children do not come after them, or that ask for columns that are not there."""
    here = np.flatnonzero(inner)
    for children in (left, right):
        after = children[inner].astype(np.int64)
        if not ((after > here) & (after < len(inner))).all():
            raise UntrustedFileError(f"{source}: a tree has a node whose child does not come after it.")
    asked = column[inner].astype(np.int64)
    if n_columns is None or not ((asked >= 0) & (asked < n_columns)).all():
        raise UntrustedFileError(f"{source}: a tree uses a column that its model does not have.")


def _parts(model: Any) -> Iterator[Any]:
    """Yield everything that a model is made of, itself first, each thing once."""
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set) or (isinstance(part, np.ndarray) and part.dtype == object):
            waiting.extend(_flat(part))
        else:
            waiting.extend(vars(part).values() if hasattr(part, "__dict__") else ())


def _flat(items: Any) -> Iterable[Any]:
    if isinstance(items, np.ndarray):
        return list(items.ravel())
    return [inner for item in items for inner in (item if isinstance(item, list | tuple) else [item])]
