"""Several samples of a person in a run over messages: what helpers are told, and that nobody is fooled."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.alignment import Ids
from assistlearn.evaluation.words import Terms
from assistlearn.initiator.pilots import divided
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes
from tests.initiator.parties import Parties
from tests.papers_settings import PAPERS

AGENTS = [
    ("clinic", DecisionTreeClassifier(), [0, 1]),
    ("lab", RandomForestClassifier(5), [2, 3]),
    ("scans", DecisionTreeClassifier(max_depth=2), [4, 5]),
]
SETTINGS: dict[str, Any] = {
    "method": "soft",
    "reward": "auto",
    "combine": "learned",
    "n_rounds": 2,
    "models_per_turn": 3,
    "cv": 3,
}


def visits(n_people: int = 80, n_visits: int = 240) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a table in which people occur several times, their labels, which have nothing to do with it, and who."""
    rng = np.random.default_rng(1)
    who = np.unique(rng.integers(0, n_people, n_visits), return_inverse=True)[1]
    table, labels = rng.normal(size=(n_people, 6)), rng.integers(0, 2, n_people)
    return table[who] + 0.02 * rng.normal(size=(n_visits, 6)), labels[who], who


def parties(folder: Path, **more: Any) -> tuple[Parties, np.ndarray]:
    X, y, who = visits()
    return Parties(folder, AGENTS, X, y, SETTINGS | {"groups": {"clinic": who}} | more, {}), who


def task(made: Parties, name: str) -> m.Begin:
    """Return the task as a helper has it."""
    message = decode(RunStore(run_folder(made.folder / name, "test-run")).task())
    assert isinstance(message, m.Begin)
    return message


def test_a_run_whose_table_names_persons_claims_nothing_and_is_the_estimators_to_the_bit(tmp_path):
    made, who = parties(tmp_path)
    leader = made.leader()
    list(leader.train())
    others = np.random.default_rng(2)
    ids = Ids([f"p-{i:04d}" for i in range(len(who))], "new")
    said = leader.predict(ids, np.arange(len(who))).probabilities
    clf = AssistedClassifier(AGENTS, random_state=7, **PAPERS | SETTINGS).fit(made.X, made.labels, groups=who)
    np.testing.assert_array_equal(said, clf.predict_proba(made.X))
    assert leader.folder.result()["combination"]["loss"] == clf.combination_.loss > 0.63
    assert log_loss(others.integers(0, 2, 500), clf.predict_proba(others.normal(size=(500, 6)))) < 0.8


def test_without_persons_such_a_table_claims_to_know_nearly_everything(tmp_path):
    made, _ = parties(tmp_path, groups={})
    leader = made.leader()
    list(leader.train())
    assert leader.folder.result()["combination"]["loss"] < 0.3
    assert task(made, "lab").folds is None


@pytest.mark.parametrize("method", ["soft", "label-private"])
def test_helpers_are_told_a_fold_for_each_training_sample_and_no_more(tmp_path, method):
    more = {"combine": "sum", "epsilon": 3.0, "n_rounds": 1} if method == "label-private" else {}
    made, who = parties(tmp_path, method=method, holdout=0.3, **more)
    leader = made.leader()
    list(leader.train())
    told = task(made, "lab")
    aside = unpack_bits(told.holdout, len(who))
    order = leader.folder.samples()
    persons = who[order]
    assert not {*persons[aside]} & {*persons[~aside]}  # held out whole
    folds = unpack_codes(told.folds, int((~aside).sum()), 3)
    assert all(len(np.unique(folds[persons[~aside] == each])) == 1 for each in persons[~aside])
    assert np.bincount(folds).min() > 0.3 * len(folds)  # 1.6 bits a sample, and not who is who


def test_a_helper_whose_own_table_names_persons_keeps_them_together_by_itself(tmp_path):
    X, y, who = visits()
    fooled, honest = (tmp_path / name for name in ("fooled", "honest"))
    weights = []
    for folder, groups in ((fooled, {}), (honest, {"lab": who})):
        made = Parties(
            folder, AGENTS, X, y, SETTINGS | {"groups": groups, "combine": "sum", "reward": "out-of-fold"}, {}
        )
        leader = made.leader()
        list(leader.train())
        weights.append(sum(c["model_weight"] for c in leader.folder.result()["contributions"] if c["agent"] == "lab"))
        assert task(made, "lab").folds is None
    assert weights[1] < 0.3 * weights[0]


def test_a_pilot_keeps_people_together(tmp_path):
    made, who = parties(tmp_path)
    run, pool, _ = divided(made.leader().run, Terms(train_size=0.5))
    training = np.flatnonzero(run.table.labels >= 0)
    assert len(np.unique(who[pool])) == len(pool) > 20
    assert not {*who[training]} & {*who[pool]}
