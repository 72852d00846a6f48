"""What an answer releases is counted by what is in it: bits of one sample, as said and as sent."""

import numpy as np
import pytest

from assistlearn.core.state import quantise, quantise_vectors
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_holdout, pack_reward
from assistlearn.protocol.codec import added_up, releases_in, votes

N = 400


def taken(reward, codes, weight=0.5, holdout=None):
    packed = pack_reward(reward, codes)
    return m.TurnTaken(
        run="r", turn=1, reward=packed, model_weight=weight, mean_reward=0.6, perfect=False, holdout=holdout
    )


@pytest.mark.parametrize(("bits", "n_classes"), [(8, 2), (4, 2), (4, 5), (8, 3)])
def test_scores_are_said_in_their_bits_for_every_class_of_more_than_two(bits, n_classes):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, N)
    scores = rng.exponential(size=(N, n_classes))
    reward = quantise(scores[:, 0] - 1.0, bits) if n_classes == 2 else quantise_vectors(scores, bits)
    [release] = releases_in(taken(reward, codes), n_classes)
    assert (release.kind, release.about, release.times) == ("scores", "training", 1)
    assert release.said == bits * (1 if n_classes == 2 else n_classes)
    assert 0.0 < release.sent <= release.said


def test_rewards_that_are_nearly_all_right_are_sent_in_less_than_they_are_said():
    rewards = np.arange(5_000) % 100 != 0
    [release] = releases_in(taken(rewards, np.zeros(5_000, int)), 2)
    assert release.said == 1.0
    assert 0.05 < release.sent < 0.2


@pytest.mark.parametrize(("n_classes", "said"), [(2, 1.0), (3, 2.0), (4, 2.0), (5, 3.0)])
def test_answers_for_hold_out_samples_are_class_codes(n_classes, said):
    codes = np.random.default_rng(1).integers(0, n_classes, N)
    holdout = pack_holdout(codes, n_classes)
    reply = taken(np.arange(N) % 2 == 0, np.zeros(N, int), holdout=holdout)
    [_, release] = releases_in(reply, n_classes)
    assert (release.kind, release.about, release.said) == ("hold-out answers", "hold-out", said)


def test_a_model_that_does_not_count_releases_nothing():
    assert list(releases_in(taken(np.ones(N, bool), np.zeros(N, int), weight=0.0), 2)) == []


def test_releases_of_a_kind_add_up_and_kinds_stay_apart():
    reward = taken(np.arange(N) % 2 == 0, np.zeros(N, int))
    both = added_up([*releases_in(reward, 2), *releases_in(reward, 2), votes(16, 3, 2, 1_000, 10)])
    assert [(each.kind, each.times, each.said) for each in both] == [("rewards", 2, 2.0), ("votes", 2, 48)]
