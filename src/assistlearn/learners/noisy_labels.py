"""Learning from labels that were changed at random (:mod:`assistlearn.core.labels`).

With two classes nothing special is needed. Probabilities of changed labels put the samples in the same order as those
of true labels, and the combination finds the scale. Without a correction, they say more in a few bits.

With more classes most labels are wrong even where privacy is modest, and further passes help. In the first pass, models
answer for samples that they have not seen. These answers and the changed label show what a sample's label probably was
(Bayes' rule). The next pass learns from the likeliest label. Four passes raised the share of right honest answers on a
strip of the digits at epsilon 1 from .37 to .55 with forests; a fifth gained hardly more. Weighted copies of a sample
for all its likely labels, and weights by how likely the likeliest one is, were no better.

No model is asked about a sample that it was fitted to. But the likeliest labels of other samples come from models that
have seen the changed label of this sample. So a little of that label comes back, most with learners that memorise their
samples. Combinations were as accurate to within .003 (.007 with forests) where nothing came back, because the first
pass was made inside each fold of the second; that takes twice as many fits.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from assistlearn.core.labels import chances, kept_share
from assistlearn.core.votes import LEAST
from assistlearn.learners.boosting import Private
from assistlearn.learners.learner import Learner
from assistlearn.learners.model import Model
from assistlearn.methods.method import Method
from assistlearn.types import Codes, Floats, Said

PASSES = 4
"""How often models are fitted where there are more than two classes."""

LEAST_SAMPLES = 10
"""Likeliest labels with fewer samples are left out of later passes, because some learners refuse such a class."""


def fit_to_noisy_labels(
    learner: Learner, epsilon: float, seed: int, when: str, n_classes: int, *, method: Method | None = None
) -> tuple[Model, Said]:
    """Return a model fitted to labels that chance has changed, and honest answers for the training rows.

    The learner is prepared with the changed labels, and honest. An epsilon of infinity means that they were not
    changed. With the ``method`` of the run, a learner that may boost by itself makes several models in every pass
    (:meth:`~.Learner.fit_boosted`). With two classes the model's probabilities are about the changed labels, with more
    classes about the likeliest true labels.
    """

    def fit(learner: Learner) -> tuple[Model, Said]:
        n_samples = len(learner.codes)
        if method is not None and learner.boosts:
            return learner.fit_boosted(Private(method.start(n_samples, n_classes), method, seed, when))
        alike = np.full(n_samples, 1.0 / n_samples)
        return learner.fit(alike, seed, when, n_classes, alike)

    model, said = fit(learner)
    if n_classes == 2 or math.isinf(epsilon):
        return model, said
    true = true_probabilities(of_labels(said, learner.codes, n_classes), epsilon)
    for _ in range(PASSES - 1):
        likeliest = likeliest_labels(true, learner.codes, epsilon)
        if len(np.unique(likeliest)) < 2:  # with one class there is nothing more to learn
            break
        model, said = fit(learner.relabelled(likeliest))
        true = np.maximum(of_labels(said, likeliest, n_classes), LEAST)
    return model, said


def likeliest_labels(true: Floats, noisy: Codes, epsilon: float) -> Codes:
    """Return the likeliest true labels, given the changed ones and what honest models say about the true ones, n x K.

    The rarest class is left out while it has fewer than :data:`LEAST_SAMPLES` samples. At least one class remains.
    """
    likely, n_classes = posterior(true, noisy, epsilon), true.shape[1]
    while True:
        codes: Codes = likely.argmax(axis=1)
        counts = np.bincount(codes, minlength=n_classes)
        rarest = int(np.where(counts > 0, counts, len(codes) + 1).argmin())
        if counts[rarest] >= LEAST_SAMPLES or counts[rarest] == len(codes):
            return codes
        likely[:, rarest] = -1.0


def of_labels(said: Said, labels: Codes, n_classes: int) -> Floats:
    """Return probabilities of labels, n x K; for class codes, from how often each label comes with each code.

    >>> of_labels(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).round(2)
    array([[0.5 , 0.5 ],
           [0.5 , 0.5 ],
           [0.33, 0.67]])
    """
    if said.ndim == 2:
        return np.asarray(said, dtype=np.float64)
    codes = cast(Codes, said)
    counts = np.ones((n_classes, n_classes))
    np.add.at(counts, (codes, labels), 1.0)
    out: Floats = (counts / counts.sum(axis=1, keepdims=True))[codes]
    return out


def true_probabilities(changed: Floats, epsilon: float) -> Floats:
    """Return the probabilities of true labels, given the probabilities of changed labels, n x K.

    The expected effect of the noise is subtracted; what becomes negative is set to zero.

    >>> true_probabilities(np.array([[0.576, 0.212, 0.212], [0.4, 0.4, 0.2]]), 1.0).round(2)
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ]])
    """
    n_classes = changed.shape[1]
    kept = kept_share(epsilon, n_classes)
    out: Floats = np.maximum(changed - (1.0 - kept) / n_classes, 0.0)
    total = out.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), 1.0 / n_classes)


def posterior(probabilities: Floats, noisy: Codes, epsilon: float) -> Floats:
    """Return how likely each label is, given its probability beforehand and the changed label (Bayes' rule), n x K."""
    n_classes = probabilities.shape[1]
    likely = chances(noisy, kept_share(epsilon, n_classes), n_classes)
    out: Floats = probabilities * likely
    total = out.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, out / np.where(total > 0.0, total, 1.0), likely)
