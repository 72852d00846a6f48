"""scikit-learn's trees check a table and turn it into float32 in every call; do both once."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


def as_trees_see_it(estimator: Any, table: Any) -> tuple[Any, dict[str, Any]]:
    """Return a table as a tree or forest of scikit-learn's wants it, and what to pass to its ``fit`` and ``predict``.

    A dense numeric table becomes float32; a single tree need not check it again if nothing in it is missing or
    infinite. Any other table or estimator is left as it is.

    >>> table, options = as_trees_see_it(DecisionTreeClassifier(), np.zeros((2, 2)))
    >>> table.dtype, options
    (dtype('float32'), {'check_input': False})
    """
    # Exactly these types: a subclass may want to see the table as it is, or have no check_input.
    if type(estimator) not in TREES + FORESTS or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return table, {}
    if table.dtype != np.float32:
        with np.errstate(over="ignore"):  # the tree itself refuses what is too large for float32
            table = table.astype(np.float32, order="F")  # a tree looks at one column at a time
    with np.errstate(over="ignore", invalid="ignore"):  # a sum that is finite spares looking at every value
        unchecked = type(estimator) in TREES and bool(np.isfinite(table.sum())) and bool(np.isfinite(table).all())
    return table, {"check_input": False} if unchecked else {}
