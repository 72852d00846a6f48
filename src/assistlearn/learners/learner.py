"""A learner: an agent's private estimator, prepared once and refitted every round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from assistlearn.core.votes import clipped
from assistlearn.errors import LearnerError, LearnerTypeError, SettingsError, UntrustedFileError
from assistlearn.learners.boosting import Boosting, Leaves, Private, ResidualBoosting, Several, bag, has_residuals, twin
from assistlearn.learners.folds import (
    LEAST_TRUST,
    Folds,
    Honesty,
    deal,
    kept_share,
    uninformative,
)
from assistlearn.learners.model import (
    TREES,
    Model,
    as_trees_see_it,
    coarsened,
    draws_samples,
    fit_weighted,
    seed_all,
    without_gaps,
)
from assistlearn.plan import Plan, RewardKind
from assistlearn.types import Codes, Floats, Said


@runtime_checkable
class Prepares(Protocol):
    """An estimator that can prepare its table once and be refitted to it every round.

    What ``prepare`` returns (a binned table, say) is handed to ``fit``, ``predict`` and ``predict_proba`` in place of
    ``X`` for as long as training lasts, and then released.
    """

    def prepare(self, X: Any, y: Codes) -> Any:
        """Return whatever makes later calls of ``fit`` with other weights cheap."""
        ...


class Learner:
    """How an agent's private estimator, which is never changed itself, is fitted under an ignorance.

    ``prepare`` does, once, the work that does not depend on the ignorance: a pipeline's transformers are fitted and
    applied, and an estimator that offers to (:class:`Prepares`) prepares its table. ``fit`` then costs no more than
    the classifier itself.

    Attributes
    ----------
    trust : float
        The share of the last model's advantage that is real. It is one, unless ``reward="auto"`` used in-sample answers
        and samples that the model had not seen showed a smaller advantage.
    afresh : bool
        Whether the last model was fitted as if nobody had spoken yet (see :meth:`fit`).
    honest : bool
        Whether it asks models about samples that they have not seen. With ``reward="auto"`` this may become true.
    """

    def __init__(self, estimator: Any, owner: str, honesty: Honesty | None = None) -> None:
        self._estimator = estimator
        self._owner = owner
        self._honesty = honesty or Honesty()
        self.honest = self._honesty.reward == "out-of-fold"
        self.trust, self.afresh = 1.0, False
        self._seed = 0
        self._front: Any = None
        self._options: dict[str, Any] = {}
        self.release()

    def release(self) -> None:
        """Forget the prepared table, to free its memory; kept models can still predict."""
        self._raw: Any = None
        self._table: Any = None
        self._folds: Folds | None = None
        self._fold_of: NDArray[np.intp] | None = None
        self.codes: Codes = np.empty(0, dtype=np.int64)
        self._shown, self._classes = without_gaps(self.codes)

    @property
    def _classifier(self) -> Any:
        return _parts(self._estimator)[1]

    @property
    def reward(self) -> RewardKind:
        return self._honesty.reward

    @property
    def boosts(self) -> bool:
        """Whether it may make several models in a turn. A forest that draws its samples would gain nothing by it."""
        return self._honesty.models > 1 and not draws_samples(self._classifier)

    def become_honest(self) -> None:
        self.honest = True

    def prepare(self, X: Any, codes: Codes, seed: int, fold_of: NDArray[np.intp] | None = None) -> None:
        """Do all work that does not depend on the ignorance.

        ``fold_of`` is the fold of each row, where several rows are about the same person.
        """
        front, classifier = _parts(self._estimator)
        # An estimator that prepares its table accepts class codes of any type; others may expect the usual type.
        self.codes = codes if isinstance(classifier, Prepares) else codes.astype(np.intp, copy=False)
        self._shown, self._classes = without_gaps(self.codes)
        self._raw = X if self._honesty.may_be_honest else None
        self.honest = self._honesty.reward == "out-of-fold"
        self._folds = None
        self._seed = seed
        self._fold_of = None if fold_of is None else np.unique(fold_of, return_inverse=True)[1]  # none is empty
        with self.named("prepare its table"):
            if front is not None:
                self._front = clone(front)
                seed_all(self._front, seed)
                X = self._front.fit_transform(X, self._shown.astype(np.intp, copy=False))
            if isinstance(classifier, Prepares):
                self._table = classifier.prepare(X, self._shown)
            else:
                self._table, self._options = as_trees_see_it(classifier, coarsened(classifier, X))

    def relabelled(self, codes: Codes) -> Learner:
        """Return a learner that is prepared with the same rows and other class codes; not for in-sample rewards."""
        assert self._raw is not None, "only a learner that may be honest still has its rows"
        out = Learner(self._estimator, self._owner, self._honesty)
        out.prepare(self._raw, codes, self._seed, self._fold_of)
        return out

    # -- one model in a turn -------------------------------------------------------------------------------------------

    def fit(
        self, ignorance: Floats, seed: int, when: str, n_classes: int | None = None, beginning: Floats | None = None
    ) -> tuple[Model, Said]:
        """Return a model fitted under this ignorance, and what it answers for the training rows.

        With ``n_classes`` the answers are probabilities (n x K), where the estimator has them; else class codes. An
        honest answer is that of a model that has not seen the sample (:mod:`assistlearn.learners.folds`).

        Where the ignorance with which the run began is given, too, a forest that draws its samples and answers honestly
        is fitted under that one. It has nothing to gain by the others' ignorance: it is wrong mostly on samples that
        are mislabelled, or that its columns cannot separate.
        """
        model: Model | None = None
        known: dict[int, Said] = {}
        self.trust, self.afresh = 1.0, False
        if not self.honest:
            model = self.fit_only(ignorance, seed, when, n_classes)
            said = self.in_sample(model, when)
            if self._honesty.reward == "in-sample":
                return model, said
            if not uninformative(said, self.codes, ignorance) and self._can_be_asked:
                fold, unseen = self._other_folds().one(ignorance, seed, when, n_classes)
                known, trust = {fold: unseen}, self._trust_in(said, fold, unseen, ignorance, n_classes)
                if trust >= LEAST_TRUST:
                    self.trust = trust
                    return model, said
            self.honest = True
        if beginning is not None and draws_samples(self._classifier):
            self.afresh = True
            if not np.array_equal(beginning, ignorance):
                ignorance, model, known = beginning, None, {}
        if model is None:
            model = self.fit_only(ignorance, seed, when, n_classes)
        if not self._can_be_asked:
            return model, self.in_sample(model, when)
        return model, self._other_folds().answers(ignorance, seed, when, n_classes, known)

    def fit_only(self, ignorance: Floats, seed: int, when: str, n_classes: int | None = None) -> Model:
        estimator, classes = clone(self._classifier), self._classes
        with self.named(f"fit in {when}"):
            seed_all(estimator, seed)
            drawn = fit_weighted(estimator, self._table, self._shown, ignorance, seed, self._options)
            if drawn is not None:
                classes = drawn if classes is None else classes[drawn]
        soft = n_classes is not None and hasattr(estimator, "predict_proba")
        return Model(self._front, estimator, n_classes if soft else None, classes)

    def in_sample(self, model: Model, when: str) -> Said:
        with self.named(f"predict in {when}"):
            said = model.say(self._table, **self._options)
            if len(said) != len(self.codes):
                raise ValueError(f"it gave {len(said)} answers for {len(self.codes)} samples.")
        return said

    def _trust_in(self, said: Said, fold: int, unseen: Said, ignorance: Floats, n_classes: int | None) -> float:
        count = n_classes or max(len(np.unique(self.codes)), 2)
        rows = self._other_folds().aside(fold)
        return kept_share(unseen, said[rows], self.codes[rows], ignorance[rows], count)

    def _folds_of_rows(self) -> NDArray[np.intp]:
        if self._fold_of is not None:
            return self._fold_of
        return deal(self.codes, min(self._honesty.cv, len(self.codes)), self._seed)

    def _other_folds(self) -> Folds:
        if self._folds is None:

            def copy() -> Learner:
                return Learner(self._estimator, self._owner)

            self._folds = Folds(copy, self._raw, self.codes, self._honesty, self._seed, self._folds_of_rows())
        return self._folds

    @property
    def _can_be_asked(self) -> bool:
        return len(self.codes) > 1 and (self._fold_of is None or bool(self._fold_of.any()))

    # -- several models in a turn --------------------------------------------------------------------------------------

    def fit_boosted(self, turn: Private) -> tuple[Model, Said]:
        """Return several models, made one after another in private, as one; and what they answer for the training rows.

        Small trees are fitted to residuals (:mod:`assistlearn.learners.boosting`), other learners under the ignorance.
        With in-sample rewards there are ``honesty.models`` of them, or twice as many residual trees. Otherwise a fold
        shows how many are best, and the answers are honest, also with ``reward="auto"``. The number depends only on the
        state, the seed and the table, so an agent that is started again chooses the same number.

        A tree that memorises its samples is bagged, not boosted, where answers may be honest. It is not bagged behind
        transformers: these were fitted to all samples, so the samples that a tree has not drawn are not unseen.
        """
        self.trust = 1.0
        memorises = self._memorises(turn)
        honestly = self._honesty.may_be_honest and self._can_be_asked
        if memorises and self._front is None and honestly:
            self.honest = True
            models, unseen = bag(self, self.codes, turn, self._honesty.models, self._folds_of_rows())
            if models:
                n_classes, weights = turn.state.n_classes, [1.0] * len(models)
                return Model(self._front, Several("bagged", models, weights, n_classes), n_classes), unseen
        on_residuals = not memorises and has_residuals(turn.state) and twin(self._classifier) is not None
        kind = ResidualBoosting if on_residuals else Boosting
        most = self._honesty.models * kind.per_model
        honest: Said | None = None
        if honestly:
            self.honest = True
            most, honest = self._other_folds().boosted(turn, most, kind)
        if most == 1 and kind.plain:
            model = self.fit_only(turn.state.ignorance(), turn.seed, turn.when, turn.state.n_classes)
            return model, self.in_sample(model, turn.when) if honest is None else honest
        made = kind.of(self, turn.state.part(np.arange(len(self.codes))), self.codes, turn, most)
        return made.model(self._front), made.said() if honest is None else honest

    def _memorises(self, turn: Private) -> bool:
        if type(self._classifier) not in TREES or len(self.codes) < 2:
            return False
        ignorance = turn.state.ignorance()
        model = self.fit_only(ignorance, turn.seed, turn.when, turn.state.n_classes)
        return uninformative(self.in_sample(model, turn.when), self.codes, ignorance)

    def fit_residuals(
        self, residuals: Floats, weights: Floats | None, seed: int, when: str
    ) -> tuple[DecisionTreeRegressor, Leaves]:
        tree = twin(self._classifier)
        assert tree is not None
        tree.set_params(random_state=seed)
        with self.named(f"fit in {when}"):
            tree.fit(self._table, residuals, sample_weight=weights, **self._options)
            return tree, tree.apply(self._table, **self._options)

    def transform(self, rows: Any) -> Any:
        return rows if self._front is None else self._front.transform(rows)

    @contextmanager
    def named(self, doing: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            learner = type(self._estimator).__name__
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            refusal = LearnerTypeError if isinstance(error, TypeError) else LearnerError
            raise refusal(f"Agent {self._owner!r}: its learner {learner} could not {doing}: {kind}{error}") from error


def _parts(estimator: Any) -> tuple[Any, Any]:
    if not isinstance(estimator, Pipeline):
        return None, estimator
    outer = estimator[:-1] if len(estimator) > 1 else None
    inner, classifier = _parts(estimator[-1])
    if outer is None or inner is None:
        return inner if outer is None else outer, classifier
    return Pipeline([("outer", outer), ("inner", inner)]), classifier


# The best of several learners, by their log loss on samples that they have not seen.


class BestOf(ClassifierMixin, BaseEstimator):
    """Takes the one of several classifiers with the least log loss out of fold, and fits it to all samples.

    For a classifier without probabilities, how often it is right out of fold is taken as its probability.

    Parameters
    ----------
    estimators : sequence of scikit-learn classifiers or pipelines
        Never changed: clones of them are fitted.
    cv : int, default=3
        The number of folds.
    random_state : int, default=None
        For the folds and for chance in the classifiers; None stands for 0.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    best_ : int
        Which of the classifiers was taken.
    losses_ : ndarray of shape (n_estimators,)
        Their mean log losses.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> best = BestOf([DummyClassifier(), GaussianNB()]).fit(*load_iris(return_X_y=True))
    >>> best.best_, best.losses_.round(1)
    (1, array([1.1, 0.1]))
    """

    def __init__(self, estimators: Sequence[Any], cv: int = Plan.cv, random_state: int | None = None) -> None:
        self.estimators = estimators
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Floats | None = None) -> BestOf:
        if not len(self.estimators):
            raise SettingsError("estimators is empty: there are no classifiers to choose from.")
        self.classes_, codes = np.unique(y, return_inverse=True)
        codes = codes.astype(np.intp)
        weights = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        weights = weights / weights.sum()
        tried = [self._tried(estimator, X, codes, weights) for estimator in self.estimators]
        self.losses_ = np.array([lost for _, _, lost in tried])
        self.best_ = int(self.losses_.argmin())
        self._model, self._right, _ = tried[self.best_]
        return self

    def _tried(self, estimator: Any, X: Any, codes: Codes, weights: Floats) -> tuple[Model, float, float]:
        """Return a fitted model, how often it is right out of fold, and its log loss there."""
        learner = Learner(estimator, "best of several", Honesty("out-of-fold", cv=self.cv))
        seed = 0 if self.random_state is None else self.random_state
        learner.prepare(X, codes, seed)
        model, said = learner.fit(weights, seed, "the choice of a learner", len(self.classes_), weights)
        answers = said.argmax(axis=1) if said.ndim == 2 else said
        right = float(weights @ (answers == codes))
        chances = clipped(self._probabilities(said, right))
        return model, right, float(-weights @ np.log(chances[np.arange(len(codes)), codes]))

    def _probabilities(self, said: Said, right: float) -> Floats:
        if said.ndim == 2:
            return np.asarray(said, dtype=np.float64)
        n_classes = len(self.classes_)
        out = np.full((len(said), n_classes), (1.0 - right) / max(n_classes - 1, 1))
        out[np.arange(len(said)), said] = right
        return out

    def predict_proba(self, X: Any) -> Floats:
        check_is_fitted(self)
        return self._probabilities(self._model.say(self._model.transform(X)), self._right)

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        said = self._model.say(self._model.transform(X))
        found: NDArray[Any] = self.classes_[said.argmax(axis=1) if said.ndim == 2 else said]
        return found

    def check_kept(self, source: str) -> None:
        known = vars(self)
        model, right, classes = known.get("_model"), known.get("_right"), known.get("classes_")
        if not isinstance(model, Model) or type(right) is not float or not 0.0 <= right <= 1.0 + 1e-9:
            raise UntrustedFileError(
                f"{source}: the best of several learners does not contain a model with its share of right answers."
            )
        if not isinstance(classes, np.ndarray) or model.n_classes not in (None, len(classes)):
            raise UntrustedFileError(f"{source}: the best of several learners contains a model of other classes.")
