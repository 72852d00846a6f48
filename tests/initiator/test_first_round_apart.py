"""Where a combination is learned, nobody hears of the others before the second round."""

from __future__ import annotations

from shutil import rmtree

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import RunError
from assistlearn.events import RoundFinished, TurnFinished
from assistlearn.plan import Plan
from tests.initiator.overheard import LEARNER, RECOMMENDED, Overheard, parties


def test_in_the_first_round_no_helper_hears_anything_and_in_the_second_all_of_it(tmp_path):
    made = parties(tmp_path)
    way = Overheard(made)
    events = list(made.leader(way).train())
    kept = {e.turn: e.contribution.agent for e in events if isinstance(e, TurnFinished) and e.contribution}
    for agent, turn in way.turns:
        heard = [news.turn for news in turn.news]
        assert heard == ([] if turn.round == 1 else [number for number in kept if number < turn.turn])
        assert [news.turn for news in turn.news if news.reward is None] == [n for n in heard if kept[n] == agent]
    assert [(agent, turn.round) for agent, turn in way.turns] == [("lab", 1), ("scans", 1), ("lab", 2), ("scans", 2)]


def test_a_run_of_one_round_tells_helpers_nothing_of_each_other(tmp_path):
    made = parties(tmp_path, n_rounds=1)
    way = Overheard(made)
    led = made.leader(way)
    list(led.train())
    assert [turn.news for _, turn in way.turns] == [[], []]
    assert {name: counts["news"] for name, counts in led.folder.result()["traffic"].items()} == {"lab": 0, "scans": 0}


def test_agents_learn_in_the_first_round_what_each_would_learn_alone():
    X, y = load_wine(return_X_y=True)
    agents = [("clinic", DecisionTreeClassifier(max_depth=2), [0, 1, 2, 3]), ("lab", LEARNER, list(range(4, 13)))]
    both = AssistedClassifier(agents, n_rounds=1, random_state=3, **RECOMMENDED).fit(X, y)
    alone = AssistedClassifier(agents, n_rounds=1, random_state=3, **RECOMMENDED, order=lambda *_: ["lab"]).fit(X, y)
    assert both.contributions_[1].model_weight == alone.contributions_[0].model_weight
    in_turn = AssistedClassifier(
        agents, n_rounds=1, random_state=3, method="soft", reward="out-of-fold", combine="sum", models_per_turn=1
    ).fit(X, y)
    assert both.contributions_[1].model_weight > in_turn.contributions_[1].model_weight


def test_agents_that_know_the_same_move_the_state_no_further_than_one_of_them(tmp_path):
    twice = parties(tmp_path, columns=(range(8), range(8), range(8)))
    way = Overheard(twice)
    list(twice.leader(way).train())
    news = next(turn.news for agent, turn in way.turns if agent == "scans" and turn.round == 2)
    steps = [one.model_weight for one in news[:3]]
    assert steps[1] == pytest.approx(steps[0] / 2, rel=0.25)  # half of the way, then half of what is left
    assert steps[2] == pytest.approx(steps[0] / 4, rel=0.25)


def test_turns_apart_side_by_side_are_the_same_to_the_bit():
    X, y = load_wine(return_X_y=True)
    agents = [(name, LEARNER, list(part)) for name, part in (("a", range(4)), ("b", range(4, 8)), ("c", range(8, 13)))]
    one, two = (
        AssistedClassifier(agents, n_rounds=2, random_state=0, n_jobs=n_jobs, **RECOMMENDED).fit(X, y)
        for n_jobs in (None, 2)
    )
    assert one.contributions_ == two.contributions_
    assert np.array_equal(one.ignorance_, two.ignorance_)


def test_in_the_greedy_order_agents_hear_of_each_other_at_once():
    assert Plan(order="greedy", **RECOMMENDED).first_round(n_classes=3) == "in turn"


def test_a_helper_started_anew_between_the_rounds_goes_on_as_it_was(tmp_path):
    whole, anew = parties(tmp_path / "whole"), parties(tmp_path / "anew")
    way = Overheard(anew)
    for made, transport in ((whole, Overheard(whole)), (anew, way)):
        for event in made.leader(transport).train():
            if made is anew and isinstance(event, RoundFinished):
                way.start_anew(anew)
    results = [made.leader().folder.result() for made in (whole, anew)]
    assert results[0]["contributions"] == results[1]["contributions"]
    assert len(way.turns) == 4  # nobody is asked twice


def test_a_helper_that_has_lost_its_first_model_is_named_at_the_end(tmp_path):
    made = parties(tmp_path)
    events = made.leader(Overheard(made)).train()
    next(event for event in events if isinstance(event, RoundFinished))
    events.close()
    rmtree(tmp_path / "lab" / "runs" / "test-run" / "turns")
    with pytest.raises(RunError, match=r"'lab' has . models, but the result is made of .*: it has lost some"):
        list(made.leader(Overheard(made)).train())
