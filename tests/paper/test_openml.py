"""Downloads, with answers that OpenML once gave (scikit-learn ships them for its own tests) and with made ones."""

import threading
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError
from urllib.request import Request

import numpy as np
import pytest
import sklearn.datasets._openml
from sklearn.datasets import load_iris

from assistlearn.errors import AssistLearnWarning
from paper.datasets import fashion_mnist, letter, qsar, red_wine, sources
from paper.datasets.sources import CorruptDataError, MissingDataError, OpenmlTable, digest, fetch
from paper.datasets.tables import WINE

SPECIES = ("Iris-setosa", "Iris-versicolor", "Iris-virginica")
RECORDED = Path(sklearn.datasets.__file__).parent / "tests" / "data" / "openml" / "id_61"


class Answer(BytesIO):
    """A compressed answer, as urlopen gives it."""

    def info(self) -> dict[str, str]:
        return {"Content-Encoding": "gzip"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ASSISTLEARN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "assistlearn"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the real fetch_openml talk to a recorded OpenML, and list what it asks for."""
    asked: list[str] = []

    def answer(request: Request, *_: object, **__: object) -> Answer:
        asked.append(request.full_url)
        if request.full_url.endswith("iris.arff"):
            name = "data-v1-dl-61.arff.gz"
        else:
            kind = next((kind for kind in ("features", "qualities") if kind in request.full_url), "")
            name = f"api-v1-jd{kind[:1]}-61.json.gz"
        return Answer((RECORDED / name).read_bytes())

    monkeypatch.setattr(sklearn.datasets._openml, "urlopen", answer)
    return asked


def iris(**change: Any) -> OpenmlTable:
    features, codes = load_iris(return_X_y=True)
    features[[34, 37]] = [[4.9, 3.1, 1.5, 0.1]] * 2  # scikit-learn corrects two rows of the table that OpenML has
    known = {
        "name": "iris",
        "data_id": 61,
        "dtype": "float64",
        "counts": dict.fromkeys(SPECIES, 50),
        "n_features": 4,
        "digest": digest(features, np.array(SPECIES)[codes]),
    }
    return OpenmlTable(**(known | change))


@pytest.mark.parametrize("pandas", [True, False])
def test_a_recorded_answer_gives_the_table(pandas, asked, monkeypatch):
    monkeypatch.setattr(sources, "find_spec", lambda name: pandas or None)
    features, labels = fetch(iris())  # a digest that does not fit would warn, and warnings are errors
    assert features[0].tolist() == [5.1, 3.5, 1.4, 0.2]
    assert labels[[0, 50, 100]].tolist() == list(SPECIES)
    assert sum(url.endswith(".arff") for url in asked) == 1


def test_it_is_downloaded_once(asked, cache):
    first = fetch(iris())
    n_asked = len(asked)
    again = fetch(iris())
    assert n_asked == len(asked) > 0
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert sorted(path.name for path in (cache / "iris").iterdir()) == ["SHA256SUMS.txt", "iris.npz"]
    assert [path.name for path in cache.iterdir()] == ["iris"]


@pytest.mark.usefixtures("asked")
def test_a_damaged_cache_is_found_and_the_remedy_works(cache):
    fetch(iris())
    kept = cache / "iris" / "iris.npz"
    kept.write_bytes(kept.read_bytes()[:-7])
    with pytest.raises(CorruptDataError, match=rf"{kept}.*Remove the folder {kept.parent}"):
        fetch(iris())
    kept.unlink()
    assert len(fetch(iris())[1]) == 150


@pytest.mark.usefixtures("asked")
def test_two_processes_at_once_leave_one_good_file(cache):
    together = threading.Barrier(4)
    made: list[int] = []

    def keep() -> None:
        together.wait()
        sources._keep(cache / "iris" / "iris.npz", np.ones((2, 1)), np.array([0, 1]))
        made.append(1)

    threads = [threading.Thread(target=keep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 4
    assert [path.name for path in cache.iterdir()] == ["iris"]
    assert fetch(iris())[0].tolist() == [[1.0], [1.0]]


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_features": 5}, r"shape \(150, 4\), expected \(150, 5\)"),
        ({"counts": dict(zip(SPECIES, (60, 50, 40), strict=True))}, "'Iris-setosa': 50.*'Iris-setosa': 60"),
        ({"counts": {"a": 50, "b": 50, "c": 50}}, r"\['Iris-setosa'.*expected \['a', 'b', 'c'\]"),
    ],
)
def test_an_answer_that_is_another_table_is_refused_and_not_kept(change, message, cache):
    with pytest.raises(CorruptDataError, match=message):
        fetch(iris(**change))
    assert not (cache / "iris").exists()


@pytest.mark.usefixtures("asked")
def test_other_values_than_the_authors_are_said():
    with pytest.warns(AssistLearnWarning, match="not those of the authors"):
        fetch(iris(digest="0" * 64))


def test_without_a_network_the_error_says_what_to_do(cache, monkeypatch):
    def unreachable(*_: object, **__: object) -> None:
        raise URLError("no route to host")

    monkeypatch.setattr(sources, "fetch_openml", unreachable)
    with pytest.raises(MissingDataError) as raised:
        red_wine()
    message = str(raised.value)
    assert "no route to host" in message
    assert "40691" in message
    assert str(cache / "red_wine") in message
    assert "ASSISTLEARN_DATA" in message


def answering(monkeypatch: pytest.MonkeyPatch, number: int, features: Any, labels: Any) -> None:
    """Let OpenML answer with these for this number."""

    def fetch_openml(*, data_id: int, **_: object) -> SimpleNamespace:
        assert data_id == number
        return SimpleNamespace(data=features, target=labels)

    monkeypatch.setattr(sources, "fetch_openml", fetch_openml)


def test_classes_are_told_apart_by_their_sizes_where_openml_codes_them_otherwise(monkeypatch):
    codes = np.repeat([str(8 - grade) for grade in WINE.counts], list(WINE.counts.values()))
    answering(monkeypatch, 40691, np.zeros((1599, 11)), codes)
    with pytest.warns(AssistLearnWarning):
        wine = red_wine()
    assert wine.labels.tolist() == [8 - int(code) for code in codes]


@pytest.mark.parametrize(
    ("load", "number", "coded"),
    [
        (red_wine, 40691, str),
        (qsar, 1494, {"NRB": "1", "RB": "2"}.get),  # as OpenML has them
        (letter, 6, str),
    ],
)
def test_a_faithful_copy_on_openml_gives_what_the_files_give(load, number, coded, data, monkeypatch):
    expected = load(data=data)
    labels = np.array([coded(label) for label in expected.labels.tolist()], dtype=object)
    answering(monkeypatch, number, expected.features.astype(np.float64), labels)
    for found in (load(), load()):  # from OpenML, then from the cache; no warning: the digest fits
        np.testing.assert_array_equal(found.features, expected.features)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.features.dtype == expected.features.dtype
        assert found.labels.dtype == expected.labels.dtype


def test_fashion_mnist_from_openml_is_divided_as_its_authors_do(data, monkeypatch):
    train, test = fashion_mnist("train", data=data), fashion_mnist("test", data=data)
    labels = np.concatenate([train.labels, test.labels]).astype(str)
    answering(monkeypatch, 40996, np.vstack([train.features, test.features]), labels)
    for part, expected in (("train", train), ("test", test)):
        found = fashion_mnist(part)
        np.testing.assert_array_equal(found.features, expected.features)
        np.testing.assert_array_equal(found.labels, expected.labels)
        np.testing.assert_array_equal(found.ids, expected.ids)
        assert found.features.dtype == np.uint8
