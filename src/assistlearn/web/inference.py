"""Requests for predictions and their answers: plain JSON and the Open Inference Protocol, read within limits."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from assistlearn.alignment.ids import normalise_one
from assistlearn.initiator.prediction import Prediction


@dataclass(frozen=True)
class ServingLimits:
    """How much one request may ask for; ``slowest`` is in seconds, for the head of a request, and then its body."""

    most_ids: int = 1_000
    most_bytes: int = 1_000_000
    longest_id: int = 1_000
    slowest: float = 10.0


DRAINING = 1.0
"""Seconds to receive and drop the rest of a body that is too large, so that its sender reads the answer."""


async def body_of(request: Request, limits: ServingLimits) -> bytes:
    """Return the body of a request; refuse a body that is too large, too slow or compressed."""
    packed = request.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise HTTPException(415, f"The body is compressed ({packed[:40]!r}). Send it uncompressed.")
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > limits.most_bytes:
        await _drained(request)
        raise _too_large(limits)
    try:
        body = bytearray()
        async with asyncio.timeout(limits.slowest):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.most_bytes:
                    await _drained(request)
                    raise _too_large(limits)
        return bytes(body)
    except TimeoutError:
        raise HTTPException(
            408, f"The body did not come within {limits.slowest:g} seconds.", {"connection": "close"}
        ) from None
    except ClientDisconnect:
        raise HTTPException(400, "The body ended before it was complete.") from None


async def _drained(request: Request) -> None:
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DRAINING):
            while (await request.receive()).get("more_body", False):
                pass


def _too_large(limits: ServingLimits) -> HTTPException:
    words = f"The body has more than {limits.most_bytes:,} bytes. Ask about fewer ids at a time."
    return HTTPException(413, words, {"connection": "close"})


@dataclass(frozen=True)
class AskedIds:
    """Ids as they were given, each id normalised once, and the place of each given id among those.

    Examples
    --------
    >>> asked = AskedIds.of(["17", " 17 ", "0017"], ServingLimits())
    >>> asked.texts, asked.places
    (['17', '0017'], [0, 0, 1])
    >>> AskedIds.of(["P-1", "p-1"], ServingLimits(), ignore_case=True).texts
    ['p-1']
    """

    given: list[str]
    texts: list[str]
    places: list[int]

    @classmethod
    def of(cls, values: Sequence[Any], limits: ServingLimits, ignore_case: bool = False) -> AskedIds:
        """Check and normalise the ids of a request. A value that cannot be an id is refused, with its position."""
        if not values:
            raise HTTPException(400, "No id is given.")
        if len(values) > limits.most_ids:
            raise HTTPException(413, f"{len(values):,} ids are given; at most {limits.most_ids:,} may be in a request.")
        alike = [value.lower() if ignore_case and isinstance(value, str) else value for value in values]
        texts = [_text(value, position, limits) for position, value in enumerate(alike)]
        found = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return cls([str(value) for value in values], list(found), [found[text] for text in texts])


def _text(value: Any, position: int, limits: ServingLimits) -> str:
    try:
        text = normalise_one(value)
        if text is not None:
            text.encode()
    except (ValueError, OverflowError) as error:  # also half a pair of surrogates, which no table holds
        why = str(error) if not isinstance(error, UnicodeEncodeError) else "which is not text"
        raise HTTPException(400, f"ids[{position}] cannot be an id: {str(value)[:80]!a}, {why}.") from None
    if text is None:
        raise HTTPException(400, f"ids[{position}] is empty.")
    if len(text) > limits.longest_id:
        raise HTTPException(
            400, f"ids[{position}] has {len(text):,} characters; at most {limits.longest_id:,} are accepted."
        )
    return text


LACKS = "It does not hold this id."


@dataclass(frozen=True)
class ServedAnswer:
    """A prediction for some ids, as it is sent: in plain JSON, or as tensors."""

    asked: AskedIds
    prediction: Prediction
    voters: Sequence[str]

    @property
    def unknown(self) -> list[str]:
        """The ids without an answer, because no agent holds them: as they were given, each once."""
        there = self.prediction.decided
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return list(dict.fromkeys(given for given, place in pairs if not there[place]))

    def plain(self) -> dict[str, Any]:
        """Return the answer as plain values, for JSON. An id that no agent knows is only in ``unknown``."""
        there, labels = self.prediction.decided, self.prediction.labels
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return {
            "predictions": [self._one(given, place, labels[place]) for given, place in pairs if there[place]],
            "unknown": self.unknown,
            "missing": dict(self.prediction.absent),
            "changed": dict(self.prediction.changed),
        }

    @property
    def by_label_shares(self) -> list[str] | None:
        """The ids that are answered by the shares of the labels in training; None where this never happens."""
        by_shares = self.prediction.by_shares
        if not self.prediction.label_only and not by_shares.any():
            return None
        pairs = zip(self.asked.given, self.asked.places, strict=True)
        return list(dict.fromkeys(given for given, place in pairs if by_shares[place]))

    def voted(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        known = self.prediction.known
        nobody = np.zeros(len(self.asked.texts), dtype=bool)
        rows = np.array([known.get(name, nobody) for name in self.voters], dtype=bool)
        return rows.reshape(len(self.voters), len(nobody)).T[self.asked.places]

    def _one(self, given: str, place: int, label: Any) -> dict[str, Any]:
        found = self.prediction
        voted = [name for name in self.voters if name in found.known and found.known[name][place]]
        classes = [str(name) for name in found.classes]
        alone = bool(found.by_shares[place])
        by_shares = {"by_label_shares": alone} if alone or found.label_only else {}
        return {
            "id": given,
            "label": plain_label(label),
            "probabilities": dict(zip(classes, found.probabilities[place].tolist(), strict=True)),
            "voted": voted,
            "missing": {name: found.absent.get(name, LACKS) for name in self.voters if name not in voted},
        } | by_shares


def plain_label(label: Any) -> Any:
    return label if isinstance(label, str | int | float | bool) else str(label)


# -- the Open Inference Protocol, version 2


HEADER_LENGTH = "inference-header-content-length"
"""The header that says how many bytes of a body are JSON; the others are tensors."""

OUTPUTS = ("label", "probability", "voted")


class RequestedInput(msgspec.Struct):
    name: str
    datatype: str
    shape: list[int]
    data: Any = None
    parameters: dict[str, Any] = {}


class RequestedOutput(msgspec.Struct):
    name: str
    parameters: dict[str, Any] = {}


class InferenceRequest(msgspec.Struct):
    inputs: list[RequestedInput]
    id: str = ""
    outputs: list[RequestedOutput] | None = None
    parameters: dict[str, Any] = {}


def read_inference(body: bytes, headers: Mapping[str, str]) -> tuple[InferenceRequest, list[str]]:
    """Return a request and the ids in it; refuse a wrong request with words that say what is wrong."""
    length = headers.get(HEADER_LENGTH, str(len(body)))
    if not (length.isascii() and length.isdecimal()) or int(length[:20]) > len(body):
        raise HTTPException(
            400, f"Inference-Header-Content-Length is {length[:40]!a}; the body has {len(body):,} bytes."
        )
    head, tail = body[: int(length)], body[int(length) :]
    try:
        request = msgspec.json.decode(head, type=InferenceRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HTTPException(400, f"The body is not a request for inference: {error}.") from None
    _check_outputs(request)
    if len(request.inputs) != 1 or request.inputs[0].name != "ids":
        names = [each.name[:40] for each in request.inputs[:5]]
        raise HTTPException(400, f"There must be one input, called 'ids'. Here are {names!a}.")
    ids = request.inputs[0]
    if ids.datatype != "BYTES":
        raise HTTPException(400, f"The input 'ids' must be a tensor of BYTES, not of {ids.datatype[:40]!a}.")
    texts = _elements(ids, tail)
    if ids.shape not in ([len(texts)], [len(texts), 1]):
        raise HTTPException(
            400, f"The shape of 'ids' is {str(ids.shape)[:80]}; for {len(texts):,} elements it must be [n] or [n, 1]."
        )
    return request, texts


def inference_answer(request: InferenceRequest, model: str, answer: ServedAnswer) -> Response:
    by_default = request.parameters.get("binary_data_output") is True
    wanted = request.outputs or [RequestedOutput(name) for name in OUTPUTS]
    outputs, tails = [], []
    for output in wanted:
        binary = output.parameters.get("binary_data", by_default) is True
        described, tail = tensor(output.name, _values(output.name, answer), binary)
        more = _columns_of(output.name, answer)
        described["parameters"] = described.get("parameters", {}) | more
        outputs.append(described)
        tails.append(tail)
    body: dict[str, Any] = {"model_name": model, "model_version": "1"} | ({"id": request.id} if request.id else {})
    missing = json.dumps(dict(answer.prediction.absent))
    changed = json.dumps(dict(answer.prediction.changed))
    parameters = {"missing": missing, "unknown": json.dumps(answer.unknown), "changed": changed}
    if answer.by_label_shares is not None:
        parameters["by_label_shares"] = json.dumps(answer.by_label_shares)
    body |= {"parameters": parameters, "outputs": outputs}
    head = json.dumps(body).encode()
    if not any(tails):
        return Response(head, media_type="application/json")
    return Response(
        head + b"".join(tails), headers={HEADER_LENGTH: str(len(head))}, media_type="application/octet-stream"
    )


def _values(name: str, answer: ServedAnswer) -> Any:
    found, places = answer.prediction, answer.asked.places
    if name == "voted":
        return answer.voted()
    if name == "label":
        return ["" if found.labels[place] is None else str(found.labels[place]) for place in places]
    return np.where(found.decided[:, None], found.probabilities, 0.0)[places]


def _columns_of(name: str, answer: ServedAnswer) -> dict[str, str]:
    if name == "probability":
        return {"classes": json.dumps([str(each) for each in answer.prediction.classes])}
    return {"agents": json.dumps(list(answer.voters))} if name == "voted" else {}


def _check_outputs(request: InferenceRequest) -> None:
    for output in request.outputs or ():
        if output.name not in OUTPUTS:
            raise HTTPException(400, f"There is no output {output.name[:40]!a}. The outputs are {', '.join(OUTPUTS)}.")
        other = sorted(output.parameters.keys() - {"binary_data"})
        if other:
            raise HTTPException(400, f"The output {output.name!r} has no parameter {other[0][:40]!a}.")


def _elements(ids: RequestedInput, tail: bytes) -> list[str]:
    size = ids.parameters.get("binary_data_size")
    if size is None:
        if tail:
            raise HTTPException(400, f"{len(tail):,} bytes after the JSON belong to no input.")
        return _flat(ids.data)
    if size != len(tail) or isinstance(size, bool) or ids.data is not None:
        raise HTTPException(
            400, f"The input 'ids' has {str(size)[:20]} bytes after the JSON, and no data; {len(tail):,} bytes came."
        )
    try:
        return unpacked_texts(tail)
    except ValueError as error:
        raise HTTPException(400, f"The bytes of 'ids' are not a tensor of BYTES: {error}.") from None


def _flat(data: Any) -> list[str]:
    rows = data if isinstance(data, list) else None
    if rows is not None and all(isinstance(row, list) and len(row) == 1 for row in rows):
        rows = [row[0] for row in rows]
    if rows is None or not all(isinstance(text, str) for text in rows):
        raise HTTPException(400, "The data of 'ids' must be a list of texts.")
    return rows


# -- tensors, in JSON and in binary form
_LENGTH = struct.Struct("<I")


def packed_texts(texts: Sequence[str]) -> bytes:
    """Return texts as the elements of a BYTES tensor: each has its length in four bytes before it.

    >>> packed_texts(["ab", ""]).hex(" ", -4)
    '02000000 61620000 0000'
    """
    contents = [text.encode() for text in texts]
    return b"".join(_LENGTH.pack(len(content)) + content for content in contents)


def unpacked_texts(data: bytes) -> list[str]:
    """Return the elements of a BYTES tensor as texts; raise ``ValueError`` where the bytes are none."""
    texts: list[str] = []
    place = 0
    while place < len(data):
        if place + _LENGTH.size > len(data):
            raise ValueError(f"element {len(texts)} has no length before it")
        (length,) = _LENGTH.unpack_from(data, place)
        place += _LENGTH.size
        if place + length > len(data):
            raise ValueError(f"element {len(texts)} says that it has {length:,} bytes; {len(data) - place:,} are left")
        try:
            texts.append(data[place : place + length].decode())
        except UnicodeDecodeError:
            raise ValueError(f"element {len(texts)} is not text in UTF-8") from None
        place += length
    return texts


def tensor(name: str, values: Sequence[str] | NDArray[Any], binary: bool) -> tuple[dict[str, Any], bytes]:
    """Return a tensor as an output of a response, and, where it is binary, its bytes, which go behind the JSON."""
    if isinstance(values, np.ndarray):
        datatype = "BOOL" if values.dtype == np.bool_ else "FP64"
        shape, flat = list(values.shape), values.ravel().tolist()
        packed = values.astype("?" if datatype == "BOOL" else "<f8").tobytes()
    else:
        datatype, shape, flat, packed = "BYTES", [len(values)], list(values), packed_texts(values)
    described: dict[str, Any] = {"name": name, "datatype": datatype, "shape": shape}
    if binary:
        return described | {"parameters": {"binary_data_size": len(packed)}}, packed
    return described | {"data": flat}, b""
