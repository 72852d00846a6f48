"""Whoever asks a helper for more than its owner allows gets no more: not by forgetting, guessing, hurry or disguise."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from assistlearn.agent import store as problem_log
from assistlearn.agent.file import Allowance
from assistlearn.agent.loading import gate
from assistlearn.agent.store import RunStore
from assistlearn.alignment import roles
from assistlearn.errors import ProtocolError, RefusedError
from assistlearn.initiator.run import Connection
from assistlearn.protocol import MemoryTransport, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import HEADER_BYTES
from assistlearn.protocol.ledger import read
from tests.agent.owned_lab import BANK, PEOPLE, SHOP, Lab, initiator_of, opening, refused, turn
from tests.attacks.attack import attack
from tests.forked_agents import forks

GUESSES = [f"p-{i:05d}" for i in range(100_000)]


def allowing(home: Path, **limits: object) -> Lab:
    return Lab(home, Allowance((BANK, SHOP), **limits))


# -- runs --


@attack(
    "initiator", "forgets its runs to get more of them: 25, with 5 allowed", "refused: what is forgotten stays counted"
)
def test_forgetting_makes_no_room(tmp_path):
    lab = allowing(tmp_path, max_runs=5)
    for number in range(25):
        lab.open(f"r{number}")
        lab.ask(m.Forget(run=f"r{number}"))
    assert lab.count().units["runs"] == 5
    refused(lab.open("one-more"), "allows 'bank' 5 runs in all: 5 are used, 1 more are asked for", "raise max_runs")


@attack("initiator", "opens a run again under the same name after it was forgotten", "refused: it is another run")
def test_the_same_name_after_forgetting_is_another_run(tmp_path):
    lab = allowing(tmp_path, max_runs=2)
    for _ in range(2):
        assert isinstance(lab.open("r1"), m.Opened)
        assert isinstance(lab.open("r1"), m.Opened)
        lab.ask(m.Forget(run="r1"))
    refused(lab.open("r1"), "max_runs")


@attack("initiator", "starts a new job for every run, so that the agent starts anew", "refused: the ledger remembers")
def test_a_restart_forgets_no_count(tmp_path):
    lab = allowing(tmp_path, max_runs=3)
    opened = []
    for number in range(8):
        lab.restart()
        opened.append(isinstance(lab.open(f"r{number}"), m.Opened))
        lab.ask(m.Forget(run=f"r{number}"))
    assert opened == [True] * 3 + [False] * 5


@attack(
    "initiator", "opens more runs than anybody needs, where the owner has set no limit", "refused: a hundred in all"
)
def test_runs_end_where_the_owner_says_nothing(tmp_path):
    lab = allowing(tmp_path)
    lab_count = sum(isinstance(lab.open(f"r{number}"), m.Opened) for number in range(102))
    assert lab_count == 100


def open_many(home: Path, start: object, letter: str, opened: object) -> None:
    lab = allowing(home, max_runs=5)
    start.wait()  # type: ignore[attr-defined]
    opened.put(sum(isinstance(lab.open(f"{letter}{n}"), m.Opened) for n in range(5)))  # type: ignore[attr-defined]


@attack(
    "initiator",
    "asks for the last run in two jobs at the same time",
    "one is refused: both count in one ledger, in turn",
)
def test_two_processes_do_not_both_get_the_last_run(tmp_path):
    start, opened = forks().Barrier(2), forks().Queue()
    jobs = [forks().Process(target=open_many, args=(tmp_path, start, letter, opened)) for letter in "ab"]
    for job in jobs:
        job.start()
    assert sum(opened.get(timeout=60) for _ in jobs) == 5
    for job in jobs:
        job.join()
    assert len(list((tmp_path / "runs").iterdir())) == 5


@attack("initiator", "uses up what another initiator is allowed", "nothing: each is counted by itself")
def test_one_initiator_does_not_use_up_anothers_limits(tmp_path):
    lab = allowing(tmp_path, max_runs=2)
    for number in range(5):
        lab.open(f"s{number}", SHOP)
    assert isinstance(lab.open("r1"), m.Opened)


# -- ids --


@attack(
    "initiator",
    "guesses ids in alignments for prediction, by keyed hashes",
    "refused: ids are counted as they are asked about",
)
def test_ids_cannot_be_guessed_without_end(tmp_path):
    lab = allowing(tmp_path)
    lab.open()
    found = 0
    for start in range(0, 100_000, 5_000):
        held = lab.find(GUESSES[start : start + 5_000])
        if isinstance(held, m.Problem):
            refused(
                held, "allows 'bank' 10,000 ids a day: 10,000 are used, 5,000 more", "raise max_ids_a_day", "tomorrow"
            )
        else:
            found += int(held.sum())
    assert (lab.count().units["ids"], found) == (10_000, 60)  # all sixty live among the first six thousand numbers


@attack("initiator", "guesses two million ids in one request", "refused before one of them is compared")
def test_two_million_guesses_are_refused_before_they_are_compared(tmp_path):
    lab = allowing(tmp_path)
    lab.open()
    first = roles.decode(initiator_of(["p"]).start(), roles.HashRequest, 1_000)
    guesses = roles.encode(msgspec.structs.replace(first, digests=os.urandom(16 * 2_000_000)))
    request = encode(m.Align(run="r1", purpose="predict", step=1, data=guesses))
    begun = time.perf_counter()
    reply = lab.ask(request)
    assert (reply.kind, time.perf_counter() - begun < 2.0) == ("malformed", True)
    assert "The message has 32,000,1" in reply.text
    assert "ids" not in lab.count().units


@attack("initiator", "guesses ids in alignments for training, one after the other", "refused: they are counted as well")
def test_guesses_in_alignments_for_training_are_counted(tmp_path):
    lab = allowing(tmp_path, max_ids_a_day=300)
    lab.open()
    for start in (0, 100, 200):
        assert lab.find(PEOPLE[:40] + GUESSES[start + 1 : start + 61], purpose="train").sum() == 40
    refused(lab.find(PEOPLE[:40], purpose="train"), "allows 'bank' 300 ids a day")


@attack("initiator", "guesses ids by private set intersection", "refused: they are counted in the same way")
def test_guesses_by_psi_are_counted(tmp_path):
    lab = allowing(tmp_path, max_ids_a_day=100)
    lab.open(alignment="psi")
    assert lab.find(PEOPLE[:30] + GUESSES[1:31], psi=True).sum() == 30
    refused(lab.find(GUESSES[200:260], psi=True), "60 are used, 60 more are asked for")


@attack("initiator", "spreads its guesses over many runs, and forgets them", "refused: the count is over all runs")
def test_guesses_in_many_runs_are_counted_together(tmp_path):
    lab = allowing(tmp_path, max_ids_a_day=500)
    asked = 0
    for number in range(20):
        lab.open(f"r{number}")
        asked += not isinstance(lab.find(GUESSES[100 * number : 100 * number + 100], f"r{number}"), m.Problem)
        lab.ask(m.Forget(run=f"r{number}"))
    assert asked == 5


@attack("initiator", "guesses a few ids every day, for years", "refused: there is a limit for good, too")
def test_patience_ends_at_the_total(tmp_path, monkeypatch):
    lab = allowing(tmp_path, max_ids_a_day=100, max_total_ids=250)
    lab.open()
    today, told = datetime(2030, 1, 1, tzinfo=UTC), []
    monkeypatch.setattr(lab.service._ledger, "_clock", lambda: today)
    for number in range(5):
        today += timedelta(days=1)
        told.append(lab.find(GUESSES[100 * number : 100 * number + 100]))
    assert [isinstance(reply, m.Problem) for reply in told] == [False, False, True, True, True]
    refused(told[-1], "allows 'bank' 250 ids in all: 200 are used, 100 more", "raise max_total_ids")


@attack(
    "initiator",
    "asks about more samples at once than the owner allows, to predict them",
    "refused: the limit holds for alignment and prediction, too",
)
def test_max_samples_holds_for_alignments(tmp_path):
    lab = allowing(tmp_path, max_samples=50)
    lab.open()
    for purpose in ("train", "predict"):
        refused(lab.find(PEOPLE, purpose=purpose), "allows at most 50 samples at once; 60 are asked for", "max_samples")
    assert "ids" not in lab.count().units


# -- few people --


@attack(
    "initiator",
    "starts a run with two people, to learn what sets them apart",
    "refused before anything is told of them",
)
@pytest.mark.parametrize("alignment", ["hash", "psi"])
def test_two_people_make_no_run(tmp_path, alignment):
    lab = allowing(tmp_path)
    lab.open(alignment=alignment)
    reply = lab.find(PEOPLE[:2], purpose="train", psi=alignment == "psi")
    refused(reply, "only trains on at least 20 people", "lower min_people")


@attack("initiator", "hides few people among ids that nobody has", "refused: people count that the helper knows")
@pytest.mark.parametrize("alignment", ["hash", "psi"])
def test_made_up_people_do_not_count(tmp_path, alignment):
    lab = allowing(tmp_path, min_people=30)
    lab.open(alignment=alignment)
    reply = lab.align(PEOPLE[:25] + GUESSES[1:41], psi=alignment == "psi")
    refused(reply, "only trains on at least 30 people that it knows; this run has fewer")
    assert "25" not in reply.text  # a number would tell how many of them it knows
    assert lab.begin(n=65).kind == "out-of-order"
    assert lab.count().units["ids"] == 65


@attack("initiator", "holds out everybody but two people", "refused: those count who are trained on")
def test_people_who_are_held_out_do_not_count(tmp_path):
    lab = allowing(tmp_path)
    lab.open()
    lab.align(PEOPLE)
    refused(lab.begin(aside=np.arange(60) >= 2), "only trains on at least 20 people")
    assert isinstance(lab.begin(aside=np.arange(60) >= 20), m.Ready)


# -- turns, votes, bits --


@attack(
    "initiator",
    "asks for turn after turn in one run",
    "refused: a run has a hundred turns, or as many as the owner says",
)
def test_turns_end(tmp_path):
    lab = allowing(tmp_path, max_turns=5)
    lab.ready()
    taken = [isinstance(lab.take(number), m.TurnTaken) for number in range(1, 9)]
    assert taken == [True] * 5 + [False] * 3
    refused(lab.take(9), "allows 'bank' 5 turns in one run: 5 are used, 1 more", "raise max_turns")
    assert isinstance(lab.take(3), m.TurnTaken)  # what it was told before, it may hear again


@attack(
    "initiator",
    "lets a late turn fail, and then asks for those before it",
    "they are counted: only the same turn is free again",
)
def test_a_turn_that_failed_frees_no_others(tmp_path):
    lab = allowing(tmp_path, max_turns=3)
    lab.ready()
    assert lab.ask(turn(50, since=49)).kind == "behind"
    taken = [isinstance(lab.take(number), m.TurnTaken) for number in range(1, 8)]
    assert sum(taken) == 2


@attack(
    "initiator",
    "takes many turns in many small runs",
    "refused: turns are counted over all runs where the owner says so",
)
def test_turns_are_counted_over_all_runs(tmp_path):
    lab = allowing(tmp_path, max_total_turns=4)
    taken = 0
    for number in range(4):
        lab.ready(f"r{number}")
        taken += sum(isinstance(lab.take(n, f"r{number}"), m.TurnTaken) for n in (1, 2))
        lab.ask(m.Forget(run=f"r{number}"))
    assert taken == 4


def finished(lab: Lab) -> None:
    lab.ready()
    lab.take(1)
    lab.ask(m.End(run="r1", n_rounds=1))


@attack(
    "initiator", "asks for votes over and over", "refused: votes are counted, those on people that nobody knows as well"
)
def test_votes_end(tmp_path):
    lab = allowing(tmp_path, max_votes_a_day=150)
    finished(lab)
    told = []
    for _ in range(4):
        lab.align(PEOPLE, purpose="predict")
        told.append(lab.ask(m.Predict(run="r1", start=0, stop=60)))
    assert [isinstance(reply, m.Scores) for reply in told] == [True, True, False, False]
    refused(told[-1], "allows 'bank' 150 votes a day: 120 are used, 60 more", "raise max_votes_a_day")


@attack(
    "initiator",
    "exchanges the aligned samples between two questions that look the same",
    "refused: they are other votes, and counted",
)
def test_votes_on_other_samples_are_counted_though_the_question_is_the_same(tmp_path):
    lab = allowing(tmp_path, max_votes_a_day=20)
    finished(lab)
    side = initiator_of(PEOPLE)
    first = lab.ask(m.Align(run="r1", purpose="predict", step=1, data=side.start()))
    side.finish(first.data)
    told = []
    for start in range(0, 60, 10):
        kept = (np.arange(60) >= start) & (np.arange(60) < start + 10)
        lab.ask(m.Align(run="r1", purpose="predict", step=2, data=side.settle(kept)))
        told += [lab.ask(m.Predict(run="r1", start=0, stop=10)) for _ in range(2)]
    assert [isinstance(reply, m.Scores) for reply in told] == [True] * 4 + [False] * 8


@attack("initiator", "asks for the votes one by one", "refused: it is the samples that are counted, not the messages")
def test_votes_in_small_pieces_are_counted(tmp_path):
    lab = allowing(tmp_path, max_votes_a_day=10)
    finished(lab)
    lab.align(PEOPLE, purpose="predict")
    told = [lab.ask(m.Predict(run="r1", start=n, stop=n + 1)) for n in range(20)]
    assert sum(isinstance(reply, m.Scores) for reply in told) == 10


@attack(
    "initiator",
    "collects more bits of answers than the owner allows",
    "refused: every answer is counted before it goes out",
)
def test_bits_end_with_the_turn_that_passes_the_limit(tmp_path):
    free = allowing(tmp_path / "free")
    free.ready()
    n_bits = 8 * len(encode(free.take(1)))
    lab = allowing(tmp_path / "lab", max_total_bits=n_bits - 8)
    lab.ready()
    assert isinstance(lab.take(1), m.TurnTaken)
    for _ in range(2):
        refused(lab.take(2), "bits in all", "raise max_total_bits")
    assert lab.count().units["bits"] == n_bits
    assert isinstance(lab.take(1), m.TurnTaken)
    assert lab.count().units["bits"] == n_bits  # nothing new was told
    sent = [entry.type for entry in read(tmp_path / "lab" / "ledger.jsonl") if entry.direction == "sent"]
    assert sent[-4:] == ["turn-taken", "problem", "problem", "turn-taken"]


@attack(
    "initiator",
    "has its run forgotten and kills its job in the middle, to get its turns back",
    "its turns stay counted until the run is really gone",
)
def test_a_run_that_was_not_forgotten_after_all_gets_no_turns_back(tmp_path, monkeypatch, caplog):
    lab = allowing(tmp_path, max_turns=2)
    lab.ready()
    assert all(isinstance(lab.take(number), m.TurnTaken) for number in (1, 2))
    caplog.set_level("CRITICAL", "assistlearn.agent")
    with monkeypatch.context() as broken:
        broken.setattr(RunStore, "forget", lambda store: (_ for _ in ()).throw(OSError("killed")))
        assert lab.ask(m.Forget(run="r1")).kind == "failed"
    refused(lab.take(3), "2 turns in one run: 2 are used")
    assert isinstance(lab.ask(m.Forget(run="r1")), m.Forgotten)
    assert "r1" not in lab.count().runs


# -- an owner who changes its mind --


@attack("initiator", "goes on with a run whose permission has expired", "refused at its next request")
def test_an_expired_permission_ends_a_run(tmp_path):
    lab = allowing(tmp_path)
    lab.ready()
    lab.restart(expires=datetime(2020, 1, 1, tzinfo=UTC))
    for message in (turn(1), m.End(run="r1", n_rounds=1), opening()):
        refused(lab.ask(message), "expired")
    assert isinstance(lab.ask(m.Forget(run="r1")), m.Forgotten)


@attack(
    "initiator",
    "goes on with a run after its owner has lowered the limits",
    "refused: the new limits hold from the next job on",
)
def test_lowered_limits_hold_in_the_middle_of_a_run(tmp_path):
    lab = allowing(tmp_path)
    lab.ready()
    for number in (1, 2):
        lab.take(number)
    lab.restart(max_turns=2)
    assert isinstance(lab.open(), m.Opened)
    refused(lab.take(3), "2 turns in one run: 2 are used")
    lab.restart(initiators=(SHOP,))
    refused(lab.take(2), "does not work for 'bank'")


# -- disguise --


LOOKALIKES = ["Bank", "BANK", "b\u0430nk", "bank ", "\uff42ank", "bank\u200b", "ban\u212a", "shop,bank"]


@attack("member", "asks under a name that looks like the initiator's", "refused: names are compared letter by letter")
@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_name_that_looks_alike_is_another_name(tmp_path, name):
    lab = Lab(tmp_path, Allowance((BANK,)))
    reply = lab.ask(opening(initiator=name), asker=name)
    assert reply.kind in {"refused", "malformed"}
    assert not (tmp_path / "runs").exists()


@attack("member", "asks in another initiator's name, to use up its limits", "refused, and nothing is counted")
def test_nobody_is_counted_for_what_another_asks(tmp_path):
    lab = allowing(tmp_path, max_runs=1)
    for number in range(3):
        refused(lab.ask(opening(f"s{number}", BANK), asker=SHOP), "'shop' has no part in it")
    lab.ready()
    for message in (turn(1), m.Forget(run="r1"), m.Predict(run="r1", start=0, stop=60)):
        refused(lab.ask(message, asker=SHOP))
    assert (lab.count(SHOP).units, lab.count().units["runs"]) == ({}, 1)


# -- malformed words --


@attack("initiator", "states a purpose of 30 MB", "refused by its size, before it is read")
@pytest.mark.parametrize("field", ["purpose", "run", "initiator"])
def test_huge_words_are_refused_before_they_are_read(tmp_path, field):
    lab = allowing(tmp_path)
    request = encode(msgspec.structs.replace(opening(), **{field: "x" * 30_000_000}))
    begun = time.perf_counter()
    reply = lab.ask(request)
    assert time.perf_counter() - begun < 1.0
    assert (reply.kind, "at most 65,536 bytes are accepted" in reply.text) == ("malformed", True)
    assert (tmp_path / "ledger.jsonl").stat().st_size < 2_000


@attack(
    "initiator",
    "says the type of a huge message last, so that its size is judged as another's",
    "refused: a large message says its type first",
)
def test_a_huge_message_must_say_its_type_first(tmp_path):
    lab = allowing(tmp_path)
    fields = [b"x" * 1_000_000, *msgspec.to_builtins(opening())]
    reply = lab.ask(encode(opening())[:HEADER_BYTES] + msgspec.msgpack.encode(fields))
    assert (reply.kind, "at most 65,536" in reply.text) == ("malformed", True)


@attack(
    "member", "sends a large message to an agent that does not work for it", "refused by its size, before it is read"
)
def test_who_is_not_allowed_sends_nothing_large(tmp_path):
    lab = Lab(tmp_path, Allowance((BANK,)))
    large = m.Align(run="r1", purpose="train", step=1, data=bytes(100_000))
    assert "at most 65,536" in lab.ask(large, asker=SHOP).text
    assert lab.ask(large).kind == "unknown-run"


STRANGE = ["\x1b[2J\x1b]0;owned\x07", "line\nAll is well.", "a\u202egnihtemos", "tab\tbed", "\x00", "\x9b31m", "\u2028"]


@attack(
    "initiator",
    "puts terminal escapes, line ends or reversed text into the words of a request",
    "refused, and neither the ledger nor the answer has them",
)
@pytest.mark.parametrize("field", ["purpose", "initiator", "run"])
@pytest.mark.parametrize("words", STRANGE)
def test_words_that_a_terminal_would_obey_are_refused(tmp_path, field, words):
    lab = allowing(tmp_path)
    reply = lab.ask(msgspec.structs.replace(opening(), **{field: words}))
    assert reply.kind == "malformed"
    kept = "".join(entry.run + entry.peer + entry.type for entry in read(tmp_path / "ledger.jsonl"))
    assert (reply.text + reply.run + kept).isprintable()
    assert not (tmp_path / "runs").exists()


@attack("helper", "answers with terminal escapes, or 30 MB of words", "they are cut, and shown as what they are")
def test_a_helpers_words_are_cleaned_before_they_are_shown():
    for text in ("\x1b[2J" + "x" * 30_000_000, "no\n\u202e"):
        problem = encode(m.Problem(run="r1", kind="refused", text=text))
        with pytest.raises(RefusedError) as refusal:
            Connection("lab", MemoryTransport({"lab": lambda _, said=problem: said})).ask(opening(), m.Opened)
        assert str(refusal.value).isprintable()
        assert len(str(refusal.value)) < 2_000
    name = encode(m.Opened(run="r1", agent="lab\x1b[2J", n_rows=3))
    with pytest.raises(ProtocolError, match="not readable text"):
        Connection("lab", MemoryTransport({"lab": lambda _: name})).ask(opening(), m.Opened)


@attack("initiator", "names a run like a path or a device", "refused, or a folder like any other below the agent's own")
@pytest.mark.parametrize(
    "run",
    [
        *("../x", "..", ".", "/tmp/x", "/etc", "a/b", "a\\b", "CON", "nul.txt", ".hidden", "~", "x" * 81, ""),
        *("a b", "a\0b", "é", "a\nb"),
    ],
)
def test_a_name_of_a_run_leads_nowhere_else(tmp_path, run):
    home = tmp_path / "home"
    lab = allowing(home)
    reply = lab.open(run)
    assert isinstance(reply, m.Opened) == (run in {"CON", "nul.txt"})
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    own = (home / "runs", home / "told")
    assert all(path.parent == home / "runs" for path in home.rglob("*") if path.is_dir() and path not in own)
    assert isinstance(lab.ask(m.Forget(run=run)), m.Forgotten) == (run in {"CON", "nul.txt"})


@attack(
    "initiator",
    "makes a helper fail again and again, to fill its disk with reports",
    "the file of problems is put aside and begun anew",
)
def test_problems_do_not_fill_the_disk(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(problem_log, "LARGEST_LOG", 20_000)
    lab = allowing(tmp_path, max_turns="none")
    lab.ready()
    (tmp_path / "runs" / "r1" / "turns").write_text("no folder")
    caplog.set_level("CRITICAL", "assistlearn.agent")
    for _ in range(40):
        assert lab.take(1).kind == "failed"
    logs = [path.stat().st_size for path in tmp_path.glob("problems.log*")]
    assert len(logs) == 2
    assert max(logs) < 40_000


def test_the_gate_tells_look_alikes_apart_in_its_words():
    with pytest.raises(RefusedError, match=r"b\\u0430nk"):
        gate("lab", Allowance((BANK,)))("b\u0430nk", "")
    assert decode(encode(opening())).initiator == BANK
