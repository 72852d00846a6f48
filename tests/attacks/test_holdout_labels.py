"""A helper that wants the labels of hold-out samples: from what it is told of the others, and in which order."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.run import secret_words
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes
from assistlearn.protocol.codec import decode
from assistlearn.session.setup import split_of
from tests.attacks.attack import attack
from tests.cli.program import assistlearn
from tests.cli.small_agents import N_NEW, N_SAMPLES, know_the_key, write_agents

pytestmark = pytest.mark.usefixtures("forked_agents")

SHARE = 0.2


def by_neighbours(labels: np.ndarray, aside: np.ndarray) -> np.ndarray:
    """Guess that a hold-out sample has the label of the training sample before it."""
    known = np.full(len(aside), -1)
    known[~aside] = labels
    last = np.maximum.accumulate(np.where(aside, -1, np.arange(len(aside))))
    return known[np.maximum(last[aside], np.flatnonzero(~aside)[0])]


def by_the_seed(labels: np.ndarray, aside: np.ndarray, words: list[int]) -> np.ndarray:
    """Replay who is held out of each class, and find between which training samples of its class each of them lies.

    A class is held out by the places that chance draws among its samples in their order. Whoever knows chance knows
    these places, and so how many training samples of the class come before each that was held out.
    """
    places, guessed = np.flatnonzero(aside), np.full(int(aside.sum()), -1)
    training = np.flatnonzero(~aside)
    rng = np.random.RandomState(words)
    for code in np.unique(labels):
        own = training[labels == code]
        size = next(n for n in range(len(own), 2 * len(aside)) if n - min(round(SHARE * n), n - 1) == len(own))
        held = np.sort(rng.permutation(size)[: size - len(own)])
        before = held - np.arange(len(held))
        low, high = np.concatenate([[-1], own])[before], np.concatenate([own, [len(aside)]])[before]
        for start, end in zip(low, high, strict=True):
            free = np.flatnonzero((places > start) & (places < end) & (guessed < 0))
            guessed[free[:1]] = code
    return guessed


def held_out(labels: np.ndarray, words: list[int]) -> np.ndarray:
    training, _ = split_of(Plan(holdout=SHARE), labels, words)
    aside = np.ones(len(labels), bool)
    aside[training] = False
    return aside


@attack(
    "helper",
    "replays who was held out, as it knows the seed of the run, to learn the labels of hold-out samples",
    "learns nothing: who is held out is drawn from a secret of the initiator's",
)
def test_the_seed_of_a_run_does_not_tell_the_labels_of_hold_out_samples():
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1], 2_000))
    known = held_out(labels, [7, 2])
    assert (by_the_seed(labels[~known], known, [7, 2]) == labels[known]).mean() > 0.7  # were it drawn from the seed
    secret = held_out(labels, secret_words(b"known to the initiator alone", "a table", 7))
    assert (by_the_seed(labels[~secret], secret, [7, 2]) == labels[secret]).mean() < 0.55


@attack(
    "helper",
    "guesses that a hold-out sample has the label of its neighbours, as a table may be sorted by label",
    "learns nothing: samples are in the order of their ids",
)
def test_the_order_of_a_table_does_not_tell_the_labels_of_hold_out_samples(tmp_path):
    files = write_agents(tmp_path)
    know_the_key(files[0])
    header, *lines = (tmp_path / "clinic.csv").read_text().splitlines()
    by_label = sorted(lines, key=lambda line: line.rsplit(",", 1)[1])
    (tmp_path / "clinic.csv").write_text("\n".join([header, *by_label]) + "\n")
    options = ("--method", "ascii", "--rounds", 1, "--holdout", 0.3, "--run", "r", "--out", tmp_path / "run")
    assert assistlearn("simulate", *files, *options).code == 0
    begin = decode(next(tmp_path.rglob("lab*/runs/r/begin.msg")).read_bytes())
    assert isinstance(begin, m.Begin)
    aside = unpack_bits(begin.holdout, begin.n_samples)
    labels = unpack_codes(begin.labels, int((~aside).sum()), 2)
    folder = RunFolder(tmp_path / "run")
    assert len(folder.holdout_words()) == 8
    truth = np.array([line.endswith("yes") for line in by_label])[folder.samples()]
    assert len(truth) == N_SAMPLES - N_NEW
    codes = np.asarray(folder.permutation())[truth.astype(int)]
    np.testing.assert_array_equal(codes[~aside], labels)
    assert (by_neighbours(labels, aside) == codes[aside]).mean() < 0.8
    in_table_order = np.argsort(folder.samples())
    sorted_aside, sorted_codes = aside[in_table_order], codes[in_table_order]
    found = by_neighbours(sorted_codes[~sorted_aside], sorted_aside)
    assert (found == sorted_codes[sorted_aside]).mean() > 0.9  # as it would be found in the order of the table
