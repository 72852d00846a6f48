"""Real servers of tables on loopback, each for as long as it is needed: PostgreSQL, S3 (moto's), and a web server."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

PASSWORD = "not for the agent's file"
NO_POSTGRES = "no PostgreSQL: install Debian's package postgresql"


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL: its URL, without the password that ``PGPASSWORD`` must hold, and its process."""

    url: str
    process: int


def postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, or None where there are none."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL that wants a password, and stop it at the end."""
    programs = postgres_programs()
    assert programs is not None, NO_POSTGRES
    home, port = Path(tempfile.mkdtemp(prefix="pg-")), free_port()
    who: dict[str, Any] = {}
    if os.geteuid() == 0:  # PostgreSQL does not run as root
        user = next((name for name in ("postgres", "nobody") if _exists(name)), None)
        who = {"user": user, "extra_groups": []}
        shutil.chown(home, user)
    (home / "password").write_text(PASSWORD)
    shutil.chown(home / "password", home.stat().st_uid)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": home}
    made = [programs / "initdb", "-D", home / "data", "-U", "owner", "-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
    subprocess.run([*made, "--locale=C.UTF-8", f"--pwfile={home / 'password'}"], check=True, **quiet, **who)
    command = [programs / "postgres", "-D", home / "data", "-p", str(port), "-k", home, "-c", "fsync=off"]
    server = subprocess.Popen([*command, "-c", "listen_addresses=127.0.0.1"], **quiet, **who)
    try:
        wait_for(port, server)
        ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
        while subprocess.run(ready, check=False).returncode == 1:  # it listens before it has started up
            time.sleep(0.05)
        yield Postgres(f"postgresql://owner@127.0.0.1:{port}/postgres", server.pid)
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(home)


@contextmanager
def s3() -> Iterator[dict[str, str]]:
    """Start an S3 server, hand over the environment by which it is found, and stop it at the end."""
    port = free_port()
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=own)
    try:
        wait_for(port, server)
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "AKIAOFTHETEST",
            "AWS_SECRET_ACCESS_KEY": "the-key-that-nobody-may-see",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.terminate()
        server.wait(30)


def put(environment: dict[str, str], bucket: str, files: dict[str, bytes]) -> None:
    """Put objects into a bucket, which is made where it is not there."""
    import boto3

    store = boto3.client(
        "s3",
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name=environment["AWS_REGION"],
    )
    store.create_bucket(Bucket=bucket)
    for key, content in files.items():
        store.put_object(Bucket=bucket, Key=key, Body=content)
    store.close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def web(folder: Path, handler: type[SimpleHTTPRequestHandler] = _Quiet) -> Iterator[str]:
    """Serve a folder's files, and hand over the URL of the folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Return as soon as somebody listens."""
    for _ in range(600):
        assert server.poll() is None, f"the server ended with {server.returncode}"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens on port {port}")


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
