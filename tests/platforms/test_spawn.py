"""Processes that are started anew, as macOS and Windows do, and paths as Windows writes them."""

from __future__ import annotations

import multiprocessing

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.agent.file import load_description
from assistlearn.errors import DescriptionError

X, Y = load_breast_cancer(return_X_y=True)
LEARNER = '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n'


def answers() -> list[int]:
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=2), range(3)),
        ("lab", DecisionTreeClassifier(), range(3, 30)),
    ]
    return AssistedClassifier(agents, random_state=0).fit(X[:300], Y[:300]).predict(X[300:]).tolist()


def test_a_spawned_process_gives_the_same_answers():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(answers) == answers()


def described(tmp_path, table):
    file = tmp_path / "lab.toml"
    file.write_text(f'name = "lab"\nid = "id"\ntable = {table}\n{LEARNER}', encoding="utf-8")
    return load_description(file)


@pytest.mark.parametrize("table", [r'"tables\lab.csv"', r'"C:\Users\lab.csv"', r'"D:\new lab\x.csv"'])
def test_a_backslash_in_a_text_is_refused_with_how_to_write_a_path(tmp_path, table):
    with pytest.raises(DescriptionError, match=r"write paths with /"):
        described(tmp_path, table)


@pytest.mark.parametrize("table", ['"tables/lab.csv"', '"./tables/lab.csv"'])
def test_paths_with_slashes_are_those_of_this_system(tmp_path, table):
    assert described(tmp_path, table).table.path == tmp_path / "tables" / "lab.csv"


def test_a_path_in_single_quotes_keeps_its_backslashes(tmp_path):
    assert str(described(tmp_path, r"'tables\lab.csv'").table.path).endswith(r"tables\lab.csv")
