"""AssistedClassifier: the session over agents in this process, behind scikit-learn's interface."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _num_samples

from assistlearn import events as e
from assistlearn.agent.agent import Agent, TrainingSamples
from assistlearn.combination import Combination
from assistlearn.combination.combination import as_numbers, number_columns
from assistlearn.core import Contribution, RunState
from assistlearn.core.labels import classes_and_codes, draw
from assistlearn.core.people import Groups
from assistlearn.errors import SettingsError
from assistlearn.estimators import checks
from assistlearn.estimators.showing import agents_block, answer_block, documents_plan, progress, unchecked_block
from assistlearn.estimators.voting import Voting
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.result import Report
from assistlearn.learners import Honesty
from assistlearn.learners.model import take_rows
from assistlearn.methods.orders import Order
from assistlearn.plan import Plan
from assistlearn.session import LocalParticipant
from assistlearn.session.judging import doubt_of
from assistlearn.session.setup import SetUp, Task, check_holdout, set_up, votes_alone
from assistlearn.types import Bools, Codes, Floats

logger = logging.getLogger("assistlearn")


@documents_plan
class AssistedClassifier(Voting, ClassifierMixin, _BaseComposition):  # type: ignore[misc]
    """Classify with the help of agents who each know some of the columns.

    Agents take turns. In its turn an agent fits its own private estimator to its own columns. A weight for each
    sample, the *ignorance*, says how much help the sample still needs. The agent raises the ignorance where its model
    is wrong, and passes it on. To predict, all fitted models vote. This is ASCII (assisted classification with
    ignorance interchange).

    The default settings are the recommended ones. Agents say how sure they are, about samples that their models have
    not seen. The initiator learns in private how to combine what they say. Training stops when another round hardly
    improves the result. The paper's own method is ``method="ascii"``; with one agent it is AdaBoost-SAMME.

    Parameters
    ----------
    agents : list of (name, estimator, columns), default=None
        The first agent is the initiator: it has the labels and wants help. ``estimator`` is any classifier.
        ``columns`` are names, positions, a slice, a boolean mask, or a function of ``X``, as in
        :class:`~sklearn.compose.ColumnTransformer`. Two agents may know the same column. An initiator that has labels
        but no columns is ``(name, None, [])``: it takes no turns, and only the helpers vote. None means one agent that
        knows all columns and boosts trees of depth one.
    {plan}
    preprocess : {"auto", "always", "never"}, default="auto"
        When to prepare an agent's columns for its learner, by :class:`~assistlearn.TablePreprocessor` as on the command
        line. auto: if the learner cannot take them as they are (text, dates, categories, gaps). always: unless the
        agent has a pipeline of its own. never: the learner gets the columns as they are.
    random_state : int, RandomState instance or None, default=None
        The seed of everything random: the order, the hold-out samples, resampling, and every ``random_state`` of the
        agents' estimators. Give a number to get the same result again.
    n_jobs : int, default=None
        How many threads fit at the same time: folds (out-of-fold rewards) or agents (greedy order, or
        ``method="ensemble"``).
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
        A record of every model that was kept, in the order in which they were made.
    sat_out_ : tuple of TurnFinished
        The other turns of the same agents and rounds, in which an agent sat out.
    n_rounds_ : int
        The number of rounds whose models vote.
    stop_reason_ : StopReason
        Why training ended.
    ignorance_ : ndarray of shape (n_samples,)
        How much help each training sample still needs after the last turn; sums to one. Zero for hold-out samples. With
        ``method="ensemble"``, the average over the agents.
    holdout_scores_ : list of float
        The accuracy on the hold-out samples after each round; empty without ``holdout``. That of round ``n_rounds_``
        is the accuracy of the result, before any helper is left out of it.
    holdout_metrics_ : list of float or None
        The ``metric`` on the hold-out samples after each round; None where it is not defined.
    holdout_indices_ : ndarray of int, or None
        The rows that were held out; None without ``holdout``. On these rows ``predict`` and ``predict_proba`` give the
        answers that ``report_`` judges. Where probabilities are calibrated, those of a row are judged by a calibration
        on other rows.
    report_ : Report or None
        How good the result is on the hold-out samples: every metric with help and alone, the differences with their
        95 % intervals, the confusion matrix, and how much each helper helped. None without ``holdout``.
        :func:`assistlearn.save_report` writes it as a page.
    left_ : dict of str to str
        Agents whose answers the hold-out samples contradicted, and why. The run went on without them.
    combination_ : Combination or None
        The learned combination of the agents' votes; None if votes are added up.
    calibration_ : ScoreCalibration or None
        What turns votes into probabilities, and how many samples it was fitted to. None if the method's formula or the
        learned combination does this.
    round_losses_ : list of float
        The log loss of the combination after each round, on samples that it has not seen; empty for ``combine="sum"``.
    agents_ : dict of str to Agent
        The agents with their models; an initiator without columns has none.
    columns_ : dict of str to ndarray of int
        The positions of the columns each agent knows.
    kinds_ : dict of str to dict of str to str
        For agents whose columns are prepared: what each column is, ``"number"``, ``"boolean"``, ``"date"`` or
        ``"category"``. Columns without any value are left out.
    class_prior_ : ndarray of shape (n_classes,)
        The share of each class in the training samples, by ``sample_weight``; hold-out samples do not count. They are
        the answer for a sample about which no agent says anything.

    Notes
    -----
    A learner sees the ignorance times a factor, so that its sample weights average about one. The factor is the power
    of two nearest to the number of samples. So a penalty like ``C`` of ``LogisticRegression`` keeps its usual meaning.
    (``AdaBoostClassifier`` passes weights that sum to one. Trees do not depend on the scale, and behave exactly the
    same.)

    A pipeline's transformers are fitted once, on the training rows; its last step is fitted anew in every turn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> clf = AssistedClassifier(
    ...     agents=[
    ...         ("cellar", DecisionTreeClassifier(max_depth=2), ["alcohol", "malic_acid", "ash"]),
    ...         ("lab", make_pipeline(StandardScaler(), LogisticRegression()), slice(3, 13)),
    ...     ],
    ...     random_state=0,
    ... ).fit(X_train, y_train)
    >>> bool(clf.score(X_test, y_test) > clf.alone("cellar").fit(X_train, y_train).score(X_test, y_test))
    True
    """

    def __init__(
        self,
        agents: Sequence[tuple[str, Any, Any]] | None = None,
        *,
        method: str = Plan.method,
        order: str | Order = Plan.order,
        n_rounds: int = Plan.n_rounds,
        weak_agent: str = Plan.weak_agent,
        holdout: float | None = Plan.holdout,
        patience: int = Plan.patience,
        metric: str = Plan.metric,
        worse_agent: str = Plan.worse_agent,
        class_weight: str | Mapping[Any, float] | None = Plan.class_weight,
        reward: str | None = Plan.reward,
        cv: int = Plan.cv,
        loss: str = Plan.loss,
        shrinkage: float = Plan.shrinkage,
        models_per_turn: int | None = Plan.models_per_turn,
        combine: str | None = Plan.combine,
        calibrate: str | None = Plan.calibrate,
        score_bits: int = Plan.score_bits,
        epsilon: float = Plan.epsilon,
        missing_agent: str = Plan.missing_agent,
        preprocess: str = "auto",
        n_jobs: int | None = None,
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
        self.metric = metric
        self.worse_agent = worse_agent
        self.class_weight = class_weight
        self.reward = reward
        self.cv = cv
        self.loss = loss
        self.shrinkage = shrinkage
        self.models_per_turn = models_per_turn
        self.combine = combine
        self.calibrate = calibrate
        self.score_bits = score_bits
        self.epsilon = epsilon
        self.missing_agent = missing_agent
        self.preprocess = preprocess
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Train: in every round every agent has one turn, until there is a reason to stop.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            The columns of all agents: NumPy, SciPy, pandas or polars. Each agent's learner gets its own columns in the
            same form, or prepared if it cannot take them (``preprocess``).
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts: the ignorance at the beginning, up to a factor. Equal weights are no weights.
            ``class_weight`` multiplies them.
        groups : array-like of shape (n_samples,), default=None
            Who each sample is about, by name or number. Samples about the same person are kept together: all held out,
            or all in one fold. By default every sample is a person of its own, except rows that repeat others too
            exactly for chance. There a warning says so; ``groups=range(len(X))`` says that all are different persons.

        Returns
        -------
        self : AssistedClassifier
            The fitted estimator.
        """
        agents = self._check_agents()
        checks.check_preprocess(self.preprocess)
        plan = self._plan()
        X = self._check_table(X, reset=True)
        y = checks.check_labels(y, type(self).__name__)
        if len(y) != _num_samples(X):
            raise SettingsError(f"X has {_num_samples(X)} rows, but y has {len(y)} labels.")
        weight = checks.check_sample_weight(sample_weight, X)
        self.classes_, codes = classes_and_codes(y)
        checks.warn_of_labels(self.classes_)
        names = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        self.columns_ = checks.find_columns(agents, X, names)
        counts = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        self.class_prior_ = counts / counts.sum()
        self._prepare(agents, X)
        self.agents_ = {name: self._fresh_agent(plan, name, estimator) for name, estimator, _ in agents}
        self.contributions_: tuple[Contribution, ...] = ()
        self.sat_out_: tuple[e.TurnFinished, ...] = ()
        self.holdout_scores_: list[float] = []
        self.holdout_metrics_: list[float | None] = []
        self.round_losses_: list[float] = []
        self.combination_: Combination | None = None
        self.calibration_: ScoreCalibration | None = None
        self.report_: Report | None = None
        self.left_: dict[str, str] = {}
        self.holdout_indices_: checks.Positions | None = None
        self._by_round: list[Combination] = []
        self._votes_in_training: dict[str, Floats] = {}
        self._own_columns: tuple[int, ...] = ()
        self.n_rounds_ = 0
        if len(self.classes_) == 1:
            self.stop_reason_ = e.StopReason.ONE_CLASS
            self.ignorance_ = np.full(len(codes), 1 / len(codes)) if weight is None else weight / weight.sum()
        else:
            matters = plan.honest_reward != "in-sample" or plan.holdout is not None
            people = checks.who_is_who(X, codes, groups) if matters or groups is not None else None
            self._train(replace(plan, seed=checks.drawn_seed(self.random_state)), X, codes, weight, people)
        left_out = self.report_ is not None and self.report_.left_out  # they had learned something; the log says so
        if not self.contributions_ and not left_out and self.stop_reason_ is not e.StopReason.ONE_CLASS:
            checks.warn_nothing_learned(len(self.classes_))
        if (
            self.stop_reason_ is e.StopReason.ALL_AGENTS_PERFECT
            and plan.honest_reward == "in-sample"
            and len(agents) > 1
        ):
            logger.warning(checks.ALWAYS_RIGHT)
        return self

    def _prepare(self, agents: Sequence[checks.AgentSpec], X: Any) -> None:
        abstains, found = self.missing_agent == "abstain", {}
        for name, learner, _ in agents:
            if learner is None:  # labels alone
                continue
            own = checks.take_columns(X, self.columns_[name])
            found[name] = checks.prepared(name, learner, own, self.preprocess, abstains)
        self._prepared: dict[str, checks.Prepared] = {name: how for name, how in found.items() if how is not None}
        self.kinds_ = {name: how.reader.by_name for name, how in self._prepared.items()}

    def _train(self, plan: Plan, X: Any, codes: Codes, weight: Floats | None, groups: Groups | None) -> None:
        check_holdout(plan, codes, groups=groups)
        if isinstance(plan.class_weight, Mapping):
            by_position = checks.class_factors(plan.class_weight, self.classes_, self.classes_[codes])
            plan = replace(plan, class_weight=by_position)
        told = self._told_codes(plan, codes)
        names, n_classes, own = list(self.agents_), len(self.classes_), self._own_numbers(X, plan)
        label_only = self._label_only
        task = Task(plan, names, codes, codes, n_classes, weight, told, own, label_only=label_only, groups=groups)
        made = set_up(task)
        self.class_prior_, self.holdout_indices_ = made.class_shares, made.aside
        participants = []
        for name, agent in self._turn_takers().items():
            samples = self._samples_of(name, X, made)
            agent.begin(samples, made.seeds[name])
            doubt = None if name == names[0] else doubt_of(plan, made.holdout, samples.held)
            participants.append(LocalParticipant(agent, made.states[name], made.methods[name], doubt))
        own_agent = self._fresh_agent(plan, names[0], checks.check_agents(self.agents)[0][1])
        alone = partial(votes_alone, task, own_agent, partial(self._samples_of, names[0], X))
        session = made.session(participants, alone if len(names) > 1 else None, self.n_jobs)
        self._follow(session.run(), plan.most_rounds * len(session.present))
        combining = session.combining
        if combining is not None and combining.final is not None:
            self.combination_, self._by_round = combining.final, list(combining.rounds.values())
        states = {name: made.states[name] for name in self._turn_takers()}
        self.ignorance_ = _ignorance(states, len(codes), made.training)
        self.report_ = session.report
        self._votes_in_training = made.votes_in_training(session, self.n_rounds_)
        self.calibration_ = made.calibration(session, self.n_rounds_)
        if session.report is not None:
            self._leave_out(session.report)

    def _fresh_agent(self, plan: Plan, name: str, estimator: Any) -> Agent:
        learner = self._prepared[name].estimator if name in self._prepared else estimator
        return Agent(name, learner, Honesty(plan.honest_reward, plan.cv, self.n_jobs, plan.models_per_turn))

    def _turn_takers(self) -> dict[str, Agent]:
        """Return the agents that take turns: all but an initiator that has labels alone."""
        initiator = next(iter(self.agents_))
        return {name: agent for name, agent in self.agents_.items() if not (self._label_only and name == initiator)}

    def _leave_out(self, report: Report) -> None:
        for name in report.left_out:
            why = "makes the result worse on the hold-out samples" if name in report.worse else self.left_[name]
            logger.warning("Agent %r is left out of the result: %s.", name, why)
            del self.agents_[name], self.columns_[name]
        self.contributions_ = tuple(c for c in self.contributions_ if c.agent in self.agents_)
        self.sat_out_ = tuple(turn for turn in self.sat_out_ if turn.agent in self.agents_)

    def _told_codes(self, plan: Plan, codes: Codes) -> Codes | None:
        """Return the class codes that helpers are told; None if they are told the true ones.

        Here all agents are in one process, so chance may come from the seed, and a fit can be repeated. Between
        organisations chance never comes from a seed.
        """
        if not plan.make_method().keeps_labels:
            return None
        checks.warn_large_epsilon(plan.epsilon)
        chance = np.random.RandomState([plan.seed, 4]).random_sample(len(codes))
        return draw(codes, None, (math.inf, plan.epsilon, 0.0), len(self.classes_), chance)

    def _own_numbers(self, X: Any, plan: Plan) -> Floats | None:
        if plan.combination == "sum":
            return None
        if self._label_only:
            return np.empty((_num_samples(X), 0))
        own = self._rows_of(next(iter(self.columns_)), X)
        self._own_columns = number_columns(own)
        return as_numbers(own, self._own_columns)

    def _samples_of(self, name: str, X: Any, made: SetUp) -> TrainingSamples:
        own = self._rows_of(name, X)
        held = checks.rows_held(own) if self.missing_agent == "abstain" else None
        mine, known = _held_of(own, held, made.training)
        theirs, known_aside = (None, None) if made.aside is None else _held_of(own, held, made.aside)
        return TrainingSamples(mine, made.codes[name], known, theirs, known_aside, made.folds.get(name))

    def _follow(self, events: Iterator[e.Event], n_turns: int) -> None:
        turns: list[e.TurnFinished] = []
        with progress(n_turns, self.metric) if self.verbose else nullcontext(lambda event: None) as show:
            for event in events:
                logger.debug("%s", event)
                show(event)
                match event:
                    case e.TurnFinished():
                        turns.append(event)
                    case e.RoundFinished():
                        self.holdout_scores_ += [] if event.holdout_accuracy is None else [event.holdout_accuracy]
                        self.holdout_metrics_ += [] if event.holdout_accuracy is None else [event.metric]
                        self.round_losses_ += [] if event.loss is None else [event.loss]
                    case e.CombinationLearned() if event.holdout_accuracy is not None:
                        self.holdout_scores_[event.n_rounds - 1] = event.holdout_accuracy
                        self.holdout_metrics_[event.n_rounds - 1] = event.metric
                    case e.AgentLeft():
                        self.left_[event.agent] = event.reason
                    case e.RunFinished():
                        self.n_rounds_, self.stop_reason_ = event.n_rounds, event.reason
        voting = [turn for turn in turns if turn.round <= self.n_rounds_]
        self.contributions_ = tuple(turn.contribution for turn in voting if turn.contribution is not None)
        self.sat_out_ = tuple(turn for turn in voting if turn.contribution is None)
        for agent in self.agents_.values():
            agent.end(self.n_rounds_)
        logger.info("Training ended after round %d: %s.", self.n_rounds_, self.stop_reason_)

    # -- baselines -----------------------------------------------------------------------------------------------------

    def alone(self, name: str) -> AssistedClassifier | DummyClassifier:
        """Return the baseline *alone* (the paper's *Single*): one agent without help, with the same settings, unfitted.

        Fit it to the same table; it uses the agent's columns. For an initiator without columns it is a
        ``DummyClassifier(strategy="prior")``, which predicts the most frequent class.
        """
        for agent in checks.check_agents(self.agents):
            if agent[0] == name:
                return DummyClassifier(strategy="prior") if agent[1] is None else self._with_agents([agent])
        names = [agent[0] for agent in checks.check_agents(self.agents)]
        raise SettingsError(f"There is no agent {name!r}. The agents are {names}.")

    def pooled(self, estimator: Any = None) -> AssistedClassifier:
        """Return the baseline *pooled* (the paper's *Oracle*): one agent with all columns and the same settings.

        It is unfitted. It boosts ``estimator``: by default the initiator's, or that of the first helper with one.
        """
        agents = [agent for agent in checks.check_agents(self.agents) if agent[1] is not None]
        columns = checks.AllColumns([(name, columns) for name, _, columns in agents])
        return self._with_agents([("pooled", agents[0][1] if estimator is None else estimator, columns)])

    def _with_agents(self, agents: list[tuple[str, Any, Any]]) -> AssistedClassifier:
        settings = self.get_params(deep=False) | {"agents": agents, "order": "chain"}
        return AssistedClassifier(**settings)

    def _check_agents(self) -> list[checks.AgentSpec]:
        agents = checks.check_agents(self.agents)
        try:
            self._validate_names([name for name, _, _ in agents])
        except ValueError as error:
            raise SettingsError(f"agents: {error}") from None
        return agents

    # -- scikit-learn's conventions ------------------------------------------------------------------------------------

    @property
    def _agents(self) -> Any:
        """The agents without their columns, for scikit-learn's handling of nested parameters."""
        try:
            return [(name, estimator) for name, estimator, _ in self.agents]
        except (TypeError, ValueError):
            return self.agents

    @_agents.setter
    def _agents(self, value: Any) -> None:
        pairs = zip(value, self.agents or [], strict=True)
        self.agents = [(name, estimator, columns) for (name, estimator), (_, _, columns) in pairs]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep``, those of the agents' estimators, too (``clinic__max_depth``)."""
        params: dict[str, Any] = self._get_params("_agents", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; an agent's by ``name__parameter``, an agent's estimator by ``name``."""
        if "agents" in params:
            self.agents = params.pop("agents")
        self._set_params("_agents", **params)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "stop_reason_"):  # skops saves a member of an enumeration as its text
            self.stop_reason_ = e.StopReason(self.stop_reason_)

    def _sk_visual_block_(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        columns, how = getattr(self, "columns_", None), getattr(self, "_prepared", {})
        return agents_block(checks.check_agents(self.agents), columns, names, how)

    def _html_repr(self) -> str:
        report: Report | None = getattr(self, "report_", None)
        drawing: str = super()._html_repr()
        if report is None:
            helpers = list(getattr(self, "agents_", ()))[1:]
            return (unchecked_block(helpers) if helpers and len(self.classes_) > 1 else "") + drawing
        return answer_block(report, self.metric, checks.check_agents(self.agents)[0][0]) + drawing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            learners = [estimator for _, estimator, _ in checks.check_agents(self.agents) if estimator is not None]
        except SettingsError:  # fit will say what is wrong
            learners = []
        said = [
            (get_tags(learner).input_tags, checks.may_be_prepared(learner, self.preprocess)) for learner in learners
        ]
        tags.input_tags.allow_nan = bool(said) and all(tag.allow_nan or prepares for tag, prepares in said)
        tags.input_tags.string = bool(said) and all(tag.string or prepares for tag, prepares in said)
        tags.input_tags.sparse = bool(said) and all(tag.sparse for tag, _ in said)
        return tags


def _held_of(own: Any, held: Bools | None, rows: checks.Positions | None) -> tuple[Any, Bools | None]:
    if held is None:
        return (own if rows is None else take_rows(own, rows)), None
    wanted = np.arange(len(held)) if rows is None else rows
    known = held[wanted]
    return take_rows(own, wanted[known]), known


def _ignorance(states: Mapping[str, RunState], n_samples: int, train: checks.Positions | None) -> Floats:
    distinct = {id(state): state for state in states.values()}.values()
    mean: Floats = sum((state.ignorance() for state in distinct), np.zeros(1)) / len(distinct)
    if train is None:
        return mean
    out = np.zeros(n_samples)
    out[train] = mean
    return out
