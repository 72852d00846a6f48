"""AssistedClassifier: the session over agents in this process, behind scikit-learn's interface."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from assistlearn.agents import Agent
from assistlearn.core import Contribution, State, votes
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import AssistLearnWarning, ColumnsError, SettingsError
from assistlearn.estimators.columns import AllColumns, Positions, positions_of, take_columns
from assistlearn.estimators.html import agents_block
from assistlearn.estimators.local import LocalParty
from assistlearn.estimators.progress import Progress
from assistlearn.learners.seeding import MAX_SEED
from assistlearn.learners.weighting import take_rows
from assistlearn.session import HoldOut, Order, Settings, StopReason, TurnFinished, order_of, run
from assistlearn.session.holdout import split

logger = logging.getLogger("assistlearn")

METHODS = ("ascii", "simple", "ensemble")


class AssistedClassifier(ClassifierMixin, _BaseComposition):  # type: ignore[misc]
    """Classify with the help of agents who each know some of the columns.

    Every agent fits its own private estimator to its own columns, under an *ignorance* that says how much help each sample still
    needs; it raises the ignorance where it was wrong and passes it on. Afterwards all fitted models vote. This is ASCII (assisted
    classification with ignorance interchange); with one agent it is AdaBoost-SAMME.

    Parameters
    ----------
    agents : list of (name, estimator, columns), default=None
        The first is the initiator, who wants help. ``estimator`` is any classifier; ``columns`` are names, positions, a slice, a
        boolean mask, or a callable that is given ``X``, as in :class:`~sklearn.compose.ColumnTransformer`. Two agents may know
        the same column. None means one agent that knows all columns and boosts trees of depth one.
    method : {"ascii", "simple", "ensemble"}, default="ascii"
        - "ascii": a model's weight takes into account what was wrong earlier in the same round (equation 13 of the paper);
        - "simple": it looks at the ignorance alone (ASCII-Simple), the exact stage-wise minimiser of the exponential loss;
        - "ensemble": no interchange: every agent boosts alone, and the agents' answers are put to a majority vote
          (Ensemble-AdaBoost). Ties are broken by the agents' confidence.
    order : {"chain", "random"} or callable, default="chain"
        The order of the agents in a round: as given; a fresh permutation each round (ASCII-Random); or what
        ``order(round, names, rng)`` returns.
    n_rounds : int, default=20
        The number of rounds at the most. In a round every agent has one turn.
    weak_agent : {"skip", "stop"}, default="skip"
        What happens when an agent's model is no better than chance: it sits the turn out, or (the paper's literal rule) the run
        ends. With "skip" the run ends when a whole round has added nothing.
    holdout : float, default=None
        The paper's second stop rule: keep this share of the samples aside, train on the others, stop when the error on the
        samples aside has not fallen for ``patience`` rounds, and cut the ensemble back to the best round.
    patience : int, default=3
        See ``holdout``.
    random_state : int, RandomState instance or None, default=None
        All chance comes from it: the order, the hold-out samples, resampling, and every ``random_state`` of the agents'
        estimators.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where they are all strings.
    contributions_ : tuple of Contribution
        A record of every kept model in the order in which they were made.
    n_rounds_ : int
        The number of rounds that the ensemble is made of.
    stop_reason_ : StopReason
        Why training ended.
    ignorance_ : ndarray of shape (n_samples,)
        How much help each training sample still needs after the last turn; sums to one. Zero for hold-out samples. With
        ``method="ensemble"``, the average over the agents.
    holdout_scores_ : list of float
        The accuracy on the hold-out samples after each round; empty without ``holdout``.
    agents_ : dict of str to Agent
        The agents with the models they keep.
    columns_ : dict of str to ndarray of int
        The positions of the columns each agent knows.
    class_prior_ : ndarray of shape (n_classes,)
        The share of each class in the training samples, by weight.

    Notes
    -----
    The weights that a learner sees are the ignorance times the power of two nearest to the number of samples, so that they average
    about one. (``AdaBoostClassifier`` passes weights that sum to one. Learners that do not care about the scale, such as trees,
    behave the same to the bit; a penalty like ``C`` of ``LogisticRegression`` keeps its usual meaning here.)

    A pipeline's transformers are fitted once, on the training rows; its last step is fitted anew in every turn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = AssistedClassifier(
    ...     agents=[
    ...         ("cellar", DecisionTreeClassifier(max_depth=2), ["alcohol", "malic_acid", "ash"]),
    ...         ("lab", make_pipeline(StandardScaler(), LogisticRegression()), slice(3, 13)),
    ...     ],
    ...     n_rounds=5,
    ...     random_state=0,
    ... ).fit(X_train, y_train)
    >>> bool(clf.score(X_test, y_test) > clf.alone("cellar").fit(X_train, y_train).score(X_test, y_test))
    True
    """

    def __init__(
        self,
        agents: Sequence[tuple[str, Any, Any]] | None = None,
        *,
        method: Literal["ascii", "simple", "ensemble"] = "ascii",
        order: str | Order = "chain",
        n_rounds: int = 20,
        weak_agent: Literal["skip", "stop"] = "skip",
        holdout: float | None = None,
        patience: int = 3,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.agents = agents
        self.method = method
        self.order = order
        self.n_rounds = n_rounds
        self.weak_agent = weak_agent
        self.holdout = holdout
        self.patience = patience
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting --------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train: every agent has its turn in every round, until there is a reason to stop.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns. NumPy, SciPy, pandas and polars are understood; each agent's learner is given its own columns in
            the same form. Missing values are its learner's business.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The initial ignorance, up to a factor.

        Returns
        -------
        self : AssistedClassifier
            The fitted estimator.
        """
        agents = self._check_settings()
        X = self._check_table(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if len(y) != _num_samples(X):
            raise SettingsError(f"X has {_num_samples(X)} rows, but y has {len(y)} labels.")
        weight = _initial_weight(sample_weight, X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.columns_ = self._find_columns(agents, X)
        counts = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        self.class_prior_ = counts / counts.sum()
        self.agents_ = {name: Agent(name, estimator) for name, estimator, _ in agents}
        self.contributions_: tuple[Contribution, ...] = ()
        self.holdout_scores_: list[float] = []
        self.n_rounds_ = 0
        if len(self.classes_) == 1:
            self.stop_reason_ = StopReason.ONE_CLASS
            self.ignorance_ = np.full(len(codes), 1 / len(codes)) if weight is None else weight / weight.sum()
        else:
            self._train(X, codes, weight, self._draw_seed())
        if not self.contributions_ and self.stop_reason_ is not StopReason.ONE_CLASS:
            _warn_nothing_learned(len(self.classes_))
        return self

    def _train(self, X: Any, codes: Codes, weight: Floats | None, seed: int) -> None:
        """Let the agents take their turns, and keep what is learned."""
        train, aside = self._split(codes, seed)
        states = self._states(len(codes) if train is None else len(train), _rows(weight, train))
        holdout = None
        if aside is not None:
            holdout = HoldOut(
                codes[aside], len(self.classes_), self.patience, self.method == "ensemble"
            )
        prepare_rng = np.random.RandomState([seed, 3])
        for name, agent in self.agents_.items():
            own = take_columns(X, self.columns_[name])
            agent.begin(
                own if train is None else take_rows(own, train),
                codes if train is None else codes[train],
                int(prepare_rng.randint(MAX_SEED)),
                None if aside is None else take_rows(own, aside),
            )
        parties = [LocalParty(agent, states[name]) for name, agent in self.agents_.items()]
        settings = Settings(self.n_rounds, order_of(self.order), self.weak_agent, seed)
        self._follow(settings, parties, states, holdout)
        self.ignorance_ = _ignorance(states, len(codes), train)

    def _follow(
        self,
        settings: Settings,
        parties: list[LocalParty],
        states: dict[str, State],
        holdout: HoldOut | None,
    ) -> None:
        """Run the session and record its events."""
        made: list[Contribution] = []
        with Progress(settings.n_rounds * len(parties), enabled=self.verbose) as progress:
            for event in run(settings, parties, states, holdout):
                progress.show(event)
                logger.debug("%s", event)
                if isinstance(event, TurnFinished):
                    if event.contribution is not None:
                        made.append(event.contribution)
                elif hasattr(event, "holdout_accuracy"):
                    if event.holdout_accuracy is not None:
                        self.holdout_scores_.append(event.holdout_accuracy)
                else:
                    self.n_rounds_, self.stop_reason_ = event.n_rounds, event.reason
        self.contributions_ = tuple(c for c in made if c.round <= self.n_rounds_)
        for agent in self.agents_.values():
            agent.end(self.n_rounds_)
        logger.info("Training ended after round %d: %s.", self.n_rounds_, self.stop_reason_)

    def _states(self, n_samples: int, weight: Floats | None) -> dict[str, State]:
        """Return each agent's state: one for all, or one each where nothing is interchanged."""
        n_classes = len(self.classes_)
        if self.method == "ensemble":
            return {
                name: State.start(n_samples, n_classes, weight, interchange=False)
                for name in self.agents_
            }
        shared = State.start(n_samples, n_classes, weight, interchange=self.method == "ascii")
        return dict.fromkeys(self.agents_, shared)

    def _split(self, codes: Codes, seed: int) -> tuple[Positions, Positions] | tuple[None, None]:
        if self.holdout is None:
            return None, None
        train, aside = split(codes, self.holdout, np.random.RandomState([seed, 2]))
        if len(aside) == 0:
            raise SettingsError(
                f"holdout={self.holdout} of {len(codes)} samples leaves nothing to hold out. Use a larger share or no hold-out."
            )
        return train, aside

    def _draw_seed(self) -> int:
        state = self.random_state
        if isinstance(state, Integral):
            return int(state)
        if state is None:
            return int(np.random.randint(MAX_SEED))  # noqa: NPY002  as scikit-learn: None is the global state
        return int(state.randint(MAX_SEED))

    # -- predicting -----------------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes for each sample.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        return self._labels(self._total(self._own_scores(X)))

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities.

        The softmax of ``(K - 1) / K`` times the scores, under which one model that is right with probability q answers q. Many
        votes make them extreme; calibrate them where that matters. With ``method="ensemble"``, the shares of the vote.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._probabilities(self._total(self._own_scores(X)))

    def decision_function(self, X: Any) -> Floats:
        """Return the sum of the agents' votes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` alone, which is minus that of ``classes_[0]``.
        """
        return self._shown(self._total(self._own_scores(X)))

    def agent_scores(self, X: Any) -> dict[str, Floats]:
        """Return what each agent alone would answer: its own votes.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : dict of str to ndarray of shape (n_samples, n_classes)
            Their sum is :meth:`decision_function`. For two classes that has one dimension only: it is the second column of the sum,
            and the first is its negative.
        """
        return self._combined(self._own_scores(X))

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`decision_function` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            The votes of the models of all rounds so far.
        """
        for total in self._staged(X):
            yield self._shown(total)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield :meth:`predict` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            The classes.
        """
        for total in self._staged(X):
            yield self._labels(total)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`predict_proba` after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        for total in self._staged(X):
            yield self._probabilities(total)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each **round**.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Yields
        ------
        accuracy : float
            The share of the samples that are classified right.
        """
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def _own_scores(self, X: Any) -> dict[str, Floats]:
        """Return every agent's own weighted votes."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        n_samples, n_classes = _num_samples(X), len(self.classes_)
        return {
            name: agent.scores(take_columns(X, self.columns_[name]), n_samples, n_classes)
            for name, agent in self.agents_.items()
        }

    def _staged(self, X: Any) -> Iterator[Floats]:
        """Yield the sum of the votes after each round."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        shape = _num_samples(X), len(self.classes_)
        answers = {
            name: agent.answers(take_columns(X, self.columns_[name]), shape[1])
            for name, agent in self.agents_.items()
        }
        scores = {name: np.zeros(shape) for name in self.agents_}
        weights = dict.fromkeys(self.agents_, 0.0)
        pending = [(c.round, c.agent) for c in self.contributions_]
        for round in range(1, self.n_rounds_ + 1):
            while pending and pending[0][0] == round:
                _, name = pending.pop(0)
                kept, codes = next(answers[name])
                votes.add_vote(scores[name], codes, kept.model_weight)
                weights[name] += kept.model_weight
            yield self._total(scores, weights)

    def _total(self, own: dict[str, Floats], weights: dict[str, float] | None = None) -> Floats:
        return sum(self._combined(own, weights).values(), np.zeros(next(iter(own.values())).shape))

    def _combined(
        self, own: dict[str, Floats], weights: dict[str, float] | None = None
    ) -> dict[str, Floats]:
        """Return the agents' shares of the decision, from their own votes."""
        if len(self.classes_) == 1:
            return own
        if not self.contributions_:  # nothing learned: the initiator knows the shares of the classes
            prior = votes.scores_of(self.class_prior_[np.newaxis, :])
            first = next(iter(own))
            return {name: prior + scores if name == first else scores for name, scores in own.items()}
        if self.method == "ensemble":
            if weights is None:
                weights = {name: agent.total_weight for name, agent in self.agents_.items()}
            return votes.majority_votes(own, weights)
        return own

    def _labels(self, total: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[votes.winners(total)]
        return labels

    def _shown(self, total: Floats) -> Floats:
        return total[:, -1] if total.shape[1] <= 2 else total

    def _probabilities(self, total: Floats) -> Floats:
        if total.shape[1] == 1:
            return np.ones_like(total)
        if self.method == "ensemble" and self.contributions_:
            return votes.vote_shares(total, len({c.agent for c in self.contributions_}))
        return votes.probabilities(total)

    # -- baselines ------------------------------------------------------------------------------------------------------

    def alone(self, name: str) -> AssistedClassifier:
        """Return the paper's *Single*: an unfitted estimator of one agent that boosts alone, with the same settings.

        Parameters
        ----------
        name : str
            The agent.

        Returns
        -------
        single : AssistedClassifier
            Unfitted. It is fitted to the same table, of which it sees the agent's columns.
        """
        for agent in self._check_agents():
            if agent[0] == name:
                return self._with_agents([agent])
        names = [agent[0] for agent in self._check_agents()]
        raise SettingsError(f"There is no agent {name!r}. The agents are {names}.")

    def pooled(self, estimator: Any = None) -> AssistedClassifier:
        """Return the paper's *Oracle*: one agent that knows every agent's columns, with the same settings.

        Parameters
        ----------
        estimator : classifier, default=None
            What it boosts; by default what the initiator does.

        Returns
        -------
        oracle : AssistedClassifier
            Unfitted.
        """
        agents = self._check_agents()
        columns = AllColumns([(name, columns) for name, _, columns in agents])
        return self._with_agents([("pooled", agents[0][1] if estimator is None else estimator, columns)])

    def _with_agents(self, agents: list[tuple[str, Any, Any]]) -> AssistedClassifier:
        settings = self.get_params(deep=False) | {"agents": agents, "order": "chain"}
        return AssistedClassifier(**settings)

    # -- checks ---------------------------------------------------------------------------------------------------------

    def _check_settings(self) -> list[tuple[str, Any, Any]]:
        """Check every parameter before any work begins; return the agents."""
        _choose("method", self.method, METHODS)
        _choose("weak_agent", self.weak_agent, ("skip", "stop"))
        order_of(self.order)
        _at_least_one("n_rounds", self.n_rounds)
        _at_least_one("patience", self.patience)
        if self.holdout is not None and not (
            isinstance(self.holdout, Real) and 0.0 < self.holdout < 1.0
        ):
            raise SettingsError(f"holdout={self.holdout!r} must be None or a share between 0 and 1.")
        return self._check_agents()

    def _check_agents(self) -> list[tuple[str, Any, Any]]:
        if self.agents is None:
            return [("agent", DecisionTreeClassifier(max_depth=1), AllColumns())]
        agents = list(self.agents)
        for item in agents:
            if not (isinstance(item, tuple | list) and len(item) == 3 and isinstance(item[0], str)):
                raise SettingsError(
                    f"agents must be a list of (name, estimator, columns), but it holds {item!r}."
                )
            if isinstance(item[1], type) or not is_classifier(item[1]):
                raise SettingsError(
                    f"Agent {item[0]!r}: {item[1]!r} is not a classifier. Pass an instance such as DecisionTreeClassifier()."
                )
        if not agents:
            raise SettingsError("agents is empty: at least one agent, the initiator, is needed.")
        try:
            self._validate_names([name for name, _, _ in agents])
        except ValueError as error:
            raise SettingsError(f"agents: {error}") from None
        return [(name, estimator, columns) for name, estimator, columns in agents]

    def _check_table(self, X: Any, reset: bool) -> Any:
        if not hasattr(X, "columns"):
            X = check_array(
                X,
                accept_sparse=["csr", "csc"],
                dtype=None,
                ensure_all_finite=False,
                estimator=self,
                input_name="X",
            )
        elif _num_samples(X) == 0:
            raise SettingsError("X has 0 sample(s) (rows), while a minimum of 1 is required.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _find_columns(self, agents: list[tuple[str, Any, Any]], X: Any) -> dict[str, Positions]:
        names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        found = {name: positions_of(columns, X, names, name) for name, _, columns in agents}
        unknown = np.setdiff1d(np.arange(X.shape[1]), np.concatenate(list(found.values())))
        if len(unknown):
            shown = [repr(str(names[i])) if names else str(i) for i in unknown[:10]]
            more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
            warnings.warn(
                f"No agent knows {len(unknown)} of the {X.shape[1]} columns: {', '.join(shown)}{more}. They are not used.",
                AssistLearnWarning,
                stacklevel=3,
            )
        return found

    # -- scikit-learn's conventions ----------------------------------------------------------------------------------------

    @property
    def _agents(self) -> Any:
        """The agents without their columns, for scikit-learn's handling of nested parameters."""
        try:
            return [(name, estimator) for name, estimator, _ in self.agents]  # type: ignore[union-attr]
        except (TypeError, ValueError):
            return self.agents

    @_agents.setter
    def _agents(self, value: Any) -> None:
        pairs = zip(value, self.agents or [], strict=True)
        self.agents = [(name, estimator, columns) for (name, estimator), (_, _, columns) in pairs]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, the agents' nested ones (``clinic__max_depth``) included.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of the agents' estimators.

        Returns
        -------
        params : dict
            Names and values.
        """
        params: dict[str, Any] = self._get_params("_agents", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an agent's by ``name__parameter``, an agent's estimator by ``name``.

        Parameters
        ----------
        **params : dict
            Names and values.

        Returns
        -------
        self : AssistedClassifier
            The estimator itself.
        """
        if "agents" in params:
            self.agents = params.pop("agents")
        self._set_params("_agents", **params)
        return self

    def _sk_visual_block_(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return agents_block(self._check_agents(), getattr(self, "columns_", None), names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            learners = [get_tags(estimator).input_tags for _, estimator, _ in self._check_agents()]
        except (SettingsError, ColumnsError):  # fit will say what is wrong
            learners = []
        tags.input_tags.allow_nan = bool(learners) and all(tag.allow_nan for tag in learners)
        tags.input_tags.sparse = bool(learners) and all(tag.sparse for tag in learners)
        return tags


def _initial_weight(sample_weight: Any, X: Any) -> Floats | None:
    if sample_weight is None:
        return None
    weight: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=False
    )
    if not weight.sum() > 0.0:
        raise SettingsError("Every sample_weight is zero: there is nothing to learn from.")
    return weight


def _rows(values: Floats | None, rows: Positions | None) -> Floats | None:
    return values if values is None or rows is None else values[rows]


def _ignorance(states: dict[str, State], n_samples: int, train: Positions | None) -> Floats:
    """Return the average of the agents' states' ignorance, zero where a sample was held out."""
    distinct = {id(state): state for state in states.values()}.values()
    mean: Floats = sum((state.ignorance() for state in distinct), np.zeros(1)) / len(distinct)
    if train is None:
        return mean
    out = np.zeros(n_samples)
    out[train] = mean
    return out


def _choose(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SettingsError(f"{name}={value!r} is not known. Choose one of {list(allowed)}.")


def _at_least_one(name: str, value: Any) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise SettingsError(f"{name}={value!r} must be a whole number of at least 1.")


def _warn_nothing_learned(n_classes: int) -> None:
    warnings.warn(
        f"No agent's model was better than chance (right on more than 1/{n_classes} of the ignorance), so that no model was kept. "
        "Predictions are the most frequent class. Give the agents other columns or learners.",
        AssistLearnWarning,
        stacklevel=3,
    )


