"""XGBoost's booster: grown on a binned table, kept as inert bytes, woken up to predict."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.errors import MissingExtraError

Frozen: TypeAlias = NDArray[np.uint8]
Margins: TypeAlias = NDArray[np.float32]

BLOCK = 16_384
"""Rows that are predicted at a time: they stay in the processor's cache, and the memory needed is bounded."""

KNOWN_FORMATS = {(3, 2)}
"""Versions of XGBoost whose way of writing a model is known here. Trees of another answer one by one, and a file that
holds them cannot be loaded."""


def require_xgboost() -> None:
    """Say how to install XGBoost where it is not; without loading it, which takes memory."""
    if "xgboost" not in sys.modules and find_spec("xgboost") is not None:
        return
    load_xgboost()


def load_xgboost() -> Any:
    """Return the module; where it is not installed, say how to install it."""
    try:
        import xgboost
    except ImportError:
        raise MissingExtraError("Histogram trees need XGBoost: pip install 'assistlearn[xgboost]'") from None
    return xgboost


def grow(params: dict[str, Any], matrix: Any, n_rounds: int) -> Any:
    """Return a booster grown on a binned table under the weights it has at present."""
    booster = load_xgboost().Booster(params, [matrix])
    for number in range(n_rounds):
        booster.update(matrix, number)
    return booster


def freeze(booster: Any) -> Frozen:
    """Return a booster as the bytes of a JSON document: without its training table, and nothing that could run."""
    return np.frombuffer(booster.save_raw("json"), dtype=np.uint8).copy()


def thaw(frozen: Frozen, n_threads: int) -> Any:
    """Return the booster of these bytes."""
    return load_xgboost().Booster({"nthread": n_threads}, model_file=bytearray(frozen.tobytes()))


def margins_of(booster: Any, rows: Any) -> Margins:
    """Return the raw scores of a booster for some rows, of shape (n_rows,) or (n_rows, n_outputs)."""
    margins: Margins = booster.inplace_predict(rows, predict_type="margin")
    return margins
