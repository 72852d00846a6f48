"""Which columns an agent knows, said in every way ColumnTransformer understands, and the errors that name the agent."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.naive_bayes import GaussianNB

from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnWarning, ColumnsError
from assistlearn.estimators.checks import AllColumns, positions_of, take_columns

TABLE = np.random.RandomState(0).rand(30, 5)
NAMES = ["age", "bmi", "pressure", "sugar", "sodium"]
FRAME = pd.DataFrame(TABLE, columns=NAMES)
Y = (TABLE[:, 0] + TABLE[:, 3] > 1).astype(int)


def known(columns, X=FRAME) -> list[int]:
    """Return the columns that an agent finds through the estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssistLearnWarning)
        clf = AssistedClassifier(
            [("clinic", GaussianNB(), columns), ("lab", GaussianNB(), slice(None))], n_rounds=1, method="ascii"
        )
        return clf.fit(X, Y).columns_["clinic"].tolist()


WAYS = {
    "names": (["sugar", "age"], [3, 0]),
    "one name": ("bmi", [1]),
    "an index of names": (FRAME.columns[2:], [2, 3, 4]),
    "an array of names": (np.array(["sodium"]), [4]),
    "positions": ([0, 3], [0, 3]),
    "positions from the end": ([-1, 0], [4, 0]),
    "an array of positions": (np.array([1, 2]), [1, 2]),
    "one position": (2, [2]),
    "one numpy position": (np.int32(2), [2]),
    "a range": (range(1, 5, 2), [1, 3]),
    "a slice": (slice(1, 3), [1, 2]),
    "a slice to the end": (slice(-2, None), [3, 4]),
    "a slice with a step": (slice(None, None, 2), [0, 2, 4]),
    "a slice of names, its end included": (slice("bmi", "sugar"), [1, 2, 3]),
    "a slice from a name": (slice("sugar", None), [3, 4]),
    "a mask": ([True, False, False, True, False], [0, 3]),
    "a mask as an array": (np.array(NAMES) == "bmi", [1]),
    "a mask as a series": (pd.Series([False, True, True, False, False]), [1, 2]),
    "a callable that names": (lambda X: X.columns[3:], [3, 4]),
    "a callable that masks": (lambda X: X.columns.str.startswith("s"), [3, 4]),
    "a selector": (make_column_selector(pattern="^s"), [3, 4]),
}


@pytest.mark.parametrize(("columns", "expected"), WAYS.values(), ids=WAYS)
def test_columns_can_be_said_in_every_way(columns, expected: list[int]):
    assert known(columns) == expected


# A single column means a vector to ColumnTransformer; a range and a slice with a step it does not take.
OURS_ALONE = ("one name", "one position", "one numpy position", "a range", "a slice with a step")


@pytest.mark.parametrize("way", [way for way in WAYS if way not in OURS_ALONE])
def test_they_mean_what_they_mean_to_a_column_transformer(way: str):
    columns, expected = WAYS[way]
    passed_on = ColumnTransformer([("clinic", "passthrough", columns)]).fit_transform(FRAME)
    np.testing.assert_array_equal(passed_on, TABLE[:, expected])


WRONG = {
    "an unknown name": (["age", "height"], r"no column 'height'.*'age', 'bmi', 'pressure', 'sugar', 'sodium'"),
    "a position too far": ([0, 5], r"no column 5.*5 columns, 0 to 4"),
    "a position too far back": ([-6], "no column -6"),
    "nothing": ([], r"empty.*at least one of the 5 columns"),
    "an empty slice": (slice(3, 3), "empty"),
    "an empty mask": ([False] * 5, "empty"),
    "a callable that finds nothing": (lambda X: [], "empty"),
    "a mask of another length": ([True, False], r"mask has 2 entries.*5 columns"),
    "a column twice": (["age", "bmi", "age"], "'age' more than once"),
    "a column by name and position": (["age", 0], "'age' more than once"),
    "a mixture with booleans": ([True, 1], "True is neither"),
    "a number": ([0.5], "0.5 is neither"),
    "no columns at all": (None, r"must be names, positions.*not None"),
    "a boolean": (True, r"must be names, positions.*not True"),
    "a slice of unknown names": (slice("age", "height"), "no column 'height'"),
    "a slice of nonsense": (slice(0.5, 2), r"slice\(0.5, 2, None\) are not a valid slice"),
    "a slice that stands still": (slice(0, 3, 0), "not a valid slice.*zero"),
}


@pytest.mark.parametrize(("columns", "message"), WRONG.values(), ids=WRONG)
def test_columns_that_cannot_be_found_are_refused_with_the_agents_name(columns, message: str):
    with pytest.raises(ColumnsError, match=rf"Agent 'clinic'.*{message}"):
        known(columns)


def test_a_name_without_names_is_refused_with_a_remedy():
    with pytest.raises(
        ColumnsError, match=r"'clinic': column 'age' is named, but.*Pass a data frame, or give the positions"
    ):
        known(["age"], TABLE)


def test_a_column_twice_without_names_is_refused_by_position():
    with pytest.raises(ColumnsError, match="'clinic': its columns name column 2 more than once"):
        known([2, -3], TABLE)


def test_a_long_list_of_known_columns_is_cut_short():
    frame = pd.DataFrame(np.random.RandomState(0).rand(30, 25), columns=[f"c{i}" for i in range(25)])
    with pytest.raises(ColumnsError, match=r"'c19', \.\.\.\.$"):
        known(["height"], frame)


def test_a_name_that_two_columns_have_is_refused():
    names = ["age", "bmi", "age", "sugar", "sodium"]
    with pytest.raises(ColumnsError, match=r"'clinic': 'age' is the name of 2 columns. Give their positions instead."):
        positions_of(["age"], TABLE, names, "clinic")
    assert positions_of(["bmi"], TABLE, names, "clinic").tolist() == [1]
    assert positions_of([0, 2], TABLE, names, "clinic").tolist() == [0, 2]


def test_columns_of_a_frame_with_whole_numbers_for_names_are_positions():
    frame = pd.DataFrame(TABLE, columns=[4, 3, 2, 1, 0])
    assert known([0, 1], frame) == [0, 1]


def test_two_agents_may_know_the_same_column_and_that_is_nothing_to_mention():
    agents = [("a", GaussianNB(), [0, 1, 2]), ("b", GaussianNB(), [2, 3, 4])]
    clf = AssistedClassifier(agents, n_rounds=1, method="ascii").fit(FRAME, Y)  # a warning would be an error
    assert clf.columns_["b"].tolist() == [2, 3, 4]


def test_columns_that_belong_to_nobody_are_said_once():
    clf = AssistedClassifier([("a", GaussianNB(), ["age"]), ("b", GaussianNB(), ["sugar"])], n_rounds=3, method="ascii")
    with pytest.warns(AssistLearnWarning) as said:
        clf.fit(FRAME, Y).predict(FRAME)
    assert [str(w.message) for w in said] == [
        "No agent knows 3 of the 5 columns: 'bmi', 'pressure', 'sodium'. They are not used."
    ]
    assert said[0].filename == __file__  # the warning points at the caller's line


def test_many_columns_that_belong_to_nobody_are_counted():
    X = np.random.RandomState(0).rand(30, 20)
    with pytest.warns(AssistLearnWarning, match=r"18 of the 20 columns: 2, 3, .*, 11 and 8 more\."):
        AssistedClassifier([("a", GaussianNB(), [0]), ("b", GaussianNB(), [1])], n_rounds=1, method="ascii").fit(X, Y)


def test_a_single_agent_may_ignore_columns_in_silence():
    AssistedClassifier([("a", GaussianNB(), ["age"])], n_rounds=1, method="ascii").fit(FRAME, Y)


def test_what_belongs_to_nobody_is_never_looked_at():
    spoilt = FRAME.assign(pressure=np.nan)
    clf = AssistedClassifier(
        [("a", GaussianNB(), ["age", "bmi"]), ("b", GaussianNB(), ["sugar", "sodium"])], method="ascii"
    )
    with pytest.warns(AssistLearnWarning, match="'pressure'"):
        clf.fit(spoilt, Y)
    assert np.array_equal(clf.predict(spoilt), clf.predict(FRAME))


@pytest.mark.parametrize("positions", [[1, 2, 3], [3, 1], [4]])
@pytest.mark.parametrize(
    "make",
    [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array, sparse.csc_array, sparse.csr_matrix],
    ids=["numpy", "pandas", "polars", "csr", "csc", "csr matrix"],
)
def test_columns_are_taken_from_every_kind_of_table_in_its_own_kind(make, positions: list[int]):
    table = make(TABLE)
    taken = take_columns(table, np.array(positions))
    assert type(taken) is type(table)
    dense = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
    assert np.array_equal(dense, TABLE[:, positions])


def test_neighbouring_columns_of_an_array_are_not_copied():
    assert np.shares_memory(take_columns(TABLE, np.array([1, 2, 3])), TABLE)


def test_all_columns_of_several_agents_are_each_column_once_in_the_tables_order():
    every = AllColumns([("a", ["sugar", "age"]), ("b", slice(2, 4))])
    assert every(FRAME).tolist() == [0, 2, 3]
    assert AllColumns()(TABLE).tolist() == [0, 1, 2, 3, 4]
    assert positions_of(AllColumns(), TABLE, None, "a").tolist() == [0, 1, 2, 3, 4]
