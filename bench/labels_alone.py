"""What a party with labels alone reaches with helpers, against their columns pooled: ``python -m bench.labels_alone``.

The party has ids and labels, and no features. It is compared with what somebody would have who had the labels and the
same helpers' columns in one place: the same learner with the same settings, and scikit-learn's histogram boosting.
Every way has the same training and test samples; errors are standard errors over the splits, those of differences to
the pooled columns by pairs. It needs the data folder (``ASSISTLEARN_DATA``).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.core.people import mean_and_error
from assistlearn.types import Floats
from paper.datasets import DataSet, fate

FIRST_SEED = 300
N_TRAIN, N_TEST = {"default_credit": 2_000, "vehicle_scale": 560}, {"default_credit": 10_000, "vehicle_scale": 286}
SETTINGS: dict[str, dict[str, Any]] = {"soft, default": {}, "ascii": {"method": "ascii", "n_rounds": 20}}
HELPERS = {"one helper": ("host",), "two helpers": ("host", "guest")}


def ways(data: DataSet, helpers: tuple[str, ...], seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield what is compared: its name, an unfitted classifier, and the columns that it is given."""
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("labels", None, []), *((name, tree, data.columns(name)) for name in helpers)]
    every = np.arange(data.features.shape[1])
    columns = np.concatenate([data.columns(name) for name in helpers])
    yield "most frequent class", DummyClassifier(strategy="prior"), every
    for name, settings in SETTINGS.items():
        clf = AssistedClassifier(agents, random_state=seed, **settings)
        yield f"labels and {'helper' if len(helpers) == 1 else 'helpers'}, {name}", clf, every
        yield f"pooled, {name}", clf.pooled(), every
    yield "pooled, histogram boosting", HistGradientBoostingClassifier(random_state=seed), columns


def measured(data: DataSet, helpers: tuple[str, ...], seed: int) -> dict[str, Floats]:
    """Return accuracy and log loss of each way on one split."""
    sizes = {"train_size": N_TRAIN[data.name], "test_size": N_TEST[data.name]}
    train, test = train_test_split(np.arange(len(data)), stratify=data.labels, random_state=seed, **sizes)
    found = {}
    for name, model, columns in ways(data, helpers, seed):
        X, y = data.features[:, columns], data.labels
        model.fit(X[train], y[train])
        said = model.predict_proba(X[test])
        found[name] = np.array([np.mean(model.predict(X[test]) == y[test]), log_loss(y[test], said)])
    return found


def rows_of(found: list[dict[str, Floats]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each way: its figures, and the differences to the same settings with pooled columns."""
    for name in found[0]:
        figures = np.array([each[name] for each in found])
        cells = [_with_error(figures[:, place], ".3f") for place in (0, 1)]
        pooled = f"pooled, {name.partition(', ')[2]}"
        if name.startswith("labels"):
            difference = figures - np.array([each[pooled] for each in found])
            cells += [_with_error(difference[:, place], "+.3f") for place in (0, 1)]
        yield name, *cells, *[""] * (4 - len(cells))


def _with_error(values: Floats, form: str) -> str:
    mean, error = mean_and_error(values)
    return f"{mean:{form}} ± {error:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", nargs="*", default=[*N_TRAIN], choices=[*N_TRAIN])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | columns | way | accuracy | log loss | accuracy less pooled | log loss less pooled |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for data in (data for data in (fate("default_credit"), fate("vehicle_scale")) if data.name in asked.data):
        for title, helpers in HELPERS.items():
            found = [measured(data, helpers, FIRST_SEED + seed) for seed in range(asked.seeds)]
            for row in rows_of(found):
                print(f"| {data.name} | {title} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
