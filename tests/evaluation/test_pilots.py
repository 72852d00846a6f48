"""Limits hold whenever one looks; a pilot draws, opens, and answers by them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn.errors import SettingsError
from assistlearn.evaluation.metrics import losses
from assistlearn.evaluation.pilots import (
    BETS,
    HALVINGS,
    MOST_OPENED,
    MOST_TRAINING,
    ConfidenceSequence,
    Weighing,
    Worth,
    drawn,
    log_capital,
)
from assistlearn.evaluation.words import Terms

EXACT = 2.0**-HALVINGS
values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30)
alphas = st.floats(0.01, 0.5)


def capital_by_hand(seen: list[float], candidate: float) -> float:
    """What a capital of 1 becomes: an equal part of it on each bet, one value after the other."""
    parts = []
    for bet in BETS:
        capital = 1 / len(BETS)
        for x in seen:
            capital *= 1 + bet / candidate * (x - candidate)
        parts.append(capital)
    return math.fsum(parts)


def limits_by_hand(seen: list[float], alpha: float, candidates: np.ndarray) -> tuple[float, float]:
    """The candidates that no look after any value has left out, by going through all of them."""
    kept = []
    for m in candidates:
        stays = True
        for n in range(1, len(seen) + 1):
            above = capital_by_hand(seen[:n], m)
            below = capital_by_hand([1 - x for x in seen[:n]], 1 - m)
            stays &= above < 2 / alpha and below < 2 / alpha
        if stays:
            kept.append(m)
    return min(kept), max(kept)


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_the_limits_are_those_of_the_game_written_out(alpha):
    rng = np.random.default_rng(1)
    seen = rng.choice([0.5, 1.0, 0.0, 0.62], p=[0.6, 0.2, 0.05, 0.15], size=16).tolist()
    sequence = ConfidenceSequence(alpha)
    for x in seen:
        sequence.hear(np.array([x]))
    candidates = np.arange(1, 150) / 150
    lower, upper = limits_by_hand(seen, alpha, candidates)
    assert lower - 1 / 150 <= sequence.limits[0] <= lower
    assert upper <= sequence.limits[1] <= upper + 1 / 150


@given(values, st.floats(0.01, 1.0))
def test_the_capital_is_that_of_the_game_written_out(seen, candidate):
    ours = log_capital(np.array(seen), np.ones(len(seen)), candidate)
    np.testing.assert_allclose(ours, math.log(capital_by_hand(seen, candidate)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("draw", ["differences", "uniform", "rare"])
def test_few_sequences_ever_leave_the_true_mean_out_however_often_one_looks(draw):
    """Looked at after every value of 1,000. At 20 %, so that too many would show: three standard errors are 0.07."""
    rng, n_sequences, alpha = np.random.default_rng(2), 300, 0.2
    draws = {
        "differences": (lambda n: rng.choice([0.0, 0.5, 1.0], p=[0.05, 0.9, 0.05], size=n), 0.5),
        "uniform": (lambda n: rng.random(n), 0.5),
        "rare": (lambda n: (rng.random(n) < 0.02).astype(float), 0.02),
    }
    drawn, mean = draws[draw]
    missed = 0
    for _ in range(n_sequences):
        x = drawn(1000)
        missed += any(_ever(side, m) >= 2 / alpha for side, m in ((x, mean), (1 - x, 1 - mean)))
    assert missed / n_sequences <= alpha + 0.07


def _ever(x: np.ndarray, mean: float) -> float:
    """The largest capital on the way, against the true mean."""
    grown = np.cumsum(np.log(1 - BETS + np.outer(x / mean, BETS)), axis=0)
    return float(np.exp(grown).mean(axis=1).max())


@given(st.lists(values, min_size=1, max_size=6), alphas)
def test_limits_only_ever_close_in(blocks, alpha):
    sequence = ConfidenceSequence(alpha)
    before = sequence.limits
    for block in blocks:
        after = sequence.hear(np.array(block))
        assert before[0] <= after[0]
        assert after[1] <= before[1]
        before = after


@given(values, alphas)
def test_the_limits_of_the_mirror_image_are_the_mirror_image_of_the_limits(seen, alpha):
    x = np.array(seen)
    here, there = ConfidenceSequence(alpha).hear(x), ConfidenceSequence(alpha).hear(1 - x)
    np.testing.assert_allclose((here[0], here[1]), (1 - there[1], 1 - there[0]), atol=4 * EXACT)


@given(values, alphas, st.floats(-5.0, 5.0), st.floats(0.1, 8.0))
def test_moved_and_stretched_values_have_moved_and_stretched_limits(seen, alpha, low, width):
    x = np.array(seen)
    plain = ConfidenceSequence(alpha).hear(x)
    moved = ConfidenceSequence(alpha, low, low + width).hear(np.clip(low + width * x, low, low + width))
    np.testing.assert_allclose(moved, low + width * np.array(plain), atol=1e-6)


@given(values, alphas, st.randoms(use_true_random=False))
def test_the_order_of_the_values_does_not_matter(seen, alpha, chance):
    shuffled = chance.sample(seen, len(seen))
    first, second = ConfidenceSequence(alpha).hear(np.array(seen)), ConfidenceSequence(alpha).hear(np.array(shuffled))
    np.testing.assert_allclose(first, second, atol=1e-9)


@given(values, alphas)
def test_less_risk_takes_a_wider_interval(seen, alpha):
    x = np.array(seen)
    wide, close = ConfidenceSequence(alpha / 2).hear(x), ConfidenceSequence(alpha).hear(x)
    assert wide[0] <= close[0] + EXACT
    assert close[1] <= wide[1] + EXACT


@given(values, alphas)
def test_the_mean_of_the_values_is_never_left_out_at_the_first_look(seen, alpha):
    sequence = ConfidenceSequence(alpha)
    lower, upper = sequence.hear(np.array(seen))
    assert sequence.n == len(seen)
    assert lower - 1e-12 <= sequence.mean <= upper + 1e-12


@settings(max_examples=5)
@given(st.sampled_from([-1.001, 1.5, math.nan, math.inf]))
def test_values_outside_of_their_range_are_refused(value):
    with pytest.raises(SettingsError, match=r"between -1\.0 and 1\.0"):
        ConfidenceSequence(0.05, -1.0, 1.0).hear(np.array([0.0, value]))


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, math.nan])
def test_a_risk_that_is_none_is_refused(alpha):
    with pytest.raises(SettingsError, match="alpha"):
        ConfidenceSequence(alpha)


@given(st.integers(20, 300), st.floats(0.2, 0.8), st.integers(0, 2**32 - 1))
def test_samples_are_trained_on_or_may_be_opened_and_never_both(n, share, seed):
    training, pool = drawn(Terms(train_size=share), np.zeros(n), seed)
    assert len(training) == int(share * n)
    assert sorted([*training, *pool]) == list(range(n))


def test_who_is_trained_on_does_not_depend_on_the_labels():
    labels = np.arange(200) % 2
    same = [drawn(Terms(), order, seed=3) for order in (labels, np.sort(labels), labels[::-1])]
    for training, pool in same[1:]:
        assert training.tolist() == same[0][0].tolist()
        assert pool.tolist() == same[0][1].tolist()


def test_of_many_samples_a_bounded_number_is_trained_on_and_may_be_opened():
    training, pool = drawn(Terms(), np.zeros(50_000), seed=0)
    assert (len(training), len(pool)) == (MOST_TRAINING, MOST_OPENED)
    assert len(drawn(Terms(train_size=6_000), np.zeros(50_000), seed=0)[0]) == 6_000


def test_a_class_that_would_not_be_trained_on_is_named():
    labels = np.array(["ill"] * 199 + ["dead"])
    seed = next(s for s in range(99) if 199 not in np.random.RandomState([s, 5]).permutation(200)[:100])
    with pytest.raises(SettingsError, match="None of the 100 samples to train on has the label dead, but 1 of all 200"):
        drawn(Terms(), labels, seed)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"at_least": 1.0}, {"at_least": float("nan")}, {"at_least": 5.0, "loss": "log"}, {"alpha": 0.0}),
        *({"loss": "hinge"}, {"block": 0}, {"block": 2.5}, {"train_size": 1.0}, {"train_size": 0}),
    ],
)
def test_terms_that_cannot_be_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter({*wrong} - {"loss"} or {"loss"}))):
        Terms(**wrong)


@pytest.mark.parametrize("size", [500, 1])
def test_a_size_that_leaves_nothing_to_open_or_to_train_on_is_refused(size):
    with pytest.raises(SettingsError, match="leaves"):
        drawn(Terms(train_size=size if size > 1 else 0.001), np.zeros(500), 0)


@pytest.mark.parametrize("n_helpers", [1, 2, 5])
def test_the_risks_of_all_questions_add_up_to_the_risk_that_was_asked_for(n_helpers):
    weighing = Weighing(Terms(alpha=0.1), [f"h{i}" for i in range(n_helpers)])
    alphas = [gain.alpha for gain in weighing.gains()]
    assert len(alphas) == (1 if n_helpers == 1 else n_helpers + 1)
    np.testing.assert_allclose(sum(alphas), 0.1)


def opened(rng: np.random.Generator, n: int, rates: list[float]) -> np.ndarray:
    """0/1 losses with these error rates: of the initiator alone, and with each set of helpers."""
    return (rng.random(n) < np.array(rates)[:, None]).astype(float)


def test_every_question_has_the_limits_of_its_own_differences():
    rng = np.random.default_rng(0)
    weighing = Weighing(Terms(alpha=0.1), ["a", "b"])
    blocks = [opened(rng, 50, [0.3, 0.2, 0.25, 0.3]) for _ in range(4)]
    sequences = [ConfidenceSequence(alpha, -1.0, 1.0) for alpha in (0.05, 0.025, 0.025)]
    for block in blocks:
        weighing.hear(block)
        for sequence, loss in zip(sequences, block[1:], strict=True):
            sequence.hear(block[0] - loss)
    for gain, sequence in zip(weighing.gains(), sequences, strict=True):
        assert (gain.lower, gain.upper) == sequence.limits
        assert [look.n_opened for look in gain.path] == [50, 100, 150, 200]
        assert gain.path[-1][1:] == (gain.estimate, gain.lower, gain.upper)
    worth = weighing.worth(n_training=200, n_pool=300)
    assert (worth.n_opened, worth.n_closed) == (200, 100)
    every = np.hstack(blocks)
    np.testing.assert_allclose((worth.loss_alone, worth.loss_assisted), every[:2].mean(axis=1))
    assert {*worth.helpers} == {"a", "b"}


def test_the_answer_depends_on_the_gain_that_is_asked_for():
    block = opened(np.random.default_rng(1), 600, [0.35, 0.2])
    answers = {}
    for at_least in (-0.1, 0.02, 0.15, 0.3):
        weighing = Weighing(Terms(at_least=at_least), ["lab"])
        weighing.hear(block)
        answers[at_least] = weighing.gains()[0].answer
    assert answers == {-0.1: "yes", 0.02: "yes", 0.15: "undecided", 0.3: "no"}


def test_the_first_answer_stays_whatever_comes_later():
    weighing = Weighing(Terms(each_helper=True), ["a", "b"])
    weighing.hear(np.array([np.ones(50), np.zeros(50), np.zeros(50), np.ones(50)]))
    assert not weighing.answered  # there is none about b yet
    for _ in range(8):
        weighing.hear(np.array([np.zeros(50), np.ones(50), np.ones(50), np.ones(50)]))
    assert [gain.answer for gain in weighing.gains()] == ["yes", "yes", "no"]
    assert weighing.answered


def test_the_log_loss_of_a_hopeless_probability_is_bounded():
    p = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    found = losses("log", np.array([0, 0, 1]), p.argmax(axis=1), p)
    np.testing.assert_allclose(found, [0.0, np.log(100), np.log(2)])


def test_what_was_found_can_be_written_down_and_read_back():
    weighing = Weighing(Terms(), ["a", "b"])
    weighing.hear(opened(np.random.default_rng(0), 50, [0.3, 0.2, 0.25, 0.3]))
    worth = weighing.worth(10, 50, {"a": 100, "b": 200})
    facts = json.loads(json.dumps(worth.to_dict()))
    assert Worth.from_dict(facts) == worth
    assert facts["answer"] == worth.answer == "undecided"
    assert facts["each"]["a"]["lower"] == worth.helpers["a"].lower
    assert facts["asked"]["at_least"] == 0.0
    assert f"{worth.together.estimate:+.3f}" in str(worth)


def pilots(better: float, worse: float, n: int, longest: int = 1000) -> list[tuple[int, float, object]]:
    """Pilots on drawn differences: the mean over the opened samples, how many these were, and what was found."""
    found = []
    for seed in range(n):
        chances = [better, 1 - better - worse, worse]
        differences = np.random.default_rng(seed).choice([1.0, 0.0, -1.0], p=chances, size=longest)
        weighing = Weighing(Terms(), ["lab"])
        while weighing.n_opened < longest and not weighing.answered:
            block = differences[weighing.n_opened :][:50]
            weighing.hear(np.array([block > 0, block < 0], dtype=float))
        found.append((weighing.n_opened, differences[: weighing.n_opened].mean(), weighing.gains()[0]))
    return found


@pytest.mark.parametrize(("better", "worse"), [(0.25, 0.15), (0.025, 0.075)])
def test_a_pilot_that_stops_early_tells_a_third_less_of_the_chance_in_its_samples(better, worse):
    found = pilots(better, worse, 120, longest=800)
    answered = [each for each in found if each[2].answer != "undecided"]
    soonest = sorted(answered, key=lambda each: each[0])[: len(answered) // 3]
    sign, truth = np.sign(better - worse), better - worse
    shown, told = (
        sign * (np.mean(values) - truth) for values in zip(*((m, g.estimate) for _, m, g in soonest), strict=True)
    )
    assert shown > 0.015  # so much chance is in the samples
    assert told < 0.67 * shown
    shown, told = (
        sign * (np.mean(values) - truth) for values in zip(*((m, g.estimate) for _, m, g in found), strict=True)
    )
    assert shown > 0.005
    assert abs(told) < 0.75 * shown


def test_without_an_answer_the_gain_is_the_mean_and_with_one_it_is_nearer_to_what_was_asked_for():
    for _, mean, gain in pilots(0.1, 0.06, 40, longest=400):
        assert gain.lower <= gain.estimate <= gain.upper
        if gain.answer == "undecided":
            assert gain.estimate == pytest.approx(mean)
        else:
            assert abs(gain.estimate) < abs(mean)


def test_what_is_opened_after_the_answer_counts_as_it_is():
    first, later = np.repeat([1.0, 0.0, -1.0], [14, 34, 2]), np.repeat([1.0, 0.0], [40, 160])
    weighing = Weighing(Terms(), ["lab"])
    weighing.hear(np.array([first > 0, first < 0], dtype=float))
    [then] = weighing.gains()
    assert then.answer == "yes"
    assert then.estimate < first.mean() - 0.03
    weighing.hear(np.array([later > 0, later < 0], dtype=float))
    [now] = weighing.gains()
    assert now.estimate == pytest.approx((50 * then.estimate + later.sum()) / 250)


@pytest.mark.parametrize("block", [np.ones(60), np.ones(1)])
def test_samples_without_any_spread_leave_the_gain_within_its_limits(block):
    weighing = Weighing(Terms(at_least=-0.99), ["lab"])
    weighing.hear(np.array([block, np.zeros_like(block)]))
    [gain] = weighing.gains()
    assert gain.answer == "yes"
    assert gain.lower <= gain.estimate <= gain.upper
