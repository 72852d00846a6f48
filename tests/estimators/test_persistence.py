"""Save and load without pickle: to the bit, and nothing that nobody trusts."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import assistlearn
from assistlearn import AssistedClassifier
from assistlearn.errors import AssistLearnError, UntrustedFileError
from tests.estimators.data import birds, left, pair, right
from tests.learners.classifiers import Heaviest
from tests.papers_settings import PAPERS

TREE = DecisionTreeClassifier(max_depth=2)
COLUMNS = [slice(0, 3), slice(3, 6)]


def two(first=TREE, second=TREE, columns=COLUMNS, **options) -> AssistedClassifier:
    options = {**PAPERS, "n_rounds": 3, "random_state": 0, **options}
    return AssistedClassifier([("a", first, columns[0]), ("b", second, columns[1])], **options)


# What skops leaves to the user, and nobody looks into.
PRIVATE = ("sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree")

CONFIGURATIONS = {
    "trees": two(),
    "no agent named": AssistedClassifier(n_rounds=3, method="ascii"),
    "pipelines": two(
        make_pipeline(StandardScaler(), LogisticRegression()), make_pipeline(StandardScaler(), GaussianNB())
    ),
    "neighbours": two(KNeighborsClassifier(), method="ensemble"),
    "network": two(second=MLPClassifier((3,), max_iter=200, tol=0.01)),
    "forest": two(second=RandomForestClassifier(3)),
    "histogram boosting": two(second=HistGradientBoostingClassifier(max_iter=2)),
    "hold-out": two(order="random", holdout=0.3, method="simple"),
    "ranges": two(columns=[range(3), range(3, 6)]),
    "lists and masks": two(columns=[[0, 2, 4], np.array([False, True] * 3)]),
    "soft": two(method="soft", reward="auto"),
    "combined": two(method="soft", reward="auto", combine="auto", models_per_turn=5),
    "a random state": two(random_state=np.random.RandomState(3)),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_is_loaded_is_what_was_saved_to_the_bit(name: str, tmp_path: Path):
    X, y = birds()
    clf = CONFIGURATIONS[name].fit(X, y)
    assistlearn.save(clf, tmp_path / "model.skops")
    loaded = assistlearn.load(tmp_path / "model.skops", trusted=PRIVATE if name == "neighbours" else ())
    assert loaded.decision_function(X).tobytes() == clf.decision_function(X).tobytes()
    assert loaded.predict_proba(X).tobytes() == clf.predict_proba(X).tobytes()
    assert np.array_equal(loaded.predict(X), clf.predict(X))
    assert [list(p) for p in loaded.staged_predict(X)] == [list(p) for p in clf.staged_predict(X)]
    assert loaded.contributions_ == clf.contributions_
    assert loaded.stop_reason_ is clf.stop_reason_
    assert loaded.ignorance_.tobytes() == clf.ignorance_.tobytes()
    assert list(loaded.holdout_scores_) == list(clf.holdout_scores_)
    assert loaded.n_rounds_ == clf.n_rounds_
    assert {name: list(at) for name, at in loaded.columns_.items()} == {n: list(at) for n, at in clf.columns_.items()}


def test_what_is_loaded_can_be_fitted_again_to_the_same_bits(tmp_path: Path):
    X, y = birds()
    clf = two(order="random").fit(X, y)
    assistlearn.save(clf, str(tmp_path / "model.skops"))
    again = assistlearn.load(str(tmp_path / "model.skops")).fit(X, y)
    assert again.contributions_ == clf.contributions_


def test_an_unfitted_model_can_be_saved(tmp_path: Path):
    X, y = pair()
    assistlearn.save(two(), tmp_path / "model.skops")
    assert assistlearn.load(tmp_path / "model.skops").fit(X, y).contributions_ == two().fit(X, y).contributions_


def test_names_of_columns_survive(tmp_path: Path):
    X, y = pair()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    clf = two(columns=[["a", "b", "c"], ["d", "e", "f"]]).fit(frame, y)
    assistlearn.save(clf, tmp_path / "model.skops")
    loaded = assistlearn.load(tmp_path / "model.skops")
    assert list(loaded.feature_names_in_) == list("abcdef")
    assert np.array_equal(loaded.predict(frame), clf.predict(frame))


def test_the_baselines_can_be_saved(tmp_path: Path):
    X, y = pair()
    clf = two()
    for baseline in (clf.alone("b").fit(X, y), clf.pooled().fit(X, y)):
        assistlearn.save(baseline, tmp_path / "model.skops")
        loaded = assistlearn.load(tmp_path / "model.skops")
        assert np.array_equal(loaded.predict(X), baseline.predict(X))


def test_types_that_nobody_trusts_are_refused_one_by_one(tmp_path: Path):
    X, y = birds()
    clf = two(Heaviest(), columns=[left, right]).fit(X, y)
    path = tmp_path / "model.skops"
    assistlearn.save(clf, path)
    with pytest.raises(UntrustedFileError) as caught:
        assistlearn.load(path)
    message = str(caught.value)
    unknown = [
        "tests.estimators.data.left",
        "tests.estimators.data.right",
        "tests.learners.classifiers.Heaviest",
    ]
    assert str(path) in message
    for name in unknown:
        assert f"\n  {name}\n" in message
    assert "assistlearn." not in message.split("trusted:")[1].split("If you")[0]
    assert isinstance(caught.value, AssistLearnError)
    assert isinstance(caught.value, ValueError)

    with pytest.raises(UntrustedFileError, match="Heaviest"):
        assistlearn.load(path, trusted=unknown[:2])
    loaded = assistlearn.load(path, trusted=unknown)
    assert np.array_equal(loaded.predict(X), clf.predict(X))


def test_a_method_in_place_of_a_models_own_is_refused(tmp_path: Path):
    """What it is bound to would not be looked into."""
    X, y = birds()
    clf = two(GaussianNB(), GaussianNB()).fit(X, y)
    clf.agents_["a"].models[0].model.estimator.predict = DecisionTreeClassifier().fit(X[:, :3], y).predict
    assistlearn.save(clf, tmp_path / "model.skops")
    with pytest.raises(UntrustedFileError, match=r"DecisionTreeClassifier\.predict"):
        assistlearn.load(tmp_path / "model.skops")


def test_refusing_constructs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "model.skops"
    assistlearn.save(two(Heaviest()), path)

    def construct(*args, **kwargs):
        raise AssertionError("a type nobody trusts was constructed")

    monkeypatch.setattr(Heaviest, "__new__", construct)
    monkeypatch.setattr(Heaviest, "__init__", construct)
    with pytest.raises(UntrustedFileError):
        assistlearn.load(path)


def test_a_file_holds_no_pickle(tmp_path: Path):
    X, y = birds()
    assistlearn.save(two().fit(X, y), tmp_path / "model.skops")
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        assert not [name for name in archive.namelist() if name.endswith((".pkl", ".pickle"))]
        assert "schema.json" in archive.namelist()


def test_columns_that_no_other_process_could_find_are_refused_when_saving(tmp_path: Path):
    X, y = birds()

    def first(table):
        return [0, 1]

    for columns, called in ((lambda table: [0, 1], "<lambda>"), (first, r"<locals>\.first")):
        clf = two(columns=[columns, slice(2, 6)]).fit(X, y)
        with pytest.raises(UntrustedFileError, match=rf"Agent 'a': its columns are given by .*{called}.*by name"):
            assistlearn.save(clf, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_lambda_inside_a_learner_is_refused_when_saving(tmp_path: Path):
    clf = two(make_pipeline(FunctionTransformer(lambda table: table), GaussianNB()))
    with pytest.raises(UntrustedFileError, match="<lambda>, which no other process can find"):
        assistlearn.save(clf, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_refused_by_one_error_that_names_the_file(tmp_path: Path):
    X, y = birds()
    path = tmp_path / "model.skops"
    assistlearn.save(two().fit(X, y), path)
    whole = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        schema = archive.read("schema.json")
    lost_array = io.BytesIO()
    with zipfile.ZipFile(lost_array, "w") as archive:
        archive.writestr("schema.json", schema)
    bad = [b"", b"junk", pickle.dumps({"a": 1}), whole[: len(whole) // 2], lost_array.getvalue()]
    bad += [_flipped(whole, whole.index(b"schema.json") + 40), _with_schema(b"{"), _with_schema(b"[1, 2]")]
    for content in bad:
        path.write_bytes(content)
        with pytest.raises(UntrustedFileError, match=r"model\.skops cannot be read as a model"):
            assistlearn.load(path)


def test_a_file_that_is_not_there_is_missing(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.skops"):
        assistlearn.load(tmp_path / "nowhere.skops")


def _flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


def _with_schema(schema: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("schema.json", schema)
    return made.getvalue()
