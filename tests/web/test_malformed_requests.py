"""What is not a request is refused clearly, with a 4xx and words in JSON, and nothing else comes of it."""

from __future__ import annotations

import json
import socket
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistlearn.protocol.ledger import verify
from tests.cli.small_agents import NEW
from tests.web.served_run import TOKEN, Served

AUTHORISED = f"Authorization: Bearer {TOKEN}\r\nHost: 127.0.0.1\r\n"
INFER = "/v2/models/{model}/infer"


def tensor(**changed):
    """A request for inference of one id, with something changed."""
    return {"inputs": [{"name": "ids", "datatype": "BYTES", "shape": [1], "data": ["p-079"]} | changed]}


def binary(tail, size=None, shape=1):
    """A request whose ids are behind the JSON, and the header that says where."""
    ids = {"name": "ids", "datatype": "BYTES", "shape": [shape], "parameters": {"binary_data_size": size or len(tail)}}
    head = json.dumps({"inputs": [ids]}).encode()
    return head + tail, {"Inference-Header-Content-Length": str(len(head))}


PLAIN = {
    "nothing": (b"", 400),
    "no JSON": (b"ids=17", 400),
    "half a JSON": (b'{"ids": ["17"', 400),
    "two JSONs": (b'{"ids": ["17"]}{"ids": ["17"]}', 400),
    "a list": (b'["17"]', 400),
    "a text": (b'"17"', 400),
    "null": (b"null", 400),
    "no ids": (b"{}", 400),
    "null for ids": (b'{"ids": null}', 400),
    "a text for ids": (b'{"ids": "17"}', 400),
    "an object for ids": (b'{"ids": {"0": "17"}}', 400),
    "no id at all": (b'{"ids": []}', 400),
    "another key": (b'{"ids": ["17"], "id": "17"}', 400),
    "a list in the list": (b'{"ids": [["17"]]}', 400),
    "a truth value": (b'{"ids": [true]}', 400),
    "a fraction": (b'{"ids": [1.5]}', 400),
    "a null id": (b'{"ids": [null]}', 400),
    "an empty id": (b'{"ids": [""]}', 400),
    "a blank id": (b'{"ids": [" \\u00a0\\t"]}', 400),
    "a number without end": (b'{"ids": [' + b"9" * 5_000 + b"]}", 400),
    "half a pair": (b'{"ids": ["\\ud800"]}', 400),
    "not UTF-8": (b'{"ids": ["\xff\xfe"]}', 400),
    "UTF-16": ('{"ids": ["17"]}'.encode("utf-16"), 400),
    "a byte order mark": (b'\xef\xbb\xbf{"ids": ["17"]}', 400),
    "NaN": (b'{"ids": [NaN]}', 400),
    "brackets without end": (b"[" * 10_000, 400),
    "braces without end": (b'{"ids":' * 2_500, 400),
    "a long id": (json.dumps({"ids": ["x" * 101]}).encode(), 400),
    "too many ids": (json.dumps({"ids": ["17"] * 101}).encode(), 413),
    "too many bytes": (b" " * 20_001, 413),
}

TENSORS = {
    "nothing": (b"", {}, 400),
    "no inputs": ({}, {}, 400),
    "an empty list of inputs": ({"inputs": []}, {}, 400),
    "two inputs": ({"inputs": tensor()["inputs"] * 2}, {}, 400),
    "another input": (tensor(name="x"), {}, 400),
    "another type": (tensor(datatype="FP64"), {}, 400),
    "no type": ({"inputs": [{"name": "ids", "shape": [1], "data": ["1"]}]}, {}, 400),
    "another shape": (tensor(shape=[2]), {}, 400),
    "no shape": (tensor(shape=[]), {}, 400),
    "a negative shape": (tensor(shape=[-1]), {}, 400),
    "a wide shape": (tensor(shape=[1, 2], data=["1", "2"]), {}, 400),
    "a large shape": (tensor(shape=[2**62, 2**62]), {}, 400),
    "a shape of fractions": (tensor(shape=[1.5]), {}, 400),
    "numbers": (tensor(data=[17]), {}, 400),
    "no data": (tensor(data=None), {}, 400),
    "an object of data": (tensor(data={"0": "1"}), {}, 400),
    "empty data": (tensor(data=[], shape=[0]), {}, 400),
    "ragged data": (tensor(data=[["1"], ["2", "3"]], shape=[3]), {}, 400),
    "too many ids": (tensor(data=["1"] * 101, shape=[101]), {}, 413),
    "another output": (tensor() | {"outputs": [{"name": "columns"}]}, {}, 400),
    "an output in shared memory": (tensor() | {"outputs": [{"name": "label", "parameters": {"x": 1}}]}, {}, 400),
    "a text for outputs": (tensor() | {"outputs": "label"}, {}, 400),
    "a number for id": (tensor() | {"id": 7}, {}, 400),
    "a length that is none": (tensor(), {"Inference-Header-Content-Length": "ten"}, 400),
    "a negative length": (tensor(), {"Inference-Header-Content-Length": "-1"}, 400),
    "a length beyond the body": (tensor(), {"Inference-Header-Content-Length": "99999"}, 400),
    "a length without end": (tensor(), {"Inference-Header-Content-Length": "9" * 5_000}, 400),
    "a length within the JSON": (tensor(), {"Inference-Header-Content-Length": "10"}, 400),
    "bytes that belong to nothing": (
        json.dumps(tensor()).encode() + b"1234",
        {"Inference-Header-Content-Length": str(len(json.dumps(tensor())))},
        400,
    ),
    "an element cut short": (*binary(struct.pack("<I", 100) + b"p-079"), 400),
    "half a length": (*binary(b"\x01\x00"), 400),
    "an element that is no text": (*binary(struct.pack("<I", 2) + b"\xff\xfe"), 400),
    "another size": (*binary(struct.pack("<I", 1) + b"1", size=4), 400),
    "fewer elements than the shape": (*binary(struct.pack("<I", 1) + b"1", shape=2), 400),
}

RAW = {
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello \r\n\r\n", 400),
    "no version": (b"GET /predict\r\n\r\n", 400),
    "a path with blanks": (b"GET /predict ?id=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "a header without a name": (b"GET / HTTP/1.1\r\n: x\r\nHost: 127.0.0.1\r\n\r\n", 400),
    "a header without end": (b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000, 400),
    "no host": (b"GET /v2 HTTP/1.1\r\n\r\n", 400),
    "two lengths": (
        f"POST /predict HTTP/1.1\r\n{AUTHORISED}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello".encode(),
        400,
    ),
    "a negative length": (f"POST /predict HTTP/1.1\r\n{AUTHORISED}Content-Length: -5\r\n\r\n".encode(), 400),
    "a piece without size": (
        f"POST /predict HTTP/1.1\r\n{AUTHORISED}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello".encode(),
        400,
    ),
    "a huge body that is announced": (
        f"POST /predict HTTP/1.1\r\n{AUTHORISED}Content-Length: 9999999999999999999\r\n\r\n".encode(),
        413,
    ),
    "a head that never ends": (b"GET /v2 HTTP/1.1\r\nHost: 127.0.0.1\r\n", 408),
    "nothing at all": (b"", 408),
    "a body that never ends": (
        f'POST /predict HTTP/1.1\r\n{AUTHORISED}Content-Length: 15\r\n\r\n{{"ids":'.encode(),
        408,
    ),
    "pieces that never end": (
        f"POST /predict HTTP/1.1\r\n{AUTHORISED}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".encode(),
        408,
    ),
}

PATHS = {
    "no such path": ("GET", "/", 404),
    "no such path below": ("GET", "/predict/17", 404),
    "another verb": ("DELETE", "/predict", 405),
    "no id": ("GET", "/predict", 400),
    "another parameter": ("GET", "/predict?ids=17", 400),
    "an empty id": ("GET", "/predict?id=", 400),
    "bytes that are no text": ("GET", "/predict?id=%ff%fe", 404),
    "a null byte": ("GET", "/predict?id=%00", 404),
    "another model": ("GET", "/v2/models/other", 404),
    "another version": ("GET", "/v2/models/{model}/versions/2", 404),
    "a way out": ("GET", "/v2/models/..%2f..%2fetc%2fpasswd", 404),
    "inference by GET": ("GET", INFER, 405),
}


def refused(status: int, said: object, expected: int) -> None:
    """Check that a refusal is the expected one, and says why."""
    assert status == expected, said
    assert isinstance(said, dict)
    assert len(said["error"]) > 10
    assert "Traceback" not in said["error"]


@pytest.fixture(autouse=True)
def goes_on(service: Served):
    """Whatever came, the next request is answered, and the ledger is whole."""
    yield
    assert len(service.predict(NEW[0])["predictions"]) == 1


@pytest.mark.parametrize("name", PLAIN)
def test_a_body_that_names_no_ids_is_refused(service, name):
    body, expected = PLAIN[name]
    refused(*service.post("/predict", body), expected)


@pytest.mark.parametrize("name", TENSORS)
def test_a_request_for_inference_that_is_none_is_refused(service, name):
    body, headers, expected = TENSORS[name]
    refused(*service.post(INFER.format(model=service.model), body, **headers), expected)


@pytest.mark.parametrize("name", PATHS)
def test_what_is_not_there_is_not_there(service, name):
    method, path, expected = PATHS[name]
    refused(*service.request(method, path.format(model=service.model), None), expected)


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_request_are_refused_in_time(service, name):
    sent, expected = RAW[name]
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        client.sendall(sent)
        answer = b""
        while piece := client.recv(65_536):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    refused(int(head.split()[1]), json.loads(body), expected)


def test_a_packed_body_is_refused(service):
    refused(*service.post("/predict", b"\x1f\x8b...", **{"Content-Encoding": "gzip"}), 415)


def test_a_client_that_hangs_up_in_the_middle_is_not_missed(service):
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            client.sendall(f"POST /predict HTTP/1.1\r\n{AUTHORISED}Content-Length: 15\r\n\r\n".encode())


def test_a_client_that_sends_a_byte_now_and_then_is_refused_all_the_same(service):
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
        client.settimeout(0.1)
        answer = b""
        for letter in b"GET /v2 HTTP/1.1\r\nHost: 127.0.0.1":
            client.sendall(bytes([letter]))
            try:
                answer = client.recv(1_000)
                break
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
bodies = st.one_of(
    st.binary(max_size=200),
    anything.map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries({"ids": anything}).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries({"inputs": anything}).map(lambda value: json.dumps(value).encode()),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies, inference=st.booleans())
def test_no_body_whatever_is_a_fault_of_ours(service, body, inference):
    status, said = service.post(INFER.format(model=service.model) if inference else "/predict", body)
    assert status in (200, 400, 404, 413)
    assert status == 200 or len(said["error"]) > 10


def test_after_all_this_the_ledgers_are_whole(service):
    for name in ("clinic", "lab", "scans"):
        verify(service.home / f"{name}-models" / "ledger.jsonl")
