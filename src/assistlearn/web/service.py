"""The prediction service: its routes, what it reads and answers, what it counts, and its description in OpenAPI.

It speaks plain JSON and the Open Inference Protocol, version 2, and reads requests within limits.
"""

from __future__ import annotations

import asyncio
import json
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistlearn.alignment.ids import normalise_one
from assistlearn.errors import BusyError
from assistlearn.initiator.prediction import Prediction
from assistlearn.release import __version__
from assistlearn.web.predictor import Predictor
from assistlearn.web.server import LOOPBACK_NAMES, Gate, Policy

VERSION = "1"
"""The only version of the model: a run does not change once it is finished."""

HEADER_LENGTH = "inference-header-content-length"
"""The header that says how many bytes of a body are JSON; the others are tensors."""

OUTPUTS = ("label", "probability", "voted")

DRAINING = 1.0
"""Seconds to receive and drop the rest of a body that is too large, so that its sender reads the answer."""

BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True)
class ServingLimits:
    """How much one request may ask for; ``slowest`` is in seconds, for the head of a request, and then its body."""

    most_ids: int = 1_000
    most_bytes: int = 1_000_000
    longest_id: int = 1_000
    slowest: float = 10.0


class PredictionService:
    def __init__(self, predictor: Predictor, limits: ServingLimits | None = None) -> None:
        self.predictor = predictor
        self.limits = limits or ServingLimits()
        self._metrics = ServiceMetrics(predictor)

    def application(self, token: str | None, loopback: bool = True) -> ASGIApp:
        """Return the service as an ASGI application; with ``loopback``, requests to other host names are refused."""
        app: ASGIApp = Starlette(routes=self.routes(), exception_handlers={HTTPException: _refusal, Exception: _fault})
        policy = Policy(token, hosts=LOOPBACK_NAMES if loopback else None)
        return self._metrics.counting(Gate(app, policy))

    def routes(self) -> list[Route]:
        model = "/v2/models/{model}"
        routes = [
            Route("/predict", self._predict, methods=["POST"]),
            Route("/predict", self._predict_one, methods=["GET"]),
            Route("/v2", self._server),
            Route("/v2/health/live", self._live),
            Route("/v2/health/ready", self._ready),
            Route("/openapi.json", self._openapi),
            Route("/metrics", self._metrics_text),
        ]
        for path in (model, f"{model}/versions/{{version}}"):
            routes += [
                Route(path, self._model),
                Route(f"{path}/ready", self._model_ready),
                Route(f"{path}/infer", self._infer, methods=["POST"]),
            ]
        return routes

    # predictions

    async def _predict(self, request: Request) -> Response:
        like = 'The body must be like {"ids": ["17", "18"]}'
        try:
            found = msgspec.json.decode(await body_of(request, self.limits), type=dict[str, list[str | int]])
        except BAD_JSON as error:
            raise HTTPException(400, f"{like}: {error}.") from None
        if list(found) != ["ids"]:
            raise HTTPException(400, f"{like}, without other keys.")
        return await self._answered(found["ids"])

    async def _predict_one(self, request: Request) -> Response:
        return await self._answered(request.query_params.getlist("id"))

    async def _infer(self, request: Request) -> Response:
        self._check_name(request)
        asked, ids = read_inference(await body_of(request, self.limits), request.headers)
        return await self._answered(ids, asked)

    async def _answered(self, values: Sequence[Any], asked: InferenceRequest | None = None) -> Response:
        """Answer about ids: in plain JSON, or as a request for inference wants it."""
        texts, places = read_ids(values, self.limits, self.predictor.run.holdings.ignores_case)
        await asyncio.shield(asyncio.wrap_future(self.predictor.started))  # whoever gives up does not cancel it
        try:
            future = self.predictor.submit(texts)
        except BusyError as error:
            raise HTTPException(503, str(error), {"retry-after": "1"}) from None
        found = await asyncio.wrap_future(future)
        answer = ServedAnswer([str(value) for value in values], places, found, self.predictor.voters)
        self._metrics.answered(answer)
        if not found.known and not found.label_only:
            why = " ".join(f"{name}: {why}" for name, why in found.absent.items())
            raise HTTPException(503, f"No agent can vote. {why}", {"retry-after": "1"})
        if not found.decided.any():
            n = len(answer.unknown)
            words = f"No agent that was reached knows {'this id' if n == 1 else f'any of these {n:,} ids'}."
            return JSONResponse({"error": words, "unknown": answer.unknown, "missing": dict(found.absent)}, 404)
        return JSONResponse(answer.plain()) if asked is None else answer.tensors(asked, self.predictor.run.name)

    # what it says of itself

    async def _server(self, request: Request) -> Response:
        return JSONResponse({"name": "assistlearn", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def _ready(self, request: Request) -> Response:
        return self._readiness({})

    async def _model(self, request: Request) -> Response:
        self._check_name(request)
        settings = self.predictor.run.settings
        outputs = [
            {"name": "label", "datatype": "BYTES", "shape": [-1]},
            {"name": "probability", "datatype": "FP64", "shape": [-1, len(settings.classes)]},
            {"name": "voted", "datatype": "BOOL", "shape": [-1, len(self.predictor.voters)]},
        ]
        inputs = [{"name": "ids", "datatype": "BYTES", "shape": [-1]}]
        facts = {"name": self.predictor.run.name, "versions": [VERSION], "platform": "assistlearn"}
        return JSONResponse(facts | {"inputs": inputs, "outputs": outputs})

    async def _model_ready(self, request: Request) -> Response:
        self._check_name(request)
        return self._readiness({"name": self.predictor.run.name})

    def _readiness(self, facts: dict[str, Any]) -> Response:
        ready = self.predictor.ready
        return JSONResponse(facts | {"ready": ready}, 200 if ready else 503)

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(openapi_of(self.predictor.run.name, self.limits))

    async def _metrics_text(self, request: Request) -> Response:
        return Response(generate_latest(self._metrics.registry), media_type="text/plain; version=0.0.4")

    def _check_name(self, request: Request) -> None:
        name, version = request.path_params["model"], request.path_params.get("version", VERSION)
        if name != self.predictor.run.name or version != VERSION:
            raise HTTPException(404, f"There is no model {name[:80]!a}, version {version[:20]!a}, here.")


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = error.detail
    if words == HTTPStatus(error.status_code).phrase:  # the router has no words of its own
        words = f"Nothing at this path answers {request.method}. See /openapi.json for all paths."
    return JSONResponse({"error": words}, error.status_code, error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"This is a fault of assistlearn: {type(error).__name__}."}, 500)


# -- what is read


async def body_of(request: Request, limits: ServingLimits) -> bytes:
    """Return the body of a request; refuse a body that is too large, too slow or compressed."""
    packed = request.headers.get("content-encoding", "identity")
    if packed != "identity":
        raise HTTPException(415, f"The body is compressed ({packed[:40]!r}). Send it uncompressed.")
    too_large = f"The body has more than {limits.most_bytes:,} bytes. Ask about fewer ids at a time."
    close = {"connection": "close"}
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > limits.most_bytes:
        await _drain(request)
        raise HTTPException(413, too_large, close)
    try:
        body = bytearray()
        async with asyncio.timeout(limits.slowest):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.most_bytes:
                    await _drain(request)
                    raise HTTPException(413, too_large, close)
        return bytes(body)
    except TimeoutError:
        raise HTTPException(408, f"The body did not come within {limits.slowest:g} seconds.", close) from None
    except ClientDisconnect:
        raise HTTPException(400, "The body ended before it was complete.") from None


async def _drain(request: Request) -> None:
    with suppress(TimeoutError, ClientDisconnect):
        async with asyncio.timeout(DRAINING):
            while (await request.receive()).get("more_body", False):
                pass


def read_ids(values: Sequence[Any], limits: ServingLimits, ignore_case: bool = False) -> tuple[list[str], list[int]]:
    """Return the ids of a request, each normalised and once, and the place of each value among those.

    A value that cannot be an id is refused, with its position.

    >>> read_ids(["17", " 17 ", "0017"], ServingLimits())
    (['17', '0017'], [0, 0, 1])
    >>> read_ids(["P-1", "p-1"], ServingLimits(), ignore_case=True)
    (['p-1'], [0, 0])
    """
    if not values:
        raise HTTPException(400, "No id is given.")
    if len(values) > limits.most_ids:
        raise HTTPException(413, f"{len(values):,} ids are given; at most {limits.most_ids:,} may be in a request.")
    alike = [value.lower() if ignore_case and isinstance(value, str) else value for value in values]
    texts = [_text(value, position, limits) for position, value in enumerate(alike)]
    found = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(found), [found[text] for text in texts]


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


class Tensor(msgspec.Struct):
    """An input, or an output that is wanted, of which only the name and the parameters are read."""

    name: str
    datatype: str = ""
    shape: list[int] = []
    data: Any = None
    parameters: dict[str, Any] = {}


class InferenceRequest(msgspec.Struct):
    inputs: list[Tensor]
    id: str = ""
    outputs: list[Tensor] | None = None
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
    except BAD_JSON as error:
        raise HTTPException(400, f"The body is not a request for inference: {error}.") from None
    for output in request.outputs or ():
        if output.name not in OUTPUTS:
            raise HTTPException(400, f"There is no output {output.name[:40]!a}. The outputs are {', '.join(OUTPUTS)}.")
        other = sorted(output.parameters.keys() - {"binary_data"})
        if other:
            raise HTTPException(400, f"The output {output.name!r} has no parameter {other[0][:40]!a}.")
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


def _elements(ids: Tensor, tail: bytes) -> list[str]:
    size = ids.parameters.get("binary_data_size")
    if size is None:
        if tail:
            raise HTTPException(400, f"{len(tail):,} bytes after the JSON belong to no input.")
        rows = ids.data if isinstance(ids.data, list) else None
        if rows is not None and all(isinstance(row, list) and len(row) == 1 for row in rows):
            rows = [row[0] for row in rows]
        if rows is None or not all(isinstance(text, str) for text in rows):
            raise HTTPException(400, "The data of 'ids' must be a list of texts.")
        return rows
    if size != len(tail) or isinstance(size, bool) or ids.data is not None:
        raise HTTPException(
            400, f"The input 'ids' has {str(size)[:20]} bytes after the JSON, and no data; {len(tail):,} bytes came."
        )
    try:
        return unpacked_texts(tail)
    except ValueError as error:
        raise HTTPException(400, f"The bytes of 'ids' are not a tensor of BYTES: {error}.") from None


# -- what is answered

LACKS = "It does not hold this id."


@dataclass(frozen=True)
class ServedAnswer:
    """A prediction for ids as they were ``given``, with the place of each in it."""

    given: list[str]
    places: list[int]
    prediction: Prediction
    voters: Sequence[str]

    @property
    def unknown(self) -> list[str]:
        """The ids without an answer, because no agent holds them: as they were given, each once."""
        return self._where(~self.prediction.decided)

    def _where(self, there: NDArray[np.bool_]) -> list[str]:
        pairs = zip(self.given, self.places, strict=True)
        return list(dict.fromkeys(given for given, place in pairs if there[place]))

    def plain(self) -> dict[str, Any]:
        """Return the answer as plain values, for JSON. An id that no agent knows is only in ``unknown``."""
        there = self.prediction.decided
        pairs = zip(self.given, self.places, strict=True)
        return {
            "predictions": [self._one(given, place) for given, place in pairs if there[place]],
            "unknown": self.unknown,
            "missing": dict(self.prediction.absent),
            "changed": dict(self.prediction.changed),
        }

    def _one(self, given: str, place: int) -> dict[str, Any]:
        found = self.prediction
        label, by_shares = found.labels[place], bool(found.by_shares[place])
        voted = [name for name in self.voters if name in found.known and found.known[name][place]]
        return {
            "id": given,
            "label": label if isinstance(label, str | int | float | bool) else str(label),
            "probabilities": dict(zip(map(str, found.classes), found.probabilities[place].tolist(), strict=True)),
            "voted": voted,
            "missing": {name: found.absent.get(name, LACKS) for name in self.voters if name not in voted},
        } | ({"by_label_shares": by_shares} if by_shares or found.label_only else {})

    def tensors(self, request: InferenceRequest, model: str) -> Response:
        found = self.prediction
        parameters: dict[str, Any] = {
            "missing": dict(found.absent),
            "unknown": self.unknown,
            "changed": dict(found.changed),
        }
        if found.label_only or found.by_shares.any():
            parameters["by_label_shares"] = self._where(found.by_shares)
        by_default = request.parameters.get("binary_data_output") is True
        outputs, tails = [], []
        for output in request.outputs or [Tensor(name) for name in OUTPUTS]:
            values, more = self._values(output.name)
            described, tail = tensor(output.name, values, output.parameters.get("binary_data", by_default) is True)
            described["parameters"] = described.get("parameters", {}) | _packed(more)
            outputs.append(described)
            tails.append(tail)
        named = {"model_name": model, "model_version": VERSION} | ({"id": request.id} if request.id else {})
        head = json.dumps(named | {"parameters": _packed(parameters), "outputs": outputs}).encode()
        if not any(tails):
            return Response(head, media_type="application/json")
        length = {HEADER_LENGTH: str(len(head))}
        return Response(head + b"".join(tails), headers=length, media_type="application/octet-stream")

    def _values(self, output: str) -> tuple[Any, dict[str, list[str]]]:
        """Return the values of an output, and what its columns are."""
        found, places = self.prediction, self.places
        if output == "label":
            return ["" if found.labels[place] is None else str(found.labels[place]) for place in places], {}
        if output == "probability":
            values = np.where(found.decided[:, None], found.probabilities, 0.0)[places]
            return values, {"classes": [str(each) for each in found.classes]}
        nobody = np.zeros(len(found.decided), dtype=bool)
        rows = np.array([found.known.get(name, nobody) for name in self.voters], dtype=bool)
        return rows.reshape(len(self.voters), len(nobody)).T[places], {"agents": list(self.voters)}


def _packed(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters as the protocol has them: it knows no lists and objects, so these are texts of JSON."""
    return {name: json.dumps(value) for name, value in parameters.items()}


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


# -- counters

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTES = ("/predict", "/v2", "/metrics", "/openapi.json")
"""Groups of paths. A request counts for the first group that its path begins with."""


class ServiceMetrics:
    def __init__(self, predictor: Predictor) -> None:
        name, registry = "assistlearn_serve", CollectorRegistry()
        self.registry = registry
        self._requests = Counter(f"{name}_requests", "Requests answered.", ["route", "status"], registry=registry)
        self._seconds = Histogram(
            f"{name}_seconds", "Seconds to an answer.", ["route"], buckets=SECONDS, registry=registry
        )
        self._ids = Counter(f"{name}_ids", "Ids asked about.", registry=registry)
        self._unknown = Counter(f"{name}_unknown_ids", "Ids that no agent holds.", registry=registry)
        self._missing = Counter(f"{name}_missing", "Answers without an agent's votes.", ["agent"], registry=registry)
        exchanges = Counter(f"{name}_exchanges", "Times that helpers were asked.", registry=registry)
        predictor.joined = lambda n_requests: exchanges.inc()
        waiting = Gauge(f"{name}_waiting", "Requests that wait.", registry=registry)
        waiting.set_function(lambda: predictor.n_waiting)
        reached = Gauge(f"{name}_helper_open", "Whether the way to a helper is open.", ["agent"], registry=registry)
        for helper, way in predictor.ways.items():
            reached.labels(helper).set_function(partial(getattr, way, "open"))

    def answered(self, answer: ServedAnswer) -> None:
        self._ids.inc(len(answer.given))
        self._unknown.inc(len(answer.unknown))
        for agent in answer.prediction.absent:
            self._missing.labels(agent).inc()

    def counting(self, app: ASGIApp) -> ASGIApp:
        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            begun, status = time.perf_counter(), ["0"]

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    status[0] = str(message["status"])
                await send(message)

            try:
                await app(scope, receive, noted)
            finally:
                route = _route(scope["path"])
                self._requests.labels(route, status[0]).inc()
                self._seconds.labels(route).observe(time.perf_counter() - begun)

        return counted


def _route(path: str) -> str:
    """Return the group of a path. There are few groups, so that strangers cannot make many counters."""
    if path.startswith("/v2/models/") and path.endswith("/infer"):
        return "/v2/infer"
    return next((route for route in ROUTES if path.startswith(route)), "other")


# -- the description in OpenAPI, for programs that generate clients

Described: TypeAlias = dict[str, Any]

ANSWERS = {
    "400": "The request is not valid; the error says where.",
    "401": "The token is missing or wrong.",
    "403": "A web page asks, and no token is needed.",
    "404": "No agent that was reached knows any of the ids; or there is no such model.",
    "408": "The request did not come in time.",
    "413": "Too many ids, or too many bytes.",
    "415": "The body is compressed, or, where no token is needed, of a type that web pages send.",
    "421": "The Host header does not name this service.",
    "503": "Too many requests wait, or no agent can vote.",
}


def openapi_of(model: str, limits: ServingLimits) -> Described:
    named = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "enum": [model]}}
    version = {"name": "version", "in": "path", "required": True, "schema": {"type": "string", "enum": [VERSION]}}
    ids = {"name": "id", "in": "query", "required": True, "schema": {"type": "array", "items": TEXT}, "explode": True}
    of_many = _operation(
        "predict", f"The classes of up to {limits.most_ids:,} ids.", "Predictions", "400 404 408 413 415 503"
    )
    of_one = _operation(
        "predictOne",
        "The class of one id; of several where 'id' is given several times.",
        "Predictions",
        "400 404 413 503",
    )
    paths: dict[str, Described] = {
        "/predict": {"post": of_many | _body(_in_json("Ids")), "get": of_one | {"parameters": [ids]}},
        "/v2": {"get": _operation("server", "What serves here.", "Server", "404")},
        "/v2/health/live": {"get": _without_token(_operation("live", "Whether it lives.", "Flag", "404"))},
        "/v2/health/ready": {"get": _without_token(_readiness("ready"))},
        "/metrics": {"get": _operation("metrics", "Counters, for Prometheus.", {"text/plain": {"schema": TEXT}})},
        "/openapi.json": {"get": _operation("openapi", "This description.", "Anything", "404")},
    }
    # Only the protocol describes the binary form of tensors.
    packed = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    what = "The same in the Open Inference Protocol, version 2; tensors in JSON or binary."
    for path, more, end in (("", [named], ""), ("/versions/{version}", [named, version], "Version")):
        base = f"/v2/models/{{model}}{path}"
        answered = _operation(f"infer{end}", what, _in_json("InferenceResponse") | packed, "400 404 408 413 415 503")
        infer = answered | _body(_in_json("InferenceRequest") | packed)
        paths[base] = {"get": _operation(f"model{end}", "The model's tensors.", "Model", "404"), "parameters": more}
        paths[f"{base}/ready"] = {"get": _readiness(f"modelReady{end}"), "parameters": more}
        paths[f"{base}/infer"] = {"post": infer, "parameters": more}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"Predictions of the run {model}", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _schemas(limits),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(name: str, summary: str, answer: str | Described, refusals: str = "") -> Described:
    content = _in_json(answer) if isinstance(answer, str) else answer
    refused = {
        status: {"description": ANSWERS[status], "content": _in_json("Error")}
        for status in ("401", "403", "421", *refusals.split())
    }
    responses = {"200": {"description": "The answer.", "content": content}} | refused
    return {"summary": summary, "operationId": name, "responses": responses}


def _readiness(name: str) -> Described:
    made = _operation(name, "Whether models are loaded and helpers reached.", "Flag", "404")
    made["responses"]["503"] = {"description": "It is not ready yet.", "content": _in_json("Flag")}
    return made


def _without_token(operation: Described) -> Described:
    responses = {status: said for status, said in operation["responses"].items() if status != "401"}
    return operation | {"security": [], "responses": responses}


def _in_json(schema: str) -> Described:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _body(content: Described) -> Described:
    return {"requestBody": {"required": True, "content": content}}


TEXT: Described = {"type": "string"}


def _schemas(limits: ServingLimits) -> dict[str, Described]:
    def array(items: Described) -> Described:
        return {"type": "array", "items": items}

    def objects(required: str, **properties: Any) -> Described:
        return {"type": "object", "required": required.split(), "properties": properties}

    texts, by_name = array(TEXT), {"type": "object", "additionalProperties": TEXT}
    one_id = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": limits.longest_id}, {"type": "integer"}]}
    ids = array(one_id) | {"minItems": 1, "maxItems": limits.most_ids}
    share = {"type": "number", "minimum": 0, "maximum": 1}
    described = objects("name datatype shape", name=TEXT, datatype=TEXT, shape=array({"type": "integer"}))
    tensors = array(described | {"properties": described["properties"] | {"data": {"type": "array"}, "parameters": {}}})
    outputs = array(objects("name", name=TEXT, parameters={"type": "object"}))
    return {
        "Ids": objects("ids", ids=ids) | {"additionalProperties": False},
        "Prediction": objects(
            "id label probabilities voted missing",
            id=TEXT,
            label={"type": ["string", "number", "boolean"]},
            probabilities={"type": "object", "additionalProperties": share},
            voted=texts,
            missing=by_name,
            by_label_shares={"type": "boolean"},
        ),
        "Predictions": objects(
            "predictions unknown missing changed",
            predictions=array({"$ref": "#/components/schemas/Prediction"}),
            unknown=texts,
            missing=by_name,
            changed=by_name,
        ),
        "Error": objects("error", error=TEXT, unknown=texts, missing=by_name),
        "Flag": {"type": "object", "additionalProperties": {"type": ["boolean", "string"]}},
        "Server": objects("name version extensions", name=TEXT, version=TEXT, extensions=texts),
        "Model": objects(
            "name versions platform inputs outputs",
            **{"name": TEXT, "versions": texts, "platform": TEXT},
            **{"inputs": array(described), "outputs": array(described)},
        ),
        "InferenceRequest": objects("inputs", id=TEXT, inputs=tensors, outputs=outputs, parameters={"type": "object"}),
        "InferenceResponse": objects(
            "model_name outputs",
            **{"id": TEXT, "model_name": TEXT, "model_version": TEXT},
            **{"outputs": tensors, "parameters": by_name},
        ),
        "Anything": {"type": "object"},
    }
