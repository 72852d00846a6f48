"""From the third round on, half of the agents are asked first; the others only if these have something new to say."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from assistlearn import AssistedClassifier, StopReason
from bench.accuracy.bytes import Counted

EASY = {"n_classes": 2, "n_clusters_per_class": 1}


def test_the_helper_is_not_asked_in_a_third_round_in_which_the_initiator_finds_nothing_new():
    X, y = make_classification(200, 6, n_informative=6, n_redundant=0, shuffle=False, **EASY, random_state=2)
    agents = [("own", GaussianNB(), [0, 2, 4]), ("helper", GaussianNB(), [1, 3, 5])]
    settings = {"combine": "learned", "models_per_turn": 2, "random_state": 0}
    model = Counted(agents, **settings).fit(X, y)
    asked = [(taken.turn.round, taken.agent) for taken in model.taken_]
    last = asked[-1][0]
    assert last > 2
    assert model.stop_reason_ is StopReason.ROUNDS_NO_LONGER_PAY
    assert asked[-1] == (last, "own")
    assert model.n_rounds_ == last - 1
    sent = model.bytes_by_round()
    assert sent[-1] - sent[-2] < 10  # nothing but the longer number of the last round
    same = AssistedClassifier(agents, n_rounds=model.n_rounds_, **settings).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
