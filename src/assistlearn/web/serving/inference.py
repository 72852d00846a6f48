"""A request for inference of the Open Inference Protocol, version 2, and the answer to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from starlette.exceptions import HTTPException
from starlette.responses import Response

from assistlearn.web.serving.plain_answers import ServedAnswer
from assistlearn.web.serving.tensors import tensor, unpacked_texts

HEADER_LENGTH = "inference-header-content-length"
"""The header that says how many bytes of a body are JSON; the others are tensors."""

OUTPUTS = ("label", "probability", "voted")


class RequestedInput(msgspec.Struct):
    """A tensor of a request."""

    name: str
    datatype: str
    shape: list[int]
    data: Any = None
    parameters: dict[str, Any] = {}


class RequestedOutput(msgspec.Struct):
    """A tensor that the answer is to have."""

    name: str
    parameters: dict[str, Any] = {}


class InferenceRequest(msgspec.Struct):
    """What a client asks."""

    inputs: list[RequestedInput]
    id: str = ""
    outputs: list[RequestedOutput] | None = None
    parameters: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(InferenceRequest)


def read_inference(body: bytes, headers: Mapping[str, str]) -> tuple[InferenceRequest, list[str]]:
    """Return a request and the ids in it; refuse a wrong request with words that say what is wrong."""
    length = headers.get(HEADER_LENGTH, str(len(body)))
    if not (length.isascii() and length.isdecimal()) or int(length[:20]) > len(body):
        raise HTTPException(
            400, f"Inference-Header-Content-Length is {length[:40]!a}; the body has {len(body):,} bytes."
        )
    head, tail = body[: int(length)], body[int(length) :]
    try:
        request = _decoder.decode(head)
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
    """Return the answer, its outputs in the order and the form that the request asks for."""
    by_default = request.parameters.get("binary_data_output") is True
    wanted = request.outputs or [RequestedOutput(name) for name in OUTPUTS]
    outputs, tails = [], []
    for output in wanted:
        binary = output.parameters.get("binary_data", by_default) is True
        described, tail = tensor(output.name, _values(output.name, answer), binary)
        more = _said_of(output.name, answer)
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
    said, places = answer.prediction, answer.asked.places
    if name == "voted":
        return answer.voted()
    labels, there = said.labels, said.decided
    if name == "label":
        return ["" if labels[place] is None else str(labels[place]) for place in places]
    return np.where(there[:, None], said.probabilities, 0.0)[places]


def _said_of(name: str, answer: ServedAnswer) -> dict[str, str]:
    """Return the names of an output's columns: classes or agents."""
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
