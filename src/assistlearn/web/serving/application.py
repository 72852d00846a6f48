"""The prediction service: its routes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from assistlearn import __version__
from assistlearn.errors import BusyError
from assistlearn.web.serving.asked_ids import AskedIds
from assistlearn.web.serving.bearer import BearerGate
from assistlearn.web.serving.bodies import body_of
from assistlearn.web.serving.inference import inference_answer, read_inference
from assistlearn.web.serving.openapi import openapi_of
from assistlearn.web.serving.own_names import LoopbackGate, PagesGate
from assistlearn.web.serving.plain_answers import ServedAnswer
from assistlearn.web.serving.predictor import Predictor
from assistlearn.web.serving.service_metrics import ServiceMetrics
from assistlearn.web.serving.serving_limits import ServingLimits

VERSION = "1"
"""The only version of the model: a run does not change once it is finished."""


class PredictionService:
    """Answers requests over HTTP with a predictor.

    Parameters
    ----------
    predictor : Predictor
        It makes the predictions.
    limits : ServingLimits, optional
        How much one request may ask for.
    """

    def __init__(self, predictor: Predictor, limits: ServingLimits | None = None) -> None:
        self.predictor = predictor
        self.limits = limits or ServingLimits()
        self._metrics = ServiceMetrics(predictor)

    def application(self, token: str | None, loopback: bool = True) -> ASGIApp:
        """Return the service as an ASGI application.

        Parameters
        ----------
        token : str or None
            The token that clients must send. None: they need no token.
        loopback : bool, default=True
            Whether to refuse requests to other host names than those of loopback.
        """
        app: ASGIApp = Starlette(routes=self.routes(), exception_handlers={HTTPException: _said, Exception: _fault})
        app = PagesGate(app) if token is None else BearerGate(app, token)
        return self._metrics.counting(LoopbackGate(app) if loopback else app)

    def routes(self) -> list[Route]:
        """Return the paths of the service, with the functions that answer them."""
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
        """Return the answer to a request; raise an error if no agent can vote, or none knows any of the ids."""
        asked = AskedIds.of(ids, self.limits, self.predictor.run.holdings.ignores_case)
        await asyncio.shield(asyncio.wrap_future(self.predictor.started))  # whoever gives up does not cancel it
        try:
            future = self.predictor.submit(asked.texts)
        except BusyError as error:
            raise HTTPException(503, str(error), {"retry-after": "1"}) from None
        answer = ServedAnswer(asked, await asyncio.wrap_future(future), self.predictor.voters)
        self._metrics.answered(answer)
        if not answer.prediction.known and not answer.prediction.label_only:
            said = " ".join(f"{name}: {why}" for name, why in answer.prediction.absent.items())
            raise HTTPException(503, f"No agent can vote. {said}", {"retry-after": "1"})
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
        """Return the name of the model in a request's path; raise an error if it is not this run."""
        name, version = request.path_params["model"], request.path_params.get("version", VERSION)
        if name != self.predictor.run.name or version != VERSION:
            raise HTTPException(404, f"There is no model {name[:80]!a}, version {version[:20]!a}, here.")
        return str(name)


class _Ids(msgspec.Struct, forbid_unknown_fields=True):
    ids: list[str | int]


class _UnknownIdsError(HTTPException):
    """None of the ids is known to any agent."""

    def __init__(self, answer: ServedAnswer) -> None:
        n = len(answer.unknown)
        super().__init__(404, f"No agent that was reached knows {'this id' if n == 1 else f'any of these {n:,} ids'}.")
        self.more = {"unknown": answer.unknown, "missing": dict(answer.prediction.absent)}


async def _said(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    more = error.more if isinstance(error, _UnknownIdsError) else {}
    words = error.detail
    if words == HTTPStatus(error.status_code).phrase:  # the router has no words of its own
        words = f"Nothing at this path answers {request.method}. See /openapi.json for all paths."
    return JSONResponse({"error": words, **more}, error.status_code, error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"This is a fault of assistlearn: {type(error).__name__}."}, 500)
