"""Another program on a site's machine tries to command the site."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

import psutil

from tests.attacks.attack import attack
from tests.reach.organisations import NAMES

SNOOP = """
import os, socket, sys, time
os.setgroups([]), os.setgid(65534), os.setuid(65534)
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
print("connected", flush=True)
time.sleep(60)
"""
"""A program of another user that connects to a socket."""


@pytest.mark.network
@attack(
    "local process", "connects to a port of a site, on loopback or elsewhere", "there is none, a job running or not"
)
def test_no_process_of_a_site_listens_on_a_port(organisations, job):
    for name in ("relay", *NAMES):
        listening = {
            line.laddr.port
            for process in psutil.Process(organisations.network.processes[name].pid).children(recursive=True)
            for line in process.net_connections("inet")
            if line.status == psutil.CONN_LISTEN
        }
        assert listening == ({relay_port(organisations)} if name == "relay" else set()), name


@pytest.mark.network
@attack("local process", "connects to the socket of a site's jobs, as another user", "refused by the folder's mode")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_cannot_reach_the_socket(organisations, job):
    path = organisations.network.kit(NAMES[1]) / "sockets" / "jobs.socket"
    assert path.is_socket()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    done = subprocess.run(
        [sys.executable, "-c", SNOOP, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert "PermissionError" in done.stderr
    assert done.stdout == ""


@attack(
    "local process",
    "connects to that socket as another user where the folder was left open",
    "closed: the kernel says who it is",
)
@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_another_user_is_known_to_the_socket():
    """In a folder that everybody can enter, the kernel still tells who connects."""
    import tempfile

    from assistlearn.reach.flare.guard.unix_driver import _Server

    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        path = Path(folder, "s")
        server = _Server(str(path), None, None)
        try:
            os.chmod(folder, 0o777)
            path.chmod(0o777)
            stranger = subprocess.Popen([sys.executable, "-c", SNOOP, str(path)])
            line, _ = server.socket.accept()
            with line:
                assert not server.verify_request(line, "")
            stranger.kill()
            stranger.wait()
            with socket.socket(socket.AF_UNIX) as own:
                own.connect(str(path))
                line, _ = server.socket.accept()
                with line:
                    assert server.verify_request(line, "")
        finally:
            server.server_close()


@attack("local process", "puts a psutil.py into the folder of a kit, for its processes to import", "it is not imported")
def test_nothing_is_imported_from_the_folder_of_a_kit(tmp_path):
    from assistlearn.reach.flare.guard.processes import command

    (tmp_path / "psutil.py").write_text(f"open({str(tmp_path / 'it ran')!r}, 'w').close()")
    program, *options = command("site")
    done = subprocess.run(
        [program, *options, "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert "WORKSPACE folder" in done.stdout, done.stderr
    assert not (tmp_path / "it ran").exists()
    unguarded = [option for option in options if option != "-P"]
    subprocess.run([program, *unguarded, "--help"], cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert (tmp_path / "it ran").exists()  # this is why


def relay_port(made) -> int:
    from assistlearn.reach.flare.provisioning.kit import load_kit

    return load_kit(made.network.kit("relay")).port
