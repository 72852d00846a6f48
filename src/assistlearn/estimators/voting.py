"""How a fitted estimator predicts from the agents' votes, all or some of them, and who helped how much."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _num_samples, check_array, check_is_fitted, column_or_1d, validate_data
from skops import io

from assistlearn.agent.agent import Agent, KeptModel
from assistlearn.combination import Combination
from assistlearn.combination.combination import as_numbers
from assistlearn.core import Contribution, votes
from assistlearn.errors import SettingsError, UntrustedFileError
from assistlearn.estimators import checks
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.shares import GainShares, shares_of_decisions, shares_of_sum
from assistlearn.events import TurnFinished
from assistlearn.learners.model import MODEL_TYPES, load_trusted, take_rows
from assistlearn.methods.method import Method
from assistlearn.plan import SETTINGS, Plan
from assistlearn.session.judging import Deciding, Decision, Votes
from assistlearn.storage import write_bytes
from assistlearn.types import Bools, Codes, Floats, Said

# Save and load a fitted model without the dangers of pickle: skops checks a file before it builds.

OWN_TYPES = (
    "assistlearn.agent.agent.Agent",
    "assistlearn.agent.agent.KeptModel",
    "assistlearn.combination.combination.Combination",
    "assistlearn.combination.linear.Linear",
    "assistlearn.combination.trees.TreeCombination",
    "assistlearn.core.state.Contribution",
    "assistlearn.estimators.classifier.AssistedClassifier",
    "assistlearn.estimators.checks.AllColumns",
    "assistlearn.estimators.checks.Prepared",
    "assistlearn.evaluation.metrics.Difference",
    "assistlearn.evaluation.calibration.Reliability",
    "assistlearn.evaluation.result.Report",
    "assistlearn.evaluation.calibration.ScoreCalibration",
    "assistlearn.evaluation.shares.Estimate",
    "assistlearn.evaluation.shares.GainShare",
    "assistlearn.evaluation.shares.GainShares",
    "assistlearn.learners.hist.HistBoostClassifier",
    "assistlearn.learners.hist.HistTreeClassifier",
    "assistlearn.learners.folds.Honesty",
    "assistlearn.learners.learner.Learner",
    "assistlearn.tables.columns.FrameReader",
    "assistlearn.tables.preparation.TablePreprocessor",
    *MODEL_TYPES,
    "assistlearn.events.StopReason",
    "assistlearn.events.TurnFinished",
    "builtins.range",
)


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model, fitted or not, to a file.

    Parameters
    ----------
    model : AssistedClassifier
        Another process must be able to import everything in it: no lambda, and no function or class that was made
        inside a function.
    path : path
        The file. An existing file is replaced as soon as the new one is complete.

    Raises
    ------
    UntrustedFileError
        The model holds something that :func:`load` could not read. Nothing is written.
    """
    for name, _, columns in getattr(model, "agents", None) or ():
        if _nameless(getattr(columns, "__qualname__", "")):
            raise UntrustedFileError(
                f"Agent {name!r}: its columns are given by {columns.__qualname__}, which no other process can find, so "
                "that the file could not be loaded. Give the columns by name, position or slice, or by a function of a "
                "module."
            )
    content: bytes = io.dumps(model)
    lost = [name for name in io.get_untrusted_types(data=content) if _nameless(name)]
    if lost:
        raise UntrustedFileError(
            f"The model holds {', '.join(lost)}, which no other process can find, so that the file could not be "
            "loaded. Use functions and classes of a module instead."
        )
    write_bytes(Path(path), content)


def _nameless(name: str) -> bool:
    return "<" in name


def load(path: str | PathLike[str], *, trusted: Sequence[str] = ()) -> Any:
    """Read a model from a file that :func:`save` wrote.

    Loading runs no code from the file. First every type in the file is checked. It must be one that skops trusts (most
    of numpy's and scikit-learn's), one of assistlearn's own, or one that you name in ``trusted``. Trees are also
    checked, because a manipulated tree could crash the process when it predicts.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str, default=()
        Full names of further types to trust, such as ``"mypackage.MyClassifier"``.

    Returns
    -------
    model : AssistedClassifier
        As it was saved.

    Raises
    ------
    UntrustedFileError
        The file holds types that are not trusted, is damaged, or is not a saved model.
    """
    return load_trusted(path, (*OWN_TYPES, *trusted))


class Voting:
    """The half of AssistedClassifier that begins when it is fitted: predictions, subsets and shares.

    Votes come from the models of all rounds, or those of the first rounds only.
    """

    missing_agent: str
    classes_: NDArray[Any]
    class_prior_: Floats
    agents: Any
    agents_: dict[str, Agent]
    columns_: dict[str, checks.Positions]
    _prepared: dict[str, checks.Prepared]
    contributions_: tuple[Contribution, ...]
    sat_out_: tuple[TurnFinished, ...]
    n_rounds_: int
    combination_: Combination | None
    calibration_: ScoreCalibration | None
    _by_round: list[Combination]
    _own_columns: tuple[int, ...]
    _votes_in_training: dict[str, Floats]

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
        return self._labels(self._decision(X).total)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities.

        With ``calibration_`` they are calibrated: of answers with a probability of 80 %, about 80 % are right. The
        likeliest class is the predicted one. A learned combination gives probabilities of its own. Otherwise they are
        the softmax of ``(K - 1) / K`` times the scores, so that a single model that is right with probability q answers
        q; with ``method="ensemble"`` they are the shares of the vote. If many votes are added up without calibration,
        probabilities become extreme: set ``holdout``.

        Where no agent says anything about a sample, they are the shares of the classes, ``class_prior_``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self._decision(X).probabilities

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
        return self._shown(self._decision(X).total)

    def agent_scores(self, X: Any) -> dict[str, Floats]:
        """Return each agent's own votes; with a learned combination, its part of the decision.

        The votes of all agents but the first are rounded as in messages: to 16 bits, or 8 with ``method="soft"``
        (:meth:`assistlearn.methods.method.Method.released_votes`).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        scores : dict of str to ndarray of shape (n_samples, n_classes)
            Their sum is :meth:`decision_function`. Where no agent says anything, the shares of the classes decide; they
            are the first agent's part. For two classes :meth:`decision_function` has one dimension only: it is the
            second column of the sum, and the first is exactly its negative, as in the scores of each agent.
        """
        return self._decision(X).parts

    def taking_part(self, X: Any) -> dict[str, Bools]:
        """Return which agents vote on which samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns.

        Returns
        -------
        part : dict of str to ndarray of bool of shape (n_samples,)
            False where an agent abstains: it has kept no model, or with ``missing_agent="abstain"`` its columns are all
            missing.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        part = {}
        for name, held in self._present(X).items():
            everywhere = np.full(_num_samples(X), bool(self.agents_[name].models))
            part[name] = everywhere if held is None else everywhere & held
        return part

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`decision_function` after each **round**."""
        for decision in self._staged(X):
            yield self._shown(decision.total)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield :meth:`predict` after each **round**."""
        for decision in self._staged(X):
            yield self._labels(decision.total)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """Yield :meth:`predict_proba` after each **round**, calibrated as after the last one."""
        for decision in self._staged(X):
            yield decision.probabilities

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each **round**."""
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))

    def subset(self, names: Sequence[str]) -> Self:
        """Return this fitted model with some of its agents: the others do not vote.

        Parameters
        ----------
        names : sequence of str
            The agents that are present; at least one. The returned model's ``agents_`` lists them.

        Returns
        -------
        model : AssistedClassifier
            Fitted; it shares the agents' models and the calibration. It takes the same table, and ignores the columns
            of absent agents.
        """
        check_is_fitted(self)
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if name not in self.agents_]
        if unknown or not names:
            raise SettingsError(f"A subset must name some of the agents {list(self.agents_)}, not {names}.")
        part = copy(self)
        part.agents_ = {name: agent for name, agent in self.agents_.items() if name in names}
        part.columns_ = {name: self.columns_[name] for name in part.agents_}
        part.contributions_ = tuple(c for c in self.contributions_ if c.agent in part.agents_)
        part.sat_out_ = tuple(turn for turn in self.sat_out_ if turn.agent in part.agents_)
        return part

    def shares(self, X: Any, y: Any, sample_weight: Any = None) -> GainShares:
        """Return every helper's share of the gain over the initiator alone.

        A helper's share is its Shapley value: what it adds, averaged over all orders in which the helpers could have
        joined. It is exact for up to 12 helpers. A set of helpers is judged by the log loss and the accuracy of
        :meth:`subset` of the initiator and these helpers on the samples. The shares sum to the gain of all together.
        They describe this trained ensemble. They do not say how good a training without the helper would have been.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_columns)
            All agents' columns, of samples that the ensemble was not fitted to.
        y : array-like of shape (n_samples,)
            The true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        shares : GainShares
            For each helper its share of the lower log loss and of the higher accuracy, with standard errors, and what
            is lost if it alone is dropped. :class:`~assistlearn.report.displays.SharesDisplay` draws it.
        """
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        first, *helpers = list(self.agents_)
        if first != self._initiator:
            raise SettingsError(
                f"Shares are parts of what the initiator {self._initiator!r} gains, but it is not one of the agents "
                f"{list(self.agents_)}. Use the whole model, or a subset that includes it."
            )
        codes = self._codes_of(y, _num_samples(X))
        weights = checks.check_sample_weight(sample_weight, X)
        said, numbers = self._votes_on(X), self._own_numbers_of(X)
        always_speaks = bool(said[first].scores.any(axis=1).all())  # so that every set's decision is a sum of votes
        if always_speaks and self.combination_ is None and self._plan().make_method().adds_up:
            parts = {name: each.scores for name, each in said.items()}
            return shares_of_sum(parts.pop(first), parts, codes, weights, calibration=self.calibration_)

        def decide(names: Collection[str]) -> tuple[Floats, Floats]:
            there = {name: each for name, each in said.items() if name == first or name in names}
            decision = self._decided(there, numbers)
            return decision.total, decision.probabilities

        return shares_of_decisions(helpers, decide, codes, weights)

    # -- what is behind it ---------------------------------------------------------------------------------------------

    def _plan(self) -> Plan:
        return Plan(**{name: getattr(self, name) for name, known in SETTINGS.items() if known.estimator})

    def _check_table(self, X: Any, reset: bool) -> Any:
        if not hasattr(X, "columns"):
            X = check_array(
                X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, estimator=self, input_name="X"
            )
        elif _num_samples(X) == 0:
            raise SettingsError("X has 0 sample(s) (rows), while a minimum of 1 is required.")
        validate_data(self, X, reset=reset, skip_check_array=True)
        return X

    def _decision(self, X: Any) -> Decision:
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        said = self._votes_on(X)
        checks.warn_of_changed_votes(self._votes_in_training, said)
        return self._decided(said, self._own_numbers_of(X))

    def _decided(self, said: Mapping[str, Votes], numbers: Floats | None) -> Decision:
        n_samples = len(next(iter(said.values())).scores)
        if len(self.classes_) == 1:  # there is nothing to decide
            nothing = np.zeros((n_samples, 1))
            parts = {name: nothing.copy() for name in said}
            return Decision(nothing, np.ones_like(nothing), np.zeros(n_samples, dtype=bool), parts)
        return self._deciding(self.combination_).about(said, n_samples, numbers)

    def _deciding(self, learned: Combination | None) -> Deciding:
        return Deciding(self._plan().make_method(), self.class_prior_, learned, self.calibration_)

    @property
    def _initiator(self) -> str:
        return checks.check_agents(self.agents)[0][0]

    @property
    def _label_only(self) -> bool:
        """Whether the initiator has labels alone: it takes no turns, and the helpers' votes alone count."""
        return checks.has_labels_alone(self.agents)

    def _method_of(self, name: str) -> Method:
        """Return the method as an agent goes by it: the initiator's own votes are not rounded."""
        method = self._plan().make_method()
        return method.of_initiator() if name == self._initiator else method

    def _votes_on(self, X: Any) -> dict[str, Votes]:
        shape = _num_samples(X), len(self.classes_)
        present = self._present(X)
        out = {}
        for name, agent in self.agents_.items():
            own, held, method = self._rows_of(name, X), present[name], self._method_of(name)
            if not agent.models:
                scores = np.zeros(shape)
            elif held is None:
                scores = agent.scores(own, *shape, method)
            else:
                scores = np.zeros(shape)
                there = np.flatnonzero(held)
                scores[there] = agent.scores(take_rows(own, there), len(there), shape[1], method)
            heard = method.received_votes(scores, agent.total_weight) if shape[1] > 1 else scores
            out[name] = Votes(heard, agent.total_weight)
        return out

    def _own_numbers_of(self, X: Any) -> Floats | None:
        initiator = None if self.combination_ is None else self.combination_.initiator
        if initiator not in self.columns_:
            return None
        X = self._check_table(X, reset=False)
        if self._label_only:
            return np.empty((_num_samples(X), 0))
        return as_numbers(self._rows_of(initiator, X), self._own_columns)

    def _present(self, X: Any) -> dict[str, Bools | None]:
        if self.missing_agent != "abstain":
            return dict.fromkeys(self.agents_)
        alone = {name: len(self.columns_[name]) == 0 for name in self.agents_}
        return {name: None if labels else checks.rows_held(self._rows_of(name, X)) for name, labels in alone.items()}

    def _rows_of(self, name: str, X: Any) -> Any:
        own = checks.take_columns(X, self.columns_[name])
        return self._prepared[name].rows(own) if name in self._prepared else own

    def _staged(self, X: Any) -> Iterator[Decision]:
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        shape = _num_samples(X), len(self.classes_)
        rows = {name: slice(None) if held is None else np.flatnonzero(held) for name, held in self._present(X).items()}
        answers = {
            name: agent.answers(take_rows(self._rows_of(name, X), rows[name]), shape[1])
            for name, agent in self.agents_.items()
        }
        methods = {name: self._method_of(name) for name in self.agents_}
        said = {name: Votes(np.zeros(shape), 0.0) for name in self.agents_}
        pending = [(c.round, c.agent) for c in self.contributions_]
        for round in range(1, self.n_rounds_ + 1):
            while pending and pending[0][0] == round:
                _, name = pending.pop(0)
                said[name] = _with_next(answers[name], said[name], rows[name], methods[name])
            heard = {name: Votes(methods[name].received_votes(*own), own.weight) for name, own in said.items()}
            last = self.combination_ is None or round == self.n_rounds_
            learned = self.combination_ if last else self._by_round[round - 1]
            numbers = self._own_numbers_of(X) if last else None
            yield self._deciding(learned).about(heard, shape[0], numbers)

    def _labels(self, total: Floats) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_[votes.winners(total)]
        return labels

    def _shown(self, total: Floats) -> Floats:
        return total[:, -1] if total.shape[1] <= 2 else total

    def _codes_of(self, y: Any, n_samples: int) -> Codes:
        labels: NDArray[Any] = column_or_1d(y, warn=True)
        if len(labels) != n_samples:
            raise SettingsError(f"X has {n_samples} rows, but y has {len(labels)} labels.")
        places = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
        unknown = labels[self.classes_[places] != labels]
        if len(unknown):
            raise SettingsError(
                f"{len(unknown)} of the {n_samples} labels are not among the classes that were learned (first: "
                f"{unknown[0]!r}). Leave these samples out."
            )
        return places


def _with_next(
    answers: Iterator[tuple[KeptModel, Said]], before: Votes, rows: slice | checks.Positions, method: Method
) -> Votes:
    kept, said = next(answers)
    own = before.scores[rows]
    method.add_votes(own, said, kept.model_weight)
    before.scores[rows] = own
    return Votes(before.scores, before.weight + kept.model_weight)
