"""Limits leave an honest initiator alone, however often its run is interrupted; and the owner can lift them."""

from __future__ import annotations

from typing import Any

import pytest

from assistlearn.agent.file import Allowance
from assistlearn.agent.limits import LIMITS, OwnerLimits
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from tests.agent.owned_lab import BANK, PEOPLE, Lab
from tests.agent.recording import full_disk, owner, record


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return record(tmp_path_factory.mktemp("recording"), method="ascii", holdout=0.2)


def just_enough(lab) -> dict[str, Any]:
    """Limits that are exactly what the recorded run needs."""
    replies = [decode(reply) for reply in lab.replies]
    n_turns = sum(isinstance(reply, m.TurnTaken) for reply in replies)
    n_bits = sum(8 * len(encode(reply)) for reply in replies if isinstance(reply, m.TurnTaken | m.Scores))
    return {
        "max_runs": 1,
        "max_turns": n_turns,
        "max_total_turns": n_turns,
        "max_ids_a_day": 178 + 40,
        "max_total_ids": 178 + 40,
        "max_votes_a_day": 40,
        "max_total_votes": 40,
        "max_total_bits": n_bits,
        "max_samples": 178,
        "min_people": 100,
    }


def test_a_run_gets_through_with_just_enough(lab, tmp_path):
    service = lab.service(tmp_path, **owner(**just_enough(lab)))
    assert [service.answer(request) for request in lab.requests] == lab.replies


@pytest.mark.parametrize("key", LIMITS)
def test_a_run_does_not_get_through_with_one_less(lab, tmp_path, key):
    enough = just_enough(lab)
    service = lab.service(tmp_path, **owner(**(enough | {key: enough[key] - 1})))
    problems = [decode(service.answer(request)) for request in lab.requests]
    first = next(reply for reply in problems if isinstance(reply, m.Problem))
    assert first.kind == ("sits-out" if "turns" in key else "refused")
    assert f"Its owner may raise {key}, under [allow]" in first.text
    assert str(tmp_path) not in first.text


@pytest.mark.parametrize("key", LIMITS)
def test_the_owner_lifts_a_limit_with_a_word(lab, tmp_path, key):
    service = lab.service(tmp_path, **owner(**(just_enough(lab) | {key: "none"})))
    assert service.answer(lab.requests[0]) == lab.replies[0]
    assert key not in OwnerLimits("lab", Allowance(("clinic",), **{key: "none"}), 10).most


def test_requests_that_come_again_after_a_restart_are_not_counted_again(lab, tmp_path):
    """As when either side is killed after each message: the same request comes to an agent that has started anew."""
    limits = just_enough(lab)
    aligned = {lab.stage(m.Align, 1), lab.stage(m.Align, 2), lab.stage(m.Align, 3), lab.stage(m.Align, 4)}
    service = lab.service(tmp_path, **owner(**limits))
    for stage, (request, reply) in enumerate(zip(lab.requests[:-1], lab.replies[:-1], strict=True)):
        assert service.answer(request) == reply, stage
        for _ in range(3):
            if stage < lab.stage(m.End) and stage not in aligned:
                service = lab.service(tmp_path, **owner(**limits))
            assert service.answer(lab.requests[0]) == lab.replies[0]
            assert service.answer(request) == reply, stage


def test_a_turn_that_fails_many_times_is_one_turn(tmp_path, caplog):
    lab = Lab(tmp_path, Allowance((BANK,), max_turns=2))
    lab.ready()
    caplog.set_level("CRITICAL", "assistlearn.agent")
    with full_disk("reply.msg"):
        for _ in range(10):
            lab.restart()
            assert lab.take(1).kind == "failed"
    for number in (1, 2):
        assert isinstance(lab.take(number), m.TurnTaken)
    assert lab.take(3).kind == "sits-out"


def test_an_opening_that_is_refused_uses_up_no_run(tmp_path):
    lab = Lab(tmp_path, Allowance((BANK,), max_runs=1, purpose="research"))
    for _ in range(3):
        assert lab.open().kind == "refused"
    lab.restart(purpose="a test", max_runs=1)
    assert isinstance(lab.open(), m.Opened)


def test_without_a_table_of_what_is_allowed_nothing_is_limited_but_all_of_it_is_counted(tmp_path):
    lab = Lab(tmp_path, None)
    for number in range(101):  # one more than where an owner sets no limit of its own
        assert isinstance(lab.open(f"r{number}"), m.Opened)
    assert lab.find([f"p-{i}" for i in range(50_000)], "r0").sum() == 0
    assert lab.find(PEOPLE[:2], "r0", purpose="train").all()
    assert lab.count().units == {"runs": 101, "ids": 50_002}


def test_a_large_table_has_room_for_its_own_size_by_default():
    """A million people, trained on and predicted on one day, twice; and predicted daily for two years."""
    most = OwnerLimits("lab", Allowance((BANK,)), rows=1_000_000).most
    assert most["max_ids_a_day"] >= 4_000_000
    assert most["max_votes_a_day"] >= 2_000_000
    assert min(most["max_total_ids"], most["max_total_votes"]) >= 730 * 1_000_000
    assert most["max_runs"] >= 24
    assert most["max_turns"] >= 100
