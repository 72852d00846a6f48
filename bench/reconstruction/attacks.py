"""What a hostile initiator does with a helper, and an honest one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from scipy.stats import rankdata
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.loading import Holdings
from assistlearn.types import Floats
from bench.reconstruction.estimates import guesses
from bench.reconstruction.hostile import HostileInitiator
from bench.reconstruction.scenes import Scene

Attack: TypeAlias = Callable[[Holdings, Scene, np.random.Generator], Iterator[HostileInitiator]]
"""Yields the run as it is before the first turn, and after every turn, for as long as one likes."""
NOBODY = 1e-7


def ordinary(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Train with the true labels and a tree of one's own, as agreed."""
    run = HostileInitiator(helper, scene.labels)
    yield run
    while True:
        tree = DecisionTreeClassifier(max_depth=1).fit(scene.own, scene.labels, run.state.ignorance())
        run.turn(run.told(tree.predict(scene.own) == scene.labels))
        yield run


def random_labels(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Give everybody a class by chance, and else train as agreed."""
    run = HostileInitiator(helper, _by_chance(scene, rng))
    yield run
    while True:
        run.turn()
        yield run


def weight_on(n_people: int) -> Attack:
    """Return the attack that puts all weight on so many people of either class, others in every turn."""

    def attack(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
        run = HostileInitiator(helper, _by_chance(scene, rng))
        yield run
        while True:
            chosen = [rng.permutation(np.flatnonzero(run.labels == code))[: n_people // 2] for code in (0, 1)]
            run.turn_under(_on(np.concatenate(chosen), len(scene.labels)))
            yield run

    return attack


def bisect(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Guess a column's order, and let the helper cut it where the guess is coarsest: weight where labels agree."""
    run = HostileInitiator(helper, _by_chance(scene, rng))
    n = len(scene.labels)
    yield run
    while True:
        if len(run.answers) < 3:
            run.turn_under(_on(rng.permutation(n)[: n // 2], n))
            yield run
            continue
        guess = rankdata(guesses(run.answers[-30:], 2, run.labels)[-1] + 1e-9 * rng.random(n)) / n
        agree = (guess > rng.uniform(0.1, 0.9)) == (run.labels == 1)
        run.turn_under(_on(np.flatnonzero(agree), n))
        yield run


def one_against_all(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Give one person a class of its own, and that person half of the weight."""
    labels = np.zeros(len(scene.labels), dtype=int)
    labels[int(rng.integers(len(labels)))] = 1
    run = HostileInitiator(helper, labels)
    yield run
    while True:
        run.turn_under(np.where(labels == 1, 1.0, rng.random(len(labels)) / len(labels)))
        yield run


def many_classes(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Give every two people a class, and hold half of everybody out: who answers like whom."""
    n = len(scene.labels)
    aside = np.zeros(n, bool)
    aside[rng.permutation(n)[: n // 2]] = True
    labels = np.zeros(n, dtype=int)
    labels[~aside] = rng.permutation(n - n // 2) // 2
    run = HostileInitiator(helper, labels, n // 4 + 1, holdout=aside)
    yield run
    while True:
        run.turn_under(_on(rng.permutation(n - n // 2)[: n // 4], n - n // 2))
        yield run


def held_out(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Hold nine of ten out, and train on the rest with labels by chance: answers for people nobody asked about."""
    n = len(scene.labels)
    aside = np.ones(n, bool)
    aside[rng.permutation(n)[: n // 10]] = False
    run = HostileInitiator(helper, _by_chance(scene, rng), holdout=aside)
    yield run
    while True:
        run.turn_under(_on(rng.permutation(n // 10)[: n // 15], n // 10))
        yield run


def first_weights(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Put all initial weight on two people."""
    labels = _by_chance(scene, rng)
    pair = [int(rng.choice(np.flatnonzero(labels == code))) for code in (0, 1)]
    run = HostileInitiator(helper, labels, weights=_on(np.array(pair), len(labels)))
    yield run
    while True:
        run.turn()
        yield run


def true_labels_on(n_people: int) -> Attack:
    """Return the attack that keeps the true labels, and puts the weight on so many people by chance."""

    def attack(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
        run, n = HostileInitiator(helper, scene.labels), len(scene.labels)
        yield run
        while True:
            run.turn_under(_on(rng.permutation(n)[:n_people], n))
            yield run

    return attack


def as_few_as_pass(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Keep the true labels, and put the weight on people by chance, as few as models still pass with."""
    run, n, n_people = HostileInitiator(helper, scene.labels), len(scene.labels), len(scene.labels) / 2
    yield run
    while True:
        run.turn_under(_on(rng.permutation(n)[: int(n_people)], n))
        n_people = max(0.85 * n_people, 10) if run.proofs[-1] else min(n_people / 0.85, 0.95 * n)
        yield run


def mixed(invented_share: float) -> Attack:
    """Return the attack that gives some people chance labels, and as much weight as models still pass with."""

    def attack(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
        n, share = len(scene.labels), 0.5
        invented = rng.permutation(n) < invented_share * n
        run = HostileInitiator(helper, np.where(invented, _by_chance(scene, rng), scene.labels))
        yield run
        while True:
            some = rng.random(n) < 0.5
            on = np.where(invented, share * some / invented_share, (1.0 - share) / (1.0 - invented_share))
            run.turn_under(on + NOBODY)
            share = min(share + 0.05, 0.9) if run.proofs[-1] else max(share - 0.05, 0.0)
            yield run

    return attack


def lucky(helper: Holdings, scene: Scene, rng: np.random.Generator) -> Iterator[HostileInitiator]:
    """Draw weights with labels by chance until something is said by luck; then weigh those who agree with it."""
    run, n = HostileInitiator(helper, _by_chance(scene, rng)), len(scene.labels)
    yield run
    while True:
        said = run.said()
        if not said:
            run.turn_under(_on(rng.permutation(n)[: int(rng.choice([40, 80, 150]))], n))
            yield run
            continue
        guess = rankdata(guesses(said[-30:], 2, run.labels)[-1] + 1e-9 * rng.random(n)) / n
        agree = (guess > rng.uniform(0.1, 0.9)) == (run.labels == 1)
        run.turn_under(_on(np.flatnonzero(agree | (rng.random(n) < 0.1)), n))
        yield run


ATTACKS: dict[str, Attack] = {
    "all weight on two people": weight_on(2),
    "initial weights on two people": first_weights,
    "one person against all": one_against_all,
    "all weight on 20 people": weight_on(20),
    "all weight on half of the people": weight_on(150),
    "weights that bisect a column": bisect,
    "labels by chance": random_labels,
    "a class for every two, half held out": many_classes,
    "nine of ten held out": held_out,
    "true labels, all weight on 20 people": true_labels_on(20),
    "true labels, all weight on half of the people": true_labels_on(150),
    "true labels, weight on as few as pass": as_few_as_pass,
    "a quarter of the labels by chance, with the weight": mixed(0.25),
    "half of the labels by chance, with the weight": mixed(0.5),
    "labels by chance until something is said": lucky,
}


def _by_chance(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(np.arange(len(scene.labels)) % 2)


def _on(people: np.ndarray, n: int) -> Floats:
    weights = np.full(n, NOBODY)
    weights[people] = 1.0
    return weights
