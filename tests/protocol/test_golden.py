"""Messages written by an earlier release stay readable, and mean what they meant."""

from __future__ import annotations

import numpy as np
import pytest

from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes, unpack_levels, unpack_numbers
from tests.protocol.golden import make_golden as golden

FILES = sorted((golden.HERE / "v1").glob("*.msg"))


def read(name: str) -> m.Message:
    return decode((golden.HERE / "v1" / f"{name}.msg").read_bytes())


def test_every_type_of_message_has_a_golden_file():
    assert {path.stem for path in FILES} == set(golden.V1)
    assert {type(message) for message in golden.V1.values()} == {*m.REQUESTS, *m.REPLIES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_golden_file_is_read_as_the_message_it_was(path):
    assert decode(path.read_bytes()) == golden.V1[path.stem]


@pytest.mark.skipif(m.VERSION != 1, reason="another version writes other bytes")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_this_version_still_writes_the_same_bytes(path):
    assert encode(golden.V1[path.stem]) == path.read_bytes()


def test_the_arrays_in_golden_files_still_say_the_same():
    np.testing.assert_array_equal(unpack_bits(read("turn-taken").reward, 37), golden.RIGHT)
    assert read("take-turn").news[2].reward.coding == "range"
    np.testing.assert_array_equal(unpack_bits(read("take-turn").news[2].reward, 1_000), golden.RARELY_RIGHT)
    assert unpack_codes(read("begin").labels, 5, 3).tolist() == [0, 2, 1, 1, 0]
    assert unpack_codes(read("begin-soft").labels, 5, 300).tolist() == [0, 299, 1, 1, 0]
    assert unpack_codes(read("turn-taken").holdout, 3, 4).tolist() == [0, 1, 3]
    assert unpack_numbers(read("scores").scores, 5).tobytes() == golden.NUMBERS.tobytes()
    state = read("take-turn-state").state
    assert unpack_numbers(state.vectors[0], 3, logarithms=True).tolist() == [0.0, -np.inf, 1.5]
    for name, levels, bits in [
        ("turn-taken-4-bits", golden.COARSE_LEVELS, 4),
        ("turn-taken-8-bits", golden.LEVELS, 8),
        ("turn-taken-16-bits", golden.FINE_LEVELS, 16),
        ("turn-taken-32-bits", golden.FINEST_LEVELS, 32),
    ]:
        again, scale = unpack_levels(read(name).reward, len(levels), bits)
        assert (again.tolist(), scale) == (levels.tolist(), 0.5)
    coded = read("take-turn-soft").news[0].reward
    assert coded.coding == "range"
    np.testing.assert_array_equal(unpack_levels(coded, 500, 8)[0], golden.FEW_LEVELS)


def test_the_generator_overwrites_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(golden, "HERE", tmp_path)
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "forget.msg").write_bytes(b"precious")
    golden.main()
    golden.main()
    assert (tmp_path / "v1" / "forget.msg").read_bytes() == b"precious"
    assert f"0 files written, {len(golden.V1)} were there" in capsys.readouterr().out
