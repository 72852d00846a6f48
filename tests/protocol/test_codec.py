"""Bytes become the message they stand for, or a ProtocolError; nothing else, and in bounded memory."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistlearn.errors import ProtocolError
from assistlearn.plan import Plan
from assistlearn.protocol import Limits, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import Bits, pack_bits, pack_codes, plain_levels
from assistlearn.protocol.codec import HEADER_BYTES, MARK, VersionError
from tests.protocol.strategies import MESSAGES, any_message

MEMORY_PER_BYTE = 12
"""How many bytes of memory a byte of a message's body costs at the most, hostile ones included, beyond 100 kB."""


def framed(body: bytes, *, mark: bytes = MARK, version: int = m.VERSION) -> bytes:
    """A body with a header."""
    return struct.pack("<4sH", mark, version) + body


def body_of(message: m.Message) -> list:
    return msgspec.msgpack.decode(encode(message)[HEADER_BYTES:])


TURN = m.TakeTurn(
    run="r1",
    turn=7,
    round=3,
    since=5,
    news=[m.News(5, 2, 0.5, pack_bits(np.arange(50) % 2 == 0)), m.News(6, 3, 1.5, None)],
)


# -- the header --


def test_the_header_is_six_bytes_and_names_the_version():
    data = encode(TURN)
    assert (HEADER_BYTES, *struct.unpack("<4sH", data[:6])) == (6, b"ALMS", m.VERSION)


@pytest.mark.parametrize("n_bytes", range(HEADER_BYTES))
def test_less_than_a_header_is_refused(n_bytes):
    with pytest.raises(ProtocolError, match=f"header of 6 bytes; these are {n_bytes} bytes"):
        decode(encode(TURN)[:n_bytes])


def test_bytes_of_something_else_are_refused():
    with pytest.raises(ProtocolError, match="not a message of assistlearn"):
        decode(b"\x80\x04\x95" + encode(TURN)[3:])


@pytest.mark.parametrize("version", [0, 2, 256, 65_535])
def test_another_version_is_refused_and_both_are_named(version):
    with pytest.raises(VersionError, match=f"version {version} of the protocol; this release uses version {m.VERSION}"):
        decode(framed(encode(TURN)[HEADER_BYTES:], version=version))


@pytest.mark.parametrize("extra", [-5, -1, 1, 20])
def test_a_wrong_length_is_refused(extra):
    data = encode(TURN)
    with pytest.raises(ProtocolError, match="does not decode"):
        decode(data[:extra] if extra < 0 else data + b"\0" * extra)


def test_a_message_longer_than_the_receivers_limit_is_refused_before_its_body_is_read():
    data = framed(b"not MessagePack at all")
    with pytest.raises(ProtocolError, match="22 bytes; at most 21 are accepted"):
        decode(data, Limits(body=21))
    with pytest.raises(ProtocolError, match="does not decode"):
        decode(data, Limits(body=22))


def test_a_message_that_claims_more_values_than_the_receivers_limit_is_refused():
    assert decode(encode(TURN), Limits(values=50)) == TURN
    with pytest.raises(ProtocolError, match="claims to have 50 values; at most 49 are accepted"):
        decode(encode(TURN), Limits(values=49))


# -- the body --


every_message = pytest.mark.parametrize(
    ("kind", "strategy"), [pytest.param(kind, strategy, id=kind.__name__) for kind, strategy in MESSAGES.items()]
)


@every_message
@pytest.mark.parametrize("change", [["hunter2"], -1, -2, -3], ids=["one more", "one less", "two less", "three less"])
def test_more_or_fewer_fields_are_refused(kind, strategy, change):
    @settings(max_examples=3)
    @given(strategy)
    def refused(message):
        body = body_of(message)
        with pytest.raises(ProtocolError, match="does not decode"):
            decode(framed(msgspec.msgpack.encode(body[:change] if isinstance(change, int) else body + change)))

    refused()


WRONG = [None, True, 1, -1, 2**64 - 1, 0.5, float("nan"), "text", b"bytes", [], [1, 2], {}, {"a": 1}]


@every_message
def test_a_field_of_another_type_is_refused(kind, strategy):
    @settings(max_examples=30)
    @given(strategy, st.data())
    def refused_or_the_same(message, data):
        body = body_of(message)
        field = data.draw(st.integers(0, len(body) - 1))
        body[field] = data.draw(st.sampled_from(WRONG))
        hostile = msgspec.msgpack.encode(body)
        try:
            read = decode(framed(hostile))
        except ProtocolError:
            return
        assert len(body_of(read)) == len(body)
        assert type(read) is kind

    refused_or_the_same()


@pytest.mark.parametrize("text", [b"\xff", b"\xc3\x28", b"\xed\xa0\x80"])
def test_text_that_is_not_utf8_is_refused(text):
    body = b"\x92\xa6forget" + bytes([0xA0 + len(text)]) + text
    with pytest.raises(ProtocolError, match="does not decode"):
        decode(framed(body))


@pytest.mark.parametrize("tag", ["", "Forget", "FORGET", "pickle", "message", "news"])
def test_an_unknown_type_is_refused(tag):
    with pytest.raises(ProtocolError, match="does not decode"):
        decode(framed(msgspec.msgpack.encode([tag, "r1"])))


def test_a_bare_array_or_extension_is_refused():
    for body in (b"", b"\xc0", b"\x90", b"\xc7\x01\x05x", b"\xd4\xff\x00", b"\xc1", msgspec.msgpack.encode("forget")):
        with pytest.raises(ProtocolError):
            decode(framed(body))


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1a", b"\x96\xa9take-turn\x01\x01\x00\x91"])
def test_deep_nesting_is_refused(opening):
    with pytest.raises(ProtocolError):
        decode(framed(opening * 200_000))


# -- damaged on the way --


@settings(max_examples=60)
@given(any_message, st.data())
def test_a_truncated_message_is_refused(message, data):
    whole = encode(message)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(ProtocolError):
        decode(whole[:cut])
    body = whole[HEADER_BYTES:cut]
    with pytest.raises(ProtocolError):  # with a header that fits what is left
        decode(framed(body))


@settings(max_examples=200)
@given(any_message, st.data())
def test_a_message_with_flipped_bits_is_refused_or_another_message(message, data):
    whole = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        read = decode(bytes(whole))
    except ProtocolError:
        return
    assert isinstance(read, m.Message)


@settings(max_examples=200)
@given(st.binary(max_size=200), st.booleans())
@example(b"\xdf\xff\xff\xff\xff", True)
@example(b"\xdd\xff\xff\xff\xff", True)
def test_any_bytes_are_refused_or_a_message(data, frame):
    try:
        read = decode(framed(data) if frame else data)
    except ProtocolError:
        return
    assert isinstance(read, m.Message)


def test_lists_longer_than_any_run_needs_are_refused():
    with pytest.raises(ProtocolError, match="length <="):
        decode(encode(msgspec.structs.replace(TURN, news=[m.News(1, 1, 0.5, None)] * 100_001)))


# -- memory --


def peak_of_decoding(data: bytes) -> int:
    tracemalloc.start()
    try:
        with suppress(ProtocolError):
            decode(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_list_that_claims_to_be_long_costs_no_memory():
    empty = msgspec.msgpack.encode(m.TakeTurn(run="r", turn=1, round=1, since=0, news=[]))
    place = len(empty) - 3
    assert empty[place:] == b"\x90\xa1r"
    for claim in (b"\xdd\xff\xff\xff\xff", b"\xdd\x7f\xff\xff\xff", b"\xdc\xff\xff"):
        hostile = framed(empty[:place] + claim + empty[place + 1 :])
        assert peak_of_decoding(hostile) < 100_000


@pytest.mark.parametrize("header", [b"\xc6\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff"])
def test_bytes_text_or_maps_that_claim_to_be_long_cost_no_memory(header):
    body = b"\x94\xa7aligned\x01" + header + b"few"
    assert peak_of_decoding(framed(body)) < 100_000


HOSTILE = {
    "many news": m.TakeTurn(run="r", turn=1, round=1, since=0, news=[m.News(1, 1, 0.5, None) for _ in range(10_000)]),
    "many claims": m.TakeTurn(
        run="r",
        turn=1,
        round=1,
        since=0,
        news=[m.News(1, 1, 0.5, Bits(9, 0, "raw", b"")) for _ in range(10_000)],
    ),
    "bytes": m.Align(run="r", purpose="train", step=1, data=bytes(1_000_000)),
    "text": m.Problem(run="r", kind="failed", text="x" * 1_000_000),
    "wide text": m.Problem(run="r", kind="failed", text="x" * 1_000_000 + "\U0001f600"),
    "labels": m.Begin(
        run="r",
        n_samples=10**6,
        n_classes=2,
        seed=0,
        turn_seeds=0,
        labels=pack_codes(np.zeros(10**6, int), 2),
        weights=None,
        holdout=None,
        **Plan(method="ascii").told(),
    ),
    "levels": m.Scores(
        run="r",
        known=pack_bits(np.ones(9, bool)),
        scores=plain_levels(np.ones(10**5, np.int16), 16, 1.0),
        total_weight=1,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_decoding_costs_memory_in_proportion_to_the_length(name):
    data = encode(HOSTILE[name])
    assert peak_of_decoding(data) <= MEMORY_PER_BYTE * len(data) + 100_000
