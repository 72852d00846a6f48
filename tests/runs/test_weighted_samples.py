"""Weights of the samples reach every agent, and give the estimator's run to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn import AssistedClassifier
from tests.papers_settings import PAPERS
from tests.service.recording import three_agents


@pytest.mark.parametrize("options", [{}, {"method": "soft"}, {"holdout": 0.3}], ids=["ascii", "soft", "hold-out"])
def test_weighted_runs_over_messages_are_those_of_the_estimator(tmp_path, options):
    parties = three_agents(tmp_path, n_rounds=3, **options)
    parties.held.clear()
    weights = np.random.default_rng(1).integers(0, 4, len(parties.X)).astype(float)
    parties.options["weights"] = weights
    leader = parties.leader()
    list(leader.train())
    clf = AssistedClassifier(parties.agents, n_rounds=3, random_state=7, **(PAPERS | options))
    clf.fit(parties.X, parties.labels, sample_weight=weights)
    made = leader.folder.result()["contributions"]
    assert [c["model_weight"] for c in made] == [c.model_weight for c in clf.contributions_]
    unweighted = AssistedClassifier(parties.agents, n_rounds=3, random_state=7, **(PAPERS | options))
    unweighted.fit(parties.X, parties.labels)
    assert made[0]["model_weight"] != unweighted.contributions_[0].model_weight
