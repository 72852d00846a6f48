"""The default preprocessing: from a table with text and gaps to the numbers that a learner takes.

It is a scikit-learn ``Pipeline`` in front of the learner, made of scikit-learn's own transformers, fitted once on the
agent's training rows. Which steps it has depends on the learner:

============================================  ==============================  =======================  ========
learner                                       missing numbers                 categories               scaled
============================================  ==============================  =======================  ========
takes missing values itself (trees, forests,  left to the learner             ordinal codes            no
histogram boosting, XGBoost)
other trees (gradient boosting, AdaBoost)     median, and a column that says  ordinal codes            no
                                              where they were missing
all others (linear models, networks,          the same                        one column per category  yes
neighbours, Bayes, ...)
============================================  ==============================  =======================  ========

A missing category is a category of its own. A category that training has not seen counts as a rare category, or as no
category. A learner that needs none of these steps (trees on numbers alone) gets an array, and no pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from assistlearn.agent_files.preparation import PreprocessingSettings
from assistlearn.agent_files.suggestion import listed
from assistlearn.errors import ColumnsError
from assistlearn.learners.best_of import BestOf
from assistlearn.tables.column_steps import Steps
from assistlearn.tables.schema import Schema

_FLOAT32_LEARNERS = (DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier)
"""They convert every table to 32 bits in every fit. A table of 32 bits saves that work and gives the same trees."""


def default_pipeline(schema: Schema, learner: Any, settings: PreprocessingSettings | None = None) -> Any:
    """Return an unfitted pipeline of preprocessing and learner; the learner itself where it needs no preprocessing.

    Parameters
    ----------
    schema : Schema
        The kinds of the columns.
    learner : scikit-learn classifier
        One with a pipeline of its own is returned unchanged.
    settings : PreprocessingSettings, optional
        The table ``[preprocessing]`` of the agent's file.

    Returns
    -------
    estimator : Pipeline or classifier
        To be fitted to what :func:`learner_rows` returns.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn.tables.schema import Column, Kind
    >>> schema = Schema((Column("age", Kind.NUMBER), Column("pulse", Kind.NUMBER)))
    >>> default_pipeline(schema, DecisionTreeClassifier())
    DecisionTreeClassifier()
    >>> default_pipeline(schema, LogisticRegression())["prepare"].transformers
    [('numbers', Pipeline(steps=[('impute', SimpleImputer(add_indicator=True, keep_empty_features=True,
    strategy='median')), ('scale', StandardScaler())]), ['age', 'pulse'])]
    """
    settings = settings or PreprocessingSettings()
    if not settings.enabled or has_own_steps(learner):
        return learner
    steps = steps_for(learner, settings)
    if steps.leaves_numbers and not schema.categories:
        return learner
    return Pipeline([("prepare", steps.transformer(schema)), ("learner", learner)])


def steps_for(learner: Any, settings: PreprocessingSettings) -> Steps:
    """Return the steps that this learner's columns need. Settings other than ``auto`` decide instead.

    >>> from sklearn.linear_model import LogisticRegression
    >>> steps_for(LogisticRegression(), PreprocessingSettings())
    Steps(categories='one-hot', max_categories=20, impute=True, scale='standard', unknown_value=-1)
    >>> steps_for(DecisionTreeClassifier(), PreprocessingSettings())
    Steps(categories='ordinal', max_categories=20, impute=False, scale='none', unknown_value=nan)
    """
    tree_like, keeps_gaps = is_tree_like(learner), takes_missing(learner)
    impute = not keeps_gaps if settings.missing == "auto" else settings.missing == "impute"
    scale = not tree_like if settings.scale == "auto" else settings.scale == "standard"
    # to [0, 1] for learners that refuse negative numbers
    how: Literal["minmax", "standard"] = "minmax" if _tag(learner, "positive_only") else "standard"
    encode: Literal["ordinal", "one-hot"] = "ordinal" if tree_like else "one-hot"
    return Steps(
        categories=encode if settings.categories == "auto" else settings.categories,
        max_categories=settings.max_categories,
        impute=impute,
        scale=how if scale else "none",
        unknown_value=np.nan if keeps_gaps else -1,
    )


def learner_rows(estimator: Any, features: pl.DataFrame) -> pl.DataFrame | NDArray[Any]:
    """Return features in the form that an estimator needs: a frame for a pipeline, an array for a bare learner.

    >>> learner_rows(DecisionTreeClassifier(), pl.DataFrame({"a": [1.0, None], "b": [3.0, 4.0]}))
    array([[ 1.,  3.],
           [nan,  4.]], dtype=float32)
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, _FLOAT32_LEARNERS) and not isinstance(estimator, Pipeline):
        features = features.cast({pl.Float64: pl.Float32})
    return features if has_own_steps(estimator) else features.to_numpy()


def has_own_steps(learner: Any) -> bool:
    """Return whether the learner prepares its columns itself: it is or has a pipeline, or says that it takes text.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> has_own_steps(make_pipeline(StandardScaler(), DecisionTreeClassifier()))
    True
    >>> has_own_steps(DecisionTreeClassifier())
    False
    """
    if isinstance(learner, BestOf):
        return any(has_own_steps(one) for one in learner.estimators)
    parts = [learner, *learner.get_params(deep=True).values()] if hasattr(learner, "get_params") else [learner]
    return any(isinstance(part, Pipeline | ColumnTransformer) for part in parts) or _tag(learner, "string")


def takes_missing(learner: Any) -> bool:
    """Return whether the learner says that it accepts missing numbers.

    >>> from sklearn.linear_model import LogisticRegression
    >>> takes_missing(DecisionTreeClassifier()), takes_missing(LogisticRegression())
    (True, False)
    """
    return _tag(learner, "allow_nan")


def takes_codes_only(learner: Any) -> bool:
    """Return whether the learner says that all its columns must be codes of categories.

    >>> from sklearn.naive_bayes import CategoricalNB
    >>> takes_codes_only(CategoricalNB())
    True
    """
    return _tag(learner, "categorical") and _tag(learner, "positive_only")


def check_features(features: pl.DataFrame, schema: Schema, learner: Any, settings: PreprocessingSettings) -> None:
    """Raise ``ColumnsError`` if the learner cannot use these features, prepared as the settings say."""
    if settings.enabled or has_own_steps(learner):
        if settings.enabled and takes_codes_only(learner):
            raise ColumnsError(_CODES_ONLY.format(learner=type(learner).__name__))
        return
    remedy = (
        "Exclude them under [features], set preprocessing.enabled = true, or use a learner with a pipeline of its own."
    )
    if schema.categories:
        raise ColumnsError(
            f"The features {listed(schema.categories)} hold text, preprocessing is switched off, and "
            f"{type(learner).__name__} has no encoder. {remedy}"
        )
    missing = [name for name in schema.names if features[name].has_nulls()]
    if missing and not takes_missing(learner):
        raise ColumnsError(
            f"The features {listed(missing)} have missing values, preprocessing is switched off, and "
            f"{type(learner).__name__} does not take them. {remedy}"
        )


_CODES_ONLY = (
    "{learner} takes category codes only, which the default preprocessing does not make. Write a function that returns "
    'a pipeline with your own encoder, and name it: kind = "module:function".'
)


def is_tree_like(learner: Any) -> bool:
    """Return whether the learner splits columns, so that neither their scale nor the order of codes matters much.

    >>> is_tree_like(AdaBoostClassifier()), is_tree_like(GradientBoostingClassifier())
    (True, True)
    """
    if takes_missing(learner) or isinstance(learner, (*_FLOAT32_LEARNERS, GradientBoostingClassifier)):
        return True
    if isinstance(learner, AdaBoostClassifier) and learner.estimator is None:
        return True
    inside = list(inner_learners(learner))
    return bool(inside) and all(is_tree_like(part) for part in inside)


def inner_learners(learner: Any) -> Iterator[Any]:
    """Yield the learners inside a learner, such as the one of a grid search, or all of a vote."""
    own = getattr(learner, "estimator", None)
    if hasattr(own, "fit"):
        yield own
    for part in getattr(learner, "estimators", None) or ():
        yield part[1] if isinstance(part, tuple) else part


def _tag(learner: Any, name: str) -> bool:
    try:
        return bool(getattr(get_tags(learner).input_tags, name))
    except AttributeError:  # it has no such tag
        return False
