"""What the service answers is what ``assistlearn predict`` writes, whoever asks and however."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tritonclient.http as triton

from assistlearn.protocol.ledger import counted, verify
from tests.cli.small_agents import IDS, NEW
from tests.web.served_run import TOKEN, classes_of, predicted

UNKNOWN = "nobody"


@pytest.fixture(scope="module")
def command(service):
    """Return what the command says of everybody, and of somebody whom nobody knows."""
    return predicted(service.home / "run", *IDS, UNKNOWN)


def same(said, row, service):
    """Whether an answer is a row of the command's file, to the bit."""
    classes = classes_of(service.home / "run")
    return (
        said["label"] == row["prediction"]
        and [said["probabilities"][name] for name in classes] == [row[f"probability of {name}"] for name in classes]
        and " ".join(said["voted"]) == row["agents"]
        and said["missing"] == {}
    )


def test_every_id_by_itself_is_answered_as_the_command_answers_all(service, command):
    for id in NEW:
        (said,) = service.predict(id)["predictions"]
        assert said["id"] == id
        assert same(said, command[id], service)


def test_many_ids_are_answered_in_their_order_and_as_the_command_does(service, command):
    asked = IDS[::-1]
    said = service.predict(*asked)
    assert [each["id"] for each in said["predictions"]] == asked
    assert all(same(each, command[each["id"]], service) for each in said["predictions"])
    assert said["unknown"] == []
    assert said["missing"] == {}


def test_twenty_clients_at_once_each_get_their_own_answers(service, command):
    def ask(client):
        mine = [IDS[(7 * client + step) % len(IDS)] for step in range(10)]
        return [(id, service.predict(id)["predictions"][0]) for id in mine]

    with ThreadPoolExecutor(20) as clients:
        said = [pair for pairs in clients.map(ask, range(20)) for pair in pairs]
    assert len(said) == 200
    assert all(each["id"] == id and same(each, command[id], service) for id, each in said)


def test_an_id_that_nobody_knows_is_named_beside_the_answers(service, command):
    said = service.predict(UNKNOWN, NEW[0])
    assert said["unknown"] == [UNKNOWN]
    assert [each["id"] for each in said["predictions"]] == [NEW[0]]
    assert command[UNKNOWN]["prediction"] is None


def test_where_nobody_knows_any_id_the_answer_is_404_and_names_them(service):
    status, said = service.post("/predict", {"ids": [UNKNOWN, "x", UNKNOWN]})
    assert status == 404
    assert said["unknown"] == [UNKNOWN, "x"]
    assert "any of these 2 ids" in said["error"]


def test_an_id_is_the_same_with_blanks_around_it_and_may_be_asked_for_twice(service, command):
    said = service.predict(NEW[0], f" {NEW[0]} ")["predictions"]
    assert [each["id"] for each in said] == [NEW[0], f" {NEW[0]} "]
    assert all(same(each, command[NEW[0]], service) for each in said)


def test_curl_gets_an_answer_with_one_line(service, command):
    address = f"http://127.0.0.1:{service.port}/predict?id={NEW[1]}"
    done = subprocess.run(
        ["curl", "-sS", "-H", f"Authorization: Bearer {TOKEN}", address], capture_output=True, check=True
    )
    (said,) = json.loads(done.stdout)["predictions"]
    assert same(said, command[NEW[1]], service)


@pytest.fixture(scope="module")
def client(service):
    """A client of the Open Inference Protocol that others wrote."""
    with triton.InferenceServerClient(f"127.0.0.1:{service.port}") as made:
        yield made


def token():
    """Return the header; this client writes others into it."""
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("shape", [(8,), (8, 1)])
def test_a_client_that_others_wrote_gets_the_same_answers(service, client, command, binary, shape):
    ids = triton.InferInput("ids", shape, "BYTES")
    ids.set_data_from_numpy(np.array(NEW, dtype=object).reshape(shape), binary_data=binary)
    wanted = [triton.InferRequestedOutput(name, binary_data=binary) for name in ("probability", "label", "voted")]
    said = client.infer(service.model, [ids], request_id="r-1", outputs=wanted, headers=token())
    classes = json.loads(said.get_output("probability")["parameters"]["classes"])
    agents = json.loads(said.get_output("voted")["parameters"]["agents"])
    labels = [each.decode() if isinstance(each, bytes) else each for each in said.as_numpy("label")]
    assert said.get_response()["id"] == "r-1"
    assert said.as_numpy("probability").dtype == np.float64
    for place, id in enumerate(NEW):
        row = command[id]
        assert labels[place] == row["prediction"]
        assert [row[f"probability of {name}"] for name in classes] == said.as_numpy("probability")[place].tolist()
        voted = [name for name, there in zip(agents, said.as_numpy("voted")[place], strict=True) if there]
        assert " ".join(voted) == row["agents"]


def test_a_client_that_others_wrote_gets_what_it_asks_for_and_everything_by_default(service, client):
    ids = triton.InferInput("ids", (1,), "BYTES")
    ids.set_data_from_numpy(np.array(NEW[:1], dtype=object))
    only = client.infer(service.model, [ids], outputs=[triton.InferRequestedOutput("label")], headers=token())
    assert [each["name"] for each in only.get_response()["outputs"]] == ["label"]
    everything = client.infer(service.model, [ids], model_version="1", headers=token())
    assert [each["name"] for each in everything.get_response()["outputs"]] == ["label", "probability", "voted"]


def test_an_unknown_id_in_a_tensor_has_no_label_no_probability_and_no_voter(service):
    body = {"inputs": [{"name": "ids", "datatype": "BYTES", "shape": [2], "data": [UNKNOWN, NEW[0]]}]}
    status, said = service.post(f"/v2/models/{service.model}/infer", body)
    label, probability, voted = said["outputs"]
    assert status == 200
    assert label["data"][0] == ""
    assert probability["data"][:2] == [0.0, 0.0]
    assert voted["data"][:3] == [False, False, False]
    assert json.loads(said["parameters"]["unknown"]) == [UNKNOWN]


def test_a_client_that_others_wrote_finds_the_service_live_and_ready_and_its_tensors_named(service, client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready(service.model, headers=token())
    assert client.get_server_metadata(headers=token())["extensions"] == ["binary_tensor_data"]
    said = client.get_model_metadata(service.model, headers=token())
    assert said["inputs"] == [{"name": "ids", "datatype": "BYTES", "shape": [-1]}]
    assert [each["shape"] for each in said["outputs"]] == [[-1], [-1, 2], [-1, 3]]
    assert "x0" not in json.dumps(said)  # a column of the initiator's


def test_every_request_is_in_the_ledgers_of_both_sides_and_counted(service):
    ledgers = {name: service.home / f"{name}-models" / "ledger.jsonl" for name in ("clinic", "lab", "scans")}

    def counts():
        return {name: counted(ledgers[name]).of("clinic").units for name in ("lab", "scans")}

    before, entries = counts(), verify(ledgers["clinic"])
    service.predict(*NEW[:3])
    after = counts()
    for name in ("lab", "scans"):
        assert after[name]["votes"] - before[name]["votes"] == 3
        assert after[name]["ids"] - before[name]["ids"] == 3
        verify(ledgers[name])
    assert verify(ledgers["clinic"]) - entries == 12  # with two helpers: three questions, three answers each
