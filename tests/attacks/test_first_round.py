"""Lies about a first round in which agents learn apart."""

from __future__ import annotations

import msgspec
import pytest

from assistlearn.errors import ProtocolError, RefusedError
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from tests.attacks.attack import attack
from tests.initiator.overheard import Overheard, parties


@attack(
    "initiator",
    "tells a helper of others in a first round in which agents learn apart",
    "refused: nobody hears of the others before the second round",
)
def test_a_helper_refuses_news_before_its_first_turn(tmp_path):
    made = parties(tmp_path)
    first = Overheard(made)
    list(made.leader(first).train())
    told = first.turns[-1][1].news[:1]

    def spoil(agent, turn):
        return msgspec.structs.replace(turn, news=told) if turn.round == 1 and agent == "scans" else turn

    again = parties(tmp_path / "again")
    with pytest.raises(RefusedError, match="no agent hears of the others before the second round"):
        list(again.leader(Overheard(again, spoil)).train())


@attack(
    "initiator",
    "says after a first round apart that a reward counts for more, or less, than it does",
    "refused: it follows from the rewards, and the helper has them all",
)
@pytest.mark.parametrize(("place", "factor"), [(0, 1.5), (0, 0.5), (1, 1.5), (2, 0.0)])
def test_a_helper_refuses_a_step_that_does_not_follow_from_the_reward(tmp_path, place, factor):
    made = parties(tmp_path)

    def spoil(agent, turn):
        if turn.round == 1:
            return turn
        news = list(turn.news)
        news[place] = m.News(news[place].turn, 1, factor * news[place].model_weight, news[place].reward)
        return msgspec.structs.replace(turn, news=news)

    with pytest.raises((RefusedError, ProtocolError), match="does not follow from the reward"):
        list(made.leader(Overheard(made, spoil)).train())


@attack(
    "initiator",
    "asks agents that say where they are right to learn apart",
    "refused: only agents of the soft method do",
)
def test_a_helper_refuses_to_learn_apart_from_bits(tmp_path):
    made = parties(tmp_path, method="ascii", reward="in-sample", combine="sum")

    class Claims(Overheard):
        def ask(self, agent, request):
            message = decode(request)
            if isinstance(message, m.Begin):
                request = encode(msgspec.structs.replace(message, first_round="apart"))
            return super().ask(agent, request)

    with pytest.raises(RefusedError, match="hear of each other in the first round"):
        list(made.leader(Claims(made)).train())


@attack(
    "initiator",
    "asks a helper again, in a second round, in a run in which it answers once (label-private)",
    "refused: the helper knows how many rounds its method has",
)
def test_a_helper_that_answers_once_answers_once(tmp_path):
    made = parties(tmp_path, method="label-private", reward="in-sample", combine="sum")
    answers = []

    class Again(Overheard):
        def ask(self, agent: str, request: bytes) -> bytes:
            reply, message = super().ask(agent, request), decode(request)
            if isinstance(message, m.TakeTurn) and agent == "lab":
                weight = decode(reply).model_weight
                news = [m.News(message.turn, 1, weight, None)]
                more = m.TakeTurn(run=message.run, turn=9, round=2, since=message.turn, news=news)
                answers.append(decode(super().ask(agent, encode(more))))
            return reply

    list(made.leader(Again(made)).train())
    [refusal] = answers
    assert refusal.kind == "out-of-order"
    assert "Round 2 is not possible" in refusal.text
