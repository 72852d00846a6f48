"""One replication: fit every method of a figure to the same samples, and test it after each round."""

from __future__ import annotations

import time
import warnings
from typing import Any, Literal

import msgspec
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from assistlearn.datasets import DataSet
from assistlearn.estimators import AssistedClassifier
from assistlearn.experiments.drawn_samples import draw
from assistlearn.experiments.figures import FigureSettings, Method
from assistlearn.experiments.paper_learners import make_learner
from assistlearn.experiments.transmission import Cost, cost_of


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one replication, as it is kept on disk.

    Attributes
    ----------
    figure, settings : str
        Which figure, and the digest of its settings.
    number : int
        Which replication, from 0.
    accuracy : dict of str to list of float
        For each method, the test accuracy after each round. Where training ended early, the last value is repeated:
        the ensemble does not change any more.
    rounds : dict of str to int
        For each method, the round after which training ended.
    stopped : dict of str to str
        For each method, why training ended.
    cpu_seconds : float
        The processor time that it took.
    cost : Cost, optional
        What ASCII sent, if the figure is about that.
    """

    figure: str
    settings: str
    number: int
    accuracy: dict[str, list[float]]
    rounds: dict[str, int]
    stopped: dict[str, str]
    cpu_seconds: float
    cost: Cost | None = None


def replicate(settings: FigureSettings, number: int, folder: str | None = None) -> Replication:
    """Run one replication of a figure.

    Parameters
    ----------
    settings : FigureSettings
        The figure's settings.
    number : int
        Which replication, from 0; it decides the seed of samples and learners.
    folder : str, optional
        The data folder.

    Examples
    --------
    >>> from assistlearn.experiments.figures import quick, read_settings
    >>> result = replicate(quick(read_settings("fig1")), number=0)
    >>> list(result.accuracy)
    ['Single', 'ASCII', 'Oracle']
    """
    begun = time.process_time()
    seed = settings.seed + number
    train, test = draw(settings.data, seed, folder)
    accuracy: dict[str, list[float]] = {}
    rounds: dict[str, int] = {}
    stopped: dict[str, str] = {}
    cost = None
    for method in settings.methods:
        model = fitted(settings, method, train, seed)
        accuracy[method] = staged_accuracy(model, test, settings.rounds)
        rounds[method], stopped[method] = model.n_rounds_, str(model.stop_reason_)
        if method == "ASCII" and settings.transmission is not None:
            cost = cost_of(model, train, settings.transmission.bits_per_value)
    return Replication(
        figure=settings.figure,
        settings=settings.digest(),
        number=number,
        accuracy=accuracy,
        rounds=rounds,
        stopped=stopped,
        cpu_seconds=round(time.process_time() - begun, 3),
        cost=cost,
    )


def fitted(settings: FigureSettings, method: Method, train: DataSet, seed: int) -> AssistedClassifier:
    """Return a fitted model of one of a figure's methods."""
    model = _model(settings, method, train, seed)
    with warnings.catch_warnings(), threadpool_limits(1):  # the other cores are for other replications
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs is what the settings ask for
        return model.fit(train.features, train.labels)


def staged_accuracy(model: AssistedClassifier, test: DataSet, n_rounds: int) -> list[float]:
    """Return the accuracy after each of ``n_rounds`` rounds, the last one repeated where training ended early."""
    with threadpool_limits(1):
        scores = list(model.staged_score(test.features, test.labels)) or [model.score(test.features, test.labels)]
    return [round(score, 6) for score in scores + scores[-1:] * (n_rounds - len(scores))]


def _model(settings: FigureSettings, method: Method, train: DataSet, seed: int) -> AssistedClassifier:
    learner = make_learner(settings.learner)
    agents = [(agent, learner, train.columns(agent)) for agent in train.agents]
    way: Literal["ascii", "simple", "ensemble"] = "ascii"
    if method == "ASCII-Simple":
        way = "simple"
    elif method == "Ensemble-Ada":
        way = "ensemble"
    order = "random" if method == "ASCII-Random" else "chain"
    model = AssistedClassifier(agents, method=way, order=order, n_rounds=settings.rounds, random_state=seed)
    if method == "Single":
        return model.alone(_initiator(train))
    return model.pooled() if method == "Oracle" else model


def _initiator(data: DataSet) -> Any:
    return next(iter(data.agents))
