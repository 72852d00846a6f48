"""Fitted learners pickle, clone and are saved as inert bytes. A crafted booster is refused before XGBoost sees it."""

import copy
import json
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from skops import io

import assistlearn
from assistlearn import AssistedClassifier
from assistlearn.errors import UntrustedFileError
from assistlearn.learners import HistBoostClassifier, HistTreeClassifier
from tests.learners_hist.tables import real_numbers

LEARNERS = [HistTreeClassifier(max_depth=3), HistBoostClassifier(4)]
COLUMNS = ["c"] + ["q"] * 7


def fitted(kind):
    X, y = real_numbers(400, 2 if "two" in kind else 3)
    X[:, 0] = np.clip(np.round(np.abs(X[:, 0])), 0, 5)
    types = COLUMNS if "categories" in kind else None
    if types is not None:  # every other category, which only a split by categories can tell
        y = (X[:, 0] % 2 + (X[:, 1] > 0) * (y.max() - 1)).astype(int)
    if "boost" in kind:
        return HistBoostClassifier(2, max_depth=2, feature_types=types).fit(X, y)
    return HistTreeClassifier(3, feature_types=types).fit(X, y)


KINDS = ["tree two", "tree", "boost two", "boost", "tree two categories", "tree categories", "boost categories"]


def document_of(model):
    return json.loads(model.booster_.tobytes())


def with_document(model, document):
    spoiled = copy.copy(model)
    spoiled.booster_ = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    return spoiled


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_pickled_model_answers_the_same(learner):
    X, y = real_numbers()
    model = clone(learner).fit(learner.prepare(X, y), y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fitted_model_is_small_and_clones_to_an_unfitted_one(learner):
    X, y = real_numbers(20_000)
    model = clone(learner).fit(learner.prepare(X, y), y)
    assert len(pickle.dumps(model)) < X.nbytes / 20
    assert vars(clone(model)) == vars(learner)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_run_needs_no_type_to_be_trusted(learner, tmp_path):
    X, y = real_numbers()
    agents = [("one", learner, slice(0, 4)), ("two", learner, slice(4, 8))]
    clf = AssistedClassifier(agents, n_rounds=3, random_state=0, method="ascii").fit(X, y)
    assistlearn.save(clf, tmp_path / "run.skops")
    again = assistlearn.load(tmp_path / "run.skops")
    assert np.array_equal(again.decision_function(X), clf.decision_function(X))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_saved_learner_holds_no_type_but_its_own(learner, tmp_path):
    X, y = real_numbers()
    io.dump(clone(learner).fit(X, y), tmp_path / "model.skops")
    (only,) = io.get_untrusted_types(file=tmp_path / "model.skops")
    assert only == f"{type(learner).__module__}.{type(learner).__name__}"


@pytest.mark.parametrize("kind", KINDS)
def test_an_honest_model_passes_and_answers_the_same(kind):
    model = fitted(kind)
    X, _ = real_numbers(400)
    before = model.predict_proba(X)
    model.check_kept("a file")
    assert np.array_equal(model.predict_proba(X), before)


def test_a_tree_that_found_nothing_to_split_passes():
    for y in ([0, 1, 0], [0, 1, 2]):
        model = HistTreeClassifier().fit(np.zeros((3, 2)), y)
        model.check_kept("a file")
        assert model.predict_proba([[0.0, 0.0]]).sum() == pytest.approx(1.0)


def spoil_tree(**fields):
    def spoil(document):
        document["learner"]["gradient_booster"]["model"]["trees"][0].update(fields)

    return spoil


def spoil_first(name, value):
    def spoil(document):
        document["learner"]["gradient_booster"]["model"]["trees"][0][name][0] = value

    return spoil


def spoil_model(**fields):
    def spoil(document):
        document["learner"]["gradient_booster"]["model"].update(fields)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_first("left_children", 10**8),
        spoil_first("left_children", 0),
        spoil_first("left_children", -1),
        spoil_first("right_children", 2.0),
        spoil_first("right_children", 2**64),
        spoil_first("split_indices", 8),
        spoil_first("split_indices", True),
        spoil_first("split_type", 1),
        spoil_first("split_conditions", float("nan")),
        spoil_first("parents", 5),
        spoil_tree(base_weights=[0.0]),
        spoil_tree(leaf_weights=[0.0]),
        spoil_tree(id=1),
        spoil_tree(unknown=[]),
        spoil_model(tree_info=[10**7]),
        spoil_model(iteration_indptr=[0, 2]),
        spoil_model(cats={"enc": [{"offsets": [0, 9], "values": [1]}], "feature_segments": [0, 1], "sorted_idx": [7]}),
        spoil_model(trees=[]),
        lambda document: document["learner"].update(objective={"name": "rank:pairwise"}),
        lambda document: document["learner"]["learner_model_param"].update(base_score="[0E0]"),
        lambda document: document["learner"]["learner_model_param"].update(num_target="1000000"),
        lambda document: document["learner"].update(gradient_booster={"name": "dart", "gbtree": {}}),
    ],
)
def test_a_crafted_tree_is_refused(spoil):
    model = fitted("tree")
    document = document_of(model)
    spoil(document)
    with pytest.raises(UntrustedFileError, match="a file: its XGBoost model cannot be trusted"):
        with_document(model, document).check_kept("a file")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"learner": 1}'])
def test_bytes_that_are_no_model_are_refused(content):
    model = fitted("tree")
    model.booster_ = np.frombuffer(content, dtype=np.uint8)
    with pytest.raises(UntrustedFileError):
        model.check_kept("a file")


def test_a_key_that_is_written_twice_reaches_xgboost_as_it_was_checked():
    model = fitted("tree")
    text = model.booster_.tobytes().decode()
    twice = text.replace('"left_children":[', '"left_children":[99999999],"left_children":[', 1)
    assert twice != text
    model.booster_ = np.frombuffer(twice.encode(), dtype=np.uint8)
    model.check_kept("a file")
    assert b"99999999" not in model.booster_.tobytes()


def test_loading_a_file_looks_into_its_boosters(tmp_path):
    X, y = real_numbers()
    agents = [("one", HistTreeClassifier(), slice(0, 4)), ("two", HistTreeClassifier(), slice(4, 8))]
    clf = AssistedClassifier(agents, n_rounds=2, random_state=0, method="ascii").fit(X, y)
    model = clf.agents_["two"].models[1].model.estimator
    document = document_of(model)
    spoil_first("left_children", 10**8)(document)
    model.booster_ = with_document(model, document).booster_
    assistlearn.save(clf, tmp_path / "crafted.skops")
    with pytest.raises(UntrustedFileError, match=r"crafted\.skops: its XGBoost model cannot be trusted"):
        assistlearn.load(tmp_path / "crafted.skops")


def test_the_version_of_xgboost_that_wrote_a_model_may_be_newer_but_not_older():
    model = fitted("tree")
    for version, trusted in (([3, 2, 0], True), ([3, 9, 1], True), ([3, 1, 9], False), ([0, 90, 0], False)):
        document = document_of(model) | {"version": version}
        if trusted:
            with_document(model, document).check_kept("a file")
        else:
            with pytest.raises(UntrustedFileError, match="a version that is not known"):
                with_document(model, document).check_kept("a file")


def test_a_few_high_categories_in_many_nodes_cannot_ask_for_much_memory():
    model = fitted("boost categories")
    document = document_of(model)
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    assert sum(len(tree["categories_nodes"]) for tree in trees) > 1
    for tree in trees:
        tree["categories"] = [2**29] * len(tree["categories"])
    with pytest.raises(UntrustedFileError, match="more categories than can be kept"):
        with_document(model, document).check_kept("a file")


def spoil_at_random(document, rng):
    """Change one number, string or list somewhere in a document."""
    places = []

    def walk(node):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            places.append((node, key))
            if isinstance(value, dict | list):
                walk(value)

    walk(document)
    node, key = rng.choice(places)
    value = node[key]
    if isinstance(value, str):
        node[key] = rng.choice(["0", "1", "-1", "3", "1000000", "", value + "0"])
    elif isinstance(value, list):
        node[key] = rng.choice([[], value[:-1], value + value, value[::-1], [0] * len(value)])
    elif isinstance(value, int | float):
        node[key] = rng.choice([-1, 0, 1, 2, 7, 10**6, 2**31 - 1, 2**31, -(2**31), 0.5, -1e30, 1e30, 1e300, None])


def spoil_many(kind, n, seed):
    """Spoil a model ``n`` times and predict with what passes; return how many did."""
    X, _ = real_numbers(400)
    model = fitted(kind)
    rng = random.Random(seed)
    passed = 0
    for _ in range(n):
        document = document_of(model)
        spoil_at_random(document, rng)
        spoiled = with_document(model, document)
        try:
            spoiled.check_kept("a file")
        except UntrustedFileError:
            continue
        passed += 1
        assert spoiled.predict(X).shape == (400,)
        if isinstance(spoiled, HistTreeClassifier):
            joint = spoiled.join([spoiled, spoiled])
            assert joint is None or joint.predict(X).shape == (2, 400)
    return passed


def test_what_passes_does_not_crash_however_it_was_spoiled():
    code = (
        "from tests.learners_hist.test_kept import KINDS, spoil_many\n"
        "for kind in KINDS: print(kind, spoil_many(kind, 100, 0), sep=': ', flush=True)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, f"{done.returncode}, after {done.stdout}: {done.stderr[-2000:]}"
    passed = dict(line.split(": ") for line in done.stdout.splitlines())
    assert list(passed) == KINDS
    assert all(0 < int(n) < 85 for n in passed.values())  # harmless numbers, such as those in the leaves, may change
