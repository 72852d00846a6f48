"""A run that is served over a real port, by a server in a thread of this process; its helpers are processes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import polars as pl

from assistlearn.initiator.folder import RunFolder
from assistlearn.reach.processes.process_transport import ProcessTransport
from assistlearn.web.predictor import Predictor, opened_predictor
from assistlearn.web.server import WebServer, listening, port_of, protocol_for
from assistlearn.web.service import PredictionService, ServingLimits
from tests.cli.program import assistlearn
from tests.cli.small_agents import know_the_key, write_agents

TOKEN = "a-token-that-nobody-guesses"
LIMITS = ServingLimits(most_ids=100, most_bytes=20_000, longest_id=100, slowest=0.5)


@dataclass(frozen=True)
class Served:
    """A service as its clients see it, and what is behind it."""

    port: int
    service: PredictionService
    home: Path
    stop: Callable[[], None]

    @property
    def predictor(self) -> Predictor:
        return self.service.predictor

    @property
    def model(self) -> str:
        return self.predictor.run.name

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        return self.request("GET", path, None, **headers)

    def post(self, path: str, body: bytes | dict[str, Any], **headers: str) -> tuple[int, Any]:
        return self.request("POST", path, body if isinstance(body, bytes) else json.dumps(body).encode(), **headers)

    def request(self, method: str, path: str, body: bytes | None, **headers: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}"} | headers)
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(said) if answer.headers.get_content_type() == "application/json" else said

    def predict(self, *ids: Any) -> dict[str, Any]:
        status, said = self.post("/predict", {"ids": list(ids)})
        assert status == 200, said
        return said

    def pid(self, helper: str) -> int:
        """Return the process of a helper."""
        transport = self.predictor.ways[helper]._transport
        assert isinstance(transport, ProcessTransport)
        return transport.pid(helper)

    def reached(self) -> None:
        """Wait until the models are loaded and all helpers can be asked."""
        until = time.monotonic() + 60
        self.predictor.started.result(60)
        while not all(way.open for way in self.predictor.ways.values()):
            assert time.monotonic() < until
            time.sleep(0.02)


def trained(home: Path, *options: object) -> Path:
    """Train a run of small agents; return its folder."""
    files = write_agents(home)
    know_the_key(files[0])
    said = assistlearn("simulate", *files, "--out", home / "run", "--rounds", 2, "--seed", 1, *options)
    assert said.code == 0, said.err
    return home / "run"


@contextmanager
def served(run: Path, wait: bool = True) -> Iterator[Served]:
    """Serve a run while this is open; wait until all helpers were reached, unless somebody says otherwise."""
    with opened_predictor(run) as predictor, listening() as there:
        service = PredictionService(predictor, LIMITS)
        server = WebServer(service.application(TOKEN), there, http=protocol_for(LIMITS.slowest), lifespan="off")
        thread = threading.Thread(target=server.run_until_stopped)
        thread.start()
        try:
            made = Served(port_of(there), service, run.parent, server.stop)
            if wait:
                made.reached()
            yield made
        finally:
            server.stop()
            thread.join()


def predicted(run: Path, *ids: str, without: str | None = None) -> dict[str, dict[str, Any]]:
    """Predict with the command, and return the rows of its file by id."""
    left_out = [] if without is None else ["--without", without]
    asked, out = run.parent / "asked.csv", run.parent / "predictions.csv"
    pl.DataFrame({"patient": list(ids)}).write_csv(asked)
    said = assistlearn("predict", run, "--ids", asked, "--out", out, "--allow-absent", "--force", "--json", *left_out)
    assert said.code == 0, said.err
    rows = pl.read_csv(out, schema_overrides={"patient": pl.String, "prediction": pl.String}).to_dicts()
    return {row["patient"]: row for row in rows}


def classes_of(run: Path) -> list[Any]:
    return RunFolder(run).settings().classes
