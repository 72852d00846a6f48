"""The bytes of every type of message stay what they are, and mean what they mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes, unpack_levels, unpack_numbers
from assistlearn.protocol.codec import type_of
from tests.protocol.golden import make_golden as golden

FILES = sorted((golden.HERE / f"v{m.VERSION}").glob("*.msg"))


def read(name: str) -> Any:
    return decode((golden.HERE / f"v{m.VERSION}" / f"{name}.msg").read_bytes())


def test_every_type_of_message_has_a_golden_file():
    assert {path.stem for path in FILES} == set(golden.SAID)
    assert {type_of(message) for message in golden.SAID.values()} == {type_of(k) for k in (*m.REQUESTS, *m.REPLIES)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_message_is_the_bytes_in_its_golden_file(path):
    assert encode(golden.SAID[path.stem]) == path.read_bytes()
    assert decode(path.read_bytes()) == golden.SAID[path.stem]


def test_the_arrays_in_golden_files_say_the_same():
    np.testing.assert_array_equal(unpack_bits(read("turn-taken").reward, 37), golden.RIGHT)
    assert read("take-turn").news[2].reward.coding == "range"
    np.testing.assert_array_equal(unpack_bits(read("take-turn").news[2].reward, 1_000), golden.RARELY_RIGHT)
    assert unpack_codes(read("begin").labels, 5, 3).tolist() == [0, 2, 1, 1, 0]
    soft = read("begin-soft")  # the first and the last sample are held out
    assert unpack_codes(soft.labels, 3, 300).tolist() == [299, 1, 1]
    assert unpack_numbers(soft.weights, 3).tobytes() == np.abs(golden.NUMBERS[1:4]).tobytes()
    assert unpack_codes(read("turn-taken").holdout, 3, 4).tolist() == [0, 1, 3]
    assert unpack_levels(read("scores").scores, 3, 16)[0].tolist() == golden.FINE_LEVELS.tolist()
    for name, levels, bits in [
        ("turn-taken-4-bits", golden.COARSE_LEVELS, 4),
        ("turn-taken-8-bits", golden.LEVELS, 8),
        ("turn-taken-16-bits", golden.FINE_LEVELS, 16),
        ("turn-taken-32-bits", golden.FINEST_LEVELS, 32),
    ]:
        again, scale = unpack_levels(read(name).reward, len(levels), bits)
        assert (again.tolist(), scale) == (levels.tolist(), 0.5)
    many = read("take-turn-soft").news[0].reward
    assert many.coded
    np.testing.assert_array_equal(unpack_levels(many, 500, 8)[0], golden.FEW_LEVELS)


def test_coded_labels_and_scores_in_golden_files_still_say_the_same():
    taken = read("turn-taken-coded")
    assert taken.reward.coded
    assert taken.holdout.coded
    levels, _ = unpack_levels(taken.reward, 120, 3, 3, golden.LABELS)
    np.testing.assert_array_equal(levels.reshape(40, 3), golden.SURE)
    np.testing.assert_array_equal(unpack_codes(taken.holdout, 40, 4), golden.LABELS)


def test_the_generator_overwrites_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(golden, "HERE", tmp_path)
    (tmp_path / f"v{m.VERSION}").mkdir()
    (tmp_path / f"v{m.VERSION}" / "forget.msg").write_bytes(b"precious")
    golden.main()
    golden.main()
    assert (tmp_path / f"v{m.VERSION}" / "forget.msg").read_bytes() == b"precious"
    assert f"0 files written, {len(golden.SAID)} were there" in capsys.readouterr().out
