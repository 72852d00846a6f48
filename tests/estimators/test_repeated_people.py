"""Several samples about the same person are kept together, so that what is claimed holds for people never seen."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistedClassifier, assistance_gain, combination
from assistlearn.core.people import mean_and_error
from assistlearn.errors import AssistLearnWarning, SettingsError
from assistlearn.estimators.checks import repeated_people
from assistlearn.evaluation.metrics import differences

LEARNERS = {
    "deep tree": DecisionTreeClassifier(),
    "small tree": DecisionTreeClassifier(max_depth=3),
    "one neighbour": KNeighborsClassifier(1),
    "forest": RandomForestClassifier(20),
    "extra trees with bags": ExtraTreesClassifier(20, bootstrap=True),
    "logistic": LogisticRegression(),
}


def visits(n_people=150, n_visits=450, spread=0.05, seed=0):
    """Return a table in which people occur several times, their labels, which have nothing to do with it, and names."""
    rng = np.random.default_rng(seed)
    table, labels = rng.normal(size=(n_people, 6)), rng.integers(0, 2, n_people)
    who = rng.integers(0, n_people, n_visits)
    return table[who] + spread * rng.normal(size=(n_visits, 6)), labels[who], who


def two_agents(learner, **settings):
    return AssistedClassifier([("a", learner, slice(0, 3)), ("b", learner, slice(3, 6))], random_state=0, **settings)


@pytest.mark.filterwarnings("ignore:No model was kept")
@pytest.mark.parametrize(
    ("name", "reward"), [(name, ("auto", "out-of-fold")[place % 2]) for place, name in enumerate(LEARNERS)]
)
def test_without_any_signal_nothing_is_claimed_and_nothing_is_lost(name, reward):
    X, y, who = visits()
    clf = two_agents(LEARNERS[name], reward=reward, models_per_turn=5).fit(X, y, groups=who)
    rng = np.random.default_rng(1)
    others = rng.integers(0, 2, 2_000)
    assert log_loss(others, clf.predict_proba(rng.normal(size=(2_000, 6)))) < 0.76  # the prior has .693
    if clf.combination_ is not None:
        assert clf.combination_.loss > 0.63


def test_rows_that_repeat_others_are_found_and_kept_together_with_a_warning():
    X, y, who = visits(spread=0.0)
    with pytest.warns(AssistLearnWarning, match=r"rows repeat an earlier row.*groups=range\(len\(X\)\)") as said:
        found = two_agents(KNeighborsClassifier(1)).fit(X, y)
    n_repeats = len(y) - len(np.unique(who))
    assert f"{n_repeats} of the 450 rows" in str(said[0].message)
    assert said[0].filename == __file__
    named = two_agents(KNeighborsClassifier(1)).fit(X, y, groups=who)
    others = np.random.default_rng(1).normal(size=(50, 6))
    np.testing.assert_allclose(found.predict_proba(others), named.predict_proba(others), atol=0.1)


@pytest.mark.filterwarnings("error")
def test_a_caller_may_say_that_all_rows_are_different_people():
    X, y, _ = visits(spread=0.0)
    clf = two_agents(KNeighborsClassifier(1)).fit(X, y, groups=range(len(X)))
    assert clf.combination_.loss < 0.2  # as before: each row knows its copies


def test_names_are_only_names():
    X, y, who = visits()
    numbers = two_agents(GaussianNB()).fit(X, y, groups=who)
    texts = two_agents(GaussianNB()).fit(X, y, groups=pd.Series([f"p-{each:03}" for each in who]))
    assert np.array_equal(numbers.predict_proba(X), texts.predict_proba(X))


@pytest.mark.filterwarnings("error")
def test_groups_of_one_row_each_change_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    plain = two_agents(GaussianNB(), holdout=0.3, combine="sum").fit(X[:, :6], y)
    named = two_agents(GaussianNB(), holdout=0.3, combine="sum").fit(
        X[:, :6], y, groups=[f"p{row}" for row in range(len(y))]
    )
    assert np.array_equal(plain.predict_proba(X[:, :6]), named.predict_proba(X[:, :6]))


def test_a_person_is_held_out_whole():
    X, y, who = visits()
    clf = two_agents(DecisionTreeClassifier(max_depth=3), holdout=0.3, combine="sum").fit(X, y, groups=who)
    held_out = clf.ignorance_ == 0.0
    assert 100 < held_out.sum() < 170
    assert not {*who[held_out]} & {*who[~held_out]}
    assert max(clf.holdout_scores_) < 0.65


@pytest.mark.filterwarnings("ignore:No model was kept")
@pytest.mark.parametrize("metric", ["accuracy", "log_loss", "balanced_accuracy", "roc_auc"])
def test_copies_of_everybody_make_no_interval_narrower(metric):
    rng = np.random.default_rng(0)
    codes, who = rng.integers(0, 2, 60), rng.permutation(np.repeat(np.arange(60), 5))
    said = [np.column_stack([1 - p, p]) for p in (codes * 0.3 + 0.7 * rng.random(60), rng.random(60))]
    once = differences(codes, *said, only=[metric])[metric]
    copies = differences(codes[who], *(each[who] for each in said), groups=who, only=[metric])[metric]
    assert [copies.value, copies.low, copies.high] == pytest.approx([once.value, once.low, once.high])
    loss = np.log(said[0][:, 1])
    assert mean_and_error(loss[who], groups=who) == pytest.approx(mean_and_error(loss))


def test_the_errors_of_a_report_go_by_persons_and_not_by_their_visits():
    """Twenty visits of each person: intervals of the visits themselves would be several times as narrow."""
    X, y, who = visits(60, 1_200)
    X[:, 3:] += y[:, np.newaxis]
    report = two_agents(GaussianNB(), holdout=0.4, combine="sum", n_rounds=1).fit(X, y, groups=who).report_
    found = report.differences["accuracy"]
    assert report.n_samples > 400
    assert found.high - found.low > 0.15
    assert report.shares.accuracy.error > 0.04


def test_the_error_of_a_combination_goes_by_persons():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 80)
    own = codes * 0.5 + rng.normal(size=80)
    who = np.repeat(np.arange(80), 9)
    scores = {"a": np.column_stack([-own, own])[who], "b": np.zeros((720, 2))}
    persons, rows = (
        combination.fit("learned", scores, codes[who], initiator="a", groups=each).error for each in (who, None)
    )
    assert persons > 2.0 * rows


@pytest.mark.filterwarnings("ignore:No model was kept")  # of an agent that knows nothing, alone
def test_a_pilot_keeps_people_together():
    X, y, who = visits(300, 900)
    rng = np.random.default_rng(2)
    X[:, :3] = rng.normal(size=(900, 3))  # the first agent knows nothing at all
    clf = two_agents(KNeighborsClassifier(1), combine="sum", n_rounds=1)
    fooled = assistance_gain(clf, X, y, groups=range(900), random_state=0)
    assert (fooled.answer, fooled.together.estimate > 0.1) == ("yes", True)
    assert assistance_gain(clf, X, y, groups=who, random_state=0).answer != "yes"
    exact = np.random.default_rng(0).normal(size=(300, 6))[who]
    with pytest.warns(AssistLearnWarning, match="repeat an earlier row") as said:
        assert assistance_gain(clf, exact, y, random_state=0).answer != "yes"
    assert sum("repeat an earlier row" in str(each.message) for each in said) == 1


@pytest.mark.filterwarnings("ignore:No model was kept")
def test_groups_go_through_cross_validation_without_and_with_metadata_routing():
    X, y, who = visits()
    clf = two_agents(KNeighborsClassifier(1), combine="sum", n_rounds=1)
    plain = cross_val_score(clf, X, y, groups=who, cv=GroupKFold(3), params={"groups": who})
    with sklearn.config_context(enable_metadata_routing=True):
        asking = two_agents(KNeighborsClassifier(1), combine="sum", n_rounds=1).set_fit_request(groups=True)
        routed = cross_val_score(asking, X, y, cv=GroupKFold(3), params={"groups": who})
    assert np.array_equal(plain, routed)
    assert plain.mean() < 0.65


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([1, 1, 2], "groups has 3 entries, but X has 30 rows"),
        ([1.0, np.nan] * 15, r"no entry for 15 rows \(first: row 1\)"),
        ([1, 1, 1] * 10, "about 1 persons only, by their groups. At least 3"),
        (["a", 1, 2] * 10, "mixes texts and other values"),
    ],
)
def test_groups_that_name_nobody_are_refused(groups, words):
    X, y, _ = visits(30, 30)
    groups = np.array(groups, dtype=object) if "a" in groups else groups
    with pytest.raises(SettingsError, match=words):
        two_agents(GaussianNB()).fit(X, y, groups=groups)


# -- which repeated rows are the same person


def grouped(X, y) -> int:
    """Return how many rows are taken to be about somebody who has another row."""
    found = repeated_people(X, np.unique(y, return_inverse=True)[1])
    return 0 if found is None else len(found) - int(found.max()) - 1


def test_rows_drawn_with_replacement_are_found_in_tables_of_every_kind():
    X, y, who = visits(spread=0.0)
    repeats = len(y) - len(np.unique(who))
    assert grouped(X, y) == grouped(csr_array(X), y) == repeats
    frame = pd.DataFrame(X).assign(sex=np.where(X[:, 0] > 0, "f", "m"), gap=None)
    assert grouped(frame, y) == grouped(pl.from_pandas(frame.rename(columns=str)), y) == repeats
    assert grouped(frame.to_numpy(), y) == repeats
    few = np.arange(200) % 20 == 0  # copies of one class
    rows = np.r_[np.arange(200), np.repeat(np.flatnonzero(few), 9)]
    assert grouped(np.random.default_rng(5).normal(size=(200, 4))[rows], few[rows]) == 90


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("lacking", [0.3, 0.6])
def test_they_are_found_where_an_agent_lacks_people_and_where_nobody_holds_them(columns, lacking):
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(300, columns)), rng.integers(0, 2, 300)
    table[rng.random(300) < lacking, columns // 2 :] = np.nan
    nobody = rng.random(300) < lacking
    table[nobody] = np.nan
    who = rng.integers(0, 300, 900)
    held = ~nobody[who]
    assert grouped(table[who], y[who]) == held.sum() - len(np.unique(who[held]))


def test_whole_numbers_of_many_columns_are_found_though_each_occurs_often():
    rng = np.random.default_rng(0)
    X = np.c_[
        rng.integers(29, 77, 300), rng.integers(94, 200, 300), rng.integers(126, 400, 300), rng.integers(0, 3, 300)
    ]
    X = np.c_[X, rng.integers(71, 202, 300), rng.integers(0, 62, 300), rng.integers(0, 2, (300, 3))]
    y, rows = rng.integers(0, 2, 300), rng.integers(0, 300, 1_000)
    assert grouped(X[rows], y[rows]) == 1_000 - len(np.unique(rows))


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize(
    ("columns", "levels", "rows"), [(9, 3, 958), (6, 3, 500), (12, 2, 1_000), (2, 60, 300), (4, 8, 500)]
)
def test_people_who_look_alike_in_discrete_columns_are_no_repeated_people(columns, levels, rows, one_hot):
    for seed in range(3):
        X = np.random.default_rng(seed).integers(0, levels, (rows, columns))
        y = X[:, 0] > levels / 2
        table = np.stack([level == X for level in range(levels)], axis=2).reshape(rows, -1) if one_hot else X
        assert grouped(table.astype(float), y) == 0


def test_neither_are_rows_whose_labels_differ_nor_rows_without_any_value_nor_a_few():
    X, y, _ = visits(spread=0.0)
    assert grouped(X, np.random.default_rng(3).integers(0, 2, len(y))) == 0
    empty = np.random.default_rng(4).normal(size=(300, 6))
    empty[:100] = np.nan
    assert grouped(empty, np.r_[np.zeros(100), np.arange(200) % 2]) == 0
    assert grouped(*load_iris(return_X_y=True)) == 0  # one pair


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_about_ordinary_tables():
    X, y = load_breast_cancer(return_X_y=True)
    two_agents(GaussianNB(), n_rounds=1, combine="sum").fit(X[:, :6], y)
    two_agents(GaussianNB(), n_rounds=1, combine="sum").fit(np.round(X[:, :6] / 20), y)
