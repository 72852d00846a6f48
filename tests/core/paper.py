"""The paper, written out with label codes and loops, in linear space: what the code under test is compared with.

Nothing here is fast, stable or clever, and nothing here imports assistlearn. Equation numbers are the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np


def label_code(class_code: int, n_classes: int) -> np.ndarray:
    """Equation (1): 1 at the class and -1 / (K - 1) elsewhere."""
    code = np.full(n_classes, -1.0 / (n_classes - 1))
    code[class_code] = 1.0
    return code


def first_agents_weight(w: np.ndarray, reward: np.ndarray, n_classes: int) -> float:
    """Equation (9), with Proposition 2's mean reward, which is weighted by the ignorance."""
    mean_reward = sum(w[i] * reward[i] for i in range(len(w))) / sum(w)
    return math.log(mean_reward / (1 - mean_reward)) + math.log(n_classes - 1)


def second_agents_weight(
    w: np.ndarray, first_weight: float, first_reward: np.ndarray, reward: np.ndarray, n_classes: int
) -> float:
    """Equation (11) of Proposition 2: the n_{A,B} form."""
    a, b = first_reward.astype(float), reward.astype(float)
    n_ab = (w * a * b).sum()
    n_not_a_b = (w * (1 - a) * b).sum()
    n_a_not_b = (w * a * (1 - b)).sum()
    n_neither = (w * (1 - a) * (1 - b)).sum()
    louder = math.exp(first_weight / (n_classes - 1) ** 2)
    quieter = math.exp(-first_weight / (n_classes - 1))
    right = louder * n_not_a_b + quieter * n_ab
    wrong = louder * n_neither + quieter * n_a_not_b
    return math.log(n_classes - 1) + math.log(right) - math.log(wrong)


def importance_13(
    w: np.ndarray, labels: np.ndarray, earlier: Sequence[tuple[float, np.ndarray]], n_classes: int
) -> np.ndarray:
    """The summands of equation (13): ignorance times the exponential loss of the round's earlier models.

    ``earlier`` are their model weights and the class codes that they answer.
    """
    v = np.empty(len(w))
    for i in range(len(w)):
        score = np.zeros(n_classes)
        for weight, answers in earlier:
            score += weight * label_code(answers[i], n_classes)
        v[i] = w[i] * math.exp(-(label_code(labels[i], n_classes) @ score) / n_classes)
    return v


def model_weight_13(
    w: np.ndarray,
    labels: np.ndarray,
    earlier: Sequence[tuple[float, np.ndarray]],
    answers: np.ndarray,
    n_classes: int,
) -> float:
    """Equation (13) without its constant factor, which the paper drops."""
    v = importance_13(w, labels, earlier, n_classes)
    right = sum(v[i] for i in range(len(v)) if answers[i] == labels[i])
    wrong = sum(v[i] for i in range(len(v)) if answers[i] != labels[i])
    if wrong == 0:
        return math.inf
    if right == 0:
        return -math.inf
    return math.log(right / wrong) + math.log(n_classes - 1)


def updated(w: np.ndarray, reward: np.ndarray, weight: float) -> np.ndarray:
    """Equations (10) and (12): raise the ignorance of what was wrong, and normalise."""
    raised = np.array([w[i] * math.exp(weight * (1 - reward[i])) for i in range(len(w))])
    return raised / raised.sum()


@dataclass
class Run:
    """What the paper's training loop leaves: kept models (round, agent, weight, fitted model) and the ignorance."""

    n_classes: int
    ignorance: np.ndarray
    kept: list[tuple[int, str, float, object]] = field(default_factory=list)

    def scores(self, answer: Callable[[str, object], np.ndarray], n_samples: int) -> np.ndarray:
        """Return the sum of the weighted label codes that the kept models answer."""
        total = np.zeros((n_samples, self.n_classes))
        for _, agent, weight, model in self.kept:
            for i, code in enumerate(answer(agent, model)):
                total[i] += weight * label_code(code, self.n_classes)
        return total


def train(
    labels: np.ndarray,
    n_classes: int,
    rounds: Sequence[Sequence[str]],
    fit: Callable[[str, int, np.ndarray], tuple[object, np.ndarray]],
    *,
    simple: bool = False,
    start: np.ndarray | None = None,
) -> Run:
    """Run the multi-agent loop; ``rounds`` names the agents of each round in their order.

    ``fit(agent, round, w)`` is WST (Algorithm 2): it returns a model and the class codes that the model answers. As our
    notes say, an agent whose weight is not positive sits out, the weight of a perfect model is that of one which errs
    on half a sample's worth of ignorance, and a round that changes nothing is the last.
    """
    n = len(labels)
    w = np.ones(n) / n if start is None else start / start.sum()
    run = Run(n_classes, w)
    for number, agents in enumerate(rounds, start=1):
        earlier: list[tuple[float, np.ndarray]] = []
        changed = False
        for agent in agents:
            model, answers = fit(agent, number, run.ignorance)
            weight = model_weight_13(run.ignorance, labels, [] if simple else earlier, answers, n_classes)
            if weight == math.inf:
                share = 1 / (2 * np.count_nonzero(w))
                weight = math.log((1 - share) / share) + math.log(n_classes - 1)
            elif weight <= 1e-10:
                continue
            else:
                changed = True
            earlier.append((weight, answers))
            run.kept.append((number, agent, weight, model))
            run.ignorance = updated(run.ignorance, answers == labels, weight)
        if not changed:
            break
    return run
