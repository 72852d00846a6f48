"""A booster as the bytes of a JSON document, which can be kept, and turned into a booster again to predict."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assistlearn.learners.hist.booster import load_xgboost

Frozen: TypeAlias = NDArray[np.uint8]


def freeze(booster: Any) -> Frozen:
    """Return a booster as the bytes of a JSON document, without its training table and without any code."""
    return np.frombuffer(booster.save_raw("json"), dtype=np.uint8).copy()


def thaw(frozen: Frozen, n_threads: int) -> Any:
    """Return the booster that :func:`freeze` turned into these bytes."""
    return load_xgboost().Booster({"nthread": n_threads}, model_file=bytearray(frozen.tobytes()))


def read_document(frozen: Frozen) -> Any:
    """Return the JSON document that these bytes hold."""
    return json.loads(frozen.tobytes())


def write_document(document: Any) -> Frozen:
    """Return a JSON document as bytes.

    >>> read_document(write_document({"version": [3, 2, 0]}))
    {'version': [3, 2, 0]}
    """
    return np.frombuffer(json.dumps(document).encode(), dtype=np.uint8).copy()


def model_in(document: Any) -> Any:
    """Return the part of a document that holds the trees."""
    return document["learner"]["gradient_booster"]["model"]
