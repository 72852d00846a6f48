"""Describe the service in OpenAPI, for programs that generate clients."""

from __future__ import annotations

from typing import Any

from assistlearn import __version__
from assistlearn.web.serving.serving_limits import ServingLimits

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
    """Return the description of a service.

    Parameters
    ----------
    model : str
        The name of the run.
    limits : ServingLimits
        How much one request may ask for.
    """
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
    """Return an operation that needs no token."""
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
