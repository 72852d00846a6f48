"""The whole method on one page: start here.

Agents know different columns of the same samples, and all know the labels. Each fits its own learner to its own
columns. What travels is how well its models do on each sample; tables, learners and models stay with their owners.
Part 1 is the paper's ASCII. Part 2 is the honest exchange, on which the product's default rests: agents say in a few
bits how sure they are of samples that their models have not seen, and the initiator (the first agent) learns in private
how to combine what they say. Part 3 is prediction. Votes are the product's, byte for byte::

    train_ascii   AssistedClassifier(..., method="ascii" or "simple", order="chain" or "random")
    exchange      AssistedClassifier(..., combine="learned", models_per_turn=1, n_rounds=1)

Not here: several models in one turn (``assistlearn.learners``); later rounds of soft scores (``assistlearn.session``);
trees, or the initiator alone, where they are better than the linear combination (``assistlearn.combination``);
pipelines, samples that an agent lacks, weights, hold-out samples, other machines.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, special
from sklearn import base, datasets, model_selection, tree

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]  # class codes 0, 1, ..., K - 1
Learned: TypeAlias = tuple[Floats, Floats]  # a matrix for each agent, and a bias

NEGLIGIBLE, LARGEST = 1e-10, 1e6  # a model weight up to the first is a rounding error; none is above the second
SHRINKAGE, N_FOLDS, LEAST = 0.5, 3, 0.01  # of a soft weight; for honest answers; the smallest probability that counts
PENALTIES, STRONGER = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6), (0.3, 1.0, 3.0, 10.0)


@dataclass
class Agent:
    """A private learner (which takes sample weights), a private table, and the kept models with their weights."""

    learner: Any
    table: Floats
    models: list[tuple[float, Any]] = field(default_factory=list)


def seeds(words: int | list[int]) -> Iterator[int]:
    """Return the seeds that follow from a run's: ``seeds(seed)`` of turns, ``seeds([seed, 3])`` of agents' folds."""
    rng = np.random.RandomState(words)
    return iter(lambda: int(rng.randint(2**31 - 1)), None)


def ignorance_of(log_w: Floats) -> Floats:
    """Return the ignorance, which sums to one. Its logarithm neither overflows nor underflows in many rounds."""
    w = np.exp(log_w - log_w.max())
    return np.asarray(w / w.sum())


def fitted(learner: Any, table: Floats, codes: Codes, w: Floats, seed: int) -> Any:
    """Return a clone of a learner fitted under an ignorance (the paper's WST). Weights average about one."""
    model = base.clone(learner)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model.fit(table, codes, sample_weight=w * 2.0 ** round(math.log2(len(codes))))


# -- 1. The paper: a reward is one bit ---------------------------------------------------------------------------------
def train_ascii(agents: list[Agent], codes: Codes, n_rounds: int, seed: int, simple: bool, random: bool) -> Floats:
    """Train by ASCII, or by ASCII-Simple or ASCII-Random or both, and return the last ignorance."""
    n, n_classes, log_w = len(codes), int(codes.max()) + 1, np.zeros(len(codes))
    turn_seeds, order_rng = seeds(seed), np.random.RandomState([seed, 1])
    for _ in range(n_rounds):
        u, perfect = np.zeros(n), []  # u: the weights of this round's earlier models that were wrong about a sample
        for agent in [agents[i] for i in order_rng.permutation(len(agents))] if random else agents:
            model = fitted(agent.learner, agent.table, codes, ignorance_of(log_w), next(turn_seeds))
            right = model.predict(agent.table) == codes  # the reward r: it travels, and so does the model weight
            alpha = perfect_weight(n, n_classes) if right.all() else model_weight(log_w, u, right, n_classes)
            if alpha <= NEGLIGIBLE:  # no better than chance: the agent sits this turn out
                continue
            agent.models.append((alpha, model))
            log_w += alpha * ~right  # equations (10) and (12)
            u += 0.0 if simple else alpha * ~right
            perfect.append(right.all())
        if all(perfect):  # or nobody could help: the next round would be the same
            break
    return ignorance_of(log_w)


def model_weight(log_w: Floats, u: Floats, right: NDArray[np.bool_], n_classes: int) -> float:
    """Return alpha by equations (11) and (13), with v = w exp(kappa u) and kappa = K / (K - 1)^2."""
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


# -- 2. The honest exchange: a reward says how sure a model is of samples that it has not seen -------------------------
def exchange(agents: list[Agent], codes: Codes, seed: int) -> Learned:
    """Give each agent one turn, and return the combination that the initiator learns from what they said."""
    n_classes, so_far, said = int(codes.max()) + 1, np.zeros(len(codes)), []
    for agent, turn_seed, own_seed in zip(agents, seeds(seed), seeds([seed, 3]), strict=False):
        w = ignorance_of(-np.logaddexp(0.0, so_far))  # the probability of being wrong
        model = fitted(agent.learner, agent.table, codes, w, turn_seed)
        told = coarse(out_of_fold(agent, codes, n_classes, w, turn_seed, own_seed), codes)  # this travels
        alpha = soft_weight(told, so_far)
        if alpha > NEGLIGIBLE:
            agent.models.append((alpha, model))
            if n_classes == 2:  # with more classes, agents speak to the initiator alone in the first round
                so_far += alpha * told
        votes = told if n_classes > 2 else np.column_stack([told, -told])
        said.append((alpha if agent.models else 0.0) * truth_first(votes, -codes))
    return learn(np.stack(said), codes, seed)


def dealt(codes: Codes, shuffled: Codes) -> Codes:
    """Return the fold of each sample: they are dealt like cards from a shuffled deck, class after class."""
    return np.argsort(shuffled[np.argsort(codes[shuffled], kind="stable")]) % N_FOLDS


def out_of_fold(agent: Agent, codes: Codes, n_classes: int, w: Floats, turn_seed: int, own_seed: int) -> Floats:
    """Return the probabilities of every sample by a copy of the model that has not seen the sample's fold."""
    p, folds = np.zeros((len(codes), n_classes)), dealt(codes, np.random.RandomState(own_seed).permutation(len(codes)))
    for aside in (folds == fold for fold in range(N_FOLDS)):
        copy = fitted(agent.learner, agent.table[~aside], codes[~aside], w[~aside] / w[~aside].sum(), turn_seed)
        p[np.ix_(aside, copy.classes_)] = copy.predict_proba(agent.table[aside])
    return p


def coarse(p: Floats, codes: Codes) -> Floats:
    """Return what an agent says of each sample, in whole levels: one number for two classes, else one for each."""
    p = np.maximum(p, LEAST)
    if p.shape[1] == 2:  # the log-odds of the truth, in 8 bits
        truth = (p / p.sum(axis=1, keepdims=True))[np.arange(len(codes)), codes]
        score = np.log(truth) - np.log1p(-truth)
        scale = float(np.abs(score).max()) / 127 or 1.0
        return np.asarray(np.rint(score / scale).astype(np.int8) * np.float64(scale))
    height = truth_first(np.log(p) - math.log(LEAST), codes)  # above the least log-probability, in 4 bits
    scale = float(height.max()) / 14
    return centred(np.rint(height / scale) - 7, scale)


def centred(logs: Floats, scale: float = 1.0) -> Floats:
    """Return log-probabilities as votes, which sum to zero over the classes."""
    return np.asarray((logs - logs.mean(axis=1, keepdims=True)) * (scale * (logs.shape[1] / (logs.shape[1] - 1))))


def truth_first(rows: Floats, codes: Codes) -> Floats:
    """Return rows rotated so that the true class comes first; with ``-codes``, undo that."""
    return np.take_along_axis(rows, (np.arange(rows.shape[1]) + codes[:, np.newaxis]) % rows.shape[1], axis=1)


def soft_weight(told: Floats, so_far: Floats) -> float:
    """Return a share of the weight that lowers the log loss most, beside what was said before."""
    n_classes = 2 if told.ndim == 1 else told.shape[1]

    def slopes(weight: float) -> tuple[float, float]:  # the first two derivatives of the loss
        if n_classes == 2:
            logs = -np.logaddexp(0.0, so_far + weight * told)
            steep = np.exp(logs - logs.max()) * told
            return -float(steep.sum()), float((steep * told * -np.expm1(logs)).sum())
        logits, along = (votes * ((n_classes - 1) / n_classes) for votes in (weight * told, told))
        p = special.softmax(logits, axis=1)
        along -= np.einsum("nk,nk->n", p, along)[:, np.newaxis]
        return -float(along[:, 0].sum()), float(np.einsum("nk,nk->n", p, along * along).sum())

    cap = perfect_weight(len(told), n_classes) / float(np.abs(told).max(initial=1e-12))
    if slopes(0.0)[0] >= 0.0 or slopes(cap)[0] <= 0.0:
        return 0.0 if slopes(0.0)[0] >= 0.0 else SHRINKAGE * cap
    low, high, best, before = 0.0, cap, min(1.0, cap / 2), -1.0
    while abs(best - before) > 1e-12 * max(1.0, before):  # Newton's method within a bracket
        slope, bend = slopes(best)
        low, high = (best, high) if slope < 0.0 else (low, best)
        step = best - slope / bend if bend > 0.0 else math.nan
        before, best = best, step if low < step < high else (low + high) / 2
    return SHRINKAGE * best


def learn(said: Floats, codes: Codes, seed: int) -> Learned:
    """Return a matrix for each agent and a bias: f = sum of (S_m + S_m W_m) + b. Nothing is sent for it."""
    (n_agents, n, n_classes), heard, ones = said.shape, said.any(axis=(1, 2)), np.ones(said.shape[1])
    said, k, share = said[heard], n_classes if n_classes > 2 else 1, ones / n
    votes, offset = said[..., -k:], said[..., -k:].sum(axis=0)  # of two classes, one vote is minus the other
    # The first unit is for the fit, the second for the choice. They differ by rounding, which can decide near a tie.
    weighed = (said, share), (said[:, np.arange(n)], share / share.sum())
    units = [math.sqrt(np.einsum("mnk,mnk,n->", x, x, w) / (len(x) * n_classes)) for x, w in weighed]
    inputs, trial = (np.concatenate([*(votes / unit), ones[:, np.newaxis]], axis=1) for unit in units)
    folds = dealt(np.unique(codes, return_index=True)[1][codes], np.random.default_rng(seed).permutation(n))
    found = [np.zeros((inputs.shape[1], k))] * N_FOLDS  # a search begins where the one before it has ended

    def loss(penalty: float) -> float:  # of samples that the combination was not fitted to
        out = np.empty(n)
        for fold, held in enumerate(folds == fold for fold in range(N_FOLDS)):
            x, o, c, w = (each[~held] for each in (trial, offset, codes, weighed[1][1]))
            found[fold] = regression(x, o, c, w, penalty, found[fold], 1e-4)
            out[held] = losses(offset[held] + trial[held] @ found[fold], codes[held])[0]
        return float(out.mean())

    tried = {math.inf: float(losses(offset, codes)[0].mean())}  # an infinite penalty: votes are just added up
    for penalty in PENALTIES:
        tried[penalty] = loss(penalty)
        path = list(tried.values())[1:]
        if len(path) > 2 and path[-1] > path[-2] > path[-3]:
            break
    if min(path) == path[0]:
        found[:] = [np.zeros_like(each) for each in found]
        for penalty, before in zip(STRONGER, (PENALTIES[0], *STRONGER), strict=False):
            tried[penalty] = loss(penalty)
            if tried[penalty] > tried[before]:
                break
    weights, bias = np.zeros((n_agents, k, k)), np.zeros(k)
    if (best := min(tried, key=tried.__getitem__)) < math.inf:
        fit = regression(inputs, offset, codes, ones, best, np.zeros_like(found[0]), 1e-8)
        fit = fit - fit.mean(axis=1, keepdims=True) if k > 1 else fit
        weights[heard], bias = (fit[:-1] / units[0]).reshape(-1, k, k), fit[-1]
    return weights, bias


def regression(x: Floats, offset: Floats, codes: Codes, w: Floats, penalty: float, start: Floats, tol: float) -> Floats:
    """Return the parameters of a logistic regression whose decision is offset + x @ parameters; the bias comes last."""
    w, k = w / w.sum(), offset.shape[1]
    shrink = np.append(np.full(x.shape[1] - 1, penalty), 1e-6)[:, np.newaxis]
    bound = 0.25 if k == 1 else 0.5 * ((k - 1) / k) ** 2  # Boehning's, of second derivatives: it saves many steps
    root = np.tril(linalg.cho_factor(bound * (x.T * w) @ x + np.diag(shrink[:, 0]), lower=True)[0])

    def lowered(flat: Floats) -> tuple[float, Floats]:
        at = linalg.solve_triangular(root, flat.reshape(start.shape), lower=True, trans="T")
        lost, slopes = losses(offset + x @ at, codes)
        gradient = x.T @ (slopes * w[:, np.newaxis]) + at * shrink
        value = float(w @ lost) + 0.5 * float((at * shrink * at).sum())
        return value, linalg.solve_triangular(root, gradient, lower=True).ravel()

    options = {"maxiter": 500 if tol < 1e-4 else 100, "ftol": tol, "gtol": 1e-9}
    flat = optimize.minimize(lowered, (root.T @ start).ravel(), jac=True, method="L-BFGS-B", options=options).x
    return np.asarray(linalg.solve_triangular(root, flat.reshape(start.shape), lower=True, trans="T"))


def losses(decision: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """Return the log loss of each sample, and its derivatives. Of two classes there is one column, that of class 1."""
    k = decision.shape[1]
    if k == 1:
        margin = decision[:, 0] * np.where(codes == 1, 1.0, -1.0)
        low = np.exp(-np.abs(margin))
        wrong = np.where(margin >= 0.0, low, 1.0) / (1.0 + low)
        return np.maximum(-margin, 0.0) + np.log1p(low), np.where(codes == 1, -wrong, wrong)[:, np.newaxis]
    logits, truth = decision * ((k - 1) / k), np.arange(k) == codes[:, np.newaxis]
    return -special.log_softmax(logits, axis=1)[truth], (special.softmax(logits, axis=1) - truth) * ((k - 1) / k)


# -- 3. Prediction: every agent sends its own votes, and the initiator adds them up ------------------------------------
def votes_of(agents: list[Agent], tables: list[Floats], n_classes: int, learned: Learned | None = None) -> list[Floats]:
    """Return each agent's part of the decision, ``n x K``. A helper's votes are rounded, as it sends them."""
    out, loudest = [], -math.log(LEAST) if learned else 1.0
    for number, (agent, table) in enumerate(zip(agents, tables, strict=True)):
        votes = np.zeros((len(table), n_classes))
        for alpha, model in agent.models:
            if learned:  # votes of log-probabilities
                p = np.maximum(model.predict_proba(table), LEAST)
                logs = np.log(p / p.sum(axis=1, keepdims=True))
                said = centred(logs) if n_classes > 2 else np.diff(logs) * [-1.0, 1.0]
                votes += alpha * rounded(said, loudest, 8 if number else 32)
            else:  # the paper's label code: 1 for the class that the model answers, -1 / (K - 1) for the others
                answers = model.predict(table)[:, np.newaxis] == np.arange(n_classes)
                votes += np.where(answers, alpha, -alpha / (n_classes - 1))
        whole = sum(alpha for alpha, _ in agent.models) * loudest
        out.append(rounded(votes, whole, 8 if learned else 16) if number and agent.models else votes)
    if learned is None:
        return out
    weights, bias = learned
    needed = (votes[:, -len(bias) :] for votes in out)  # of two classes, the vote for one is minus that for the other
    parts = [votes + votes @ matrix for votes, matrix in zip(needed, weights, strict=True)]
    parts[0] = parts[0] + bias
    return parts if n_classes > 2 else [np.concatenate([0.0 - part, part], axis=1) for part in parts]


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


if __name__ == "__main__":
    X, y = datasets.load_breast_cancer(return_X_y=True)
    train, test, codes, truth = model_selection.train_test_split(X, y, test_size=0.5, random_state=0)
    for title, cuts in (("alone", [slice(0, 5)]), ("with help", [slice(0, 5), slice(5, 15), slice(15, 30)])):
        agents = [Agent(tree.DecisionTreeClassifier(max_depth=3), train[:, cut]) for cut in cuts]
        parts = votes_of(agents, [test[:, cut] for cut in cuts], 2, exchange(agents, codes, seed=0))
        print(f"accuracy {title}: {np.mean(sum(parts[1:], parts[0]).argmax(axis=1) == truth):.3f}")  # noqa: T201
