"""The objectives that boosters are grown for, as XGBoost writes them into a model."""

from __future__ import annotations

from typing import Any

SQUARED_ERROR: dict[str, Any] = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}
LOGISTIC: dict[str, Any] = {"name": "binary:logistic", "reg_loss_param": {"scale_pos_weight": "1"}}


def softmax_of(n_classes: int) -> dict[str, Any]:
    """Return the objective for more than two classes: the logistic loss of the softmax.

    >>> softmax_of(3)["name"]
    'multi:softprob'
    """
    return {"name": "multi:softprob", "softmax_multiclass_param": {"num_class": str(n_classes)}}
