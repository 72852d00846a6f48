"""``assistlearn serve``, as it is started: a process, its options, its token, TLS, and how it ends."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest

from assistlearn.cli.predict import _show_service
from tests.cli.program import assistlearn, modules_after
from tests.cli.small_agents import NEW
from tests.forked_agents import forked
from tests.initiator.digests import rewrite
from tests.web.served_run import predicted, trained


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    with forked():
        return trained(tmp_path_factory.mktemp("serve"))


def certificate(folder: Path) -> tuple[Path, Path]:
    """Write a certificate of one's own for localhost, and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    pem = serialization.Encoding.PEM
    plain = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    (folder / "key.pem").write_bytes(plain)
    return folder / "cert.pem", folder / "key.pem"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as there:
        return int(there.getsockname()[1])


def until_ready(address: str, trusting: ssl.SSLContext) -> list[tuple[int, dict[str, bool]]]:
    """Ask whether the service is ready until it is; return its answers."""
    answers, until = [], time.monotonic() + 180
    while not answers or answers[-1][0] != 200:
        assert time.monotonic() < until
        time.sleep(0.05)
        try:
            with urllib.request.urlopen(f"{address}/v2/health/ready", context=trusting, timeout=30) as answer:
                answers.append((answer.status, json.load(answer)))
        except urllib.error.HTTPError as error:
            answers.append((error.code, json.load(error)))
        except urllib.error.URLError:  # it does not listen yet
            continue
    return answers


@contextmanager
def without_models(home: Path) -> Iterator[int]:
    """Take the model files of all agents away while this is open."""
    files = list(home.glob("**/model.skops"))
    for file in files:
        file.rename(file.with_suffix(".away"))
    try:
        yield len(files)
    finally:
        for file in files:
            file.with_suffix(".away").rename(file)


def types_in(home: Path) -> list[str]:
    """The types of all messages in all ledgers below a folder."""
    lines = [line for file in sorted(home.glob("**/ledger.jsonl")) for line in file.read_text().splitlines()]
    return [json.loads(line)["type"] for line in lines]


def test_a_service_is_ready_once_it_needs_no_file_answers_over_tls_and_ends_in_good_order(run, tmp_path):
    cert, key = certificate(tmp_path)
    port = free_port()
    command = [sys.executable, "-m", "assistlearn", "serve", str(run), "--port", str(port), "--json"]
    files, told = {path.name for path in run.iterdir()}, Counter(types_in(run.parent))
    with subprocess.Popen(
        [*command, "--tls-cert", str(cert), "--tls-key", str(key)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            trusting = ssl.create_default_context(cafile=str(cert))
            answers = until_ready(f"https://localhost:{port}", trusting)
            opening = Counter(types_in(run.parent)) - told
            facts = json.loads(process.stdout.readline())
            helpers = _children(process.pid)
            token = Path(facts["token_file"])
            address = facts["address"].replace("127.0.0.1", "localhost")
            request = urllib.request.Request(f"{address}/predict?id={NEW[0]}")
            request.add_header("Authorization", f"Bearer {token.read_text().strip()}")
            with (
                without_models(run.parent) as n_models,
                urllib.request.urlopen(request, context=trusting, timeout=30) as answer,
            ):
                (said,) = json.load(answer)["predictions"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert address.startswith("https://")
    assert answers[0] == (503, {"ready": False})
    assert answers[-1] == (200, {"ready": True})
    assert n_models >= 3
    assert opening.keys() <= {"open", "opened", "end", "ended"}  # nobody was asked for votes, and no limit was used
    assert facts["missing"] == {}
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert said["voted"] == ["clinic", "lab", "scans"]
    assert {path.name for path in run.iterdir()} - files == {"serve.token", "votes_heard.npz"}
    assert len(helpers) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in helpers)
    with forked():
        row = predicted(run, NEW[0])[NEW[0]]
    assert said["probabilities"] == {name: row[f"probability of {name}"] for name in ("no", "yes")}


def test_a_service_without_a_helper_answers_as_predict_does_without_it(run, tmp_path):
    command = [sys.executable, "-m", "assistlearn", "serve", str(run), "--port", "0", "--json", "--no-token"]
    with subprocess.Popen([*command, "--without", "lab"], stdout=subprocess.PIPE, text=True) as process:
        try:
            facts = json.loads(process.stdout.readline())
            with urllib.request.urlopen(f"{facts['address']}/predict?id={NEW[0]}", timeout=60) as answer:
                (said,) = json.load(answer)["predictions"]
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(120) == 0
    assert said["voted"] == ["clinic", "scans"]
    with forked():
        (row,) = predicted(run, NEW[0], without="lab").values()
    assert said["probabilities"] == {name: row[f"probability of {name}"] for name in ("no", "yes")}
    assistlearn("serve", run, "--without", "nobody").failed(2, "nobody")


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in os.listdir(tasks) for child in (tasks / task / "children").read_text().split()]


@pytest.mark.parametrize("first", ["P19492", "O'Brien & Söhne; 50 % #1?", "$(touch here)", "a+b/c[1]\\"])
def test_the_command_to_try_asks_a_shell_for_the_first_id_as_it_is(first, tmp_path, capsys):
    token = tmp_path / "it's a token"
    token.write_text("secret")
    own = SimpleNamespace(run=SimpleNamespace(holdings=SimpleNamespace(ids=SimpleNamespace(texts=[first]))))
    _show_service({"address": "http://127.0.0.1:80", "model": "m", "token_file": str(token), "missing": {}}, own)
    command = capsys.readouterr().out.splitlines()[-1].removeprefix("Try it: ")
    shell = f"curl() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    given = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    *header, address, _ = given.split("\0")
    assert header == ["-H", "Authorization: Bearer secret"]
    assert parse_qs(urlsplit(address).query, strict_parsing=True) == {"id": [first]}
    assert urlsplit(address).fragment == ""
    assert list(tmp_path.iterdir()) == [token]


def test_a_run_that_is_not_finished_is_refused(run, tmp_path):
    rewrite(tmp_path, "settings.json", (run / "settings.json").read_bytes())
    assistlearn("serve", tmp_path, "--port", 0).failed(2, "is not finished")


def test_a_certificate_goes_with_a_key(run, tmp_path):
    cert, key = certificate(tmp_path)
    assistlearn("serve", run, "--tls-cert", cert).failed(2, "go together")
    assistlearn("serve", run, "--tls-cert", cert, "--tls-key", cert).failed(2, "cannot be used for TLS")
    assistlearn("serve", run, "--tls-cert", key.parent / "none", "--tls-key", key).failed(2, "cannot be used for TLS")


def test_a_token_and_no_token_contradict_each_other(run, tmp_path):
    said = assistlearn("serve", run, "--port", 0, "--no-token", "--token-file", tmp_path / "token")
    said.failed(2, "contradict each other")


def test_the_program_starts_without_what_serves():
    assert not {"starlette", "uvicorn", "prometheus_client"} & modules_after("import assistlearn.cli")
