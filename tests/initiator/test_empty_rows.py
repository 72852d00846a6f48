"""A helper does not hold a person about whom its row says nothing: an empty row is as no row."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn import AssistedClassifier
from assistlearn.alignment import Ids
from tests.agent.recording import three_agents
from tests.papers_settings import PAPERS


@pytest.mark.parametrize("alignment", ["hash", "psi"])
def test_in_training_and_in_prediction_as_in_the_estimator(tmp_path, alignment):
    """The helper's learner refuses gaps: it would say so, if an empty row reached it."""
    made = []
    for way in ("no row", "an empty row"):
        parties = three_agents(tmp_path / way, n_rounds=2, alignment=alignment)
        name, _, columns = parties.agents[1]
        empty = np.random.default_rng(5).random(len(parties.X)) < 0.3
        parties.held.clear()
        if way == "no row":
            parties.held[name] = ~empty
        else:
            parties.X[np.ix_(empty, columns)] = np.nan
        leader = parties.leader()
        list(leader.train())
        ids = Ids([f"p-{i:04d}" for i in range(len(parties.X))], "These people")
        prediction = leader.predict(ids, np.arange(len(ids)))
        assert (prediction.known[name] == ~empty).all()
        made.append((leader.folder.result()["contributions"], prediction.scores))
    assert made[0][0] == made[1][0]
    np.testing.assert_array_equal(made[0][1], made[1][1])
    options = PAPERS | {"n_rounds": 2, "missing_agent": "abstain", "random_state": 7}
    clf = AssistedClassifier(parties.agents, **options).fit(parties.X, parties.labels)
    np.testing.assert_array_equal(sum(clf.agent_scores(parties.X).values()), made[1][1])
