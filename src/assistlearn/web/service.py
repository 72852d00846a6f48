"""The prediction service: its routes, its description in OpenAPI, and what it counts."""

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
from typing import Any

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

# Requests for predictions and their answers: plain JSON and the Open Inference Protocol, read within limits.


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


VERSION = "1"
"""The only version of the model: a run does not change once it is finished."""


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

    async def _predict(self, request: Request) -> Response:
        body = await body_of(request, self.limits)
        try:
            ids = msgspec.json.decode(body, type=_Ids).ids
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise HTTPException(400, f'The body must be like {{"ids": ["17", "18"]}}: {error}.') from None
        return JSONResponse((await self._answer(ids)).plain())

    async def _predict_one(self, request: Request) -> Response:
        return JSONResponse((await self._answer(request.query_params.getlist("id"))).plain())

    async def _infer(self, request: Request) -> Response:
        model = self._named(request)
        asked, ids = read_inference(await body_of(request, self.limits), request.headers)
        return inference_answer(asked, model, await self._answer(ids))

    async def _answer(self, ids: list[Any]) -> ServedAnswer:
        asked = AskedIds.of(ids, self.limits, self.predictor.run.holdings.ignores_case)
        await asyncio.shield(asyncio.wrap_future(self.predictor.started))  # whoever gives up does not cancel it
        try:
            future = self.predictor.submit(asked.texts)
        except BusyError as error:
            raise HTTPException(503, str(error), {"retry-after": "1"}) from None
        answer = ServedAnswer(asked, await asyncio.wrap_future(future), self.predictor.voters)
        self._metrics.answered(answer)
        if not answer.prediction.known and not answer.prediction.label_only:
            why = " ".join(f"{name}: {why}" for name, why in answer.prediction.absent.items())
            raise HTTPException(503, f"No agent can vote. {why}", {"retry-after": "1"})
        if not answer.prediction.decided.any():
            raise _UnknownIdsError(answer)
        return answer

    async def _server(self, request: Request) -> Response:
        return JSONResponse({"name": "assistlearn", "version": __version__, "extensions": ["binary_tensor_data"]})

    async def _live(self, request: Request) -> Response:
        return JSONResponse({"live": True})

    async def _ready(self, request: Request) -> Response:
        return self._readiness({})

    async def _model(self, request: Request) -> Response:
        settings = self.predictor.run.settings
        outputs = [
            {"name": "label", "datatype": "BYTES", "shape": [-1]},
            {"name": "probability", "datatype": "FP64", "shape": [-1, len(settings.classes)]},
            {"name": "voted", "datatype": "BOOL", "shape": [-1, len(self.predictor.voters)]},
        ]
        inputs = [{"name": "ids", "datatype": "BYTES", "shape": [-1]}]
        facts = {"name": self._named(request), "versions": [VERSION], "platform": "assistlearn"}
        return JSONResponse(facts | {"inputs": inputs, "outputs": outputs})

    async def _model_ready(self, request: Request) -> Response:
        return self._readiness({"name": self._named(request)})

    def _readiness(self, facts: dict[str, Any]) -> Response:
        ready = self.predictor.ready
        return JSONResponse(facts | {"ready": ready}, 200 if ready else 503)

    async def _openapi(self, request: Request) -> Response:
        return JSONResponse(openapi_of(self.predictor.run.name, self.limits))

    async def _metrics_text(self, request: Request) -> Response:
        return Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    def _named(self, request: Request) -> str:
        name, version = request.path_params["model"], request.path_params.get("version", VERSION)
        if name != self.predictor.run.name or version != VERSION:
            raise HTTPException(404, f"There is no model {name[:80]!a}, version {version[:20]!a}, here.")
        return str(name)


class _Ids(msgspec.Struct, forbid_unknown_fields=True):
    ids: list[str | int]


class _UnknownIdsError(HTTPException):
    def __init__(self, answer: ServedAnswer) -> None:
        n = len(answer.unknown)
        super().__init__(404, f"No agent that was reached knows {'this id' if n == 1 else f'any of these {n:,} ids'}.")
        self.more = {"unknown": answer.unknown, "missing": dict(answer.prediction.absent)}


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    more = error.more if isinstance(error, _UnknownIdsError) else {}
    words = error.detail
    if words == HTTPStatus(error.status_code).phrase:  # the router has no words of its own
        words = f"Nothing at this path answers {request.method}. See /openapi.json for all paths."
    return JSONResponse({"error": words, **more}, error.status_code, error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"This is a fault of assistlearn: {type(error).__name__}."}, 500)


# -- counters

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTES = ("/predict", "/v2", "/metrics", "/openapi.json")
"""Groups of paths. A request counts for the first group that its path begins with."""


class ServiceMetrics:
    def __init__(self, predictor: Predictor) -> None:
        self._registry = CollectorRegistry()
        self._ways = predictor.ways
        name, registry = "assistlearn_serve", self._registry
        self._requests = Counter(f"{name}_requests", "Requests answered.", ["route", "status"], registry=registry)
        self._seconds = Histogram(
            f"{name}_seconds", "Seconds to an answer.", ["route"], buckets=SECONDS, registry=registry
        )
        self._ids = Counter(f"{name}_ids", "Ids asked about.", registry=registry)
        self._unknown = Counter(f"{name}_unknown_ids", "Ids that no agent holds.", registry=registry)
        self._missing = Counter(f"{name}_missing", "Answers without an agent's votes.", ["agent"], registry=registry)
        self._exchanges = Counter(f"{name}_exchanges", "Times that helpers were asked.", registry=registry)
        waiting = Gauge(f"{name}_waiting", "Requests that wait.", registry=registry)
        waiting.set_function(lambda: predictor.n_waiting)
        reached = Gauge(f"{name}_helper_open", "Whether the way to a helper is open.", ["agent"], registry=registry)
        for helper in predictor.ways:
            reached.labels(helper).set_function(partial(self._is_open, helper))
        predictor.joined = lambda n_requests: self._exchanges.inc()

    def _is_open(self, helper: str) -> float:
        return float(self._ways[helper].open)

    def answered(self, answer: ServedAnswer) -> None:
        self._ids.inc(len(answer.asked.given))
        self._unknown.inc(len(answer.unknown))
        for agent in answer.prediction.absent:
            self._missing.labels(agent).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)

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

TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
REASONS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}

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


def openapi_of(model: str, limits: ServingLimits) -> dict[str, Any]:
    named = {"name": "model", "in": "path", "required": True, "schema": {"type": "string", "enum": [model]}}
    version = {"name": "version", "in": "path", "required": True, "schema": {"type": "string", "enum": ["1"]}}
    paths: dict[str, dict[str, Any]] = {
        "/predict": {"post": _predict(limits), "get": _predict_one()},
        "/v2": {"get": _got("What serves here.", "server", "Server")},
        "/v2/health/live": {"get": _open(_got("Whether it lives.", "live", "Flag"))},
        "/v2/health/ready": {"get": _open(_readiness("ready"))},
        "/metrics": {"get": _metrics()},
        "/openapi.json": {"get": _got("This description.", "openapi", "Anything")},
    }
    for path, more, end in (("", [named], ""), ("/versions/{version}", [named, version], "Version")):
        base = f"/v2/models/{{model}}{path}"
        paths[base] = {"get": _got("The model's tensors.", f"model{end}", "Model"), "parameters": more}
        paths[f"{base}/ready"] = {"get": _readiness(f"modelReady{end}"), "parameters": more}
        paths[f"{base}/infer"] = {"post": _infer(end), "parameters": more}
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


def _readiness(operation: str) -> dict[str, Any]:
    got = _got("Whether models are loaded and helpers reached.", operation, "Flag")
    got["responses"]["503"] = {"description": "It is not ready yet.", "content": _in_json("Flag")}
    return got


def _ref(schema: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{schema}"}


def _in_json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": _ref(schema)}}


def _answers(content: dict[str, Any], *statuses: str) -> dict[str, Any]:
    refused = {
        status: {"description": ANSWERS[status], "content": _in_json("Error")}
        for status in ("401", "403", "421", *statuses)
    }
    return {"200": {"description": "The answer.", "content": content}} | refused


def _got(summary: str, operation: str, schema: str) -> dict[str, Any]:
    return {"summary": summary, "operationId": operation, "responses": _answers(_in_json(schema), "404")}


def _open(operation: dict[str, Any]) -> dict[str, Any]:
    responses = {status: said for status, said in operation["responses"].items() if status != "401"}
    return operation | {"security": [], "responses": responses}


def _metrics() -> dict[str, Any]:
    content = {"text/plain": {"schema": TEXT}}
    return {"summary": "Counters, for Prometheus.", "operationId": "metrics", "responses": _answers(content)}


def _predict(limits: ServingLimits) -> dict[str, Any]:
    return {
        "summary": f"The classes of up to {limits.most_ids:,} ids.",
        "operationId": "predict",
        "requestBody": {"required": True, "content": _in_json("Ids")},
        "responses": _answers(_in_json("Predictions"), "400", "404", "408", "413", "415", "503"),
    }


def _predict_one() -> dict[str, Any]:
    asked = {"name": "id", "in": "query", "required": True, "schema": TEXTS, "explode": True}
    return {
        "summary": "The class of one id; of several where 'id' is given several times.",
        "operationId": "predictOne",
        "parameters": [asked],
        "responses": _answers(_in_json("Predictions"), "400", "404", "413", "503"),
    }


def _infer(end: str) -> dict[str, Any]:
    """Describe the path for inference. Only the protocol describes the binary form of tensors."""
    packed = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        "summary": "The same in the Open Inference Protocol, version 2; tensors in JSON or binary.",
        "operationId": f"infer{end}",
        "requestBody": {"required": True, "content": _in_json("InferenceRequest") | packed},
        "responses": _answers(_in_json("InferenceResponse") | packed, "400", "404", "408", "413", "415", "503"),
    }


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _prediction() -> dict[str, Any]:
    return _object(
        ["id", "label", "probabilities", "voted", "missing"],
        id=TEXT,
        label={"type": ["string", "number", "boolean"]},
        probabilities={"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}},
        voted=TEXTS,
        missing=REASONS,
        by_label_shares={"type": "boolean"},
    )


def _schemas(limits: ServingLimits) -> dict[str, Any]:
    one_id = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": limits.longest_id}, {"type": "integer"}]}
    shape = {"type": "array", "items": {"type": "integer"}}
    described = _object(["name", "datatype", "shape"], name=TEXT, datatype=TEXT, shape=shape)
    data = described | {"properties": described["properties"] | {"data": {"type": "array"}, "parameters": {}}}
    asked = {"type": "array", "minItems": 1, "maxItems": limits.most_ids, "items": one_id}
    flag = {"type": "object", "additionalProperties": {"type": ["boolean", "string"]}}
    tensors = {"type": "array", "items": data}
    outputs = {"type": "array", "items": _object(["name"], name=TEXT, parameters={"type": "object"})}
    return {
        "Ids": _object(["ids"], ids=asked) | {"additionalProperties": False},
        "Prediction": _prediction(),
        "Predictions": _object(
            ["predictions", "unknown", "missing", "changed"],
            predictions={"type": "array", "items": _ref("Prediction")},
            unknown=TEXTS,
            missing=REASONS,
            changed=REASONS,
        ),
        "Error": _object(["error"], error=TEXT, unknown=TEXTS, missing=REASONS),
        "Flag": flag,
        "Server": _object(["name", "version", "extensions"], name=TEXT, version=TEXT, extensions=TEXTS),
        "Model": _object(
            ["name", "versions", "platform", "inputs", "outputs"],
            name=TEXT,
            versions=TEXTS,
            platform=TEXT,
            inputs={"type": "array", "items": described},
            outputs={"type": "array", "items": described},
        ),
        "InferenceRequest": _object(
            ["inputs"], id=TEXT, inputs=tensors, outputs=outputs, parameters={"type": "object"}
        ),
        "InferenceResponse": _object(
            ["model_name", "outputs"],
            id=TEXT,
            model_name=TEXT,
            model_version=TEXT,
            outputs=tensors,
            parameters=REASONS,
        ),
        "Anything": {"type": "object"},
    }
