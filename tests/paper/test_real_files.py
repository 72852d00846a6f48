"""The real files, read a second time in plain Python."""

import csv
import gzip

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from assistlearn.errors import SettingsError
from paper.datasets import DataSet, fashion_mnist, fate, letter, qsar, red_wine


def covers_all_columns(data: DataSet) -> bool:
    known = [name for names in data.agents.values() for name in names]
    return sorted(known) == sorted(data.feature_names)


def test_red_wine_is_the_file(data):
    wine = red_wine(data=data)
    with (data / "winequality_red" / "winequality-red.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream, delimiter=";")
    assert [*wine.feature_names, "quality"] == header
    assert wine.features.tolist() == [[float(value) for value in row[:-1]] for row in rows]
    assert wine.labels.tolist() == [int(row[-1]) for row in rows]
    grades, counts = np.unique(wine.labels, return_counts=True)
    assert dict(zip(grades.tolist(), counts.tolist(), strict=True)) == {3: 10, 4: 53, 5: 681, 6: 638, 7: 199, 8: 18}


def test_red_wine_is_split_as_in_the_paper(data):
    two, eleven = red_wine(data=data), red_wine(11, data=data)
    assert [len(names) for names in two.agents.values()] == [6, 5]
    assert [len(names) for names in eleven.agents.values()] == [1] * 11
    assert covers_all_columns(two)
    assert covers_all_columns(eleven)


def test_qsar_is_the_file(data):
    molecules = qsar(data=data)
    with (data / "qsar_biodegradation" / "biodeg.csv").open(newline="") as stream:
        rows = list(csv.reader(stream, delimiter=";"))
    assert molecules.features.tolist() == [[float(value) for value in row[:-1]] for row in rows]
    assert molecules.labels.tolist() == [row[-1] for row in rows]
    assert [int((molecules.labels == label).sum()) for label in ("RB", "NRB")] == [356, 699]
    assert [len(names) for names in molecules.agents.values()] == [20, 21]
    assert covers_all_columns(molecules)


def test_letter_is_the_file(data):
    letters = letter(data=data)
    with (data / "letter_recognition" / "letter-recognition.data").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert letters.features.tolist() == [[int(value) for value in row[1:]] for row in rows]
    assert letters.labels.tolist() == [row[0] for row in rows]
    assert [len(names) for names in letters.agents.values()] == [8, 8]
    assert [len(names) for names in letter(4, data=data).agents.values()] == [4, 4, 4, 4]
    assert covers_all_columns(letter(4, data=data))


def test_the_letters_features_have_the_names_that_their_authors_gave(data):
    words = (data / "letter_recognition" / "letter-recognition.names").read_text()
    places = [words.index(f"\t{name}") for name in letter(data=data).feature_names]
    assert places == sorted(places)


@pytest.mark.parametrize(("part", "stem", "n_samples"), [("train", "train", 60_000), ("test", "t10k", 10_000)])
def test_fashion_mnist_is_the_file(part, stem, n_samples, data):
    pictures = fashion_mnist(part, data=data)
    folder = data / "fashion_mnist"
    pixels = gzip.decompress((folder / f"{stem}-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((folder / f"{stem}-labels-idx1-ubyte.gz").read_bytes())[8:]
    assert pictures.features.shape == (n_samples, 784)
    assert pictures.features.tobytes() == pixels
    assert pictures.labels.tolist() == list(labels)
    row, column = 17, 9
    one = pictures.feature_names.index(f"r{row}c{column}")
    assert pictures.features[3, one] == pixels[3 * 784 + row * 28 + column]


def test_the_parts_of_fashion_mnist_have_no_id_in_common_and_the_same_cut(data):
    train, test = (fashion_mnist(part, cut=4, data=data) for part in ("train", "test"))
    assert not set(train.ids) & set(test.ids)
    assert dict(train.agents) == dict(test.agents)
    assert covers_all_columns(train)


@pytest.mark.parametrize(
    ("name", "n_samples", "guest", "host", "n_classes"),
    [("breast", 569, 10, 20, 2), ("default_credit", 30_000, 13, 10, 2), ("vehicle_scale", 846, 9, 9, 4)],
)
def test_fates_two_files_are_joined_by_id(name, n_samples, guest, host, n_classes, data):
    joined = fate(name, data=data)
    assert joined.features.shape == (n_samples, guest + host)
    assert [len(names) for names in joined.agents.values()] == [guest, host]
    assert len(np.unique(joined.labels)) == len(joined.class_names) == n_classes
    row = {int(id_): place for place, id_ in enumerate(joined.ids)}
    for side, first, skip in (("guest", 0, 2), ("host", guest, 1)):
        with (data / "fate_hetero" / f"{name}_hetero_{side}.csv").open(newline="") as stream:
            header, *rows = csv.reader(stream)
        width = len(header) - skip
        for values in rows[:: max(1, n_samples // 500)]:
            place = row[int(float(values[0]))]
            assert joined.features[place, first : first + width].tolist() == [float(value) for value in values[skip:]]
            if side == "guest":
                assert joined.labels[place] == int(values[1])


def test_fates_breast_classes_are_named_as_in_scikit_learns_copy(data):
    # FATE shuffled and standardised the same 569 tumours: malignant ones are larger in both.
    ours, theirs = fate("breast", data=data), load_breast_cancer()
    counts = {ours.class_names[label]: int((ours.labels == label).sum()) for label in (0, 1)}
    assert counts == {
        name: int((theirs.target == code).sum()) for code, name in enumerate(theirs.target_names.tolist())
    }


@pytest.mark.parametrize("wrong", [1, 3, "two"])
def test_an_impossible_number_of_agents_is_refused(wrong, tmp_path):
    with pytest.raises(SettingsError, match="2 or 11"):
        red_wine(wrong, data=tmp_path)
    with pytest.raises(SettingsError, match="2 or 4"):
        letter(wrong, data=tmp_path)


def test_unknown_names_are_refused_with_the_known_ones(tmp_path):
    with pytest.raises(SettingsError, match=r"breast, default_credit, vehicle_scale, not 'credit'"):
        fate("credit", data=tmp_path)
    with pytest.raises(SettingsError, match="'train' or 'test', not 'valid'"):
        fashion_mnist("valid", data=tmp_path)
