"""Load XGBoost where it is installed, grow a booster on a binned table, and ask it for raw scores."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import MissingExtraError
from assistlearn.extras import install_line
from assistlearn.learners.hist.xgboost_json.versions import check_version

Margins: TypeAlias = NDArray[np.float32]

PREDICTED_ROWS = 16_384
"""Rows that XGBoost predicts at a time: they stay in the processor's cache, and the memory needed is bounded."""


def load_xgboost() -> Any:
    """Return the module ``xgboost``. Where it is missing or of an unknown version, an error says how to install it."""
    try:
        import xgboost
    except ImportError:
        raise MissingExtraError(f"Histogram trees need XGBoost: {install_line('xgboost')}") from None
    check_version(xgboost.__version__)
    return xgboost


def grow(params: dict[str, Any], matrix: Any, n_rounds: int) -> Any:
    """Return a booster grown on a binned table under the table's present weights."""
    booster = load_xgboost().Booster(params, [matrix])
    for number in range(n_rounds):
        booster.update(matrix, number)
    return booster


def margins_of(booster: Any, rows: Any) -> Margins:
    """Return the raw scores of a booster for some rows, of shape (n_rows,) or (n_rows, n_outputs)."""
    margins: Margins = booster.inplace_predict(rows, predict_type="margin")
    return margins
