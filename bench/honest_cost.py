"""What honest rewards cost: seconds of a turn with ``reward="auto"`` and ``"out-of-fold"``, against in-sample ones.

    python -m bench.honest_cost [--small] [--repeats 5] [--cv 3]

Each learner takes the turns of one agent under ``method="soft"``, on digits. The three ways are measured side by side:
in every repetition one after the other, in seconds of the processor. A ratio is the mean over the repetitions, with its
standard error. A turn's seconds are those of the whole run, preparation included, divided by the turns taken; a learner
that knows its samples by heart is given new turns although a session would stop.
"""

from __future__ import annotations

import argparse
import os

os.environ["OMP_NUM_THREADS"] = "1"  # before anything that uses OpenMP is imported

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from assistlearn.agent.agent import Agent, TrainingSamples, Turn
from assistlearn.core.people import means_and_errors
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier, Honesty
from assistlearn.learners.model import TurnSeeds
from assistlearn.plan import Plan, RewardKind
from bench.accuracy.ways import LEARNERS, ROUNDS

NAMES = ("tree", "tree-3", "logistic", "bayes", "forest", "boosted", "network")
HISTOGRAMS = {
    "histogram tree": HistTreeClassifier(max_depth=3),
    "histogram boost": HistBoostClassifier(n_estimators=20),
}
WAYS: tuple[RewardKind, ...] = ("in-sample", "auto", "out-of-fold")
MOST = 3.0
"""Times the in-sample cost that ``auto`` may have."""


def seconds_of_a_turn(estimator: Any, honesty: Honesty, n_turns: int, small: bool, seed: int) -> float:
    X, codes = load_digits(return_X_y=True)
    X, codes = X[: 300 if small else None, :32], codes[: 300 if small else None]
    method, seeds = Plan(method="soft", seed=seed).make_method(), TurnSeeds(seed)
    state = method.start(len(codes), 10)
    agent = Agent("a", estimator, honesty)
    began = time.process_time()
    agent.begin(TrainingSamples(X, codes), seed)
    for number in range(1, n_turns + 1):
        answer = agent.take_turn(Turn(number, number, seeds.of(number)), state, method)
        if not answer.verdict.useless:
            state.apply(answer.reward, answer.verdict.model_weight)
    return (time.process_time() - began) / n_turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="300 samples, and two repetitions: does it run?")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cv", type=int, default=Plan.cv)
    asked = parser.parse_args()
    repeats = 2 if asked.small else asked.repeats
    print(f"{'learner':<16}{'in-sample, ms':>14}" + "".join(f"{way + ' x':>22}" for way in WAYS[1:]))
    learners: dict[str, Any] = {name: LEARNERS[name][0] for name in NAMES} | HISTOGRAMS
    for name, estimator in learners.items():
        n_turns = ROUNDS.get(name, 5)
        taken = np.array(
            [
                [seconds_of_a_turn(estimator, Honesty(way, asked.cv), n_turns, asked.small, seed) for way in WAYS]
                for seed in range(repeats)
            ]
        )
        ratios = taken[:, 1:] / taken[:, :1]
        means, errors = means_and_errors(ratios)
        cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in zip(means, errors, strict=True)]
        mark = "" if means[0] <= MOST else f"  auto is over {MOST:g}"
        print(f"{name:<16}{1000 * taken[:, 0].mean():>14.1f}" + "".join(f"{cell:>22}" for cell in cells) + mark)


if __name__ == "__main__":
    main()
