"""Messages of every type, and the arrays in them, for property-based tests."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    Bits,
    ClassCodes,
    Levels,
    Numbers,
    pack_bits,
    pack_codes,
    pack_levels,
    pack_numbers,
)

SCORE_BITS = (2, 3, 4, 8, 16, 32)
LEVEL_TYPES = {2: np.int8, 3: np.int8, 4: np.int8, 8: np.int8, 16: np.int16, 32: np.int32}

words = st.text(max_size=20)
counts = st.integers(-(2**63), 2**64 - 1)
sizes = st.integers(-3, 2**20)
numbers = st.floats(allow_nan=False)
blobs = st.binary(max_size=40)


@st.composite
def booleans(draw: st.DrawFn, max_size: int = 3_000) -> np.ndarray:
    """Booleans of any length and any share of ones, so that both codings occur."""
    n = draw(st.integers(0, max_size))
    share = draw(st.sampled_from([0.0, 0.001, 0.03, 0.2, 0.5, 0.9, 0.999, 1.0]))
    return np.random.default_rng(draw(st.integers(0, 2**32))).random(n) < share


@st.composite
def level_arrays(draw: st.DrawFn, bits: int, max_size: int = 2_000) -> np.ndarray:
    """Levels of any length, from all the same to all different."""
    n = draw(st.integers(0, max_size))
    top = 2 ** (bits - 1) - 1
    spread = draw(st.sampled_from([0.0, 1e-9, 0.01, 0.1, 1.0]))
    values = np.random.default_rng(draw(st.integers(0, 2**32))).normal(draw(st.integers(-top, top)), spread * top, n)
    return np.clip(np.rint(values), -top, top).astype(LEVEL_TYPES[bits])


codings = st.sampled_from(["raw", "range"])
packed_bits = booleans(100).map(pack_bits) | st.builds(Bits, n=sizes, ones=counts, coding=codings, data=blobs)
packed_codes = npst.arrays(np.int64, st.integers(0, 20), elements=st.integers(0, 8)).map(
    lambda codes: pack_codes(codes, 9)
) | st.builds(ClassCodes, n=sizes, n_classes=counts, coded=st.booleans(), data=blobs)
packed_numbers = npst.arrays(np.float64, st.integers(0, 20)).map(pack_numbers) | st.builds(Numbers, n=sizes, data=blobs)
packed_levels = level_arrays(8, 100).map(lambda levels: pack_levels(levels, 8, 0.25)) | st.builds(
    Levels, n=sizes, bits=counts, scale=numbers, coded=st.booleans(), data=blobs
)
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    **{str: words, int: counts, float: numbers, bool: st.booleans(), bytes: blobs, type(None): st.none()},
    **{Bits: packed_bits, ClassCodes: packed_codes, Numbers: packed_numbers, Levels: packed_levels},
}


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """What a field of this type may hold."""
    if kind in BY_TYPE:
        return BY_TYPE[kind]
    form, parts = get_origin(kind), get_args(kind)
    if form is Literal:
        return st.sampled_from(parts)
    if form is list:
        return st.lists(of_type(parts[0]), max_size=3)
    return st.one_of(*map(of_type, parts)) if parts else fields_of(kind)


def fields_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{name: of_type(said) for name, said in get_type_hints(kind).items()})


MESSAGES = {kind: fields_of(kind) for kind in (*m.REQUESTS, *m.REPLIES)}
any_message = st.one_of(*MESSAGES.values())
