"""The record that every loader returns."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from assistlearn.errors import ColumnsError, SettingsError
from paper.datasets import DataSet


@pytest.fixture
def small() -> DataSet:
    return DataSet(
        name="small",
        features=np.arange(12.0).reshape(4, 3),
        labels=np.array(["no", "yes", "no", "no"]),
        ids=np.array([7, 5, 3, 1]),
        feature_names=("age", "pulse", "acid"),
        agents={"clinic": ("pulse", "age"), "lab": ("acid",)},
        class_names={"no": "healthy", "yes": "ill"},
        citation="nobody",
        licence="none",
    )


def test_nothing_in_it_can_be_changed(small):
    with pytest.raises(FrozenInstanceError):
        small.name = "large"
    for array in (small.features, small.labels, small.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(TypeError):
        small.agents["clinic"] = ()
    with pytest.raises(TypeError):
        small.class_names["no"] = "ill"


def test_the_callers_own_array_stays_writable():
    features = np.zeros((1, 1))
    DataSet("x", features, np.array([0]), np.array([0]), ("a",), {"A": ("a",)}, {0: "zero"}, "", "")
    features[0, 0] = 1


def test_columns_are_positions_in_the_agents_order(small):
    assert small.columns("clinic").tolist() == [1, 0]
    assert [small.feature_names[place] for place in small.columns("lab")] == ["acid"]


def test_only_the_initiators_table_has_the_labels(small):
    assert small.table("clinic").columns == ["id", "pulse", "age", "label"]
    assert small.table("lab").columns == ["id", "acid"]
    assert small.table("lab").rows() == [(7, 2.0), (5, 5.0), (3, 8.0), (1, 11.0)]
    assert small.table().columns == ["id", "age", "pulse", "acid", "label"]


def test_taking_rows_takes_their_labels_and_ids_along(small):
    taken = small.take(np.array([2, 1]))
    assert taken.ids.tolist() == [3, 5]
    assert taken.labels.tolist() == ["no", "yes"]
    assert taken.features[:, 0].tolist() == [6.0, 3.0]
    assert len(small.take(small.labels == "no")) == 3


def test_it_survives_pickling_and_stays_unchangeable(small):
    again = pickle.loads(pickle.dumps(small))
    np.testing.assert_array_equal(again.features, small.features)
    assert dict(again.agents) == dict(small.agents)
    assert not again.features.flags.writeable
    assert repr(again) == repr(small) == "<DataSet 'small': 4 samples, 3 features, 2 classes; clinic 2 + lab 1>"


def test_an_unknown_agent_is_named_with_those_that_exist(small):
    with pytest.raises(SettingsError, match=r"no agent 'bank'.*clinic.*lab"):
        small.columns("bank")
    with pytest.raises(SettingsError, match="no agent 'bank'"):
        small.table("bank")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"ids": np.array([7, 5, 3, 7])}, SettingsError, "1 of the ids occur more than once"),
        ({"ids": np.array([7, 5])}, SettingsError, "2 ids"),
        ({"labels": np.array(["no"])}, SettingsError, "1 labels"),
        ({"feature_names": ("age", "pulse", "pulse")}, ColumnsError, "twice"),
        ({"agents": {"clinic": ("weight",)}}, ColumnsError, "weight"),
    ],
)
def test_what_does_not_fit_together_is_refused(small, change, error, message):
    with pytest.raises(error, match=message):
        replace(small, **change)
