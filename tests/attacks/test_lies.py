"""A helper that lies where arithmetic finds it: what it says must follow from what it sent, and from what it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from assistlearn.agent.agent import Task
from assistlearn.alignment import Ids
from assistlearn.core import SoftReward
from assistlearn.core.ignorance import perfect_model_weight
from assistlearn.core.state import DTYPES, largest_level
from assistlearn.core.votes import winners
from assistlearn.errors import AssistLearnError, ProtocolError
from assistlearn.plan import Plan
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    Bits,
    Levels,
    pack_bits,
    pack_codes,
    pack_holdout,
    pack_levels,
    plain_levels,
    unpack_codes,
    unpack_holdout,
    unpack_reward,
)
from tests.agent.recording import Recorder, three_agents
from tests.attacks.attack import attack
from tests.initiator.spoiled import Spoiled, with_

N, N_ASIDE, N_CLASSES, N_NEW = 142, 36, 3, 40
"""Samples to train on, samples held out, classes, samples to predict."""

replace = msgspec.structs.replace


def parties_of(folder, method: str = "ascii", **options: Any):
    return three_agents(folder, **({"method": method, "n_rounds": 3, "holdout": 0.2} | options))


def refuse_turn(folder, spoil: Callable[[Any], Any], *words: str, nth: int = 2, **options: Any) -> None:
    """Let the lab lie in one of its turns: the run stops, names it, and keeps nothing of what it said."""
    parties = parties_of(folder, **options)
    leader = parties.leader(Spoiled(parties.transport(), m.TurnTaken, spoil, nth))
    with pytest.raises(AssistLearnError, match="'lab'") as caught:
        list(leader.train())
    for word in words:
        assert word in str(caught.value)
    assert leader.folder.n_turns == 3 * (nth - 1) + 1  # the clinic's before it, and no more
    assert leader.folder.result() is None


@pytest.fixture(scope="module", params=["ascii", "soft", "ensemble"])
def trained(request, tmp_path_factory):
    """A finished run, and what it predicts without the lab."""
    parties = parties_of(tmp_path_factory.mktemp("trained"), request.param)
    list(parties.leader().train())
    return parties


def refuse_votes(parties, spoil: Callable[[Any], Any], *words: str) -> None:
    """Let the lab lie about its votes: it is named, with the reason, and nothing of what it said counts."""
    new = Ids(parties.holdings("clinic").ids.take(np.arange(N_NEW)), "new")
    prediction = parties.leader(Spoiled(parties.transport(), m.Scores, spoil)).predict(new, np.arange(N_NEW))
    assert list(prediction.absent) == ["lab"]
    for word in words:
        assert word in prediction.absent["lab"]
    gone = parties.leader(Spoiled(parties.transport(), m.Scores, lambda reply: b"")).predict(new, np.arange(N_NEW))
    np.testing.assert_array_equal(prediction.scores, gone.scores)


# -- a turn


def random_reward(reply: m.TurnTaken) -> m.TurnTaken:
    luck = np.random.default_rng(0)
    if isinstance(reply.reward, Bits):
        reward = pack_bits(luck.random(N) < 0.5)
    else:
        reward = pack_levels(luck.integers(-127, 128, N).astype(np.int8), 8, 0.01)
    return replace(reply, reward=reward, model_weight=3.0)


@pytest.mark.parametrize("method", ["ascii", "simple", "soft", "ensemble"])
@attack("helper", "rewards itself at random and gives its model a weight of 3", "refused: the weight does not follow")
def test_random_rewards_with_a_weight_of_three_are_refused(tmp_path, method):
    refuse_turn(tmp_path, random_reward, "turn 5", method=method, overlap="intersection")


@pytest.mark.parametrize("method", ["ascii", "simple", "soft", "ensemble"])
@pytest.mark.parametrize("share", [1.01, 0.99])
@attack("helper", "says that its model weighs a hundredth more, or less", "refused: the initiator works it out itself")
def test_a_weight_that_is_a_little_off_is_refused(tmp_path, method, share):
    def off(reply: m.TurnTaken) -> m.TurnTaken:
        return replace(reply, model_weight=share * reply.model_weight)

    refuse_turn(tmp_path, off, "does not follow from the reward", method=method)


@pytest.mark.parametrize("method", ["ascii", "soft"])
@attack("helper", "cuts its weight as honest rewards may, and then says more", "refused: it may only be cut")
def test_a_weight_may_be_cut_where_rewards_turn_honest_but_not_raised(tmp_path, method):
    def louder(reply: m.TurnTaken) -> m.TurnTaken:
        return replace(reply, model_weight=reply.model_weight + 5.0)

    refuse_turn(tmp_path, louder, "at most", method=method, reward="auto")


@attack("helper", "says another mean reward than its reward has", "refused: it does not follow")
def test_another_mean_reward_is_refused(tmp_path):
    refuse_turn(tmp_path, lambda r: replace(r, mean_reward=0.999), "a mean reward of 0.999", "turn 5")


@attack("helper", "says that its model is perfect, which its reward denies", "refused: it does not follow")
def test_a_perfect_model_that_is_none_is_refused(tmp_path):
    refuse_turn(tmp_path, with_(perfect=True), "perfect, against its reward")


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, 1e300])
@attack("helper", "gives its model a weight that is infinite, huge or no number", "refused")
def test_a_weight_that_is_no_number_is_refused(tmp_path, weight):
    refuse_turn(tmp_path, with_(model_weight=weight))


@attack("helper", "sends a reward for fewer samples than there are", "refused: the numbers differ")
def test_a_reward_of_another_length_is_refused(tmp_path):
    refuse_turn(tmp_path, with_(reward=pack_bits(np.ones(N - 1, bool))), "Expected 142")


@attack("helper", "claims in a few bytes to send two thousand million rewards", "refused before anything is unpacked")
def test_a_few_bytes_that_claim_to_be_gigabytes_are_refused(tmp_path):
    refuse_turn(tmp_path, with_(reward=Bits(2**31, 0, "range", b"")))


@pytest.mark.parametrize("field", [{"run": "another-run"}, {"turn": 2}])
@attack("helper", "gives an answer that belongs to another turn or run", "refused: it names them")
def test_an_answer_to_another_turn_or_run_is_refused(tmp_path, field):
    refuse_turn(tmp_path, with_(**field))


@pytest.mark.parametrize("method", ["ascii", "simple"])
@attack("helper", "gives the answer of an earlier turn again", "refused: under the present ignorance it is worth less")
def test_an_old_answer_under_a_new_number_is_refused(tmp_path, method):
    first: list[m.TurnTaken] = []

    def again(reply: m.TurnTaken) -> m.TurnTaken:
        first.append(reply)
        return reply if len(first) == 1 else replace(first[0], turn=reply.turn)

    parties = parties_of(tmp_path, method)
    with pytest.raises(AssistLearnError, match="'lab', turn 5: a model weight of"):
        list(parties.leader(Spoiled(parties.transport(), m.TurnTaken, again)).train())


def claiming_rewards(reply: m.TurnTaken) -> m.TurnTaken:
    """Be wrong, or unsure, about every sample that it does not hold: of these the ignorance would rise."""
    if isinstance(reply.reward, Levels):
        levels = np.tile([-1, *[1] * (N_CLASSES - 1)], N)
        return replace(reply, reward=plain_levels(levels, reply.reward.bits, reply.reward.scale))
    return replace(reply, reward=pack_bits(np.zeros(N, bool)))


@pytest.mark.parametrize("method", ["ascii", "soft"])
@attack("helper", "rewards itself for samples that it does not hold", "refused: the matching of ids has told which")
def test_rewards_for_samples_that_it_does_not_hold_are_refused(tmp_path, method):
    refuse_turn(tmp_path, claiming_rewards, "training samples that it does not hold", method=method)


def claiming_holdout(reply: m.TurnTaken) -> m.TurnTaken:
    answer = unpack_holdout(reply.holdout, N_ASIDE, N_CLASSES)
    if isinstance(answer, SoftReward):
        levels = np.where(answer.levels == 0, answer.levels.max(), answer.levels)
        return replace(reply, holdout=pack_holdout(SoftReward(levels, answer.scale, answer.bits), N_CLASSES))
    return replace(reply, holdout=pack_holdout(np.maximum(answer, 0), N_CLASSES))


@pytest.mark.parametrize("method", ["ascii", "soft"])
@attack("helper", "answers for hold-out samples that it does not hold", "refused: the matching of ids has told which")
def test_answers_for_hold_out_samples_that_it_does_not_hold_are_refused(tmp_path, method):
    refuse_turn(tmp_path, claiming_holdout, "hold-out samples that it does not hold", method=method)


@attack("helper", "answers for hold-out samples louder than any model can", "refused: a model is never surer than 99 %")
def test_hold_out_answers_that_are_too_loud_are_refused(tmp_path):
    def louder(reply: m.TurnTaken) -> m.TurnTaken:
        answer = unpack_holdout(reply.holdout, N_ASIDE, N_CLASSES)
        return replace(reply, holdout=plain_levels(answer.levels, answer.bits, 100.0 * answer.scale))

    refuse_turn(tmp_path, louder, "a model can say at most", method="soft")


@attack("helper", "says to be surer of the truth than any model can", "refused: a model is never surer than 99 %")
def test_rewards_that_are_too_loud_are_refused(tmp_path):
    def louder(reply: m.TurnTaken) -> m.TurnTaken:
        begin = decode(next((tmp_path / "lab").rglob("begin.msg")).read_bytes())
        reward = unpack_reward(reply.reward, unpack_codes(begin.labels, N, N_CLASSES), N_CLASSES)
        return replace(reply, reward=plain_levels(reward.levels, reward.bits, 100.0 * reward.scale))

    refuse_turn(tmp_path, louder, "a model can say at most", method="soft")


@attack("helper", "gives another answer when a run goes on after a stop", "not asked: the first answer is kept")
def test_a_turn_that_was_answered_is_not_asked_again(tmp_path):
    parties = parties_of(tmp_path)
    with pytest.raises(AssistLearnError):
        list(parties.leader(Spoiled(parties.transport(), m.TurnTaken, lambda reply: b"", nth=3)).train())
    kept = [parties.leader().folder.turn(number) for number in (2, 5)]
    recorder = Recorder(parties.transport())
    list(parties.leader(recorder).train())
    asked = [decode(request) for agent, request, _ in recorder.exchanges if agent == "lab"]
    assert [message.turn for message in asked if isinstance(message, m.TakeTurn)] == [8]
    assert [parties.leader().folder.turn(number) for number in (2, 5)] == kept


@attack(
    "helper",
    "says to be right about every sample",
    "not found: only labels that it has not seen can tell. Its weight is that of a perfect model, which is bounded",
)
def test_a_claim_to_be_right_everywhere_is_bounded(tmp_path):
    parties = parties_of(tmp_path, holdout=None, n_rounds=1)
    most = perfect_model_weight(int(parties.held["lab"].sum()), N_CLASSES)

    def right(reply: m.TurnTaken) -> m.TurnTaken:
        reward = pack_bits(np.ones(reply.reward.n, bool))
        return replace(reply, reward=reward, model_weight=most, mean_reward=1.0, perfect=True)

    leader = parties.leader(Spoiled(parties.transport(), m.TurnTaken, right))
    list(leader.train())
    weights = [each["model_weight"] for each in leader.folder.result()["contributions"] if each["agent"] == "lab"]
    assert weights == [most]


# -- votes


@attack("helper", "votes 1e300 for a class", "its votes do not count: they are bounded by its models' weights")
def test_votes_beyond_all_weights_do_not_count(trained):
    def loud(reply: m.Scores) -> m.Scores:
        return replace(reply, scores=replace(reply.scores, scale=1e300))

    refuse_votes(trained, loud, "1e+300", "the weight of its models requires")


@attack("helper", "votes a little louder than its models can", "its votes do not count: the sum of weights is known")
def test_votes_that_are_a_little_too_loud_do_not_count(trained):
    def loud(reply: m.Scores) -> m.Scores:
        return replace(reply, scores=replace(reply.scores, scale=1.01 * reply.scores.scale))

    refuse_votes(trained, loud, "the weight of its models requires")


@attack("helper", "votes for all classes at once", "nothing: votes of a sample are taken to sum to zero")
def test_votes_for_all_classes_say_nothing(trained):
    def all_of_them(reply: m.Scores) -> m.Scores:
        levels = np.full(reply.scores.n, largest_level(reply.scores.bits), DTYPES[reply.scores.bits])
        return replace(reply, scores=plain_levels(levels, reply.scores.bits, reply.scores.scale))

    new = Ids(trained.holdings("clinic").ids.take(np.arange(N_NEW)), "new")
    said, gone = (
        trained.leader(Spoiled(trained.transport(), m.Scores, spoil)).predict(new, np.arange(N_NEW))
        for spoil in (all_of_them, lambda reply: b"")
    )
    assert not said.absent
    assert np.array_equal(winners(said.scores), winners(gone.scores))


@attack(
    "helper",
    "votes for two classes as loudly as it could for one",
    "its votes do not count where a model names one class; with `soft` a model may say so",
)
def test_votes_for_two_classes_do_not_count_where_models_name_one(trained):
    def against(reply: m.Scores) -> m.Scores:
        most = largest_level(reply.scores.bits)
        levels = np.tile(np.array([most, most, -most], DTYPES[reply.scores.bits]), reply.scores.n // N_CLASSES)
        return replace(reply, scores=plain_levels(levels, reply.scores.bits, reply.scores.scale))

    if trained.options["method"] != "soft":
        refuse_votes(trained, against, "for a class; its models weigh")
    else:
        new = Ids(trained.holdings("clinic").ids.take(np.arange(N_NEW)), "new")
        leader = trained.leader(Spoiled(trained.transport(), m.Scores, against))
        assert not leader.predict(new, np.arange(N_NEW)).absent


@attack(
    "helper",
    "gives its model less weight than it is worth, where a combination is learned",
    "refused: with honest rewards there is one weight, also where the plan says auto",
)
def test_a_weight_that_is_too_small_is_refused_where_a_combination_is_learned(tmp_path):
    def modest(reply: m.TurnTaken) -> m.TurnTaken:
        return replace(reply, model_weight=0.5 * reply.model_weight)

    combined = {"method": "soft", "reward": "auto", "combine": "auto", "n_rounds": 1}
    refuse_turn(tmp_path, modest, "does not follow from the reward", nth=1, **combined)


@attack(
    "initiator",
    "names tens of thousands of classes, so that a helper makes room for a score of each of every sample",
    "refused before anything is made room for",
)
def test_more_scores_than_there_is_room_for_are_refused():
    n, n_classes = 5_000, 60_000
    labels = pack_codes(np.zeros(n, dtype=np.int64), n_classes)
    told = Plan(method="soft").told()
    begin = m.Begin(
        run="r",
        n_samples=n,
        n_classes=n_classes,
        labels=labels,
        seed=0,
        turn_seeds=0,
        weights=None,
        holdout=None,
        **told,
    )
    with pytest.raises(ProtocolError, match="300,000,000 scores; at most 268,435,456 are kept here"):
        Task.of(begin, np.arange(n), 0.0)


@pytest.mark.parametrize("said", [1.0, 1e6, 0.0, math.nan, -1.0])
@attack("helper", "says that its models weigh more in all than they did", "its votes do not count: the sum is known")
def test_another_sum_of_weights_does_not_count(trained, said):
    refuse_votes(trained, with_(total_weight=said), "in all; in the result they weigh")


@attack("helper", "votes on people whom it does not hold", "its votes do not count: the matching of ids has told whom")
def test_votes_on_samples_that_it_does_not_hold_do_not_count(trained):
    def on_all(reply: m.Scores) -> m.Scores:
        levels = np.zeros((N_NEW, N_CLASSES), DTYPES[reply.scores.bits])
        scores = plain_levels(levels, reply.scores.bits, reply.scores.scale)
        return replace(reply, known=pack_bits(np.ones(N_NEW, bool)), scores=scores)

    refuse_votes(trained, on_all, "holds other samples than it said")


@pytest.mark.parametrize("scale", [math.inf, math.nan, 0.0, -1.0])
@attack("helper", "votes with levels that are worth no number", "its votes do not count")
def test_votes_that_are_no_numbers_do_not_count(trained, scale):
    def none(reply: m.Scores) -> m.Scores:
        return replace(reply, scores=replace(reply.scores, scale=scale))

    refuse_votes(trained, none, "the weight of its models requires")


@attack("helper", "claims in a few bytes to vote on a thousand million samples", "its votes do not count")
def test_votes_on_a_thousand_million_samples_do_not_count(trained):
    def many(reply: m.Scores) -> m.Scores:
        return replace(reply, scores=replace(reply.scores, n=2**30, data=b""))

    refuse_votes(trained, many, "Expected")
