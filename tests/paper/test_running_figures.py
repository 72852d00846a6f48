"""Finished replications are kept, and nothing is done twice."""

import json

import msgspec
import pytest

from paper.figures import quick, read_settings
from paper.replication import Shelf, run


@pytest.fixture
def settings():
    return msgspec.structs.replace(quick(read_settings("fig1")), replications=3)


def kept(out):
    return {path.name: path.read_bytes() for path in (out / "fig1" / "replications").iterdir()}


def numbers(results):
    return {each.number: each.accuracy for each in results}


def test_a_replication_is_a_small_file_of_its_own(settings, tmp_path):
    list(run(settings, tmp_path))
    files = kept(tmp_path)
    assert sorted(files) == ["0000.json", "0001.json", "0002.json"]
    assert all(len(content) < 2_000 for content in files.values())
    assert json.loads(files["0001.json"])["number"] == 1


def test_a_second_run_reads_what_is_there(settings, tmp_path):
    first = list(run(settings, tmp_path))
    before = kept(tmp_path)
    assert list(run(settings, tmp_path)) == first
    assert kept(tmp_path) == before


def test_an_interrupted_run_goes_on_with_what_is_missing(settings, tmp_path):
    whole = numbers(run(settings, tmp_path / "whole"))
    going = run(settings, tmp_path / "cut")
    done = next(going)
    going.close()
    assert sorted(kept(tmp_path / "cut")) == [f"{done.number:04d}.json"]
    times = (tmp_path / "cut" / "fig1" / "replications" / "0000.json").stat().st_mtime_ns
    assert numbers(run(settings, tmp_path / "cut")) == whole
    assert (tmp_path / "cut" / "fig1" / "replications" / "0000.json").stat().st_mtime_ns == times


@pytest.mark.parametrize("damage", [b"", b'{"figure": "1"', b"[]", b"\xff\xfe"])
def test_a_damaged_file_is_made_again(settings, tmp_path, damage):
    whole = numbers(run(settings, tmp_path))
    (tmp_path / "fig1" / "replications" / "0001.json").write_bytes(damage)
    assert numbers(run(settings, tmp_path)) == whole


def test_other_settings_make_other_replications(settings, tmp_path):
    list(run(settings, tmp_path))
    longer = msgspec.structs.replace(settings, rounds=4)
    assert Shelf(tmp_path / "fig1").find(longer, 0) is None
    assert all(len(each.accuracy["ASCII"]) == 4 for each in run(longer, tmp_path))


def test_more_replications_leave_the_first_ones_as_they_are(settings, tmp_path):
    few = numbers(run(msgspec.structs.replace(settings, replications=1), tmp_path))
    many = numbers(run(settings, tmp_path))
    assert many[0] == few[0]
    assert len(many) == 3


def test_side_by_side_real_samples_reach_the_other_processes_and_give_the_same_numbers(data_folder, tmp_path):
    wine = msgspec.structs.replace(quick(read_settings("fig3d")), replications=2)
    alone = numbers(run(wine, tmp_path / "alone", data=str(data_folder)))
    assert numbers(run(wine, tmp_path / "pair", jobs=2, data=str(data_folder))) == alone
