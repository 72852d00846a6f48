"""A pilot in one process: what the others' columns would gain the first agent."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from assistlearn.core.ignorance import Floats
from assistlearn.errors import SettingsError
from assistlearn.estimators.checks import check_agents, check_labels, has_labels_alone
from assistlearn.estimators.classifier import AssistedClassifier
from assistlearn.evaluation.gains import Weighing, Worth
from assistlearn.evaluation.pilot import drawn
from assistlearn.evaluation.sample_loss import losses
from assistlearn.evaluation.terms import SampleLoss, Terms
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.learners.weighting import take_rows


def assistance_gain(
    clf: AssistedClassifier,
    X: Any,
    y: Any,
    *,
    at_least: float = 0.0,
    alpha: float = 0.05,
    loss: SampleLoss = "zero-one",
    block: int = 50,
    train_size: float = 0.5,
    each_helper: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Worth:
    """Return how much lower the first agent's loss is with the others' help, as a pilot finds it.

    A part of the samples is trained on: with all agents, and by the first one alone on its own columns. The others are
    opened in random blocks until it is clear whether help gains as much as is asked for. The answer is wrong with a
    chance of ``alpha`` at the most, however often one looks.

    Parameters
    ----------
    clf : AssistedClassifier
        Two agents or more, with the settings of the pilot; the first agent is who asks. Never changed: clones are
        fitted. Alone, the first agent has as many turns as all have together; one that has labels alone answers the
        most frequent class.
    X : table of shape (n_samples, n_columns)
        All agents' columns.
    y : array-like of shape (n_samples,)
        The labels.
    at_least : float, default=0.0
        How much lower the loss must be to be worth it. 0.02 of the 0/1 loss are 2 points of accuracy.
    alpha : float, default=0.05
        The chance of a wrong answer, at the most. With several helpers half of it is for all together, the other half
        is shared by the answers about each.
    loss : {"zero-one", "log"}, default="zero-one"
        Which. Probabilities are clipped at 0.01 for the second.
    block : int, default=50
        How many samples are opened at a time.
    train_size : float or int, default=0.5
        The share of the samples that are trained on, at most 5,000; or their number.
    each_helper : bool, default=False
        Whether to go on until there is an answer for every helper, not just for all together.
    random_state : int, RandomState instance or None, default=None
        Who is trained on, and in which order the others are opened.

    Returns
    -------
    worth : Worth
        ``answer`` ("yes", "no" or "undecided"), ``interval``, ``n_opened``, and the same for each helper.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from assistlearn import AssistedClassifier, assistance_gain
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X[:, 10:]  # so that it is not too easy
    >>> tree = DecisionTreeClassifier(max_depth=3)
    >>> agents = [("clinic", tree, slice(0, 8)), ("lab", tree, slice(8, 20))]
    >>> clf = AssistedClassifier(agents, combine="sum", models_per_turn=1, n_rounds=2, random_state=0)
    >>> worth = assistance_gain(clf, X, y, loss="log", at_least=0.02, random_state=0)
    >>> worth.answer, worth.n_opened, [round(limit, 2) for limit in worth.interval]
    ('yes', 285, [0.03, 0.25])
    """
    terms = Terms(
        at_least=at_least, alpha=alpha, loss=loss, block=block, train_size=train_size, each_helper=each_helper
    )
    names = [name for name, _, _ in check_agents(clf.agents)]
    if len(names) < 2:
        raise SettingsError(f"The only agent is {names[0]!r}: there is nobody to help it. Name a helper, too.")
    y = check_labels(y, "assistance_gain")
    if len(y) != _num_samples(X):
        raise SettingsError(f"X has {_num_samples(X)} rows, but y has {len(y)} labels.")
    training, pool = drawn(terms, y, _seed(random_state))
    ensemble = clone(clf).fit(take_rows(X, training), y[training])
    alone = clf.alone(names[0])
    if isinstance(alone, AssistedClassifier):  # and not the most frequent class, of an initiator with labels alone
        alone.set_params(n_rounds=clf.n_rounds * len(names))
    alone.fit(take_rows(X, training), y[training])
    weighing = Weighing(terms, names[1:])
    models = [alone, *(ensemble.subset([names[0], *helpers]) for helpers in weighing.sets)]
    while weighing.n_opened < len(pool) and not weighing.answered:
        opened = pool[weighing.n_opened :][:block]
        weighing.hear(_losses(models, take_rows(X, opened), y[opened], loss))
    return weighing.worth(len(training), len(pool), alone_by_labels=has_labels_alone(clf.agents))


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(MAX_SEED))


def _losses(models: Sequence[AssistedClassifier], X: Any, y: NDArray[Any], loss: SampleLoss) -> Floats:
    """Return the loss of each model on each sample."""
    codes = np.searchsorted(models[0].classes_, y)
    made = []
    for model in models:
        probabilities = model.predict_proba(X) if loss == "log" else np.empty((len(y), 0))
        decided = codes if loss == "log" else np.searchsorted(model.classes_, model.predict(X))
        made.append(losses(loss, codes, decided, probabilities))
    return np.array(made)
