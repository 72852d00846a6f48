"""A learned combination, tried: ``python -m bench.accuracy.learned``.

Each agent fits one model on its own and sends its honest confidences for the training samples once (``n x K`` numbers
where a soft round sends ``n``). The initiator fits a multinomial model to all agents' confidences. Beside it, ``soft``
with the same learners after one round and after three.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assistlearn import AssistedClassifier
from assistlearn.core.confidence import confidences
from assistlearn.learners import Honesty, Learner
from bench.accuracy.measure import agents_of
from bench.accuracy.problems import PROBLEMS

PAIRS = (
    ("digits", "forest"),
    ("digits", "logistic"),
    ("red wine", "forest"),
    ("vehicle", "forest"),
    ("letter", "forest"),
)


def learned(cut, learner: str, seed: int) -> float:
    classes, codes = np.unique(cut.y_train, return_inverse=True)
    train, test = [], []
    for name, estimator, columns in agents_of(cut, learner):
        private = Learner(estimator, name, Honesty("out-of-fold"))
        private.prepare(cut.X_train[:, columns], codes, seed)
        model, honest = private.fit(np.full(len(codes), 1 / len(codes)), seed, "round 1", len(classes))
        train.append(confidences(honest, len(classes)))
        test.append(confidences(model.say(model.transform(cut.X_test[:, columns])), len(classes)))
    combine = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    combine.fit(np.hstack(train), codes)
    return float((classes[combine.predict(np.hstack(test))] == cut.y_test).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=5)
    replications = parser.parse_args().replications
    by_name = {problem.name: problem for problem in PROBLEMS}
    print("problem        learner    learned          soft, 1 round    soft, 3 rounds")
    for problem, learner in PAIRS:
        found = []
        for seed in range(replications):
            cut = by_name[problem].cut(seed)
            soft = AssistedClassifier(
                agents_of(cut, learner), method="soft", reward="auto", n_rounds=3, random_state=seed
            ).fit(cut.X_train, cut.y_train)
            stages = list(soft.staged_score(cut.X_test, cut.y_test))
            found.append((learned(cut, learner, seed), stages[0], stages[-1]))
        means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
        shown = "  ".join(f"{mean:.3f} ± {error:.3f}  " for mean, error in zip(means, errors, strict=True))
        print(f"{problem:14s} {learner:10s} {shown}", flush=True)


if __name__ == "__main__":
    main()
