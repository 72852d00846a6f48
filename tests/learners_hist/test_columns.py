"""Missing values and categories are XGBoost's business, and work alone and in a run."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assistlearn import AssistedClassifier
from assistlearn.errors import SettingsError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier

RNG = np.random.RandomState(0)
COLOUR = RNG.randint(0, 12, 900)
SIZE = RNG.normal(size=900)
NAMES = np.array([f"colour {letter}" for letter in "jcbdaghiefkl"])
ODD = COLOUR % 2 == 1
TWO = ODD.astype(int)
THREE = np.where(ODD, 2, (SIZE > 0).astype(int))
FRAMES = {
    "pandas": pd.DataFrame({"colour": pd.Categorical(NAMES[COLOUR]), "size": SIZE}),
    "polars": pl.DataFrame(
        {"colour": NAMES[COLOUR], "size": SIZE}, schema_overrides={"colour": pl.Enum(sorted(NAMES))}
    ),
}


@pytest.mark.parametrize("learner", [HistTreeClassifier(max_depth=1), HistBoostClassifier(3, max_depth=1)])
@pytest.mark.parametrize("kind", FRAMES)
def test_one_split_can_put_any_categories_together(learner, kind):
    # Every other category: no threshold on their codes could do it.
    assert learner.fit(FRAMES[kind], TWO).score(FRAMES[kind], TWO) == 1.0


@pytest.mark.parametrize("learner", [HistTreeClassifier(max_depth=2), HistBoostClassifier(5, max_depth=2)])
@pytest.mark.parametrize("kind", FRAMES)
def test_categories_work_with_more_than_two_classes(learner, kind):
    assert learner.fit(FRAMES[kind], THREE).score(FRAMES[kind], THREE) == 1.0


def test_categories_may_be_listed_in_another_order_when_predicting():
    frame = FRAMES["pandas"]
    tree = HistTreeClassifier(max_depth=1).fit(frame, TWO)
    other = frame.assign(colour=frame["colour"].cat.set_categories(sorted(NAMES, reverse=True)))
    assert np.array_equal(tree.predict(other), tree.predict(frame))


def test_an_array_can_say_which_of_its_columns_are_codes_of_categories():
    X = np.column_stack([COLOUR, SIZE])
    told = HistTreeClassifier(max_depth=1, feature_types=["c", "q"]).fit(X, TWO)
    assert told.score(X, TWO) == 1.0
    assert HistTreeClassifier(max_depth=1).fit(X, TWO).score(X, TWO) < 0.7


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("learner", [HistTreeClassifier(max_depth=2), HistBoostClassifier(3)])
def test_the_binned_table_of_a_frame_answers_as_the_frame_does(learner, labels):
    table = learner.prepare(FRAMES["pandas"], labels)
    model = learner.fit(table, labels, sample_weight=np.linspace(0.5, 1.5, 900))
    assert np.array_equal(model.predict(table), model.predict(FRAMES["pandas"]))
    assert model.feature_names_in_.tolist() == ["colour", "size"]


def test_agents_with_categories_work_in_a_run():
    frame = FRAMES["pandas"]
    agents = [("paint", HistTreeClassifier(), ["colour"]), ("tape", HistTreeClassifier(), ["size"])]
    clf = AssistedClassifier(agents, n_rounds=5, random_state=0, method="ascii").fit(frame, THREE)
    assert clf.score(frame, THREE) > 0.95
    assert clf.alone("tape").fit(frame, THREE).score(frame, THREE) < 0.8


@pytest.mark.parametrize("learner", [HistTreeClassifier(max_depth=1), HistBoostClassifier(5, max_depth=1)])
def test_that_a_value_is_missing_can_be_the_whole_information(learner):
    X = np.where(ODD, np.nan, SIZE)[:, np.newaxis]
    assert learner.fit(X, TWO).score(X, TWO) == 1.0


def test_infinite_values_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        HistTreeClassifier().fit([[0.0], [np.inf]], [0, 1])


def test_a_column_too_few_is_refused_for_a_frame_too():
    tree = HistTreeClassifier().fit(FRAMES["pandas"], TWO)
    with pytest.raises(ValueError, match="feature names"):
        tree.predict(FRAMES["pandas"][["colour"]])


@pytest.mark.parametrize("kind", FRAMES)
def test_a_category_that_was_never_seen_counts_as_missing(kind):
    tree = HistTreeClassifier(max_depth=1).fit(FRAMES[kind], TWO)
    rows = {"colour": ["colour nobody knows", None], "size": [0.0, 0.0]}
    if kind == "pandas":
        new = pd.DataFrame(rows).astype({"colour": "category"})
    else:
        new = pl.DataFrame(rows, schema_overrides={"colour": pl.Categorical})
    unseen, missing = tree.predict_proba(new)
    assert np.array_equal(unseen, missing)


@pytest.mark.parametrize(
    "values",
    [
        ["ä", "é", "日本", "ba", "b"],
        np.arange(5, dtype=np.uint16),
        np.arange(-2, 3, dtype=np.int64),
        np.array([0.5, 1.5, 2.5, 3.5, 4.5]),
    ],
)
def test_categories_can_be_any_text_and_any_numbers(values):
    codes = COLOUR % 5
    labels = (codes % 2 == 1).astype(int)
    frame = pd.DataFrame({"kind": pd.Categorical.from_codes(codes, categories=values)})
    tree = HistTreeClassifier(max_depth=1).fit(frame, labels)
    assert tree.score(frame, labels) == 1.0
    shuffled = frame.assign(kind=frame["kind"].cat.reorder_categories(list(values)[::-1]))
    assert np.array_equal(tree.predict(shuffled), tree.predict(frame))
    some = frame[codes > 2].assign(kind=frame["kind"][codes > 2].cat.remove_unused_categories())
    assert np.array_equal(tree.predict(some), tree.predict(frame)[codes > 2])


def test_frames_of_both_libraries_give_the_same_answers():
    by_name = np.argsort(np.argsort(NAMES))[COLOUR]  # pandas, too, sorts its categories
    array = np.column_stack([by_name, SIZE])
    told = HistTreeClassifier(max_depth=3, feature_types=["c", "q"]).fit(array, THREE)
    for frame in FRAMES.values():
        assert np.array_equal(HistTreeClassifier(max_depth=3).fit(frame, THREE).booster_, told.booster_)


def test_a_column_of_text_is_refused_by_name():
    frame = FRAMES["pandas"].assign(shape="round")
    with pytest.raises(SettingsError, match="Column 'shape' does not hold numbers"):
        HistTreeClassifier().fit(frame, TWO)


def test_a_column_that_is_no_longer_categorical_is_refused_by_name():
    frame = FRAMES["pandas"]
    tree = HistTreeClassifier().fit(frame, TWO)
    with pytest.raises(SettingsError, match="Column 'colour' is not categorical, but was when the model was fitted"):
        tree.predict(frame.assign(colour=1.0))
    with pytest.raises(SettingsError, match="Pass a data frame"):
        tree.predict(np.zeros((2, 2)))
    plain = HistTreeClassifier().fit(frame.assign(colour=1.0), TWO)
    with pytest.raises(SettingsError, match="Column 'colour' is categorical, but was not"):
        plain.predict(frame)
