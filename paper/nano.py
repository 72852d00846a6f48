"""The whole method on one page: start here.

Agents know different columns of the same samples, and all know the labels. Each fits its own learner to its own columns.
What travels is how well its models do on each sample; tables, learners and models stay with their owners.

Part 1 is the paper's ASCII with its variants. Part 2 is the honest exchange, on which the product's default rests:
agents say how sure they are of samples that their models have not seen, in a few bits, and the initiator (the first
agent) learns in private how to combine what they say. Part 3 is prediction. Votes are the product's, byte for byte::

    train_ascii   AssistedClassifier(..., method="ascii" or "simple", order="chain" or "random")
    exchange      AssistedClassifier(..., combine="learned", models_per_turn=1, n_rounds=1)

Not here: several models in one turn and forests that answer by their bags (``assistlearn.learners``), later rounds of
soft scores (``assistlearn.session``), trees or the initiator alone in place of the linear combination
(``assistlearn.combination``), and samples that an agent lacks, weights, hold-out samples and other machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize
from sklearn.base import clone

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]  # class codes 0, 1, ..., K - 1

NEGLIGIBLE, LARGEST = 1e-10, 1e6  # a model weight up to the first is a rounding error; none is above the second
SHRINKAGE, N_FOLDS = 0.5, 3  # the share of its best weight that a soft model gets
LEAST = 0.01  # the smallest probability that counts: no model can be quite sure
PENALTIES = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)


@dataclass
class Agent:
    """A private learner (which takes sample weights), a private table, and the kept models with their weights."""

    learner: Any
    table: Floats
    models: list[tuple[float, Any]] = field(default_factory=list)


def seeds(*words: int) -> Iterator[int]:
    """Yield seeds that follow from a run's seed: of its turns, ``seeds(seed)``; of agents' folds, ``seeds(seed, 3)``."""
    rng = np.random.RandomState(words[0] if len(words) == 1 else words)
    while True:
        yield int(rng.randint(2**31 - 1))


def ignorance_of(log_w: Floats) -> Floats:
    """Return the ignorance, which sums to one. Its logarithm neither overflows nor underflows in many rounds."""
    w = np.exp(log_w - log_w.max())
    return w / w.sum()


def fitted(learner: Any, table: Floats, codes: Codes, w: Floats, seed: int) -> Any:
    """Return a clone of a learner fitted under an ignorance (the paper's WST). Weights average about one."""
    model = clone(learner)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model.fit(table, codes, sample_weight=w * 2.0 ** round(math.log2(len(codes))))


# -- 1. The paper: a reward is one bit ---------------------------------------------------------------------------------


def train_ascii(
    agents: Sequence[Agent], codes: Codes, n_rounds: int, seed: int, method: str = "ascii", order: str = "chain"
) -> Floats:
    """Train by ASCII, ASCII-Simple (``method``) or ASCII-Random (``order``), and return the last ignorance."""
    log_w, turn_seeds, order_rng = np.zeros(len(codes)), seeds(seed), np.random.RandomState([seed, 1])
    for _ in range(n_rounds):
        u = np.zeros(len(codes))  # the weights of this round's earlier models that were wrong about a sample
        n_kept = n_perfect = 0
        for number in order_rng.permutation(len(agents)) if order == "random" else range(len(agents)):
            agent = agents[number]
            model = fitted(agent.learner, agent.table, codes, ignorance_of(log_w), next(turn_seeds))
            right = model.predict(agent.table) == codes  # the reward r: it travels, and so does the model weight
            alpha = model_weight(log_w, u, right, int(codes.max()) + 1)
            if alpha <= NEGLIGIBLE:  # no better than chance: the agent sits this turn out
                continue
            agent.models.append((alpha, model))
            log_w += alpha * ~right  # equations (10) and (12)
            u += alpha * ~right if method == "ascii" else 0.0
            n_kept, n_perfect = n_kept + 1, n_perfect + bool(right.all())
        if n_kept == n_perfect:  # nobody could help, or all are perfect: the next round would be the same
            break
    return ignorance_of(log_w)


def model_weight(log_w: Floats, u: Floats, right: NDArray[np.bool_], n_classes: int) -> float:
    """Return alpha by equations (11) and (13), with v = w exp(kappa u) and kappa = K / (K - 1)^2."""
    if right.all():
        return perfect_weight(len(right), n_classes)
    log_v = n_classes / (n_classes - 1) ** 2 * u + log_w
    v = ignorance_of(log_v)
    sums = float((v * right).sum()), float((v * ~right).sum())
    if min(sums) > 0.0:
        odds = math.log(sums[0]) - math.log(sums[1])
    else:  # never right, or v has underflowed
        odds = float(np.logaddexp.reduce(log_v[right], initial=-np.inf) - np.logaddexp.reduce(log_v[~right]))
    return min(max(odds + math.log(n_classes - 1), -LARGEST), LARGEST)


def perfect_weight(n: int, n_classes: int) -> float:
    """Return the cap for a perfect model, in place of infinity: the weight of one that errs on half a sample of n."""
    return math.log(max(2 * n - 1, 2)) + math.log(n_classes - 1)


# -- 2. The honest exchange: a reward says how sure a model is of samples that it has not seen --------------------------


def exchange(agents: Sequence[Agent], codes: Codes, seed: int) -> tuple[Floats, Floats]:
    """Give each agent one turn, and return the combination that the initiator learns from what they said."""
    n_classes, so_far, said = int(codes.max()) + 1, np.zeros(len(codes)), []
    for agent, turn_seed, own_seed in zip(agents, seeds(seed), seeds(seed, 3), strict=False):
        w = ignorance_of(-np.logaddexp(0.0, so_far))  # the probability of being wrong
        model = fitted(agent.learner, agent.table, codes, w, turn_seed)
        told = coarse(out_of_fold(agent, codes, n_classes, w, turn_seed, own_seed), codes)
        alpha = soft_weight(told, so_far)
        said.append(alpha * by_class(told, codes))
        if alpha > NEGLIGIBLE:
            agent.models.append((alpha, model))
            if n_classes == 2:  # with more classes, agents speak to the initiator alone in the first round
                so_far += alpha * told
    return learn(np.stack(said), codes, seed)


def dealt(codes: Codes, shuffled: Codes) -> Codes:
    """Return the fold of each sample: they are dealt like cards, class after class."""
    folds = np.empty_like(shuffled)
    folds[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(len(codes)) % N_FOLDS
    return folds


def out_of_fold(agent: Agent, codes: Codes, n_classes: int, w: Floats, turn_seed: int, own_seed: int) -> Floats:
    """Return the probabilities of every sample by a copy of the model that has not seen the sample's fold."""
    p, folds = np.zeros((len(codes), n_classes)), dealt(codes, np.random.RandomState(own_seed).permutation(len(codes)))
    for fold in range(N_FOLDS):
        seen, aside = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        copy = fitted(agent.learner, agent.table[seen], codes[seen], w[seen] / w[seen].sum(), turn_seed)
        p[np.ix_(aside, copy.classes_)] = copy.predict_proba(agent.table[aside])
    return p


def coarse(p: Floats, codes: Codes) -> Floats:
    """Return what an agent says of each sample, in whole levels: one number for two classes, else one for each."""
    p = np.maximum(p, LEAST)
    if p.shape[1] == 2:  # the log-odds of the truth, in 8 bits
        truth = (p / p.sum(axis=1, keepdims=True))[np.arange(len(codes)), codes]
        score = np.log(truth) - np.log1p(-truth)
        scale = float(np.abs(score).max()) / 127 or 1.0
        return np.rint(score / scale).astype(np.int8) * np.float64(scale)
    height = truth_first(np.log(p) - math.log(LEAST), codes)  # above the least log-probability, in 4 bits
    scale = float(height.max()) / 14
    return centred(np.rint(height / scale) - 7, scale)


def centred(levels: Floats, scale: float) -> Floats:
    """Return log-probabilities as votes, which sum to zero over the classes."""
    n_classes = levels.shape[1]
    return (levels - levels.mean(axis=1, keepdims=True)) * (scale * (n_classes / (n_classes - 1)))


def truth_first(rows: Floats, codes: Codes) -> Floats:
    """Return rows rotated so that the true class comes first; with ``-codes``, undo that."""
    return np.take_along_axis(rows, (np.arange(rows.shape[1]) + codes[:, np.newaxis]) % rows.shape[1], axis=1)


def by_class(told: Floats, codes: Codes) -> Floats:
    """Return what was told as votes for all classes, in their order."""
    if told.ndim == 2:
        return truth_first(told, -codes)
    return np.where(np.arange(2) == codes[:, np.newaxis], told[:, np.newaxis], -told[:, np.newaxis])


def soft_weight(told: Floats, so_far: Floats) -> float:
    """Return the weight of a model: a share of the one that lowers the log loss most, beside what was said before."""
    n_classes = 2 if told.ndim == 1 else told.shape[1]

    def slopes(weight: float) -> tuple[float, float]:
        """Return the first two derivatives of the loss."""
        if n_classes == 2:
            logs = -np.logaddexp(0.0, so_far + weight * told)
            steep = np.exp(logs - logs.max()) * told
            return -float(steep.sum()), float((steep * told * -np.expm1(logs)).sum())
        logits, along = (votes * ((n_classes - 1) / n_classes) for votes in (weight * told, told))
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        along -= np.einsum("nk,nk->n", p, along)[:, np.newaxis]
        return -float(along[:, 0].sum()), float(np.einsum("nk,nk->n", p, along * along).sum())

    return SHRINKAGE * lowest(slopes, perfect_weight(len(told), n_classes) / float(np.abs(told).max(initial=1e-12)))


def lowest(slopes: Callable[[float], tuple[float, float]], cap: float) -> float:
    """Return where a convex function is lowest between zero and ``cap``: Newton's method within a bracket."""
    if slopes(0.0)[0] >= 0.0 or slopes(cap)[0] <= 0.0:
        return 0.0 if slopes(0.0)[0] >= 0.0 else cap
    low, high, at = 0.0, cap, min(1.0, cap / 2)
    for _ in range(100):
        slope, bend = slopes(at)
        low, high = (at, high) if slope < 0.0 else (low, at)
        step = at - slope / bend if bend > 0.0 else math.nan
        before, at = at, step if low < step < high else (low + high) / 2
        if abs(at - before) <= 1e-12 * max(1.0, before):
            break
    return at


def learn(said: Floats, codes: Codes, seed: int) -> tuple[Floats, Floats]:
    """Return a matrix for each agent and a bias: f = sum of (S_m + S_m W_m) + b. Nothing is sent for it."""
    n_agents, n, n_classes = said.shape
    votes = said if n_classes > 2 else said[..., 1:]  # of two classes, one vote is the other's negative
    unit = math.sqrt(np.einsum("mnk,mnk,n->", said, said, np.full(n, 1.0 / n)) / (n_agents * n_classes))
    inputs, offset = np.concatenate([*(votes / unit), np.ones((n, 1))], axis=1), votes.sum(axis=0)
    folds = dealt(np.unique(codes, return_index=True)[1][codes], np.random.default_rng(seed).permutation(n))
    starts: list[Floats | None] = [None] * N_FOLDS

    def loss(penalty: float) -> float:
        """Return the log loss of samples that the combination was not fitted to."""
        out = np.empty(n)
        for fold in range(N_FOLDS):
            held, start = folds == fold, starts[fold]
            found = regression(inputs[~held], offset[~held], codes[~held], penalty, start, 1e-4, 100)
            out[held], starts[fold] = losses(offset[held] + inputs[held] @ found, codes[held])[0], found
        return float(out.mean())

    tried = {math.inf: float(losses(offset, codes)[0].mean())}  # an infinite penalty: votes are just added up
    for penalty in PENALTIES:
        tried[penalty] = loss(penalty)
        *_, before, last, now = math.nan, *tried.values()
        if len(tried) > 3 and now > last > before:
            break
    if min(list(tried)[1:], key=tried.__getitem__) == PENALTIES[0]:
        starts[:] = [None] * N_FOLDS
        for penalty, weaker in zip((0.3, 1.0, 3.0, 10.0), (0.1, 0.3, 1.0, 3.0), strict=True):
            tried[penalty] = loss(penalty)
            if tried[penalty] > tried[weaker]:
                break
    best = min(tried, key=tried.__getitem__)
    k = votes.shape[2]
    if best == math.inf:
        return np.zeros((n_agents, k, k)), np.zeros(k)
    found = regression(inputs, offset, codes, best)
    found = found - found.mean(axis=1, keepdims=True) if k > 1 else found
    return (found[:-1] / unit).reshape(n_agents, k, k), found[-1]


def regression(
    inputs: Floats,
    offset: Floats,
    codes: Codes,
    penalty: float,
    start: Floats | None = None,
    tolerance: float = 1e-8,
    most_steps: int = 500,
) -> Floats:
    """Return the parameters of a logistic regression that starts from ``offset``; the last row is the bias."""
    shape, weights = (inputs.shape[1], offset.shape[1]), np.full(len(codes), 1.0 / len(codes))
    shrink = np.append(np.full(shape[0] - 1, penalty), 1e-6)[:, np.newaxis]
    bound = 0.25 if shape[1] == 1 else 0.5 * ((shape[1] - 1) / shape[1]) ** 2  # Boehning's, of the Hessian
    hessian = bound * (inputs.T * weights) @ inputs + np.diag(shrink[:, 0])
    root = np.tril(cho_factor(hessian, lower=True)[0])  # in its coordinates L-BFGS needs about ten steps

    def lowered(flat: Floats) -> tuple[float, Floats]:
        at = solve_triangular(root, flat.reshape(shape), lower=True, trans="T")
        lost, slopes = losses(offset + inputs @ at, codes)
        gradient = inputs.T @ (slopes * weights[:, np.newaxis]) + shrink * at
        value = float(weights @ lost) + 0.5 * float((shrink * at * at).sum())
        return value, solve_triangular(root, gradient, lower=True).ravel()

    first = (root.T @ (np.zeros(shape) if start is None else start)).ravel()
    options = {"maxiter": most_steps, "ftol": tolerance, "gtol": 1e-9}
    found = minimize(lowered, first, jac=True, method="L-BFGS-B", options=options).x
    out: Floats = solve_triangular(root, found.reshape(shape), lower=True, trans="T")
    return out


def losses(decision: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return the log loss of each sample, and its derivatives. Of two classes there is one column, that of class 1."""
    k = decision.shape[1]
    if k == 1:
        sign = np.where(codes == 1, 1.0, -1.0)
        margin = decision[:, 0] * sign
        low = np.exp(-np.abs(margin))
        wrong = np.where(margin >= 0.0, low, 1.0) / (1.0 + low)
        return np.maximum(-margin, 0.0) + np.log1p(low), (-sign * wrong)[:, np.newaxis]
    logits = decision * ((k - 1) / k)
    logits -= logits.max(axis=1, keepdims=True)
    p, truth = np.exp(logits), np.arange(k) == codes[:, np.newaxis]
    sums = p.sum(axis=1)
    return np.log(sums) - logits[truth], (p / sums[:, np.newaxis] - truth) * ((k - 1) / k)


# -- 3. Prediction: every agent sends its own votes, and the initiator adds them up -------------------------------------


def votes_of(agents: Sequence[Agent], tables: Sequence[Floats], n_classes: int, soft: bool) -> list[Floats]:
    """Return each agent's votes, ``n x K``. A helper's are rounded, as it sends them."""
    out, loudest = [], -math.log(LEAST) if soft else 1.0
    for number, (agent, table) in enumerate(zip(agents, tables, strict=True)):
        votes = np.zeros((len(table), n_classes))
        for alpha, model in agent.models:
            if soft:
                p = np.maximum(model.predict_proba(table), LEAST)
                logs = np.log(p / p.sum(axis=1, keepdims=True))
                said = centred(logs, 1.0) if n_classes > 2 else np.diff(logs) * [-1.0, 1.0]
                votes += alpha * rounded(said, loudest, 8 if number else 32)
            else:  # the paper's label code: 1 for the class that the model answers, -1 / (K - 1) for the others
                answers = np.arange(n_classes) == model.predict(table)[:, np.newaxis]
                votes += np.where(answers, alpha, -(alpha / (n_classes - 1)))
        whole = sum(alpha for alpha, _ in agent.models) * loudest
        out.append(rounded(votes, whole, 8 if soft else 16) if number and agent.models else votes)
    return out


def rounded(votes: Floats, loudest: float, bits: int) -> Floats:
    """Return votes in whole levels, whose size does not depend on the samples that are asked about."""
    most, n_classes = 2 ** (bits - 1) - 1, votes.shape[1]
    if n_classes == 2:
        scale = loudest / most
        levels = np.clip(np.rint(votes[:, 1] / scale), -most, most)
        second = np.where(levels == 0, np.sign(votes[:, 1]), levels) * scale  # only silence is zero
        return np.column_stack([-second, second])
    heights, scale = (votes - votes.min(axis=1, keepdims=True)) * ((n_classes - 1) / n_classes), loudest / (2 * most)
    return centred(np.clip(np.rint(heights / scale - most), -most, most), scale)


def combined(votes: Sequence[Floats], learned: tuple[Floats, Floats]) -> list[Floats]:
    """Return each agent's part of the decision; the bias is in the initiator's."""
    weights, bias = learned
    parts = [own[:, -len(bias) :] if len(bias) == 1 else own for own in votes]
    parts = [own + own @ matrix for own, matrix in zip(parts, weights, strict=True)]
    parts[0] = parts[0] + bias
    return [np.concatenate([-own, own], axis=1) if len(bias) == 1 else own for own in parts]


def main() -> None:
    """Print how much two helpers help on breast cancer, by both methods."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier

    X, y = load_breast_cancer(return_X_y=True)
    train, test, codes, truth = train_test_split(X, y, test_size=0.5, random_state=0)
    columns = slice(0, 5), slice(5, 15), slice(15, 30)
    for title, n_agents in (("alone", 1), ("with help", 3)):
        for soft in (False, True):
            agents = [Agent(DecisionTreeClassifier(max_depth=3), train[:, own]) for own in columns[:n_agents]]
            learned = exchange(agents, codes, seed=0) if soft else train_ascii(agents, codes, n_rounds=10, seed=0)
            votes = votes_of(agents, [test[:, own] for own in columns[:n_agents]], 2, soft)
            decision = sum(combined(votes, learned) if soft else votes, np.zeros((len(test), 2)))
            accuracy = np.mean(decision.argmax(axis=1) == truth)
            print(f"{title:9} {'honest exchange' if soft else 'ASCII':15} accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
