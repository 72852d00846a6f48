"""A pilot in one process: find out whether the helpers' columns would help the initiator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from assistlearn.errors import SettingsError
from assistlearn.estimators.checks import check_agents, check_labels, drawn_seed, has_labels_alone, who_is_who
from assistlearn.estimators.classifier import AssistedClassifier
from assistlearn.evaluation.metrics import losses
from assistlearn.evaluation.pilots import Weighing, Worth, drawn
from assistlearn.evaluation.words import SampleLoss, Terms, loss_for
from assistlearn.learners.model import take_rows
from assistlearn.types import Floats


def assistance_gain(
    clf: AssistedClassifier,
    X: Any,
    y: Any,
    *,
    groups: Any = None,
    at_least: float = 0.0,
    alpha: float = 0.05,
    loss: SampleLoss | None = None,
    block: int = 50,
    train_size: float = 0.5,
    each_helper: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Worth:
    """Find out whether the other agents' columns help the first agent, and how much: yes, no or undecided.

    This pilot trains on a part of the samples, once with all agents and once with the first agent alone. The other
    samples test both. They are opened in random blocks, until it is clear whether the gain is as large as you ask for.
    The answer is wrong with a chance of at most ``alpha``, however often you look.

    Parameters
    ----------
    clf : AssistedClassifier
        Two agents or more, with the settings of the pilot. The first agent wants help. The estimator itself is not
        changed: clones are fitted. Alone, the first agent has as many turns as all agents have together; without
        columns, it predicts the most frequent class.
    X : table of shape (n_samples, n_columns)
        All agents' columns.
    y : array-like of shape (n_samples,)
        The labels.
    groups : array-like of shape (n_samples,), default=None
        Who each sample is about, as in :meth:`AssistedClassifier.fit`. All samples of a person are trained on, or one
        of them is opened.
    at_least : float, default=0.0
        The smallest gain that is worth it to you. With the zero-one loss 0.02 is 2 points of accuracy.
    alpha : float, default=0.05
        The largest chance that any answer is wrong. With several helpers, half of it is for the answer about all
        together; the answers about each helper share the other half.
    loss : {"zero-one", "log"}, default=None
        How answers are scored: right or wrong; or by the log loss, in which no probability counts as less than 0.01.
        None goes by the ``metric`` of ``clf``: zero-one for accuracy and balanced accuracy, log for the others.
    block : int, default=50
        How many samples are opened at a time.
    train_size : float or int, default=0.5
        The share of the samples to train on, 5,000 at most; or their number.
    each_helper : bool, default=False
        Go on until there is also an answer for each helper by itself.
    random_state : int, RandomState instance or None, default=None
        The seed that decides which samples are trained on, and in which order the others are opened.

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
    loss = loss_for(clf.metric) if loss is None else loss
    terms = Terms(
        at_least=at_least, alpha=alpha, loss=loss, block=block, train_size=train_size, each_helper=each_helper
    )
    names = [name for name, _, _ in check_agents(clf.agents)]
    if len(names) < 2:
        raise SettingsError(f"The only agent is {names[0]!r}: there is nobody to help it. Add a helper.")
    y = check_labels(y, "assistance_gain")
    if len(y) != _num_samples(X):
        raise SettingsError(f"X has {_num_samples(X)} rows, but y has {len(y)} labels.")
    people = who_is_who(X, np.unique(y, return_inverse=True)[1], groups)
    training, pool = drawn(terms, y, drawn_seed(random_state), people)
    who = np.arange(len(training)) if people is None else people[training]
    ensemble = clone(clf).fit(take_rows(X, training), y[training], groups=who)
    alone = clf.alone(names[0])
    if isinstance(alone, AssistedClassifier):  # the baseline of labels alone has no rounds
        alone.set_params(n_rounds=clf.n_rounds * len(names)).fit(take_rows(X, training), y[training], groups=who)
    else:
        alone.fit(take_rows(X, training), y[training])
    weighing = Weighing(terms, names[1:])
    models = [alone, *(ensemble.subset([names[0], *helpers]) for helpers in weighing.sets)]
    while weighing.n_opened < len(pool) and not weighing.answered:
        opened = pool[weighing.n_opened :][:block]
        weighing.hear(_losses(models, take_rows(X, opened), y[opened], loss))
    return weighing.worth(len(training), len(pool), alone_by_labels=has_labels_alone(clf.agents))


def _losses(models: Sequence[AssistedClassifier], X: Any, y: NDArray[Any], loss: SampleLoss) -> Floats:
    codes = np.searchsorted(models[0].classes_, y)
    made = []
    for model in models:
        probabilities = model.predict_proba(X) if loss == "log" else np.empty((len(y), 0))
        decided = codes if loss == "log" else np.searchsorted(model.classes_, model.predict(X))
        made.append(losses(loss, codes, decided, probabilities))
    return np.array(made)
