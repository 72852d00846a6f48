"""An agent's service: a bad request gets a typed problem and changes nothing; a good one, again, the same reply."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar

import msgspec
import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from assistlearn.agent.file import Allowance
from assistlearn.agent.loading import gate
from assistlearn.agent.service import AgentService
from assistlearn.errors import RefusedError
from assistlearn.protocol import Limits, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, ClassCodes, Levels, pack_bits, pack_codes, pack_levels, pack_numbers
from assistlearn.protocol.ledger import read, verify
from tests.agent.recording import Recording, files_of, full_disk, owner, record

RUN = "test-run"
METHODS = {
    "ascii": {"method": "ascii", "holdout": 0.2},
    "soft": {"method": "soft", "holdout": 0.2},
    "ensemble": {"method": "ensemble"},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> dict[str, Recording]:
    return {name: record(tmp_path_factory.mktemp("recording"), **options) for name, options in METHODS.items()}


@pytest.fixture(scope="module")
def lab(recorded) -> Recording:
    return recorded["ascii"]


def ask(service: AgentService, request: m.Message | bytes) -> m.Message:
    return decode(service.answer(request if isinstance(request, bytes) else encode(request)))


def refuses(service: AgentService, home, request: m.Message | bytes, kind: str, match: str = "") -> m.Problem:
    """Assert that a request gets a problem of this kind, and that nothing has changed."""
    before = files_of(home)
    reply = ask(service, request)
    assert isinstance(reply, m.Problem), reply
    assert (reply.kind, files_of(home)) == (kind, before), reply.text
    assert match in reply.text
    assert "lab" in reply.text or kind == "behind"
    return reply


def goes_on(lab: Recording, service: AgentService, stage: int) -> None:
    """Assert that the rest of the run gets the replies that it got when it was recorded."""
    for request, reply in zip(lab.requests[stage:], lab.replies[stage:], strict=True):
        assert service.answer(request) == reply


def changed(message, **fields):
    return msgspec.structs.replace(message, **fields)


# -- the same request again --


@pytest.mark.parametrize("method", METHODS)
def test_every_request_may_come_twice(recorded, tmp_path, method):
    lab = recorded[method]
    service = lab.service(tmp_path)
    for request, reply in zip(lab.requests[:-1], lab.replies[:-1], strict=True):
        assert service.answer(request) == reply
        before = files_of(tmp_path)
        assert service.answer(request) == reply
        assert files_of(tmp_path) == before


@pytest.mark.parametrize("method", METHODS)
def test_every_request_may_come_again_after_a_restart(recorded, tmp_path, method):
    lab = recorded[method]
    restarted_per_request = lab.stage(m.Begin)  # alignment is not remembered: it starts again instead
    lab.service(tmp_path, restarted_per_request)
    training = zip(lab.requests, lab.replies, strict=True)
    for request, reply in list(training)[restarted_per_request : lab.stage(m.End) + 1]:
        for _ in range(2):
            assert lab.service(tmp_path).answer(request) == reply


def test_an_old_request_changes_nothing_at_any_later_time(lab, tmp_path):
    service = lab.service(tmp_path)
    for stage, (request, reply) in enumerate(zip(lab.requests[:-1], lab.replies[:-1], strict=True)):
        assert service.answer(request) == reply
        before = files_of(tmp_path)
        for old, answer in zip(lab.requests[:stage], lab.replies[:stage], strict=True):
            message = decode(old)
            if isinstance(message, m.Align) and message.purpose == "predict":
                continue  # it starts another alignment of other samples, which nobody has to remember
            if isinstance(message, m.Align) and stage < lab.stage(m.Begin):
                continue  # the same, as long as training has not begun
            again = service.answer(old)
            assert again == answer or isinstance(decode(again), m.Problem)
        assert files_of(tmp_path) == before


# -- what is not a request at all --


def test_bytes_that_are_no_message_get_a_problem(lab, tmp_path):
    service = lab.service(tmp_path, 3)
    for noise in (b"", b"GET / HTTP/1.1\r\n", lab.requests[0][:-1], lab.requests[0] + b"\0", os.urandom(300)):
        refuses(service, tmp_path, noise, "malformed")
    goes_on(lab, service, 3)


def test_another_version_gets_a_problem_that_names_both(lab, tmp_path):
    request = bytearray(lab.requests[0])
    request[4] = 9
    refuses(
        lab.service(tmp_path),
        tmp_path,
        bytes(request),
        "version",
        f"version 9 of the protocol; this release uses version {m.VERSION}",
    )


def test_a_message_above_the_limits_gets_a_problem(lab, tmp_path):
    service = AgentService(replace(lab.holdings, home=tmp_path), Limits(body=1_000, values=100))
    request = m.Align(run=RUN, purpose="train", step=1, data=bytes(1_000))
    refuses(service, tmp_path, request, "malformed", "at most 1000 are accepted")


def test_replies_sent_as_requests_get_a_problem(lab, tmp_path):
    for stage in (1, lab.stage(m.TakeTurn, 2), len(lab.requests) - 1):
        home = tmp_path / str(stage)
        service = lab.service(home, stage)
        for reply in {type(decode(reply)): reply for reply in lab.replies}.values():
            refuses(service, home, reply, "out-of-order", "is a reply, not a request")
        goes_on(lab, service, stage)


# -- the wrong run --


def test_an_unknown_run_gets_a_problem(lab, tmp_path):
    stage = lab.stage(m.TakeTurn, 2)
    service = lab.service(tmp_path, stage)
    for request in lab.requests[1:]:
        refuses(service, tmp_path, changed(decode(request), run="another-run"), "unknown-run", "no run 'another-run'")
    goes_on(lab, service, stage)


def test_two_runs_do_not_disturb_each_other(lab, tmp_path):
    service = lab.service(tmp_path)
    for request, reply in zip(lab.requests, lab.replies, strict=True):
        other = changed(decode(request), run="other")
        assert service.answer(request) == reply
        assert changed(decode(service.answer(encode(other))), run=RUN) == decode(reply)


# -- the wrong time --


@pytest.mark.parametrize("method", METHODS)
def test_whatever_comes_too_early_gets_a_problem_and_the_run_goes_on(recorded, tmp_path, method):
    """At every stage every later request is tried; an alignment may start at any time, and a run that began may end."""
    lab = recorded[method]
    service = lab.service(tmp_path)
    for stage in range(1, lab.stage(m.End)):
        service.answer(lab.requests[stage - 1])
        before = files_of(tmp_path)
        for request in lab.requests[stage + 1 : -1]:
            message = decode(request)
            if isinstance(message, m.Align) and message.step == 1:
                continue
            if isinstance(message, m.End) and stage > lab.stage(m.Begin):
                continue
            reply = ask(service, request)
            assert isinstance(reply, m.Problem), (stage, message)
            assert reply.kind in {"out-of-order", "behind", "data"}
        assert files_of(tmp_path) == before
    goes_on(lab, service, lab.stage(m.End) - 1)


def test_a_turn_that_is_over_cannot_be_taken_again_with_other_news(lab, tmp_path):
    stage = lab.stage(m.TakeTurn, 3)
    service = lab.service(tmp_path, stage)
    old, last = lab.request(m.TakeTurn, 2), lab.request(m.TakeTurn, 3)
    assert ask(service, changed(old, news=last.news)) == decode(lab.replies[lab.stage(m.TakeTurn, 2)])
    refuses(service, tmp_path, changed(old, turn=old.turn - 1, since=last.since), "out-of-order", "is not possible")
    goes_on(lab, service, stage)


def test_the_end_can_be_said_twice_but_not_differently(lab, tmp_path):
    stage = lab.stage(m.End) + 1
    service = lab.service(tmp_path, stage)
    end = lab.request(m.End)
    assert ask(service, end) == decode(lab.replies[stage - 1])
    refuses(service, tmp_path, changed(end, n_rounds=end.n_rounds + 1), "out-of-order", "has ended here after round")
    refuses(service, tmp_path, changed(end, n_rounds=-1), "malformed")
    refuses(service, tmp_path, changed(lab.request(m.TakeTurn), turn=99), "out-of-order", "has not begun")
    goes_on(lab, service, stage)


def test_a_task_cannot_be_exchanged_for_another(lab, tmp_path):
    stage = lab.stage(m.TakeTurn, 2)
    service = lab.service(tmp_path, stage)
    refuses(service, tmp_path, changed(lab.request(m.Begin), seed=5), "out-of-order", "with another task")
    goes_on(lab, service, stage)


def test_a_run_cannot_be_opened_again_for_another_purpose(lab, tmp_path):
    service = lab.service(tmp_path, 1)
    for other in ({"initiator": "shop"}, {"purpose": "advertising"}, {"alignment": "psi"}, {"overlap": "intersection"}):
        refuses(service, tmp_path, changed(lab.request(m.Open), **other), "out-of-order", "with other settings")
    goes_on(lab, service, 1)


# -- the wrong content --


def n_samples(lab: Recording) -> int:
    return lab.request(m.Begin).n_samples


def n_training(lab: Recording) -> int:
    return n_samples(lab) - lab.request(m.Begin).holdout.ones


def bad_begins(begin: m.Begin):
    n, k = begin.n_samples, begin.n_classes
    yield "too many samples", {"n_samples": n + 1}
    yield "no samples", {"n_samples": 0, "labels": pack_codes(np.zeros(0, int), k), "holdout": None}
    yield "a negative number of samples", {"n_samples": -1}
    yield "one class", {"n_classes": 1, "labels": pack_codes(np.zeros(n, int), 1)}
    yield "more classes than codes", {"n_classes": 2**40}
    yield "labels of fewer samples", {"labels": pack_codes(np.zeros(n - 1, int), k)}
    yield "labels of more classes", {"labels": pack_codes(np.zeros(n, int), k + 1)}
    yield "a label beyond the classes", {"labels": ClassCodes(n, k, False, bytes([k]) + bytes(n - 1))}
    yield "labels without bytes", {"labels": ClassCodes(n, k, False, b"")}
    yield "weights of fewer samples", {"weights": pack_numbers(np.ones(n - 1))}
    for what, weight in {"not a number": math.nan, "infinite": math.inf, "negative": -1.0}.items():
        yield f"a weight that is {what}", {"weights": pack_numbers(np.append(np.ones(n - 1), weight)), "holdout": None}
    yield "weights that are all zero", {"weights": pack_numbers(np.zeros(n))}
    yield (
        "weights of hold-out samples only",
        {
            "weights": pack_numbers((np.arange(n) < 5).astype(float)),
            "holdout": pack_bits(np.arange(n) < 5),
        },
    )
    yield "a hold-out of fewer samples", {"holdout": pack_bits(np.zeros(n - 1, bool))}
    yield "everything held out", {"holdout": pack_bits(np.ones(n, bool))}
    yield "more ones than samples", {"holdout": Bits(n, n + 1, "range", b"")}
    yield "a negative seed", {"seed": -1}
    yield "a seed beyond all seeds", {"seed": 2**32}
    yield "seeds drawn from a negative number", {"turn_seeds": -1}
    yield "seeds drawn from a number beyond all", {"turn_seeds": 2**32}
    yield "no folds", {"cv": 0}
    yield "a million folds", {"cv": 1_000_000}
    for shrinkage in (0.0, -0.5, 1.5, math.nan, math.inf):
        yield f"a shrinkage of {shrinkage}", {"shrinkage": shrinkage}


def test_a_bad_task_gets_a_problem_and_a_good_one_can_follow(lab, tmp_path):
    stage = lab.stage(m.Begin)
    service = lab.service(tmp_path, stage)
    for _, fields in bad_begins(lab.request(m.Begin)):
        refuses(service, tmp_path, changed(lab.request(m.Begin), **fields), "malformed")
    goes_on(lab, service, stage)


def test_a_task_of_other_samples_and_one_of_too_few_classes_are_two_faults(lab, tmp_path):
    begin = lab.request(m.Begin)
    service, n = lab.service(tmp_path, lab.stage(m.Begin)), begin.n_samples
    words = f"The task has {n + 1:,} samples; {n:,} are aligned."
    refuses(service, tmp_path, changed(begin, n_samples=n + 1), "malformed", words)
    one = changed(begin, n_classes=1, labels=pack_codes(np.zeros(begin.labels.n, int), 1))
    refuses(service, tmp_path, one, "malformed", "The number of classes is 1; it must be between 2 and 65,535.")


def bad_turns(turn: m.TakeTurn, n: int, soft: bool):
    """What is wrong, the fields, and the kind of the problem; ``turn`` brings news of two models or more."""
    first = turn.news[0]
    right = pack_levels(np.ones(n, int), 8, 0.1) if soft else pack_bits(np.ones(n, bool))
    yield "a turn of long ago", {"turn": 0}, "out-of-order"
    yield "a negative turn", {"turn": -1}, "out-of-order"
    yield "no round", {"round": 0}, "out-of-order"
    yield "a round that is over", {"round": turn.round - 1}, "out-of-order"
    yield "a turn beyond all turns", {"turn": 10**7}, "out-of-order"
    yield "a second turn in its round", {"round": turn.round - 1, "news": turn.news[:1]}, "out-of-order"
    yield "no news of the agent's own model", {"news": turn.news[1:]}, "out-of-order"
    other_weight = [changed(first, model_weight=1.001 * first.model_weight), *turn.news[1:]]
    yield "another weight of the agent's own model", {"news": other_weight}, "malformed"
    yield "another reward of the agent's own model", {"news": [changed(first, reward=turn.news[1].reward)]}, "malformed"
    loud = changed(turn.news[1], model_weight=1.01 * turn.news[1].model_weight)
    yield "a weight larger than its reward is worth", {"news": [first, loud, *turn.news[2:]]}, "malformed"
    yield "news of the past", {"news": [changed(first, turn=first.turn - 9)]}, "out-of-order"
    yield "news of the future", {"news": [changed(first, turn=turn.turn)]}, "out-of-order"
    yield "news in another order", {"news": turn.news[::-1]}, "out-of-order"
    yield "the same news twice", {"news": [*turn.news, turn.news[-1]]}, "out-of-order"
    yield "news of a later round", {"news": [changed(first, round=turn.round + 1)]}, "out-of-order"
    yield "another agent's turn without its reward", {"news": [changed(turn.news[-1], reward=None)]}, "out-of-order"
    for weight in (0.0, -1.0, math.nan, math.inf, 1e300):
        yield f"a model weight of {weight}", {"news": [changed(first, model_weight=weight, reward=right)]}, "malformed"
    short = pack_levels(np.ones(n - 1, int), 8, 0.1) if soft else pack_bits(np.ones(n - 1, bool))
    yield "a reward of fewer samples", {"news": [changed(first, reward=short)]}, "malformed"
    other = pack_bits(np.ones(n, bool)) if soft else pack_levels(np.ones(n, int), 8, 0.1)
    yield "a reward of the other kind", {"news": [changed(first, reward=other)]}, "malformed"
    huge = Levels(2**31, 8, 1.0, True, b"") if soft else Bits(2**31, 0, "range", b"")
    yield "a reward that claims to be huge", {"news": [changed(first, reward=huge)]}, "malformed"
    if soft:
        for scale in (0.0, math.nan, math.inf, 1e300):
            levels = Levels(n, 8, scale, False, b"\x01" * n)
            yield f"a scale of {scale}", {"news": [changed(first, reward=levels)]}, "malformed"
    yield "more knowledge than the agent has", {"since": turn.since + 1}, "behind"
    yield "less knowledge than the agent has", {"since": turn.since - 1}, "behind"


@pytest.mark.parametrize("method", ["ascii", "soft"])
def test_a_bad_turn_gets_a_problem_and_a_good_one_can_follow(recorded, tmp_path, method):
    lab = recorded[method]
    stage = lab.stage(m.TakeTurn, 2)
    service = lab.service(tmp_path, stage)
    good = lab.request(m.TakeTurn, 2)
    assert len(good.news) >= 2
    for what, fields, kind in bad_turns(good, n_training(lab), method == "soft"):
        before = files_of(tmp_path)
        reply = ask(service, changed(good, **fields))
        assert isinstance(reply, m.Problem), what
        assert (reply.kind, files_of(tmp_path)) == (kind, before), (what, reply.text)
    goes_on(lab, service, stage)


def test_an_agent_that_is_behind_says_what_it_knows(lab, tmp_path):
    service = lab.service(tmp_path, lab.stage(m.TakeTurn, 2))
    reply = refuses(service, tmp_path, lab.request(m.TakeTurn, 3), "behind", "knows the run up to turn 2")
    assert reply.known == 2


@pytest.mark.parametrize(
    ("start", "stop"), [(-1, 5), (5, 4), (0, 41), (40, 41), (2**40, 2**41), (0, 2**63), (-(2**63), 0)]
)
def test_samples_that_were_not_aligned_are_not_predicted(lab, tmp_path, start, stop):
    stage = lab.stage(m.Predict)
    service = lab.service(tmp_path, stage)
    refuses(service, tmp_path, m.Predict(run=RUN, start=start, stop=stop), "malformed", "40 are aligned")
    goes_on(lab, service, stage)


def test_any_part_of_the_aligned_samples_can_be_predicted(lab, tmp_path):
    service = lab.service(tmp_path, lab.stage(m.Predict))
    whole = decode(lab.replies[lab.stage(m.Predict)])
    k = lab.request(m.Begin).n_classes
    parts = [ask(service, m.Predict(run=RUN, start=start, stop=start + 10)) for start in range(0, 40, 10)]
    assert b"".join(part.scores.data for part in parts) == whole.scores.data
    assert sum(part.known.ones for part in parts) * k == whole.scores.n
    assert ask(service, m.Predict(run=RUN, start=7, stop=7)).scores.n == 0


# -- alignment --


def test_an_alignment_for_prediction_cannot_become_one_for_training(lab, tmp_path):
    """Prediction accepts any overlap, training does not: the one must not stand in for the other."""
    service = lab.service(tmp_path, 1)
    first, second = (changed(lab.request(m.Align, nth), purpose="predict") for nth in (1, 2))
    assert isinstance(ask(service, first), m.Aligned)
    refuses(service, tmp_path, changed(second, purpose="train"), "out-of-order", "No alignment is under way")
    assert isinstance(ask(service, second), m.Aligned)
    refuses(service, tmp_path, lab.request(m.Begin), "out-of-order", "not aligned yet")
    goes_on(lab, service, 1)


def test_bad_steps_of_an_alignment_get_a_problem(lab, tmp_path):
    service = lab.service(tmp_path, 2)
    settle = lab.request(m.Align, 2)
    for data in (b"", b"noise", settle.data[:-1], settle.data + b"\0", settle.data[:-3] + b"\0\0\0"):
        refuses(service, tmp_path, changed(settle, data=data), "data")
        refuses(service, tmp_path, changed(settle, data=data, step=1), "data")
    goes_on(lab, service, 2)


def test_samples_cannot_be_aligned_again_once_training_has_begun(lab, tmp_path):
    stage = lab.stage(m.TakeTurn)
    service = lab.service(tmp_path, stage)
    for nth in (1, 2):
        refuses(service, tmp_path, lab.request(m.Align, nth), "out-of-order", "Training has begun")
    goes_on(lab, service, stage)


def test_an_agent_without_the_secret_refuses_keyed_hashes(lab, tmp_path):
    service = lab.service(tmp_path, 1, secret=None)
    refuses(service, tmp_path, lab.requests[1], "refused", "has no secret")


# -- what the owner allows --


def refuse_all(initiator: str, purpose: str) -> None:
    raise RefusedError("Agent 'lab' works for nobody.")


def test_a_refused_opening_leaves_nothing_behind(lab, tmp_path):
    service = lab.service(tmp_path, allow=refuse_all)
    refuses(service, tmp_path, lab.requests[0], "refused", "works for nobody")
    assert not (tmp_path / "runs").exists()
    refuses(service, tmp_path, lab.requests[1], "unknown-run")


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (Allowance(("shop",)), "does not work for 'clinic'"),
        (Allowance(("clinic",), purpose="research"), "for the purpose 'research' only"),
        (Allowance(("clinic",), expires=datetime(2020, 1, 1, tzinfo=UTC)), "expired"),
    ],
    ids=["initiator", "purpose", "expiry"],
)
def test_what_the_owner_does_not_allow_is_refused_with_the_reason(lab, tmp_path, allowed, words):
    service = lab.service(tmp_path, allow=gate("lab", allowed))
    refuses(service, tmp_path, lab.requests[0], "refused", words)


def test_more_samples_than_the_owner_allows_are_refused(lab, tmp_path):
    stage, n = lab.stage(m.Begin), n_samples(lab)
    lab.service(tmp_path / "few", stage)
    service = lab.service(tmp_path / "few", **owner(max_samples=n - 1))
    words = f"allows at most {n - 1} samples at once; {n} are asked for"
    refuses(service, tmp_path / "few", lab.requests[stage], "refused", words)
    goes_on(lab, lab.service(tmp_path / "enough", stage, **owner(max_samples=n)), stage)


# -- what fails inside --


class Flaky(GaussianNB):
    """Fails as long as it is told to, with words that quote the table."""

    broken: ClassVar[bool] = False

    def fit(self, X, y, sample_weight=None):
        if Flaky.broken:
            raise ValueError(f"could not convert string to float: {float(X[0, 0])!r}")
        return super().fit(X, y, sample_weight)


def test_a_learner_that_fails_tells_others_nothing_of_the_table(lab, tmp_path, monkeypatch, caplog):
    stage = lab.stage(m.TakeTurn, 2)
    service = lab.service(tmp_path, stage, estimator=Flaky())
    monkeypatch.setattr(Flaky, "broken", True)
    with caplog.at_level(logging.CRITICAL, logger="assistlearn.agent"):
        problem = refuses(
            service, tmp_path, lab.requests[stage], "failed", "Its owner finds the reason in problems.log"
        )
    log = (tmp_path / "problems.log").read_text()
    assert "could not convert string to float" in log
    quoted = log.rpartition("float: ")[2].split()[0]
    assert quoted not in problem.text
    assert str(tmp_path) not in problem.text
    monkeypatch.setattr(Flaky, "broken", False)
    goes_on(lab, service, stage)


@pytest.mark.parametrize("file", ["model.skops", "request.msg", "reply.msg"])
def test_a_full_disk_in_the_middle_of_a_turn_loses_and_doubles_nothing(lab, tmp_path, caplog, file):
    stage = lab.stage(m.TakeTurn, 2)
    service = lab.service(tmp_path, stage)
    with full_disk(file), caplog.at_level(logging.CRITICAL, logger="assistlearn.agent"):
        reply = ask(service, lab.requests[stage])
    assert (reply.kind, "OSError" in reply.text, str(tmp_path) in reply.text) == ("failed", True, False)
    goes_on(lab, service, stage)


# -- forgetting --


def test_forgetting_removes_everything_but_the_ledger(lab, tmp_path):
    service = lab.service(tmp_path, len(lab.requests) - 1)
    n_models = decode(lab.replies[lab.stage(m.End)]).n_models
    assert ask(service, lab.requests[-1]) == m.Forgotten(run=RUN, n_models=n_models)
    assert files_of(tmp_path) == {}
    assert list((tmp_path / "runs").iterdir()) == []
    for request in lab.requests[1:]:
        refuses(service, tmp_path, request, "unknown-run")


def test_a_crash_while_forgetting_brings_nothing_back(lab, tmp_path, monkeypatch, caplog):
    service = lab.service(tmp_path, len(lab.requests) - 1)

    def crash(path):
        raise OSError("the machine goes down")

    monkeypatch.setattr(shutil, "rmtree", crash)
    with caplog.at_level(logging.CRITICAL, logger="assistlearn.agent"):
        assert ask(service, lab.requests[-1]).kind == "failed"
    monkeypatch.undo()
    assert isinstance(ask(service, changed(lab.request(m.Open), run="another")), m.Opened)
    service = lab.service(tmp_path)
    assert list(files_of(tmp_path)) == ["runs/another/digests.txt", "runs/another/opened.json"]
    refuses(service, tmp_path, lab.requests[1], "unknown-run")
    goes_on(lab, service, 0)


# -- the ledger --


def test_the_ledger_has_every_message_whatever_became_of_it(lab, tmp_path):
    service = lab.service(tmp_path)
    requests = [
        lab.requests[0],
        b"noise",
        lab.requests[lab.stage(m.Begin)],
        changed(lab.request(m.End), run="../x"),
        *lab.requests[1:],
    ]
    said = []
    for request in requests:
        content = request if isinstance(request, bytes) else encode(request)
        said += [("received", content), ("sent", service.answer(content))]
    entries = list(read(tmp_path / "ledger.jsonl"))
    assert verify(tmp_path / "ledger.jsonl") == len(entries) == len(said)
    assert [(e.direction, e.bytes, e.digest) for e in entries] == [
        (direction, len(content), hashlib.sha256(content).hexdigest()) for direction, content in said
    ]
    assert [e.type for e in entries[:6]] == ["open", "opened", "unreadable", "problem", "begin", "problem"]


def test_the_initiators_own_service_keeps_no_ledger(lab, tmp_path):
    service = AgentService(replace(lab.holdings, home=tmp_path), ledger=False)
    service.answer(lab.requests[0])
    assert not (tmp_path / "ledger.jsonl").exists()
