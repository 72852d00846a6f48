"""Check a table and turn it into float32 once, because scikit-learn's trees would do both in every call."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)


def as_trees_see_it(estimator: Any, table: Any) -> tuple[Any, dict[str, Any]]:
    """Return a table as a tree or forest of scikit-learn wants it, and options for its ``fit`` and ``predict``.

    A dense numeric table becomes float32. A single tree need not check it again if nothing in it is missing or
    infinite. For any other table or estimator, the table stays the same and there are no options.

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
    with np.errstate(over="ignore", invalid="ignore"):  # if the sum is not finite, no value need be checked
        unchecked = type(estimator) in TREES and bool(np.isfinite(table.sum())) and bool(np.isfinite(table).all())
    return table, {"check_input": False} if unchecked else {}
