"""A missing or damaged file: which one, where it was looked for, and how to get it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from paper.datasets import DataSet, fashion_mnist, fate, letter, mimic_long_stay, qsar, red_wine
from paper.datasets.sources import CorruptDataError, MissingDataError

FROM_FILES: list[tuple[Callable[..., DataSet], str]] = [
    (red_wine, "winequality_red/winequality-red.csv"),
    (qsar, "qsar_biodegradation/biodeg.csv"),
    (letter, "letter_recognition/letter-recognition.data"),
    (fashion_mnist, "fashion_mnist/train-images-idx3-ubyte.gz"),
    (lambda **where: fashion_mnist("test", **where), "fashion_mnist/t10k-images-idx3-ubyte.gz"),
    (lambda **where: fate("breast", **where), "fate_hetero/breast_hetero_guest.csv"),
]


@pytest.mark.parametrize(("load", "file"), FROM_FILES, ids=[file for _, file in FROM_FILES])
def test_a_missing_file_is_named_with_its_places_and_its_source(load, file, tmp_path):
    with pytest.raises(MissingDataError) as raised:
        load(data=tmp_path)
    message = str(raised.value)
    assert str(tmp_path / file) in message
    assert str(tmp_path / Path(file).name) in message
    assert "Get it from" in message
    assert isinstance(raised.value, FileNotFoundError)


@pytest.mark.parametrize(("load", "file"), FROM_FILES, ids=[file for _, file in FROM_FILES])
def test_a_damaged_file_is_never_parsed(load, file, tmp_path):
    place = tmp_path / file
    place.parent.mkdir()
    place.write_bytes(b"not what it should be")
    with pytest.raises(CorruptDataError) as raised:
        load(data=tmp_path)
    message = str(raised.value)
    assert str(place) in message
    assert "21 bytes" in message
    assert "Get it again from" in message


def test_one_changed_byte_is_found(data, tmp_path):
    place = tmp_path / "winequality-red.csv"
    content = bytearray((data / "winequality_red" / "winequality-red.csv").read_bytes())
    place.write_bytes(content)
    red_wine(data=tmp_path)
    content[-3] ^= 1
    place.write_bytes(content)
    with pytest.raises(CorruptDataError, match="4a402cf041b0"):
        red_wine(data=tmp_path)


def test_a_file_may_lie_in_the_data_folder_itself(data, tmp_path):
    shutil.copy(data / "qsar_biodegradation" / "biodeg.csv", tmp_path)
    np.testing.assert_array_equal(qsar(data=tmp_path).features, qsar(data=data).features)


def test_the_environment_variable_names_the_folder(data, monkeypatch):
    monkeypatch.setenv("ASSISTLEARN_DATA", str(data))
    assert len(red_wine()) == 1599


def test_the_argument_wins_over_the_environment_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSISTLEARN_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(MissingDataError, match=r"winequality-red\.csv was not found"):
        red_wine(data=tmp_path)


def test_a_data_folder_that_does_not_exist_is_named_with_who_named_it(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match=r"nowhere.*data="):
        red_wine(data=tmp_path / "nowhere")
    monkeypatch.setenv("ASSISTLEARN_DATA", str(tmp_path / "lost"))
    with pytest.raises(MissingDataError, match=r"lost.*ASSISTLEARN_DATA"):
        red_wine()


def test_what_openml_does_not_have_says_so(monkeypatch):
    monkeypatch.delenv("ASSISTLEARN_DATA", raising=False)
    with pytest.raises(MissingDataError, match=r"not on OpenML.*breast_hetero_guest.csv.*ASSISTLEARN_DATA"):
        fate("breast")
    with pytest.raises(MissingDataError, match=r"cannot be downloaded.*PhysioNet.*ASSISTLEARN_DATA"):
        mimic_long_stay()
