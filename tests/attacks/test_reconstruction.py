"""An initiator tries to rebuild a helper's private columns within one run that it is allowed."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import msgspec
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn.core.ignorance import effective_size
from assistlearn.errors import RefusedError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, pack_bits, pack_codes, pack_numbers
from assistlearn.protocol.codec import HEADER_BYTES, MARK
from bench.reconstruction.__main__ import MARGIN, outcome
from bench.reconstruction.attacks import mixed, ordinary, weight_on
from bench.reconstruction.hostile import RUN, HostileInitiator, helper
from bench.reconstruction.scenes import made
from tests.attacks.attack import attack

SCENE = made(np.random.default_rng(0))
STUMP = DecisionTreeClassifier(max_depth=1)
N = len(SCENE.labels)
TWO = np.where(np.isin(np.arange(N), [np.argmin(SCENE.labels), np.argmax(SCENE.labels)]), 1.0, 1e-7)


def initiator(folder: Path, **task) -> HostileInitiator:
    return HostileInitiator(helper(folder, SCENE.columns, STUMP), SCENE.labels, **task)


def with_field(message: m.Message, more: object) -> bytes:
    """The bytes of a message with a field that its type does not have."""
    body = [*msgspec.msgpack.decode(encode(message)[HEADER_BYTES:]), more]
    return struct.pack("<4sH", MARK, m.VERSION) + msgspec.msgpack.encode(body)


def first_turn(**changes) -> m.TakeTurn:
    return m.TakeTurn(**({"run": RUN, "turn": 1, "round": 1, "since": 0, "news": []} | changes))


@attack(
    "initiator",
    "sends a helper a state of its own making, with all weight on two people, so that the model must tell them apart",
    "refused: no message has a state. A helper computes it from the rewards that it was told",
)
def test_a_helper_takes_no_state_from_others(tmp_path):
    run = initiator(tmp_path)
    vectors = [msgspec.to_builtins(pack_numbers(np.log(TWO))), None]
    reply = decode(run._service.answer(with_field(first_turn(), [1, 1, vectors])))
    assert isinstance(reply, m.Problem)
    assert "at most length 5, got 6" in reply.text


@attack(
    "initiator",
    "chooses the seed of a turn, to have the same model fitted again and again with other chance",
    "refused: a helper draws the seeds of all turns from one number, told before the first turn",
)
def test_a_helper_takes_no_seed_for_a_turn(tmp_path):
    run = initiator(tmp_path)
    reply = decode(run._service.answer(with_field(first_turn(), 7)))
    assert isinstance(reply, m.Problem)
    assert "at most length 5, got 6" in reply.text


@attack(
    "initiator",
    "invents a model of another agent with a weight that moves all ignorance to two people",
    "refused: a helper computes what the model's reward is worth, and the weight does not follow from it",
)
def test_a_weight_that_does_not_follow_from_its_reward_is_refused(tmp_path):
    run = initiator(tmp_path)
    news = m.News(1, 1, 40.0, pack_bits(TWO < 1.0))
    with pytest.raises(RefusedError, match=r"News of turn 1: a model weight of 40\.0 does not follow"):
        run.say(first_turn(turn=2, news=[news]))
    np.testing.assert_array_equal(run.turn(), initiator(tmp_path / "another").turn())


@attack(
    "initiator",
    "invents models, with weights that follow from their rewards, until all ignorance lies on two people",
    "refused: no turn is taken where fewer people count than the helper's owner asks for (min_effective)",
)
def test_a_helper_fits_no_model_to_two_people(tmp_path):
    run = initiator(tmp_path)
    news = run.aim(TWO)
    with pytest.raises(RefusedError, match=r"all weight lies on 2\.\d of 300 people; its owner asks for at least 3"):
        run.turn(news)


@attack(
    "initiator",
    "gives all initial weight to two people",
    "refused, for the same reason",
)
def test_initial_weights_on_two_people_are_of_no_use(tmp_path):
    with pytest.raises(RefusedError, match=r"all weight lies on 2\.0 of 300 people"):
        initiator(tmp_path, weights=TWO).turn()


@attack(
    "initiator",
    "asks for several turns in one round",
    "refused: an agent has one turn in a round",
)
def test_a_second_turn_in_a_round_is_refused(tmp_path):
    run = initiator(tmp_path)
    run.turn()
    run.round -= 1
    with pytest.raises(RefusedError, match="has already had its turn in round 1"):
        run.turn()


@attack(
    "initiator",
    "keeps a helper's own models out of the news, so that its ignorance stays where the initiator wants it",
    "refused: a helper knows which of its models count",
)
def test_a_helpers_own_models_cannot_be_left_out(tmp_path):
    run = initiator(tmp_path)
    run.turn()
    run._own = []
    with pytest.raises(RefusedError, match=r"turn 1 counts, but the news leave it out"):
        run.turn()


@attack(
    "initiator",
    "asks for a turn again, after other news",
    "gets the same answer again, from the helper's record",
)
def test_a_turn_is_taken_once(tmp_path):
    run = initiator(tmp_path)
    run.turn()
    news = [m.News(0, 1, 0.1, pack_bits(TWO < 1.0))]
    again = [run.say(first_turn(news=sent)) for sent in ([], news)]
    assert again[0] == again[1]


@attack(
    "initiator",
    "begins the same run again with other labels",
    "refused: a run has one task",
)
def test_a_run_has_one_task(tmp_path):
    run = initiator(tmp_path)
    run.turn()
    for changed in ({"labels": pack_codes(1 - SCENE.labels, 2)}, {"turn_seeds": 5}, {"weights": pack_numbers(TWO)}):
        with pytest.raises(RefusedError, match="with another task"):
            run.say(msgspec.structs.replace(run.task, **changed))


@attack(
    "initiator",
    "tells a helper that boosts alone of models that others made",
    "refused: it hears of its own models only",
)
def test_a_helper_that_boosts_alone_hears_of_nobody(tmp_path):
    run = initiator(tmp_path, method="ensemble")
    with pytest.raises(RefusedError, match="every agent boosts alone"):
        run.say(first_turn(turn=2, news=[m.News(1, 1, 0.1, pack_bits(np.arange(N) % 3 > 0))]))


@attack(
    "initiator",
    "sets labels by chance, and reads from where a useless model is right what the helper's table is like",
    "learns that the model is useless: where it is right is not said",
)
def test_where_a_useless_model_is_right_is_not_said(tmp_path):
    labels = np.random.default_rng(1).permutation(np.arange(N) % 2)
    plan = {"reward": "out-of-fold", "cv": 5}
    run = HostileInitiator(helper(tmp_path, SCENE.columns, STUMP), labels, **plan)
    taken = run.say(first_turn())
    assert taken.model_weight <= 0.0
    assert taken.reward == pack_bits(np.ones(N, bool))


@attack(
    "initiator",
    "sends some kilobytes of news that unpack to gigabytes",
    "refused after the first: news are checked and applied one by one, in the memory of one",
)
def test_news_take_the_memory_of_one(tmp_path):
    run = initiator(tmp_path)
    right = pack_bits(np.arange(N) % 3 > 0)
    weight = run.state.judge(np.arange(N) % 3 > 0).model_weight

    def peak(n_news: int) -> int:
        news = [m.News(turn + 1, turn + 1, weight * 1e-6, right) for turn in range(n_news)]
        news[-1] = m.News(n_news, n_news, 0.5, Bits(N, N + 1, "raw", b""))
        message = first_turn(turn=n_news + 1, round=n_news, news=news)
        replica = run._service.run(RUN).loaded()
        tracemalloc.start()
        try:
            with pytest.raises(Exception, match="cannot hold"):
                replica._catch_up(message)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    few, many = peak(3), peak(300)
    assert many < few + 20_000
    assert effective_size(run._service.run(RUN).loaded().state.ignorance()) == pytest.approx(N)


@attack(
    "initiator",
    "asks for 20 turns under weights of its choice, with labels by chance, to find the order of a column",
    "comes no nearer to its best column than an ordinary run of 20 rounds, and .15. To a column that its true labels "
    "have nothing to do with it does, unless the owner asks for proof (`python -m bench.reconstruction`)",
)
@pytest.mark.parametrize("n_people", [20, 150])
def test_weights_of_its_choice_tell_little_more_than_an_ordinary_run(n_people):
    usual = outcome(ordinary, SCENE, STUMP, 20, seed=0).close[20].max()
    attacked = outcome(weight_on(n_people), SCENE, STUMP, 20, seed=0).close[20].max()
    assert attacked <= usual + MARGIN


@attack(
    "initiator",
    "sets labels by chance and moves the weights, to learn columns that have nothing to do with its true labels",
    "learns nothing of any column where the helper's owner asks for proof (`proof = true`): no model is better than "
    "chance beyond doubt, so none is told of, and none votes. Without that key it learns columns well",
)
def test_labels_by_chance_tell_nothing_where_the_owner_asks_for_proof():
    usual = outcome(ordinary, SCENE, STUMP, 20, seed=0, proof=True)
    assert usual.n_said[20] > 0
    attacked = outcome(weight_on(150), SCENE, STUMP, 20, seed=0, proof=True)
    assert attacked.n_said[20] == 0
    assert (attacked.close[20] - usual.close[20]).max() <= MARGIN
    without = outcome(weight_on(150), SCENE, STUMP, 20, seed=0)
    assert (without.close[20] - outcome(ordinary, SCENE, STUMP, 20, seed=0).close[20]).max() > 2 * MARGIN


@attack(
    "initiator",
    "asks a helper whose owner asks for proof for rewards on the people that a model was fitted to",
    "refused before the first turn: such rewards prove nothing",
)
@pytest.mark.parametrize("reward", ["in-sample", "auto"])
def test_in_sample_rewards_are_refused_where_the_owner_asks_for_proof(tmp_path, reward):
    own = helper(tmp_path, SCENE.columns, STUMP, proof=True)
    with pytest.raises(RefusedError, match='Start a run with reward = "out-of-fold"'):
        HostileInitiator(own, SCENE.labels, reward=reward)


@attack(
    "initiator",
    "tells the truth about half of the people, so that models are proved, and moves the weight to chance labels",
    "comes no nearer to any column than an ordinary run does, and .15, where the helper's owner asks for proof",
)
def test_true_labels_prove_nothing_about_others():
    usual = outcome(ordinary, SCENE, STUMP, 20, seed=0, proof=True).close[20]
    attacked = outcome(mixed(0.5), SCENE, STUMP, 20, seed=0, proof=True).close[20]
    assert (attacked - usual).max() <= MARGIN
