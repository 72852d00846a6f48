"""A combination that is kept answers the same again; bytes that were changed are refused, in plain words."""

import hashlib
import operator

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from skops import io

from assistlearn import combination
from assistlearn.combination.combination import KeptCombination, KeptLinear
from assistlearn.errors import UntrustedFileError
from tests.combination.conftest import problem_for_trees, scores_and_codes, total


@pytest.fixture(scope="module")
def kept_linear(linear):
    return combination.to_bytes(linear)


@pytest.fixture(scope="module")
def kept_boosted(boosted):
    return combination.to_bytes(boosted)


def rewritten(data, **changes):
    """Bytes whose digest is right again after someone has changed what they say."""
    kept = msgspec.msgpack.decode(data[32:], type=KeptCombination)
    content = msgspec.msgpack.encode(msgspec.structs.replace(kept, **changes))
    return hashlib.sha256(content).digest() + content


def model_of(data):
    return msgspec.msgpack.decode(data[32:], type=KeptCombination).model


def with_model(data, **changes):
    return rewritten(data, model=msgspec.structs.replace(model_of(data), **changes))


@pytest.mark.parametrize("kind", ["sum", "learned", "auto"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_combination_that_is_kept_answers_the_same_to_the_bit(kind, n_classes):
    scores, codes = scores_and_codes(200, n_classes, know=(1.0, -1.0, 0.5))
    fitted = combination.fit(kind, scores, codes, initiator="a")
    again = combination.from_bytes(combination.to_bytes(fitted))
    for some in (scores, {"a": scores["a"]}, {"c": scores["c"], "b": scores["b"]}):
        assert np.array_equal(total(again.decide(some)), total(fitted.decide(some)))
    for name in ("kind", "loss", "error", "losses", "skipped", "agents", "initiator", "n_classes"):
        assert getattr(again, name) == getattr(fitted, name)


def test_a_loss_on_one_sample_is_no_certainty_and_can_be_kept():
    scores, codes = scores_and_codes(20, 2, know=(1.0, -1.0, 0.5))
    fitted = combination.fit("auto", scores, codes, initiator="a", weights=np.eye(20)[3])
    assert fitted.error == np.inf
    assert combination.from_bytes(combination.to_bytes(fitted)).error == np.inf


def test_trees_that_are_kept_answer_the_same_to_the_bit(boosted, kept_boosted):
    scores, _, own = problem_for_trees()
    again = combination.from_bytes(kept_boosted)
    for some in (scores, {"a": scores["a"]}):
        assert np.array_equal(total(again.decide(some, own)), total(boosted.decide(some, own)))


@settings(max_examples=50)
@given(at=st.integers(min_value=0), flip=st.integers(1, 255), cut=st.integers(min_value=0))
def test_any_change_of_a_byte_and_any_cut_is_refused(kept_linear, at, flip, cut):
    changed = bytearray(kept_linear)
    changed[at % len(changed)] ^= flip
    for data in (bytes(changed), kept_linear[: cut % len(kept_linear)]):
        with pytest.raises(UntrustedFileError, match="was changed or damaged"):
            combination.from_bytes(data)


@settings(max_examples=50)
@given(content=st.binary(max_size=200))
def test_other_bytes_under_their_own_digest_are_refused(content):
    with pytest.raises(UntrustedFileError):
        combination.from_bytes(hashlib.sha256(content).digest() + content)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 3}, "of format 3"),
        ({"n_classes": 1}, "for 1 classes"),
        ({"n_classes": 4}, "bytes instead"),
        ({"n_classes": 2**40}, "bytes instead"),
        ({"initiator": "z"}, "initiator that is not one of its agents"),
        ({"agents": ["a", "b", "b", "c"]}, "names an agent twice"),
        ({"agents": ["a", "b"]}, "one that is not one of its agents"),
        ({"loss": float("nan")}, "a loss that is not finite"),
        ({"otherwise": KeptLinear([], b"", bytes(24))}, "no model for samples that some of its agents do not hold"),
        ({"absences": [KeptLinear(["z"], bytes(72), bytes(24))]}, "one that is not one of its agents"),
        ({"model": KeptLinear(["a", "a", "b"], bytes(216), bytes(24))}, "uses an agent twice"),
        ({"model": KeptLinear(["a", "b", "c"], bytes(216), np.full(3, np.nan).tobytes())}, "that is not finite"),
        ({"model": KeptLinear(["a", "b", "c"], bytes(216), bytes(16))}, "has 16 bytes instead of 24"),
        ({"model": KeptLinear(["a", "b", "c"], b"", bytes(24))}, "has 0 bytes instead of 216"),
    ],
)
def test_facts_that_cannot_be_are_refused(kept_linear, changes, words):
    with pytest.raises(UntrustedFileError, match=words):
        combination.from_bytes(rewritten(kept_linear, **changes))


def boosted_with(data, change):
    """The same bytes, after a change of the first model's trees."""
    trees = io.loads(model_of(data).trees, trusted=io.get_untrusted_types(data=model_of(data).trees))
    return with_model(data, trees=io.dumps(change(trees) or trees))


def outside(trees):
    trees._predictors[0][0].nodes["feature_idx"] = 1000


def infinite(trees):
    trees._predictors[0][0].nodes["value"] = np.inf


def other_classes(trees):
    trees.classes_ = np.array([0, 1, 7])


def fewer_trees(trees):
    trees._predictors = [row[:2] for row in trees._predictors]


def no_start(trees):
    trees._baseline_prediction = trees._baseline_prediction * np.nan


def a_single_tree(trees):
    return DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (outside, "uses a column that its model does not have"),
        (infinite, "a leaf of its trees is not finite"),
        (other_classes, "predict other classes than 0 to 2"),
        (fewer_trees, "every iteration must have 3 trees"),
        (no_start, "start from finite numbers"),
        (a_single_tree, "a DecisionTreeClassifier instead of boosted trees"),
    ],
)
def test_trees_that_cannot_be_are_refused(kept_boosted, change, words):
    with pytest.raises(UntrustedFileError, match=words):
        combination.from_bytes(boosted_with(kept_boosted, change))


def test_trees_of_other_inputs_or_that_are_no_trees_are_refused(kept_boosted):
    trees = msgspec.structs.replace(model_of(kept_boosted), n_own=3)
    with pytest.raises(UntrustedFileError, match="its trees have 8 inputs, not 9"):
        combination.from_bytes(rewritten(kept_boosted, model=trees, trees_otherwise=trees))
    with pytest.raises(UntrustedFileError, match="trees with other inputs"):
        combination.from_bytes(rewritten(kept_boosted, model=trees))
    with pytest.raises(UntrustedFileError, match="trees for some samples only"):
        combination.from_bytes(rewritten(kept_boosted, trees_otherwise=None))
    with pytest.raises(UntrustedFileError, match="cannot be read as a model"):
        combination.from_bytes(with_model(kept_boosted, trees=b"PK"))
    with pytest.raises(UntrustedFileError, match=r"types that are not trusted:\s+operator.itemgetter"):
        combination.from_bytes(with_model(kept_boosted, trees=io.dumps(operator.itemgetter(0))))
