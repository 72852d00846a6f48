"""The prediction service: its routes, its description in OpenAPI, and what it counts."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from http import HTTPStatus
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistlearn.errors import BusyError
from assistlearn.release import __version__
from assistlearn.web.access import LOOPBACK_NAMES, Gate, Policy
from assistlearn.web.inference import AskedIds, ServedAnswer, ServingLimits, body_of, inference_answer, read_inference
from assistlearn.web.predictor import Predictor

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
