"""Does the report tell the truth? ``python -m bench.report_bias``.

Hold-out samples decide when training stops and whether a helper is left out, and then say how good the result is.
Made-up problems have 10,000 further samples that took part in nothing. They tell by how much the report is too good,
and how often its 95 % intervals of the gains in accuracy and log loss hold the gains on those samples.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.core.people import means_and_errors

METHODS = {"soft, default": {"method": "soft"}, "ascii": {"method": "ascii", "n_rounds": 20}}
PROBLEMS = {"useful helpers": 8, "helpers with noise": 3}
"""How many of the twelve columns say something; the first three are the initiator's."""
N_FRESH = 10_000


def found(method: str, problem: str, n_samples: int, seed: int) -> np.ndarray:
    """Return what the report says too much of accuracy, of the gains in accuracy and loss, and if intervals hold."""
    X, y = make_classification(
        n_samples + N_FRESH,
        12,
        n_informative=PROBLEMS[problem],
        n_redundant=0,
        n_classes=2,
        class_sep=0.7,
        random_state=seed,
        shuffle=False,
    )
    rows = np.random.default_rng(seed).permutation(len(y))
    fit, fresh = rows[:n_samples], rows[n_samples:]
    tree = DecisionTreeClassifier(max_depth=3)
    agents = [("own", tree, slice(0, 3)), ("one", tree, slice(3, 8)), ("two", tree, slice(8, 12))]
    clf = AssistedClassifier(agents, holdout=0.2, random_state=seed, **METHODS[method]).fit(X[fit], y[fit])
    report = clf.report_
    alone = clf.alone("own").set_params(n_rounds=report.models_alone).fit(X[fit], y[fit])
    accuracy = clf.score(X[fresh], y[fresh])
    truths = {
        "accuracy": accuracy - alone.score(X[fresh], y[fresh]),
        "log_loss": log_loss(y[fresh], clf.predict_proba(X[fresh])) - log_loss(y[fresh], alone.predict_proba(X[fresh])),
    }
    said = [report.differences[name] for name in truths]
    too_much = [each.value - truth for each, truth in zip(said, truths.values(), strict=True)]
    holds = [each.low <= truth <= each.high for each, truth in zip(said, truths.values(), strict=True)]
    return np.array([report.assisted["accuracy"] - accuracy, too_much[0], -too_much[1], *holds])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--samples", type=int, nargs="*", default=(300, 1_000))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| method | problem | samples | accuracy too high by | gain too high by | loss gain too high by | holds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for method in METHODS:
        for problem in PROBLEMS:
            for n_samples in asked.samples:
                rows = np.array([found(method, problem, n_samples, seed) for seed in range(asked.seeds)])
                means, errors = means_and_errors(rows)
                cells = [f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(means[:3], errors[:3], strict=True)]
                cells.append(f"{means[3]:.0%}, {means[4]:.0%}")
                print(f"| {method} | {problem} | {n_samples} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
