"""The evidence that combinations are fitted to, and linear ones: a matrix or a weight for each agent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize

from assistlearn.core import votes
from assistlearn.core.people import Groups, deal, mean_and_error
from assistlearn.errors import SettingsError
from assistlearn.types import Codes, Floats

# Evidence: the agents' honest scores and the true classes, and how good a combination is on unseen samples.


@dataclass(frozen=True)
class Evidence:
    """The agents' honest scores of some samples and the true classes, from which the initiator learns.

    ``scores`` (agents x n x K) are each agent's model weights times its honest votes, summed over its kept models.
    Every row sums to zero over the classes; a row of zeros is an agent that abstains. The weights of the samples sum to
    one. The initiator's ``own`` columns are numbers, NaN where one is missing.
    """

    agents: tuple[str, ...]
    initiator: str
    scores: Floats
    codes: Codes
    weights: Floats
    own: Floats

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[2])

    @property
    def heard(self) -> tuple[str, ...]:
        """The agents with any score other than zero; the initiator alone, where no agent has one."""
        said = tuple(agent for agent, scores in zip(self.agents, self.scores, strict=True) if scores.any())
        return said or (self.initiator,)

    def rows(self, chosen: np.ndarray) -> Evidence:
        weights = self.weights[chosen]
        return Evidence(
            self.agents,
            self.initiator,
            self.scores[:, chosen],
            self.codes[chosen],
            weights / weights.sum(),
            self.own[chosen],
        )

    def of(self, agents: Sequence[str]) -> Evidence:
        places = [self.agents.index(agent) for agent in agents]
        return Evidence(tuple(agents), self.initiator, self.scores[places], self.codes, self.weights, self.own)


def evidence(
    scores: Mapping[str, Floats],
    codes: Codes,
    initiator: str,
    weights: Floats | None = None,
    own: Floats | None = None,
) -> Evidence:
    if initiator not in scores:
        raise SettingsError(f"There are no scores of the initiator {initiator!r}, only of {', '.join(scores)}.")
    n, n_classes = scores[initiator].shape
    for agent, said in scores.items():
        if said.shape != (n, n_classes):
            raise SettingsError(
                f"The scores of agent {agent!r} have the shape {said.shape}, those of the initiator {(n, n_classes)}."
            )
        if not np.isfinite(said).all():
            raise SettingsError(f"Agent {agent!r} has a score that is not finite.")
    if codes.shape != (n,) or n == 0 or codes.min() < 0 or codes.max() >= n_classes:
        raise SettingsError(f"There must be {n} class codes from 0 to {n_classes - 1}, one for each sample.")
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (n,) or not np.isfinite(weights).all() or weights.min() < 0.0 or weights.sum() <= 0.0:
        raise SettingsError(f"There must be {n} weights, none of them negative and some of them positive.")
    own = np.empty((n, 0)) if own is None else np.asarray(own, dtype=np.float64)
    if own.ndim != 2 or len(own) != n:
        raise SettingsError(
            f"The initiator's own columns have the shape {own.shape}; they must have {n} rows, one for each sample."
        )
    stacked = np.stack([np.asarray(said, dtype=np.float64) for said in scores.values()])
    return Evidence(tuple(scores), initiator, stacked, codes, weights / weights.sum(), own)


N_FOLDS = 3
MOST_SAMPLES = 20_000
"""With more samples, choices are made on a random part of this size, and what is chosen is fitted to all."""


@dataclass(frozen=True)
class Tried:
    """The log loss of a candidate on each sample that it was not fitted to.

    Where several samples are about the same person (``groups``), errors go by persons.
    """

    losses: Floats
    weights: Floats
    groups: Groups | None = None

    @property
    def loss(self) -> float:
        return float(self.weights @ self.losses)

    @property
    def error(self) -> float:
        return mean_and_error(self.losses, self.weights, self.groups)[1]

    def is_better_than(self, other: Tried, errors: float = 1.0) -> bool:
        """Whether its mean loss is lower by so many standard errors of the difference; never after a single sample."""
        gain, error = mean_and_error(other.losses - self.losses, self.weights, self.groups)
        return gain > errors * error


def folds_of(codes: Codes, seed: int, n_folds: int = N_FOLDS, groups: Groups | None = None) -> NDArray[np.intp]:
    """Return a fold for each sample: folds are equally large, classes are spread evenly, and groups stay together."""
    order = np.random.default_rng(seed).permutation(len(codes))
    _, first, places = np.unique(codes, return_index=True, return_inverse=True)
    return deal(first[places], n_folds, order, groups)  # by where a class occurs first, not by its code


def part_to_choose_on(n_samples: int, seed: int) -> NDArray[np.intp]:
    """Return the positions of the samples that choices are made on: all, or a random :data:`MOST_SAMPLES` of them."""
    if n_samples <= MOST_SAMPLES:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, MOST_SAMPLES, replace=False))


# A multinomial logistic model with an offset. The decision for sample :math:`i` is :math:`f_i = o_i + x_i W + b`, and
# its probabilities are those that :func:`assistlearn.core.votes.probabilities` reads from a decision, the softmax of
# :math:`\frac{K-1}{K} f`. The fit minimises the weighted mean of the log loss plus :math:`\frac{\lambda}{2} \|W\|^2`.
# With two classes the decision is one number, that of class 1; that of class 0 is its negative.


PENALTY_OF_BIAS = 1e-6
"""The penalty on the bias. It is so small that it matters only for a class that no sample has."""


class Samples(NamedTuple):
    """Samples in the form that the model is fitted to.

    ``inputs`` has a last column of ones, for the bias; ``offset`` has K columns, or one for two classes.
    """

    inputs: Floats
    offset: Floats
    codes: Codes
    weights: Floats

    def rows(self, chosen: np.ndarray) -> Samples:
        weights = self.weights[chosen]
        return Samples(self.inputs[chosen], self.offset[chosen], self.codes[chosen], weights / weights.sum())


def losses(decision: Floats, codes: Codes) -> Floats:
    return losses_and_slopes(decision, codes)[0]


def losses_and_slopes(decision: Floats, codes: Codes) -> tuple[Floats, Floats]:
    n_outputs = decision.shape[1]
    if n_outputs == 1:
        towards = np.where(codes == 1, 1.0, -1.0)
        margin = decision[:, 0] * towards
        low = np.exp(-np.abs(margin))
        lost = np.maximum(-margin, 0.0) + np.log1p(low)
        wrong = np.where(margin >= 0.0, low, 1.0) / (1.0 + low)
        return lost, (-towards * wrong)[:, None]
    scale = (n_outputs - 1) / n_outputs
    logits = decision * scale
    logits -= logits.max(axis=1, keepdims=True)
    at = np.arange(len(codes)), codes
    truth = logits[at]
    np.exp(logits, out=logits)
    sums = logits.sum(axis=1)
    logits /= sums[:, None]
    logits[at] -= 1.0
    logits *= scale
    return np.log(sums) - truth, logits


def objective(parameters: Floats, samples: Samples, penalty: float) -> tuple[float, Floats]:
    """Return the penalised mean loss, and its gradient with respect to the weights and the bias (last row)."""
    lost, slopes = losses_and_slopes(samples.offset + samples.inputs @ parameters, samples.codes)
    slopes *= samples.weights[:, None]
    shrunk = parameters * _penalties(parameters, penalty)[:, None]
    gradient: Floats = samples.inputs.T @ slopes
    gradient += shrunk
    return float(samples.weights @ lost) + 0.5 * float((shrunk * parameters).sum()), gradient


def fit_multinomial(
    samples: Samples, penalty: float, start: Floats | None = None, tolerance: float = 1e-8, most_steps: int = 500
) -> Floats:
    """Return the parameters: a row for each input, and the bias in the last row.

    The search uses coordinates in which an upper bound of the Hessian (Böhning's) is the identity. Where the inputs are
    much alike, as scores of agents are, it then needs about ten steps in place of hundreds.
    """
    n_inputs, n_outputs = samples.inputs.shape[1], samples.offset.shape[1]
    start = np.zeros((n_inputs, n_outputs)) if start is None else start
    bound = 0.25 if n_outputs == 1 else 0.5 * ((n_outputs - 1) / n_outputs) ** 2
    hessian = bound * (samples.inputs.T * samples.weights) @ samples.inputs
    hessian[np.diag_indices(n_inputs)] += _penalties(start, penalty)
    root = np.tril(cho_factor(hessian, lower=True)[0])

    def lowered(flat: Floats) -> tuple[float, Floats]:
        parameters = solve_triangular(root, flat.reshape(start.shape), lower=True, trans="T", check_finite=False)
        value, gradient = objective(parameters, samples, penalty)
        return value, solve_triangular(root, gradient, lower=True, check_finite=False).ravel()

    found = minimize(
        lowered,
        (root.T @ start).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": most_steps, "ftol": tolerance, "gtol": 1e-9},
    )
    out: Floats = solve_triangular(root, found.x.reshape(start.shape), lower=True, trans="T")
    return out


def _penalties(parameters: Floats, penalty: float) -> Floats:
    out = np.full(len(parameters), penalty)
    out[-1] = PENALTY_OF_BIAS
    return out


PLAIN_SUM = math.inf
"""The penalty under which nothing is learned: the votes are added up."""


@dataclass(frozen=True)
class Linear:
    r"""A linear combination: every agent's scores pass through a matrix of its own, and a bias is added.

    .. math:: f = \sum_m S_m + \sum_m S_m W_m + b

    Zero matrices and a zero bias are the plain sum of the votes. The bias sums to zero over the classes. Two classes
    need one number in place of a matrix (K x K), and one of the bias (K).
    """

    agents: tuple[str, ...]
    weights: Floats
    bias: Floats

    def shares(self, scores: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return each agent's share, without the bias; zeros for an agent that this combination does not listen to."""
        return {agent: self._share(agent, said) for agent, said in scores.items()}

    def _share(self, agent: str, said: Floats) -> Floats:
        if agent not in self.agents:
            return np.zeros_like(said)
        weights = self.weights[self.agents.index(agent)]
        if not weights.any():
            return said  # the very same numbers
        columns = outputs(said)
        return whole(columns + columns @ weights)


def plain_sum(agents: tuple[str, ...], n_classes: int) -> Linear:
    n_outputs = n_classes if n_classes > 2 else 1
    return Linear(agents, np.zeros((len(agents), n_outputs, n_outputs)), np.zeros(n_outputs))


def prior(evidence: Evidence) -> Linear:
    """Return the combination that ignores all scores: its decision follows from how often each class occurs."""
    counts = np.bincount(evidence.codes, evidence.weights, minlength=evidence.n_classes)
    often = (counts * len(evidence.codes) + 1.0) / (len(evidence.codes) + evidence.n_classes)
    n_outputs = evidence.n_classes if evidence.n_classes > 2 else 1
    return Linear((), np.zeros((0, n_outputs, n_outputs)), outputs(votes.scores_of(often[None]))[0])


def outputs(scores: Floats) -> Floats:
    """Return the columns of scores that are needed: all of them, or with two classes that of class 1."""
    return scores if scores.shape[-1] > 2 else scores[..., 1:]


def whole(columns: Floats) -> Floats:
    """Return the scores of all classes from the columns that are needed: the inverse of :func:`outputs`."""
    return columns if columns.shape[-1] > 1 else np.concatenate([-columns, columns], axis=-1)


def size(evidence: Evidence) -> float:
    """Return the common standard deviation of the scores, which have the mean zero; one where all are zero."""
    squares = np.einsum("mnk,mnk,n->", evidence.scores, evidence.scores, evidence.weights)
    found = math.sqrt(squares / (len(evidence.agents) * evidence.n_classes))
    return found if found > 0.0 else 1.0


def samples_of(evidence: Evidence, unit: float) -> Samples:
    """Return the samples that the model is fitted to: scores in this unit as inputs, and their sum as offset."""
    columns = outputs(evidence.scores)
    n = columns.shape[1]
    inputs = np.concatenate([*(columns / unit), np.ones((n, 1))], axis=1)
    return Samples(inputs, columns.sum(axis=0), evidence.codes, evidence.weights)


def fit_linear(evidence: Evidence, penalty: float, tolerance: float = 1e-8) -> Linear:
    """Return the linear combination under a penalty; with :data:`PLAIN_SUM`, the plain sum."""
    if math.isinf(penalty):
        return plain_sum(evidence.agents, evidence.n_classes)
    unit = size(evidence)
    return linear_of(evidence.agents, fit_multinomial(samples_of(evidence, unit), penalty, None, tolerance), unit)


def linear_of(agents: tuple[str, ...], parameters: Floats, unit: float) -> Linear:
    """Return the linear combination with these parameters of inputs in this unit, centred over the classes."""
    n_outputs = parameters.shape[1]
    if n_outputs > 1:
        parameters = parameters - parameters.mean(axis=1, keepdims=True)
    weights = (parameters[:-1] / unit).reshape(len(agents), n_outputs, n_outputs)
    return Linear(agents, weights, parameters[-1].copy())


PATH = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)
"""Penalties, tried one after the other until the loss has risen twice."""
STRONGER = (0.3, 1.0, 3.0, 10.0)
"""Stronger penalties, which are tried only where the first one of :data:`PATH` is its best."""
TOLERANCE = 1e-4
"""A fit in a fold stops at this relative change of the loss, far less than what makes a penalty better than another."""


def _cross_validated(samples: Samples, folds: NDArray[np.intp]) -> Callable[[float], Floats]:
    """Return what gives each sample's loss under a penalty, by the model of the folds that it is not in.

    Each fit starts from the parameters that the penalty before it gave.
    """
    held = [folds == fold for fold in np.unique(folds)]
    parts = [samples.rows(~each) for each in held]
    found: list[Floats | None] = [None] * len(held)

    def under(penalty: float) -> Floats:
        out = np.empty(len(samples.codes))
        for number, (aside, part) in enumerate(zip(held, parts, strict=True)):
            parameters = fit_multinomial(part, penalty, found[number], TOLERANCE, most_steps=100)
            found[number] = parameters
            out[aside] = losses(samples.offset[aside] + samples.inputs[aside] @ parameters, samples.codes[aside])
        return out

    return under


def losses_under(evidence: Evidence, penalty: float, folds: NDArray[np.intp]) -> Tried:
    samples = samples_of(evidence, size(evidence))
    lost = losses(samples.offset, samples.codes) if penalty == PLAIN_SUM else _cross_validated(samples, folds)(penalty)
    return Tried(lost, samples.weights)


def choose_penalty(evidence: Evidence, folds: NDArray[np.intp]) -> tuple[float, Tried]:
    """Return the penalty with the lowest cross-validated log loss, and its losses.

    The plain sum, which is the strongest penalty of all, is among the candidates.
    """
    samples = samples_of(evidence, size(evidence))
    tried = {PLAIN_SUM: Tried(losses(samples.offset, samples.codes), samples.weights)}
    if np.bincount(folds, samples.weights, minlength=N_FOLDS).min() <= 0.0:
        return PLAIN_SUM, tried[PLAIN_SUM]  # too few samples to learn anything from
    losses_with = _cross_validated(samples, folds)
    rises, last = 0, np.inf
    for penalty in PATH:
        tried[penalty] = Tried(losses_with(penalty), samples.weights)
        rises = rises + 1 if tried[penalty].loss > last else 0
        last = tried[penalty].loss
        if rises == 2:
            break
    best = min(PATH[: len(tried) - 1], key=lambda each: tried[each].loss)
    losses_with = _cross_validated(samples, folds)
    for penalty in STRONGER if best == PATH[0] else ():
        tried[penalty] = Tried(losses_with(penalty), samples.weights)
        if tried[penalty].loss > tried[best].loss:
            break
        best = penalty
    best = min(tried, key=lambda each: tried[each].loss)
    return best, tried[best]


# A weighted sum of the agents' scores: one weight for each agent, and a bias.
#
# .. math:: f = \sum_m a_m S_m + b
#
# It is a linear combination (:mod:`assistlearn.combination.linear`) whose matrices are multiples of the identity. A
# full matrix could read an agent's columns out of its K scores, and gain even by scores that say nothing about the
# labels. One weight cannot: scores that were fitted to pure chance add next to nothing.


RIDGE = 1e-3
"""The penalty on weights and bias: small, so that they stay finite where classes can be told apart without error."""


def fit_weighted_sum(evidence: Evidence) -> Linear:
    columns = outputs(evidence.scores)
    n_agents, _, n_outputs = columns.shape

    def lowered(parameters: Floats) -> tuple[float, Floats]:
        decision = np.tensordot(parameters[:n_agents], columns, axes=1) + parameters[n_agents:]
        lost, slopes = losses_and_slopes(decision, evidence.codes)
        slopes *= evidence.weights[:, np.newaxis]
        gradient = np.concatenate([np.einsum("mnk,nk->m", columns, slopes), slopes.sum(axis=0)])
        penalty = 0.5 * RIDGE * float(parameters @ parameters)
        return float(evidence.weights @ lost) + penalty, gradient + RIDGE * parameters

    found: Floats = minimize(lowered, np.zeros(n_agents + n_outputs), jac=True, method="L-BFGS-B").x
    bias = found[n_agents:] - (found[n_agents:].mean() if n_outputs > 1 else 0.0)
    return Linear(evidence.agents, (found[:n_agents, np.newaxis, np.newaxis] - 1.0) * np.eye(n_outputs), bias)


def decision_of(model: Linear, evidence: Evidence) -> Floats:
    said = dict(zip(evidence.agents, evidence.scores, strict=True))
    shares = model.shares({agent: said[agent] for agent in model.agents})
    start = np.broadcast_to(whole(model.bias[np.newaxis]), evidence.scores.shape[1:])
    return sum(shares.values(), start)


def try_weighted_sum(evidence: Evidence, folds: NDArray[np.intp]) -> Tried:
    lost = np.empty(len(evidence.codes))
    for fold in np.unique(folds):
        held = folds == fold
        aside = evidence.rows(held)
        lost[held] = losses(outputs(decision_of(fit_weighted_sum(evidence.rows(~held)), aside)), aside.codes)
    return Tried(lost, evidence.weights)
