"""Would LightGBM's trees be a better learner? The same runs as ``bench.scale rounds``, without AdaBoost.

    pip install lightgbm        # not a dependency of assistlearn
    python -m bench.hist_lightgbm [--quick]

LightGBM also bins a table once and takes new weights, so that it fits behind the same seam. It has no tree with several
outputs: with more than two classes it grows a tree for each, which is a larger model.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple, Self

import numpy as np
from lightgbm import Booster, Dataset
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from assistlearn import AssistedClassifier
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from bench.hist_result import seconds

QUIET = {"num_threads": 1, "verbosity": -1, "max_bin": 63, "feature_pre_filter": False}

# XGBoost's own boosting step, with a tree for each class: what is to be compared with LightGBM's.
STEP = HistBoostClassifier(1, learning_rate=1.0, reg_lambda=0.0, min_child_weight=0.0, n_jobs=1)


class Binned(NamedTuple):
    """A table that LightGBM has binned, and the answers of the model fitted last."""

    dataset: Dataset
    n_classes: int
    answers: list[np.ndarray]


class LightTree(ClassifierMixin, BaseEstimator):
    """One step of LightGBM's boosting: a tree, or a tree for each class."""

    def __init__(self, max_depth: int = 5) -> None:
        self.max_depth = max_depth

    def prepare(self, X: np.ndarray, y: np.ndarray) -> Binned:
        """Bin the table."""
        return Binned(Dataset(X, label=y, params=QUIET).construct(), int(y.max()) + 1, [])

    def fit(self, X: Binned, y: np.ndarray, sample_weight: np.ndarray) -> Self:
        """Grow a tree (or K) under new weights."""
        self.classes_ = np.arange(X.n_classes)
        two = X.n_classes == 2
        X.dataset.set_weight(sample_weight.astype(np.float32))
        booster = Booster(
            QUIET
            | {
                "objective": "regression" if two else "multiclass",
                "num_class": 1 if two else X.n_classes,
                "boost_from_average": False,
                "learning_rate": 1.0,
                "max_depth": self.max_depth,
                "num_leaves": 2**self.max_depth,
                "min_data_in_leaf": 1,
                "min_sum_hessian_in_leaf": 1e-9,
                "lambda_l2": 0.0,
            },
            X.dataset,
        )
        booster.update()
        # The scores of the training rows are at hand, but only behind a private method.
        scores = booster._Booster__inner_predict(data_idx=0)
        X.answers[:] = [self._codes(scores)]
        self.model_ = booster.model_to_string()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return class codes."""
        if isinstance(X, Binned):
            return X.answers.pop()
        return self._codes(Booster(model_str=self.model_).predict(X, raw_score=True, num_threads=1))

    def _codes(self, scores: np.ndarray) -> np.ndarray:
        return (scores > 0.5).astype(np.intp) if len(self.classes_) == 2 else scores.argmax(axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    cases = [(300_000, 20, 5), (50_000, 100, 10), (1_000_000, 20, 2)]
    for n, columns, classes in [(3_000, 8, 3), (3_000, 8, 2)] if parser.parse_args().quick else cases:
        X, y = make_classification(
            n + 20_000,
            columns,
            n_informative=min(columns, 15),
            n_redundant=0,
            n_classes=classes,
            flip_y=0.05,
            random_state=0,
        )
        X = X.astype(np.float32)
        print(f"{n:,} x {columns}, {classes} classes, depth 5, 10 rounds")
        for tree in (HistTreeClassifier(5, n_jobs=1), STEP, LightTree(5)):
            binning, _ = seconds(lambda tree=tree, X=X, y=y, n=n: tree.prepare(X[:n], y[:n]))
            run = AssistedClassifier([("pooled", tree, slice(None))], n_rounds=10, random_state=0, method="ascii")
            total, _ = seconds(lambda run=run, X=X, y=y, n=n: run.fit(X[:n], y[:n]))
            print(
                f"  {type(tree).__name__:<20} binning {binning:6.2f} s, a round {(total - binning) / 10:7.4f} s, "
                f"test accuracy {run.score(X[n:], y[n:]):.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
