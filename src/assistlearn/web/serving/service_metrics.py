"""What the service counts, for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assistlearn.reach.standing_way import StandingWay
from assistlearn.web.serving.plain_answers import ServedAnswer
from assistlearn.web.serving.predictor import Predictor

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ROUTES = ("/predict", "/v2", "/metrics", "/openapi.json")
"""Groups of paths. A request counts for the first group that its path begins with."""


class ServiceMetrics:
    """Counters of one service.

    Parameters
    ----------
    predictor : Predictor
        It knows how many requests wait, and which helpers can be reached.
    """

    def __init__(self, predictor: Predictor) -> None:
        self._registry = CollectorRegistry()
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
        for helper, way in predictor.ways.items():
            reached.labels(helper).set_function(partial(_is_open, way))
        predictor.joined = lambda n_requests: self._exchanges.inc()

    def answered(self, answer: ServedAnswer) -> None:
        """Count the ids of an answer, the unknown ids, and the agents that did not take part."""
        self._ids.inc(len(answer.asked.given))
        self._unknown.inc(len(answer.unknown))
        for agent in answer.prediction.absent:
            self._missing.labels(agent).inc()

    def text(self) -> bytes:
        """Return everything in Prometheus' own format."""
        return generate_latest(self._registry)

    def counting(self, app: ASGIApp) -> ASGIApp:
        """Return an application whose requests are counted."""

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
                route = _route(scope["path"], ROUTES)
                self._requests.labels(route, status[0]).inc()
                self._seconds.labels(route).observe(time.perf_counter() - begun)

        return counted


def _is_open(way: StandingWay) -> float:
    return float(way.open)


def _route(path: str, routes: Iterable[str]) -> str:
    """Return the group of a path. There are few groups, so that strangers cannot make many counters.

    >>> _route("/v2/models/x/infer", ROUTES), _route("/v2/health/live", ROUTES), _route("/x", ROUTES)
    ('/v2/infer', '/v2', 'other')
    """
    if path.startswith("/v2/models/") and path.endswith("/infer"):
        return "/v2/infer"
    return next((route for route in routes if path.startswith(route)), "other")
