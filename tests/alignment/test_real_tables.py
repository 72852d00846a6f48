"""FATE's own guest and host files: the ids of two real tables, in clear as the oracle."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.alignment.agents import by_hash, by_psi, rows_in_clear

DATA = Path(os.environ.get("ASSISTLEARN_DATA", Path(__file__).parents[2] / ".." / "shared" / "data")) / "fate_hetero"


@pytest.mark.skipif(not DATA.is_dir(), reason="FATE's tables are not in the data folder (ASSISTLEARN_DATA)")
@pytest.mark.parametrize("way", [by_hash, by_psi])
@pytest.mark.parametrize("name", ["breast", "vehicle_scale"])
def test_guest_and_host_find_their_shared_samples(way, name):
    guest, host = (pl.read_csv(DATA / f"{name}_hetero_{side}.csv")["id"] for side in ("guest", "host"))
    host = host.sample(fraction=0.7, shuffle=True, seed=0)
    initiator, helper = way(guest, host.cast(pl.String))
    held = initiator.finish(helper.answer(initiator.start()))
    initiator.confirm(helper.agree(initiator.settle()))
    np.testing.assert_array_equal(helper.rows, rows_in_clear(guest.to_list(), host.to_list()))
    assert held.sum() == len(host)
