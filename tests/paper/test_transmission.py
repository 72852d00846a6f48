"""What is weighed is what a run over messages really sends."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from assistlearn.estimators import AssistedClassifier
from assistlearn.protocol import MemoryTransport, decode
from paper.datasets import FAMILIES, blobs
from paper.transmission import cost_of
from tests.initiator.parties import Parties

N, ROUNDS = 400, 4


@pytest.fixture(scope="module")
def train():
    return blobs(FAMILIES["fig4a"], n_samples=N, random_state=1)


def learner():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def test_it_is_what_a_run_over_messages_sends(train, tmp_path):
    agents = [(name, learner(), list(map(int, train.columns(name)))) for name in train.agents]
    parties = Parties(tmp_path, agents, train.features, train.labels, {"n_rounds": ROUNDS}, {})
    inner = MemoryTransport({name: service.answer for name, service in parties.services().items()})
    bits = dict.fromkeys(("open", "align", "begin", "take-turn", "end"), 0)
    n_messages = dict.fromkeys(bits, 0)

    class Scale:
        def ask(self, agent, request):
            reply = inner.ask(agent, request)
            kind = decode(request).__struct_config__.tag
            bits[kind] += 8 * (len(request) + len(reply))
            n_messages[kind] += 2
            return reply

    list(parties.leader(Scale()).train())
    model = AssistedClassifier(agents, n_rounds=ROUNDS, random_state=7, method="ascii").fit(
        train.features, train.labels
    )
    cost = cost_of(model, train, 32)
    names = 8 * 24  # bits by which names, purposes and seeds of two runs may differ in a message
    assert cost.ids == pytest.approx(
        bits["open"] + bits["align"], abs=names * (n_messages["open"] + n_messages["align"])
    )
    assert cost.labels == pytest.approx(bits["begin"], abs=names * n_messages["begin"])
    assert sum(cost.turns) == pytest.approx(bits["take-turn"], abs=names * n_messages["take-turn"])
    assert cost.end == pytest.approx(bits["end"], abs=names * n_messages["end"])
    assert n_messages["take-turn"] == 2 * ROUNDS


@pytest.fixture(scope="module")
def cost(train):
    agents = [(name, learner(), train.columns(name)) for name in train.agents]
    return cost_of(
        AssistedClassifier(agents, n_rounds=ROUNDS, random_state=0, method="ascii").fit(train.features, train.labels),
        train,
        32,
    )


def test_a_round_takes_at_most_a_bit_per_sample_and_turn_and_some_words(cost):
    assert len(cost.turns) == ROUNDS
    assert all(0 < bits <= 2 * N + 8 * 400 for bits in cost.turns)


def test_the_columns_weigh_what_is_stored(cost):
    assert cost.n_columns == 100
    assert cost.columns == N * 100 * 32
    assert 0.5 * cost.columns < cost.columns_compressed <= cost.columns


def test_the_ratios_follow_from_the_bits(cost):
    sent = cost.ids + cost.labels + sum(cost.turns[:2]) + cost.end
    assert cost.upto(2) == sent
    assert cost.ratio(2) == (cost.ids + cost.columns) / sent
    assert cost.ratio_without_ids(2) == cost.columns / (sent - cost.ids)
    assert cost.ratio_compressed(2) <= cost.ratio(2)
    assert cost.papers_ratio(2) == pytest.approx(50.0, rel=0.01)
    assert np.all(np.diff([cost.ratio(round) for round in range(1, ROUNDS + 1)]) < 0)
