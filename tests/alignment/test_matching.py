import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.alignment.ids import codes_from, pack, positions, refuse_repeated, unpack
from assistlearn.errors import AlignmentError

widths = st.sampled_from([1, 7, 8, 16, 33])


@given(widths, st.data())
def test_positions_are_those_that_list_index_finds(width, data):
    codes = st.lists(st.binary(min_size=width, max_size=width), unique=True, min_size=1, max_size=20)
    pool = data.draw(codes)
    wanted = data.draw(st.lists(st.sampled_from(pool), unique=True))
    among = data.draw(st.lists(st.sampled_from(pool), unique=True))
    found = positions(codes_from(b"".join(wanted), width, "codes"), codes_from(b"".join(among), width, "codes"))
    assert found.tolist() == [among.index(code) if code in among else -1 for code in wanted]


def test_codes_that_differ_in_their_last_byte_alone_are_different():
    for width in (16, 33):
        codes = codes_from(bytes(width) + bytes(width - 1) + b"\x01", width, "codes")
        refuse_repeated(codes, "codes")
        assert positions(codes, codes[::-1]).tolist() == [1, 0]


@given(st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=20))
def test_repeated_codes_are_refused_exactly_when_there_are_some(codes):
    joined = codes_from(b"".join(codes), 4, "codes")
    if len(set(codes)) == len(codes):
        refuse_repeated(joined, "codes")
    else:
        with pytest.raises(AlignmentError, match=rf"{len(codes) - len(set(codes))} of {len(codes)} codes are repeated"):
            refuse_repeated(joined, "codes")


def test_bytes_that_are_no_whole_number_of_codes_are_refused():
    with pytest.raises(AlignmentError, match=r"digests have 17 bytes in all, which is not a multiple of 16"):
        codes_from(bytes(17), 16, "digests")


@given(st.lists(st.booleans(), max_size=40))
def test_flags_survive_packing(flags):
    packed = pack(np.array(flags, dtype=bool))
    assert len(packed) == -(-len(flags) // 8)
    assert unpack(packed, len(flags), "flags").tolist() == flags


def test_bits_of_the_wrong_number_are_refused():
    with pytest.raises(AlignmentError, match=r"flags have 2 bytes; 8 samples need 1"):
        unpack(bytes(2), 8, "flags")
    with pytest.raises(AlignmentError, match=r"more than 3 samples"):
        unpack(b"\xff", 3, "flags")
