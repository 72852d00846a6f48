"""Messages written by an earlier release stay readable, and mean what they meant."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes, unpack_numbers
from assistlearn.protocol.codec import VersionError, as_sent_now, decode_kept, kept_now
from assistlearn.protocol.levels import unpack_levels
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.older import CHANGED, UNSAID
from tests.protocol.golden import make_golden as golden

FILES = {version: sorted((golden.HERE / f"v{version}").glob("*.msg")) for version in (1, 2, 3, 4, 5, 6)}
SAID = {1: golden.V1, 2: golden.V2, 3: golden.V3, 4: golden.V4, 5: golden.V5, 6: golden.V6}
EACH = [pytest.param(version, path, id=f"{version}-{path.stem}") for version in FILES for path in FILES[version]]
OLDER = [param for param in EACH if param.values[0] < m.VERSION]


def read(name: str, version: int = 1) -> Any:
    return decode_kept((golden.HERE / f"v{version}" / f"{name}.msg").read_bytes())


@pytest.mark.parametrize("version", FILES)
def test_every_type_of_message_has_a_golden_file(version):
    assert {path.stem for path in FILES[version]} == set(SAID[version])
    since = {"propose", "consent", "recall", "recalled", "take-again"}
    known = {type_of(k) for k in (*m.REQUESTS, *m.REPLIES)} - (since if version < 6 else set())
    assert {type_of(message) for message in SAID[version].values()} == known


def test_every_version_has_golden_files():
    assert set(FILES) == {*CHANGED, m.VERSION}


@pytest.mark.parametrize(("version", "path"), EACH)
def test_a_golden_file_is_read_as_the_message_it_was(version, path):
    assert decode_kept(path.read_bytes()) == SAID[version][path.stem]


@pytest.mark.parametrize("path", FILES[m.VERSION], ids=lambda path: path.stem)
def test_this_version_still_writes_the_same_bytes(path):
    assert encode(SAID[m.VERSION][path.stem]) == path.read_bytes()
    assert decode(path.read_bytes()) == SAID[m.VERSION][path.stem]


@pytest.mark.parametrize(("version", "path"), OLDER)
def test_an_older_version_is_read_from_ones_own_disk_but_not_from_the_network(version, path):
    with pytest.raises(VersionError, match=f"version {version} of the protocol; this release uses version {m.VERSION}"):
        decode(path.read_bytes())


@pytest.mark.parametrize(("version", "path"), OLDER)
def test_what_an_older_release_kept_is_sent_in_todays_version(version, path):
    sent = as_sent_now(path.read_bytes())
    assert decode(sent.content) == sent.message
    assert type_of(sent.message) == type_of(SAID[version][path.stem])


@pytest.mark.parametrize(
    ("version", "added"),
    [(1, {"turn_seeds": UNSAID, "models_per_turn": 1}), (2, {"models_per_turn": 1}), (3, {})],
)
def test_an_older_task_says_no_seeds_or_one_model_a_turn_and_is_else_the_same(version, added):
    before = SAID[version]["begin"]
    now = as_sent_now((golden.HERE / f"v{version}" / "begin.msg").read_bytes()).message
    assert unpack_codes(now.labels, 5, 3).tolist() == list(before.labels.data)
    added = added | {"labels": now.labels, "first_round": "in turn", "epsilon": None, "folds": None}
    assert msgspec.structs.asdict(now) == msgspec.structs.asdict(before) | added


def now(name: str, version: int) -> Any:
    return kept_now((golden.HERE / f"v{version}" / f"{name}.msg").read_bytes())


@pytest.mark.parametrize("version", FILES)
def test_the_arrays_in_golden_files_still_say_the_same(version):
    np.testing.assert_array_equal(unpack_bits(now("turn-taken", version).reward, 37), golden.RIGHT)
    assert now("take-turn", version).news[2].reward.coding == "range"
    np.testing.assert_array_equal(unpack_bits(now("take-turn", version).news[2].reward, 1_000), golden.RARELY_RIGHT)
    assert unpack_codes(now("begin", version).labels, 5, 3).tolist() == [0, 2, 1, 1, 0]
    soft = now("begin-soft", version)  # the first and the last sample are held out
    assert unpack_codes(soft.labels, 3, 300).tolist() == [299, 1, 1]
    assert unpack_numbers(soft.weights, 3).tobytes() == np.abs(golden.NUMBERS[1:4]).tobytes()
    assert unpack_codes(now("turn-taken", version).holdout, 3, 4).tolist() == [0, 1, 3]
    if version <= 4:
        assert unpack_numbers(read("scores", version).scores, 5).tobytes() == golden.NUMBERS.tobytes()
        levels, scale = unpack_levels(now("scores", version).scores, 5, 32)
        np.testing.assert_allclose(levels * scale, golden.NUMBERS, atol=1e-9)
    else:
        assert unpack_levels(now("scores", version).scores, 3, 16)[0].tolist() == golden.FINE_LEVELS.tolist()
    for name, levels, bits in [
        ("turn-taken-4-bits", golden.COARSE_LEVELS, 4),
        ("turn-taken-8-bits", golden.LEVELS, 8),
        ("turn-taken-16-bits", golden.FINE_LEVELS, 16),
        ("turn-taken-32-bits", golden.FINEST_LEVELS, 32),
    ]:
        again, scale = unpack_levels(now(name, version).reward, len(levels), bits)
        assert (again.tolist(), scale) == (levels.tolist(), 0.5)
    many = now("take-turn-soft", version).news[0].reward
    assert many.coded == (version >= 4)
    np.testing.assert_array_equal(unpack_levels(many, 500, 8)[0], golden.FEW_LEVELS)


def test_a_state_that_version_1_sent_is_still_there():
    state = read("take-turn-state").state
    assert unpack_numbers(state.vectors[0], 3, logarithms=True).tolist() == [0.0, -np.inf, 1.5]


def test_coded_labels_and_scores_in_golden_files_still_say_the_same():
    taken = read("turn-taken-coded", m.VERSION)
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
    assert f"0 files written, {len(golden.V6)} were there" in capsys.readouterr().out
