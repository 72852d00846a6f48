"""Who may ask, under which name, over what; and what the service tells of itself."""

from __future__ import annotations

import json
import stat
import time
from http.client import HTTPConnection

import pytest
from jsonschema import Draft202012Validator

from assistlearn.errors import SettingsError
from assistlearn.web.server import kept_token
from tests.cli.small_agents import NEW
from tests.web.served_run import TOKEN

PATHS = ["/predict?id=x", "/v2", "/v2/models/x", "/metrics", "/openapi.json", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "said", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_without_the_token_nothing_is_told(service, path, said):
    status, answer = service.get(path, Authorization=said)
    assert status == 401
    assert list(answer) == ["error"]


def test_whether_it_lives_and_is_ready_needs_no_token(service):
    assert service.get("/v2/health/live", Authorization="") == (200, {"live": True})
    assert service.get("/v2/health/ready", Authorization="") == (200, {"ready": True})


def test_a_short_answer_comes_at_once(service):
    """A server that waits until its client has confirmed the head of an answer takes 40 ms for each."""
    connection, seconds = HTTPConnection("127.0.0.1", service.port, timeout=10), []
    for _ in range(20):
        begun = time.perf_counter()
        connection.request("GET", "/v2/health/live")
        assert connection.getresponse().read() == b'{"live":true}'
        seconds.append(time.perf_counter() - begun)
    connection.close()
    assert min(seconds[5:]) < 0.03


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path):
    file = tmp_path / "token"
    token = kept_token(file)
    assert len(token) >= 32
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert kept_token(file) == token


@pytest.mark.parametrize("content", ["", "short", "with blanks in its middle", "with-ümlauts-in-it"])
def test_what_is_no_token_is_refused(tmp_path, content):
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(SettingsError, match="holds no valid token"):
        kept_token(file)


def test_a_token_that_others_may_read_is_refused(tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o640)
    with pytest.raises(SettingsError, match="chmod 600"):
        kept_token(file)


def numbers(service):
    """What Prometheus reads, by name."""
    lines = service.get("/metrics")[1].decode().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}


def test_prometheus_reads_what_was_asked_and_answered(service):
    before = numbers(service)
    service.predict(NEW[0], NEW[1], "nobody")
    after = numbers(service)

    def more(name):
        return after[name] - before.get(name, 0.0)

    assert more('assistlearn_serve_requests_total{route="/predict",status="200"}') == 1
    assert more('assistlearn_serve_seconds_count{route="/predict"}') == 1
    assert more("assistlearn_serve_ids_total") == 3
    assert more("assistlearn_serve_unknown_ids_total") == 1
    assert more("assistlearn_serve_exchanges_total") == 1
    assert after["assistlearn_serve_waiting"] == 0
    assert after['assistlearn_serve_helper_open{agent="lab"}'] == 1


def test_a_stranger_cannot_make_the_counters_grow(service):
    service.get("/warm")
    before = len(numbers(service))
    for number in range(20):
        service.get(f"/nothing/{number}")
    assert len(numbers(service)) == before


# -- the description --


def fits(value, schema, whole) -> bool:
    return Draft202012Validator(schema | {"components": whole["components"]}).is_valid(value)


@pytest.fixture(scope="module")
def described(service):
    return service.get("/openapi.json")[1]


def test_every_route_is_described_and_nothing_else(service, described):
    routes = {(route.path, method) for route in service.service.routes() for method in route.methods - {"HEAD"}}
    said = {(path, verb.upper()) for path, item in described["paths"].items() for verb in item if verb != "parameters"}
    assert said == routes


def test_the_description_is_whole(described):
    operations = [item[verb] for item in described["paths"].values() for verb in item if verb != "parameters"]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names)
    schemas = described["components"]["schemas"]
    named = json.dumps(described).split('"#/components/schemas/')[1:]
    assert {each.split('"')[0] for each in named} <= schemas.keys()
    for path, item in described["paths"].items():
        in_path = {part[1:-1] for part in path.split("/") if part.startswith("{")}
        assert {each["name"] for each in item.get("parameters", [])} == in_path
    assert all("200" in each["responses"] for each in operations)


def test_the_answers_are_as_they_are_described(service, described):
    for path in ("/v2", "/v2/health/live", "/v2/health/ready"):
        schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert fits(service.get(path)[1], schema, described)
    asked = {"ids": [NEW[0], "nobody"]}
    operation = described["paths"]["/predict"]["post"]
    assert fits(asked, operation["requestBody"]["content"]["application/json"]["schema"], described)
    answers = {status: each["content"]["application/json"]["schema"] for status, each in operation["responses"].items()}
    assert fits(service.post("/predict", asked)[1], answers["200"], described)
    assert fits(service.post("/predict", {"ids": ["nobody"]})[1], answers["404"], described)
    assert fits(service.post("/predict", b"")[1], answers["400"], described)
    assert not fits({"ids": [], "more": 1}, {"$ref": "#/components/schemas/Ids"}, described)
    model = f"/v2/models/{service.model}"
    schema = {"$ref": "#/components/schemas/Model"}
    assert fits(service.get(model)[1], schema, described)
    body = {"inputs": [{"name": "ids", "datatype": "BYTES", "shape": [1], "data": [NEW[0]]}]}
    assert fits(body, {"$ref": "#/components/schemas/InferenceRequest"}, described)
    said = service.post(f"{model}/infer", body)[1]
    assert fits(said, {"$ref": "#/components/schemas/InferenceResponse"}, described)
