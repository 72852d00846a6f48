"""A learner: prepared once, refitted every round, and named when it fails."""

import gc
import re
import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnError, LearnerError, LearnerTypeError
from assistlearn.learners import Learner, Prepares
from assistlearn.learners.model import as_trees_see_it
from tests.learners.classifiers import Constant, Failing, OnceForAll, Witness


class Short(Constant):
    """Has no answer for three samples."""

    def predict(self, table):
        return super().predict(table)[:-3]


RNG = np.random.RandomState(0)
X = RNG.rand(60, 4)
CODES = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.7)
IGNORANCE = RNG.dirichlet(np.ones(60))


def prepared(estimator, table=X) -> Learner:
    learner = Learner(estimator, "lab")
    learner.prepare(table, CODES, seed=1)
    return learner


def test_a_model_answers_what_its_estimator_fitted_by_hand_answers():
    model, answers = prepared(DecisionTreeClassifier(max_depth=2)).fit(IGNORANCE, 3, "round 1")
    by_hand = DecisionTreeClassifier(max_depth=2, random_state=3).fit(X, CODES, sample_weight=IGNORANCE)
    assert np.array_equal(answers, by_hand.predict(X))
    assert np.array_equal(model.predict(X[:7]), by_hand.predict(X[:7]))


def test_the_users_estimator_is_never_fitted_nor_seeded():
    tree = DecisionTreeClassifier(random_state=77)
    prepared(tree).fit(IGNORANCE, 3, "round 1")
    assert tree.random_state == 77
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize("learner", [RandomForestClassifier(5), DecisionTreeClassifier(), ExtraTreeClassifier()])
def test_nothing_is_learned_from_samples_without_ignorance(learner):
    without = np.where(CODES == 2, 0.0, IGNORANCE)
    model, answers = prepared(learner).fit(without / without.sum(), 3, "round 1")
    assert 2 not in answers
    assert 2 not in model.predict(X)


@pytest.mark.parametrize(
    "learner", [RandomForestClassifier(5), ExtraTreesClassifier(5), DecisionTreeClassifier(), ExtraTreeClassifier()]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, [np.inf, -np.inf], 1e300, [3e38, 3e38]])
def test_trees_meet_missing_infinite_and_huge_values_as_they_would_on_their_own(learner, value):
    table = X.copy()
    table[3:5, 2] = value
    by_hand = clone(learner).set_params(random_state=3)
    with np.errstate(all="ignore"):  # scikit-learn's own conversion to float32, and its sum of infinities
        try:
            expected = by_hand.fit(table, CODES, sample_weight=IGNORANCE).predict(table)
        except ValueError as refusal:
            with pytest.raises(LearnerError, match=re.escape(str(refusal).splitlines()[0][:30])):
                prepared(learner, table).fit(IGNORANCE, 3, "round 1")
        else:
            model, answers = prepared(learner, table).fit(IGNORANCE, 3, "round 1")
            assert np.array_equal(answers, expected)
            assert np.array_equal(model.predict(table), expected)


def test_looking_at_infinities_warns_of_nothing():
    table = np.array([[np.inf, -np.inf], [3e38, 3e38]])
    as_trees_see_it(DecisionTreeClassifier(), table)


@pytest.mark.parametrize("inside", [False, True], ids=["a pipeline", "a pipeline in a pipeline"])
def test_in_a_pipeline_the_weight_reaches_the_last_step(inside):
    Witness.seen.clear()
    pipeline = make_pipeline(StandardScaler(), Witness(max_depth=2))
    pipeline = make_pipeline(FunctionTransformer(), pipeline) if inside else pipeline
    model, answers = prepared(pipeline).fit(IGNORANCE, 3, "round 1")
    ((weights, table, seed),) = Witness.seen
    np.testing.assert_allclose(weights / weights.sum(), IGNORANCE, rtol=1e-12)
    assert 0.7 < weights.mean() < 1.5
    np.testing.assert_allclose(table, StandardScaler().fit_transform(X), rtol=1e-6)
    assert seed == 3
    assert np.array_equal(model.predict(X), answers)


def test_a_pipeline_of_one_step_is_that_step():
    _, answers = prepared(Pipeline([("tree", DecisionTreeClassifier(max_depth=2))])).fit(IGNORANCE, 3, "round 1")
    _, expected = prepared(DecisionTreeClassifier(max_depth=2)).fit(IGNORANCE, 3, "round 1")
    assert np.array_equal(answers, expected)


def test_a_pipelines_transformers_are_fitted_once():
    calls = []
    count = FunctionTransformer(lambda rows: calls.append(len(rows)) or rows)
    learner = prepared(make_pipeline(count, DecisionTreeClassifier()))
    for turn in range(5):
        learner.fit(IGNORANCE, turn, f"round {turn}")
    assert calls == [60]


def test_a_pipelines_random_transformers_are_seeded():
    def projected(seed: int) -> np.ndarray:
        Witness.seen.clear()
        learner = Learner(make_pipeline(GaussianRandomProjection(2), Witness()), "lab")
        learner.prepare(X, CODES, seed)
        learner.fit(IGNORANCE, 3, "round 1")
        return Witness.seen[0][1]

    assert np.array_equal(projected(1), projected(1))
    assert not np.array_equal(projected(1), projected(2))


def test_a_learner_that_prepares_its_table_does_so_once():
    OnceForAll.prepared.clear()
    assert isinstance(OnceForAll(), Prepares)
    assert not isinstance(DecisionTreeClassifier(), Prepares)
    learner = prepared(make_pipeline(StandardScaler(), OnceForAll(max_depth=2)))
    for turn in range(4):
        model, answers = learner.fit(IGNORANCE, turn, f"round {turn}")
    assert [(table.fits, table.predictions) for table in OnceForAll.prepared] == [(4, 4)]
    assert np.array_equal(model.predict(X), answers)


def test_a_released_learner_lets_go_of_the_table_and_its_models_still_predict():
    OnceForAll.prepared.clear()
    learner = prepared(OnceForAll(max_depth=2))
    model, answers = learner.fit(IGNORANCE, 3, "round 1")
    gone = weakref.ref(OnceForAll.prepared.pop())
    learner.release()
    gc.collect()
    assert gone() is None
    assert np.array_equal(model.predict(X), answers)


def test_a_learner_without_weights_is_resampled_from_its_seed():
    learner = prepared(KNeighborsClassifier(n_neighbors=1))
    _, first = learner.fit(IGNORANCE, 3, "round 1")
    _, again = learner.fit(IGNORANCE, 3, "round 1")
    _, other = learner.fit(IGNORANCE, 4, "round 1")
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert set(first) == set(CODES)


def broken(rows):
    raise RuntimeError("no water")


@pytest.mark.parametrize(
    ("learner", "kind", "words"),
    [
        (Failing(ValueError("no coffee")), LearnerError, r"Failing could not fit in round 7: no coffee"),
        (Failing(KeyError("tea"), "predict"), LearnerError, r"Failing could not predict in round 7: KeyError: 'tea'"),
        (Failing(TypeError("tea is not coffee")), LearnerTypeError, "tea is not coffee"),
        (
            make_pipeline(FunctionTransformer(broken), LogisticRegression()),
            LearnerError,
            "Pipeline could not prepare its table: RuntimeError: no water",
        ),
        (Constant("spam"), LearnerError, "could not predict in round 7: .*spam"),
        (Short(), LearnerError, "could not predict in round 7: .*57.*60"),
    ],
    ids=["fit", "predict", "type", "transformers", "no class codes", "another length"],
)
def test_a_learner_that_fails_is_named_with_what_it_was_doing_and_its_own_message(learner, kind, words):
    with pytest.raises(kind, match=f"'lab'.*{words}") as caught:
        prepared(learner).fit(IGNORANCE, 3, "round 7")
    assert caught.value.__cause__ is not None
    assert isinstance(caught.value, LearnerError)
    assert isinstance(caught.value, AssistLearnError)
    assert isinstance(caught.value, TypeError) == (kind is LearnerTypeError)


def test_an_interruption_is_not_an_error_of_the_learner():
    with pytest.raises(KeyboardInterrupt):
        prepared(Failing(KeyboardInterrupt())).fit(IGNORANCE, 3, "round 1")


@pytest.mark.parametrize("dtype", [np.float64, np.uint8, np.bool_, object])
def test_answers_of_any_integral_type_are_class_codes(dtype):
    class Typed(Constant):
        def predict(self, table):
            return super().predict(table).astype(dtype).reshape(-1, 1)

    _, answers = prepared(Typed(1)).fit(IGNORANCE, 3, "round 1")
    assert answers.shape == (60,)
    assert answers.dtype.kind in "iu"
    assert (answers == 1).all()


class Says(DecisionTreeClassifier):
    """A tree that says the same two numbers of everybody."""

    def __init__(self, first=0.5, second=0.5):
        super().__init__(max_depth=1)
        self.first = first
        self.second = second

    def predict_proba(self, X, check_input=True):
        return np.tile([self.first, self.second], (len(X), 1))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((-1.0, 2.0), "the smallest is -1"),
        ((0.9, 0.9), "those of row 0 sum to 1.8"),
        ((0.0, 0.0), "those of row 0 sum to 0"),
        ((np.nan, 0.5), "not all finite"),
    ],
)
def test_what_is_no_probability_is_refused_by_agent_and_number(said, words):
    agents = [("clinic", DecisionTreeClassifier(max_depth=1), [0, 1]), ("lab", Says(*said), [2, 3])]
    with pytest.raises(LearnerError, match=f"'lab'.*{words}"):
        AssistedClassifier(agents, method="soft", n_rounds=1).fit(X, CODES > 0)


def test_single_precision_is_no_offence():
    agents = [
        ("clinic", DecisionTreeClassifier(max_depth=1), [0, 1]),
        ("lab", Says(np.float32(0.3), np.float32(0.7)), [2, 3]),
    ]
    AssistedClassifier(agents, method="soft", n_rounds=1).fit(X, CODES > 0)
