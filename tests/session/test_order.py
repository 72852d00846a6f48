"""Whose turn it is."""

from collections import Counter

import numpy as np
import pytest

from assistlearn.errors import SettingsError
from assistlearn.methods.orders import chain, order_of, shuffled
from assistlearn.plan import Plan
from tests.session.scripted import Play

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
