"""An agent: a private table, a learner, the models it has kept, and its turns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from assistlearn.alignment.ids import Rows
from assistlearn.core import Reward, RunState, ScoreVectors, SoftReward, SoftState, Verdict, votes
from assistlearn.core.ignorance import blocks, effective_size
from assistlearn.core.people import Groups, at
from assistlearn.core.votes import confidences, probabilities
from assistlearn.errors import LearnerError, OutOfOrderError, ProtocolError, RefusedError, SettingsError, SitsOutError
from assistlearn.learners import Honesty, Learner, Model, Panel
from assistlearn.learners.boosting import Private, ResidualTrees, Several, corrected
from assistlearn.learners.folds import deal
from assistlearn.learners.model import take_rows
from assistlearn.learners.noisy_labels import fit_to_noisy_labels
from assistlearn.methods.method import HoldoutAnswer, Method
from assistlearn.plan import TOLD, Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import MAX_CLASSES, unpack_bits, unpack_codes, unpack_numbers
from assistlearn.types import Bools, Codes, Floats, Said

if TYPE_CHECKING:
    from assistlearn.agent.privacy import Randomiser


@dataclass(frozen=True)
class Turn:
    """A turn ``apart`` is taken as if nobody had spoken before; the seed is for all its chance."""

    number: int
    round: int
    seed: int
    apart: bool = False

    def __str__(self) -> str:
        return f"round {self.round}"


@dataclass(frozen=True)
class Answer:
    """What an agent says after its turn.

    ``reward`` is where its new model is right, true where the agent abstains. Or how sure the model is of the true
    class (with more than two classes: of every class), zero where the agent abstains. ``holdout`` has the class codes
    that the model answers for the hold-out samples (``ABSTAINS`` where the agent does), or its votes of weight one, in
    levels (zero where it abstains). ``packed`` is the reward as the agent packed it, to be passed on unchanged. ``why``
    says why the agent has sat the turn out, if it gives a reason.
    """

    reward: Reward
    verdict: Verdict
    holdout: HoldoutAnswer | None = None
    packed: Any = None
    why: str = ""


@dataclass(frozen=True)
class TrainingSamples:
    """What an agent is to learn from.

    ``table`` and ``holdout`` have the rows that the agent holds, ``codes`` and ``folds`` are those of all training
    samples. ``held`` and ``holdout_held`` say which samples the agent holds, all by default; it abstains on the others.
    Without ``folds``, which keep samples of one person together, the agent deals its own.
    """

    table: Any
    codes: Codes
    held: Bools | None = None
    holdout: Any = None
    holdout_held: Bools | None = None
    folds: NDArray[np.intp] | None = None

    @cached_property
    def own_codes(self) -> Codes:
        return self.codes if self.held is None else self.codes[self.held]

    @cached_property
    def has_classes(self) -> bool:
        """Whether the samples that the agent holds have at least two classes. Those of the whole task always have."""
        return self.held is None or len(np.unique(self.own_codes)) > 1

    def own(self, ignorance: Floats) -> Floats:
        """Return the ignorance of the samples that the agent holds, scaled so that it sums to one.

        If these samples have no ignorance at all, each gets the same.
        """
        if self.held is None:
            return ignorance
        own = ignorance[self.held]
        total = float(own.sum())
        return own / total if total > 0.0 else np.full(len(own), 1.0 / max(len(own), 1))


@dataclass(frozen=True)
class KeptModel:
    """A model that votes, its weight, and the round it was made in.

    If the model was fitted in an earlier run and its turn was taken again, ``origin`` is the name of that run.
    """

    round: int
    model_weight: float
    model: Model
    origin: str = ""


ChangesVotes: TypeAlias = Callable[[KeptModel, Said, slice], Said]


class Agent:
    """A private table, a learner and kept models, on the samples of one task.

    Without an estimator, at an initiator that has labels alone, it takes no turn and has no vote. The ``randomiser``
    changes its models' answers by chance before anything else is computed from them.
    """

    def __init__(
        self, name: str, estimator: Any, honesty: Honesty | None = None, randomiser: Randomiser | None = None
    ) -> None:
        self.name = name
        self.models: list[KeptModel] = []
        # What the models fitted in this run say about the training samples, where their rewards are soft: what they
        # count for in the state, and the sum of model weight times votes, of shape (n_samples, n_classes). Both differ
        # where a first round was taken apart.
        self._in_state: Any = None
        self._votes: Floats | None = None
        self._takes_turns = estimator is not None
        self._learner = Learner(estimator, name, honesty)
        self._randomiser = randomiser
        self._samples: TrainingSamples | None = None
        self._candidate: KeptModel | None = None

    def begin(self, samples: TrainingSamples, seed: int) -> None:
        self.models = []
        self._candidate = self._in_state = self._votes = None
        if self._takes_turns and samples.has_classes:
            folds = samples.folds if samples.folds is None or samples.held is None else samples.folds[samples.held]
            self._learner.prepare(samples.table, samples.own_codes, seed, folds)
        self._samples = replace(samples, table=None)  # the learner has prepared what it needs from the table

    def take_turn(self, turn: Turn, state: RunState, method: Method, keep: bool = True) -> Answer:
        """Fit a model under the present ignorance, and keep it unless it is useless.

        With ``keep=False`` a model that is not useless becomes a candidate instead, which :meth:`keep_candidate` keeps.
        """
        assert self._takes_turns, "an agent without a learner takes no turns"
        self._candidate = None
        samples = self._training()
        ignorance = state.ignorance()
        if not samples.has_classes:
            silence, nothing = method.silence(len(ignorance), state.n_classes), np.zeros(len(ignorance), dtype=bool)
            return Answer(silence, state.judge(silence, ignorance, nothing))
        model, reward, verdict = self._tried(turn, state, method, ignorance)
        if verdict.useless:
            return Answer(reward, verdict)
        self._candidate = KeptModel(turn.round, verdict.model_weight, model)
        if keep:
            self.keep_candidate()
        if samples.holdout is None:
            return Answer(reward, verdict)
        with self._learner.named(f"predict the hold-out samples in {turn}"):
            said = model.answer(samples.holdout)
        answer = method.holdout_answer(said, samples.holdout_held, state.n_classes)
        return Answer(
            reward, verdict, answer if self._randomiser is None else self._randomiser.holdout_answer(turn, answer)
        )

    def take_again(
        self, state: RunState, method: Method, kept: KeptModel, reward: Reward, holdout: HoldoutAnswer | None
    ) -> Answer:
        """Judge a model of an earlier run by what it answers, under the present ignorance; nothing is fitted.

        Unless the model is useless it becomes a candidate, which :meth:`keep_candidate` keeps, with its present weight.
        """
        self._candidate = None
        verdict = method.judge(state, reward, state.ignorance(), self._training().held)
        if verdict.useless:
            return Answer(reward, verdict)
        self._candidate = replace(kept, model_weight=verdict.model_weight)
        return Answer(reward, verdict, holdout)

    def _tried(self, turn: Turn, state: RunState, method: Method, ignorance: Floats) -> tuple[Model, Reward, Verdict]:
        model, reward = self._fitted(turn, state, method, ignorance)
        held = self._training().held
        if self._learner.afresh:
            return model, reward, method.judge_afresh(state, reward, held)
        verdict = method.judge(state, reward, ignorance, held)
        # where rewards are randomised, no trust: it is computed from the true ones, which are not told
        return model, reward, verdict if self._randomiser is not None else verdict.trusted(self._learner.trust)

    def _fitted(self, turn: Turn, state: RunState, method: Method, ignorance: Floats) -> tuple[Model, Reward]:
        samples = self._training()
        if method.label_epsilon < math.inf:
            when = turn.seed, str(turn), state.n_classes
            model, said = fit_to_noisy_labels(self._learner, method.label_epsilon, *when, method=method)
            return model, method.reward(said, samples.own_codes, samples.held, state.n_classes)
        if isinstance(state, SoftState) and self._corrects:
            model, said = self._correction(turn, state, method)
        elif method.wants_probabilities and self._boosts:
            own = state if samples.held is None else state.part(samples.held)
            model, said = self._learner.fit_boosted(Private(own, method, turn.seed, str(turn)))
        else:
            n_classes = state.n_classes if method.wants_probabilities else None
            # Where bits must come from folds, a weight follows from the present ignorance, so that all can check it.
            afresh = method.wants_probabilities or self._learner.reward == "auto"
            beginning = samples.own(state.beginning().ignorance()) if afresh else None
            model, said = self._learner.fit(samples.own(ignorance), turn.seed, str(turn), n_classes, beginning)
        reward = method.reward(said, samples.own_codes, samples.held, state.n_classes)
        return model, reward if self._randomiser is None else self._randomiser.reward(turn, reward, samples.held)

    @property
    def _corrects(self) -> bool:
        """Whether the agent corrects what its models have said before, in place of adding to it."""
        return self._learner.honest and self._learner.boosts and self._votes is not None

    def _correction(self, turn: Turn, state: SoftState, method: Method) -> tuple[Model, Said]:
        """Fit beside the others' votes: see :func:`~assistlearn.learners.boosting.corrected`."""
        samples, n_classes = self._training(), state.n_classes
        own = self._votes
        assert own is not None
        beside: RunState = state.without(self._in_state)  # as if this agent's models had not spoken
        if samples.held is not None:
            beside, own = beside.part(samples.held), own[samples.held]
        model, said = self._learner.fit_boosted(Private(beside, method, turn.seed, str(turn)))
        fine = method.in_private()
        weight = beside.judge(fine.reward(said, samples.own_codes, None, n_classes)).model_weight
        earlier = [(kept.model, kept.model_weight) for kept in self.models if not kept.origin]
        found = probabilities(weight * confidences(said, n_classes) - own)
        return corrected(model, weight, earlier, n_classes), found

    @property
    def _boosts(self) -> bool:
        """Whether the agent makes several models in a turn.

        After a turn in which a single model was best on unseen samples, it makes one model per turn. It sees this from
        the kept models, so an agent that is started again does the same.
        """

        def made_of_several(made: Any) -> bool:
            return isinstance(made, ResidualTrees) or (isinstance(made, Several) and made.kind != "corrected")

        own = [kept.model.estimator for kept in self.models if not kept.origin]
        chosen = self._learner.honest and not all(map(made_of_several, own))
        return self._learner.boosts and not chosen

    def hear_own(self, reward: Reward, model_weight: float, step: float, method: Method) -> None:
        """Take note of an own model that is kept; ``step`` is the weight with which it counts in the state."""
        if isinstance(reward, SoftReward):
            in_state, votes = step * reward.values(), model_weight * method.class_votes(reward, self._training().codes)
            self._in_state = in_state if self._in_state is None else self._in_state + in_state
            self._votes = votes if self._votes is None else self._votes + votes

    def keep_candidate(self) -> None:
        """Keep the model of the last turn, if it was useful and is not kept yet."""
        if self._candidate is not None:
            self.models.append(self._candidate)
            self._candidate = None

    @property
    def honest(self) -> bool:
        return self._learner.honest

    def become_honest(self) -> None:
        self._learner.become_honest()

    def end(self, n_rounds: int) -> None:
        self.models = [kept for kept in self.models if kept.round <= n_rounds]
        self._learner.release()
        self._samples = self._candidate = self._in_state = self._votes = None

    def _training(self) -> TrainingSamples:
        assert self._samples is not None, "begin comes before any turn"
        return self._samples

    @property
    def total_weight(self) -> float:
        return sum(kept.model_weight for kept in self.models)

    def answers(self, table: Any, n_classes: int) -> Iterator[tuple[KeptModel, Said]]:
        return self._answers(self._panels(), table, n_classes)

    def scores(
        self, table: Any, n_samples: int, n_classes: int, method: Method, changed: ChangesVotes | None = None
    ) -> Floats:
        total = np.zeros((n_samples, n_classes))
        panels = self._panels()
        for rows in blocks(n_samples):
            for kept, said in self._answers(panels, take_rows(table, rows), n_classes):
                method.add_votes(total[rows], said if changed is None else changed(kept, said, rows), kept.model_weight)
        return total

    def _panels(self) -> list[tuple[list[KeptModel], Panel]]:
        groups = [list(group) for _, group in groupby(self.models, key=lambda kept: kept.origin)]
        return [(group, Panel([kept.model for kept in group])) for group in groups]

    def _answers(
        self, panels: list[tuple[list[KeptModel], Panel]], table: Any, n_classes: int
    ) -> Iterator[tuple[KeptModel, Said]]:
        if not _num_samples(table):
            yield from ((kept, kept.model.no_answers()) for kept in self.models)
            return
        for group, panel in panels:
            with self._learner.named("transform the rows to predict"):
                rows = group[0].model.transform(table)
            answers = panel.answers(rows)
            for kept in group:
                with self._learner.named(f"predict with its model of round {kept.round}"):
                    said = next(answers)
                if said.ndim == 1:
                    _check_codes(said, n_classes, self.name, kept.round)
                yield kept, said


def _check_codes(codes: Said, n_classes: int, agent: str, round: int) -> None:
    for code in (codes.min(initial=0), codes.max(initial=0)):
        if not 0 <= code < n_classes:
            raise LearnerError(
                f"Agent {agent!r}: its model of round {round} answered class code {int(code)}, "
                f"but there are {n_classes} classes."
            )


# The task that a run sets: which samples, which classes, how to train; and proof that its labels mean something.

# Proof that labels have to do with an agent's columns. An owner can ask that the agent says nothing without it.


DOUBT = 5.0
"""By how many standard errors a model must be better than chance."""

MOST_MODELS = 3
"""The most models of one run that are told. Chance moves each towards columns that do not matter; many show this."""


def proved(
    reward: Reward, codes: Codes, ignorance: Floats, n_classes: int, held: Bools | None = None, doubt: float = DOUBT
) -> bool:
    r"""Whether a model is better than chance beyond doubt, on samples that it was not fitted to.

    The test uses how likely the model finds the true class (or whether it is right). It computes the mean under the
    ignorance for each class by itself, then the mean over the classes. A model whose answers have nothing to do with
    the labels has :math:`1/K` there, however uneven the labels or the weights are. So has a model that always answers
    the same.

    The variance within a class is moved towards the mean square deviation from chance, as if there were ``doubt``
    squared more samples with that deviation. So a class in which few people count proves nothing.

    >>> codes, even = np.arange(100) % 2, np.full(100, 0.01)
    >>> right = np.arange(100) < 85
    >>> proved(right, codes, even, 2), proved(codes == 1, codes, even, 2)
    (True, False)
    """
    truth = _likelihood(reward, n_classes)
    if held is not None:
        truth, codes, ignorance = truth[held], codes[held], ignorance[held]
    chance = 1.0 / n_classes
    weight = float(ignorance.sum())
    if weight <= 0.0:
        return False
    spread = float(ignorance @ (truth - chance) ** 2) / weight
    means, variances = [], []
    for code in np.unique(codes[ignorance > 0.0]):
        own, weights = truth[codes == code], ignorance[codes == code] / ignorance[codes == code].sum()
        mean, size = float(weights @ own), 1.0 / float(weights @ weights)
        within = size * float(weights @ (own - mean) ** 2) + doubt**2 * spread
        means.append(mean)
        variances.append(within / (size + doubt**2) / size)
    advantage = sum(means) / n_classes - chance  # a class that nobody has counts as always missed
    return advantage > doubt * math.sqrt(sum(variances)) / n_classes


def _likelihood(reward: Reward, n_classes: int) -> Floats:
    if not isinstance(reward, SoftReward):
        return reward.astype(np.float64)
    if isinstance(reward, ScoreVectors):
        return votes.probabilities(reward.values())[:, 0]
    out: Floats = 1.0 / (1.0 + (n_classes - 1) * np.exp(-reward.values()))
    return out


MOST_SCORES = 2**28
"""The most samples times classes of a soft run: two gibibytes of scores. An initiator could ask for any number."""

LONGEST_WORDS = 500
"""How many characters of the error about a wrong task the answer quotes."""


@dataclass(frozen=True)
class Task:
    """The task that a ``Begin`` sets, as one agent has it.

    ``aside`` says which of all samples are held out; ``training_codes``, ``weights`` and ``folds`` are of the others.
    ``folds`` keep samples of one person together; where they are None, agents deal their own. ``rows`` are the agent's
    rows of all samples, or -1; None once training is over. ``apart``: the first round is taken as if nobody had spoken
    before. Below ``min_effective``, the effective sample size among the people that the agent holds, it sits a turn
    out.
    """

    method_name: str
    method: Method
    honesty: Honesty
    n_classes: int
    training_codes: Codes
    aside: Bools
    weights: Floats | None
    folds: NDArray[np.int64] | None
    seed: int
    rows: Rows | None
    apart: bool
    min_effective: float

    @classmethod
    def of(cls, begin: m.Begin, rows: Rows | None, min_effective: float) -> Task:
        n = begin.n_samples
        if rows is not None and len(rows) != n:
            raise ProtocolError(f"The task has {n:,} samples; {len(rows):,} are aligned.")
        if not 2 <= begin.n_classes < MAX_CLASSES:
            raise ProtocolError(
                f"The number of classes is {begin.n_classes:,}; it must be between 2 and {MAX_CLASSES - 1:,}."
            )
        plan = _plan(begin)
        _check_room(plan, begin)
        if begin.first_round == "apart" and not plan.make_method().wants_probabilities:
            raise ProtocolError(
                f"With method {begin.method!r}, agents must hear of each other in the first round; the task says that "
                "they do not."
            )
        aside = np.zeros(n, bool) if begin.holdout is None else unpack_bits(begin.holdout, n)
        if aside.all():
            raise ProtocolError("All samples are held out: there is nothing to train on.")
        n_training = n - int(np.count_nonzero(aside))
        return cls(
            method_name=begin.method,
            method=plan.make_method(),
            honesty=Honesty(plan.reward, plan.cv, models=plan.models_per_turn),
            n_classes=begin.n_classes,
            training_codes=unpack_codes(begin.labels, n_training, begin.n_classes),
            aside=aside,
            weights=_weights(begin, n_training),
            folds=None if begin.folds is None else unpack_codes(begin.folds, n_training, plan.cv),
            seed=begin.seed,
            rows=rows,
            apart=begin.first_round == "apart",
            min_effective=min_effective,
        )

    @property
    def n_training(self) -> int:
        return len(self.training_codes)

    def start(self) -> RunState:
        return self.method.start(self.n_training, self.n_classes, self.weights)

    def check_spread(self, state: RunState) -> None:
        assert self.rows is not None
        held = self.rows[~self.aside] >= 0
        size = effective_size(state.ignorance()[held])
        if size < self.min_effective:
            raise SitsOutError(
                f"all weight lies on {size:.1f} of {int(np.count_nonzero(held))} people; its owner asks for at least "
                f"{self.min_effective:g} (allow.min_effective)."
            )

    def check_provable(self) -> None:
        """Raise where rewards come from samples that a model was fitted to: they prove nothing."""
        if self.honesty.reward != "out-of-fold":
            raise RefusedError(
                "its owner asks for proof that the labels have to do with its columns (allow.proof), and "
                f'reward = "{self.honesty.reward}" gives none. Start a run with reward = "out-of-fold".'
            )

    def proves(self, answer: Answer, state: RunState) -> bool:
        assert self.rows is not None
        held = self.rows[~self.aside] >= 0
        return not answer.verdict.useless and proved(
            answer.reward, self.training_codes, state.ignorance(), self.n_classes, held
        )

    def silence(self) -> Answer:
        """Return an answer that tells neither where the model is right nor how often."""
        return Answer(self.method.silence(self.n_training, self.n_classes), Verdict(0.0, 0.0, False))

    def samples(self, features: Any, groups: Groups | None = None) -> TrainingSamples:
        """Return the task's samples; ``groups`` says which of the agent's rows are about the same person."""
        assert self.rows is not None
        training, held_out = self.rows[~self.aside], self.rows[self.aside]
        held, holdout_held = training >= 0, held_out >= 0
        return TrainingSamples(
            table=take_rows(features, training[held]),
            codes=self.training_codes,
            held=None if held.all() else held,
            holdout=take_rows(features, held_out[holdout_held]) if self.aside.any() else None,
            holdout_held=None if holdout_held.all() else holdout_held,
            folds=self._own_folds(training, groups) if self.folds is None else self.folds,
        )

    def _own_folds(self, training: Rows, groups: Groups | None) -> NDArray[np.intp] | None:
        held = training >= 0
        own = at(groups, training[held])
        if own is None:
            return None
        folds = np.zeros(len(training), dtype=np.intp)
        folds[held] = deal(self.training_codes[held], self.honesty.cv, self.seed, own)
        return folds


def aligned_rows(rows: Rows | None, run: str) -> Rows:
    if rows is None:
        raise OutOfOrderError(f"Run {run!r}: the samples are not aligned yet.")
    return rows


def _plan(begin: m.Begin) -> Plan:
    try:
        said = {name: getattr(begin, name) for name in TOLD}
        plan = Plan(**{name: value for name, value in said.items() if value is not None})
        plan.check_for_runs()
    except SettingsError as error:
        raise ProtocolError(f"The task is not valid: {str(error)[:LONGEST_WORDS]}") from None
    return plan


def _check_room(plan: Plan, begin: m.Begin) -> None:
    """Refuse a task that needs too much memory: a soft state has a score for each sample and class."""
    if plan.make_method().wants_probabilities and begin.n_samples * begin.n_classes > MOST_SCORES:
        raise ProtocolError(
            f"{begin.n_samples:,} samples of {begin.n_classes:,} classes need {begin.n_samples * begin.n_classes:,} "
            f"scores; at most {MOST_SCORES:,} are kept here. Use fewer samples, or fewer classes."
        )


def _weights(begin: m.Begin, n_training: int) -> Floats | None:
    if begin.weights is None:
        return None
    weights: Floats = unpack_numbers(begin.weights, n_training)
    if (weights < 0.0).any() or not (weights > 0.0).any():
        raise ProtocolError("Initial weights must not be negative, and not all of them may be zero.")
    return weights
