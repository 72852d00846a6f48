"""The only loop: it follows the paper's, tells everybody everything they need, and stops for a named reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assistlearn.errors import SettingsError
from assistlearn.events import RoundFinished, RunFinished, StopReason, TurnFinished
from assistlearn.methods.hard import Ascii
from assistlearn.methods.orders import chain, order_of, shuffled
from assistlearn.plan import Plan
from assistlearn.session import HoldOut
from tests.core import paper
from tests.session.scripted import Play, Script


@st.composite
def scripts(draw: st.DrawFn) -> tuple[Script, np.ndarray, int, int, np.ndarray]:
    """Agents, rounds, labels and answers that are right more often than not, and initial weights."""
    n_classes, n, n_rounds = draw(st.integers(2, 5)), draw(st.integers(3, 15)), draw(st.integers(1, 4))
    codes = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    labels = np.array(draw(codes))
    right = st.lists(st.sampled_from([True, True, True, False]), min_size=n, max_size=n)
    script = {
        f"agent {m}": [np.where(draw(right), labels, draw(codes)) for _ in range(n_rounds)]
        for m in range(draw(st.integers(1, 4)))
    }
    start = np.array(draw(st.lists(st.floats(0.5, 2.0), min_size=n, max_size=n)))
    return script, labels, n_classes, n_rounds, start


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(scripts(), st.booleans(), st.randoms(use_true_random=False))
def test_it_follows_the_papers_loop(case, simple: bool, random):
    script, labels, n_classes, n_rounds, start = case
    orders = [random.sample(list(script), len(script)) for _ in range(n_rounds)]
    play = Play(
        script,
        labels,
        n_classes,
        Plan(n_rounds=n_rounds, order=lambda round, agents, rng: orders[round - 1], method="ascii"),
        interchange=not simple,
        start=start,
    )
    verdicts = [event.model_weight for event in play.events if isinstance(event, TurnFinished)]
    assume(not any(1e-11 < abs(weight) < 1e-9 for weight in verdicts))  # too close to chance for two ways to add up
    assume(sum(map(abs, verdicts)) < 200)  # the paper's ignorance, not being a logarithm, must not underflow
    expected = paper.train(
        labels, n_classes, orders, lambda agent, t, w: (None, script[agent][t - 1]), simple=simple, start=start
    )
    assert [(c.round, c.agent) for c in play.contributions] == [kept[:2] for kept in expected.kept]
    np.testing.assert_allclose(
        [c.model_weight for c in play.contributions], [kept[2] for kept in expected.kept], rtol=1e-10, atol=1e-10
    )
    np.testing.assert_allclose(play.state.ignorance(), expected.ignorance, rtol=1e-8, atol=1e-12)


@given(scripts())
def test_what_a_party_hears_is_enough_to_rebuild_the_state(case):
    script, labels, n_classes, n_rounds, start = case
    play = Play(script, labels, n_classes, Plan(n_rounds=n_rounds, method="ascii"), start=start)
    for party in play.parties:
        assert party.heard == play.contributions
        assert party._state.ignorance().tobytes() == play.state.ignorance().tobytes()


def everyone_errs_differently(n_rounds: int, names: Sequence[str] = ("a", "b")) -> tuple[Script, np.ndarray]:
    """Models that are all kept: no two of them err on the same sample."""
    labels = np.tile([0, 1, 2], 20)
    wrong = iter(np.random.RandomState(0).permutation(60).reshape(-1, 4))
    script: Script = {name: [] for name in names}
    for name in names:
        for _ in range(n_rounds):
            answers = labels.copy()
            answers[next(wrong)] += 1
            script[name].append(answers % 3)
    return script, labels


def test_events_tell_the_whole_story_in_order():
    script, labels = everyone_errs_differently(2)
    play = Play(script, labels, 3, Plan(n_rounds=2, method="ascii"))
    kinds = [type(event) for event in play.events]
    assert kinds == [TurnFinished, TurnFinished, RoundFinished] * 2 + [RunFinished]
    turns = [event for event in play.events if isinstance(event, TurnFinished)]
    assert [(t.turn, t.round, t.agent) for t in turns] == [(1, 1, "a"), (2, 1, "b"), (3, 2, "a"), (4, 2, "b")]
    assert play.events[-1] == play.finished == RunFinished(StopReason.ALL_ROUNDS_DONE, 2)
    for turn in turns:
        right = script[turn.agent][turn.round - 1] == labels
        assert turn.contribution.accuracy == right.mean()
        assert turn.contribution.turn == turn.turn


def test_mean_reward_is_weighted_by_the_ignorance():
    script, labels = everyone_errs_differently(1)
    start = np.linspace(1, 2, 60)
    first = Play(script, labels, 3, Plan(n_rounds=1, method="ascii"), start=start).contributions[0]
    right = script["a"][0] == labels
    assert first.mean_reward == pytest.approx((start * right).sum() / start.sum())
    assert first.accuracy == right.mean()


def test_an_agent_that_is_no_better_than_chance_sits_its_turn_out():
    script, labels = everyone_errs_differently(3)
    script["b"][1] = (labels + 1) % 3
    play = Play(script, labels, 3, Plan(n_rounds=3, weak_agent="skip", method="ascii"))
    assert [(c.round, c.agent) for c in play.contributions] == [(1, "a"), (1, "b"), (2, "a"), (3, "a"), (3, "b")]
    sat_out = play.events[4]
    assert sat_out.agent == "b"
    assert sat_out.contribution is None
    assert sat_out.model_weight <= 0
    assert play.contributions[3].turn == 5  # turns are counted, sat out or not
    assert play.finished == RunFinished(StopReason.ALL_ROUNDS_DONE, 3)


def test_with_the_papers_literal_rule_it_ends_the_run():
    script, labels = everyone_errs_differently(3)
    script["b"][1] = (labels + 1) % 3
    play = Play(script, labels, 3, Plan(n_rounds=3, weak_agent="stop", method="ascii"))
    assert [(c.round, c.agent) for c in play.contributions] == [(1, "a"), (1, "b"), (2, "a")]
    assert play.finished == RunFinished(StopReason.WEAK_AGENT, 2)


def test_a_round_that_is_ended_before_anything_was_added_does_not_count():
    script, labels = everyone_errs_differently(3)
    script["a"][1] = (labels + 1) % 3
    play = Play(script, labels, 3, Plan(n_rounds=3, weak_agent="stop", method="ascii"))
    assert play.finished == RunFinished(StopReason.WEAK_AGENT, 1)


def test_a_whole_round_without_a_contribution_ends_the_run():
    script, labels = everyone_errs_differently(5)
    for name in script:
        script[name][2] = (labels + 1) % 3
    play = Play(script, labels, 3, Plan(n_rounds=5, method="ascii"))
    assert play.finished == RunFinished(StopReason.NO_AGENT_CONTRIBUTED, 2)
    assert [event.round for event in play.events if isinstance(event, RoundFinished)] == [1, 2, 3]


def test_when_every_agent_is_perfect_the_run_ends_with_that_round():
    script, labels = everyone_errs_differently(5)
    for name in script:
        script[name][1] = labels
    play = Play(script, labels, 3, Plan(n_rounds=5, method="ascii"))
    assert play.finished == RunFinished(StopReason.ALL_AGENTS_PERFECT, 2)
    assert [c.perfect for c in play.contributions] == [False, False, True, True]


def test_one_perfect_agent_passes_the_ignorance_on():
    script, labels = everyone_errs_differently(3)
    script["a"] = [labels] * 3
    play = Play(script, labels, 3, Plan(n_rounds=3, method="ascii"))
    assert play.finished == RunFinished(StopReason.ALL_ROUNDS_DONE, 3)
    assert len(play.contributions) == 6


def test_seeds_follow_from_the_runs_seed_and_differ_between_turns():
    script, labels = everyone_errs_differently(3)

    def seeds(seed: int) -> list[int]:
        return [
            turn.seed
            for party in Play(script, labels, 3, Plan(n_rounds=3, seed=seed, method="ascii")).parties
            for turn in party.turns
        ]

    assert seeds(1) == seeds(1)
    assert len({*seeds(1), *seeds(2)}) == 12


def holdout_play(held_out: Sequence[Sequence[int]], patience: int, **options) -> tuple[Play, HoldOut]:
    """An agent whose models answer ``held_out`` for two hold-out samples of class 0, and one that always sits out.

    Each model of the first errs on another training sample, so that all of them are kept.
    """
    labels = np.array([0, 1, 0, 1, 0])
    models = []
    for t, aside in enumerate(held_out):
        answers = np.r_[labels, aside]
        answers[t % 5] = 1 - labels[t % 5]
        models.append(answers)
    holdout = HoldOut(np.array([0, 0]), 2, patience, Ascii())
    script = {"a": models, "b": [np.r_[1 - labels, [1, 1]]] * len(held_out)}
    return Play(script, labels, 2, Plan(method="ascii", n_rounds=len(held_out), **options), holdout=holdout), holdout


def test_the_run_stops_when_the_error_on_the_hold_out_has_not_fallen_for_some_rounds():
    play, _ = holdout_play([[0, 1], [0, 1], [0, 1], [0, 1], [0, 0]], patience=2)
    accuracies = [event.holdout_accuracy for event in play.events if isinstance(event, RoundFinished)]
    assert accuracies == [0.5, 0.5, 0.5]
    assert play.finished == RunFinished(StopReason.HOLDOUT_STOPPED_IMPROVING, 1)


def test_patience_starts_anew_whenever_the_error_falls():
    always_wrong, half, right = [1, 1], [0, 1], [0, 0]
    play, _ = holdout_play([always_wrong, half, half, right, right, right, right], patience=3)
    accuracies = [event.holdout_accuracy for event in play.events if isinstance(event, RoundFinished)]
    best = accuracies.index(max(accuracies)) + 1
    assert max(accuracies) == 1.0
    assert play.finished.n_rounds == best
    assert len(accuracies) == min(best + 3, 7)


def test_a_run_that_ends_for_another_reason_is_cut_back_to_the_best_round_too():
    play, _ = holdout_play([[0, 0], [1, 1], [1, 1], [1, 1]], patience=50)
    accuracies = [event.holdout_accuracy for event in play.events if isinstance(event, RoundFinished)]
    assert accuracies[0] == 1.0
    assert min(accuracies) < 1.0
    assert play.finished == RunFinished(StopReason.ALL_ROUNDS_DONE, 1)


def test_a_weak_agent_in_the_first_round_leaves_the_first_agents_model_with_a_hold_out():
    play, holdout = holdout_play([[0, 0], [0, 0]], patience=2, weak_agent="stop")
    assert holdout.best_round == 1  # what counts is judged, though not every agent has had its turn
    assert [event.holdout_accuracy for event in play.events if isinstance(event, RoundFinished)] == [1.0]
    assert play.finished == RunFinished(StopReason.WEAK_AGENT, 1)


# -- whose turn it is


LABELS = np.tile([0, 1], 6)
NAMES = ["a", "b", "c"]


def turns(order, n_rounds: int = 4, seed: int = 0) -> list[list[str]]:
    """Return the agents of each round, in a session whose agents all contribute."""
    script = {}
    for m, name in enumerate(NAMES):
        answers = LABELS.copy()
        answers[m] = 1 - answers[m]
        script[name] = [answers] * n_rounds
    play = Play(script, LABELS, 2, Plan(n_rounds=n_rounds, order=order, seed=seed, method="ascii"), interchange=False)
    rounds: list[list[str]] = [[] for _ in range(n_rounds)]
    for event in play.events:
        if hasattr(event, "agent"):
            rounds[event.round - 1].append(event.agent)
    return rounds


def test_a_chain_is_the_same_in_every_round():
    assert turns("chain") == [NAMES] * 4


def test_a_random_order_is_a_fresh_permutation_in_every_round():
    rounds = turns("random", n_rounds=12)
    assert all(sorted(names) == NAMES for names in rounds)
    assert len({tuple(names) for names in rounds}) > 2
    assert rounds == turns("random", n_rounds=12)
    assert rounds != turns("random", n_rounds=12, seed=1)


def test_every_permutation_is_as_likely_as_any_other():
    rng = np.random.RandomState(0)
    counts = Counter(tuple(shuffled(1, NAMES, rng)) for _ in range(6000))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 5 * np.sqrt(1000) for count in counts.values())


def test_a_callable_is_told_the_round_the_agents_and_a_source_of_chance():
    def order(round, agents, rng):
        assert isinstance(rng, np.random.RandomState)
        return agents[::-1] if round % 2 else agents

    assert turns(order) == [NAMES[::-1], NAMES] * 2


def test_a_callable_may_leave_agents_out_or_name_one_twice():
    assert turns(lambda round, agents, rng: ["b", "a", "b"], n_rounds=2) == [["b", "a", "b"]] * 2


def test_a_callable_may_change_the_list_it_is_given():
    def without_the_last(round, agents, rng):
        agents.pop()
        return agents

    assert turns(without_the_last, n_rounds=3) == [["a", "b"]] * 3


@pytest.mark.parametrize("said", [["a", "d"], [], ["a", 1], "d", None, 3])
def test_an_order_that_cannot_be_followed_is_refused_with_the_round_and_the_agents(said):
    with pytest.raises(SettingsError, match=r"round 2.*\['a', 'b', 'c'\]"):
        turns(lambda round, agents, rng: agents if round == 1 else said)


@pytest.mark.parametrize("order", ["sideways", 3, None, ["a"]])
def test_an_unknown_order_is_refused_with_those_that_are_known(order):
    with pytest.raises(SettingsError, match=r"chain.*random.*callable"):
        order_of(order)


def test_names_stand_for_the_two_orders():
    assert order_of("chain") is chain
    assert order_of("random") is shuffled
