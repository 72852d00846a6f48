"""What people are asked when they found, sign and join: over a real terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from tests.cli.program import assistlearn

NETWORK = 'name = "credit"\nrelay = "localhost"\norganisations = ["clinic", "lab"]\ninitiator = "clinic"\n'
PASSPHRASE = "correct horse battery"
PATIENCE = 240.0


def typed(folder: Path, arguments: list[str], *lines: str) -> tuple[int, str]:
    """Run a command at a terminal, type lines whenever it asks, and return its exit code and all that was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "assistlearn", *arguments],
        **{"cwd": folder, "stdin": theirs, "stdout": theirs, "stderr": theirs, "close_fds": True},
        env=os.environ | {"COLUMNS": "200", "TERM": "dumb", "PYTHONWARNINGS": "ignore"},
    )
    os.close(theirs)
    shown, left = "", list(lines)
    try:
        while select.select([ours], [], [], PATIENCE)[0]:
            shown += os.read(ours, 4096).decode()
            if left and shown.endswith(": "):  # what is typed before the space comes is thrown away
                os.write(ours, left.pop(0).encode() + b"\n")
    except OSError:  # the terminal is gone with the process
        pass
    os.close(ours)  # a process that still waits is hung up on
    return process.wait(PATIENCE), " ".join(shown.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with an authority whose passphrase was typed, and a request."""
    made = tmp_path_factory.mktemp("dialogue")
    (made / "network.toml").write_text(NETWORK)
    code, shown = typed(made, ["network", "found", "network.toml"], PASSPHRASE, PASSPHRASE)
    assert code == 0, shown
    assert PASSPHRASE not in shown
    assert "Keep it offline" in shown
    assert assistlearn("site", "request", "lab", "--out", made / "kit").code == 0
    return made


def test_a_request_is_signed_only_if_its_fingerprint_is_confirmed(folder):
    arguments = ["network", "sign", "authority", "kit/lab.csr"]
    code, shown = typed(folder, arguments, "n")
    assert code == 2
    assert "kit/lab.csr asks for lab (site)" in shown
    assert "Nothing was done" in shown
    assert not (folder / "lab.member").exists()
    code, shown = typed(folder, arguments, "y", PASSPHRASE)
    assert code == 0, shown
    assert PASSPHRASE not in shown
    code, shown = typed(folder, ["site", "join", "kit", "lab.member"], "n")
    assert (code, (folder / "kit" / "local").exists()) == (2, False)
    code, shown = typed(folder, ["site", "join", "kit", "lab.member"], "y")
    assert "The kit of lab in network credit is complete" in shown


def test_without_a_terminal_nothing_is_asked(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ASSISTLEARN_PASSPHRASE", raising=False)
    said = assistlearn("network", "sign", "authority", "kit/lab.csr", "--json")
    assert (said.code, "Give it with --fingerprint" in said.json["message"]) == (2, True)
    said = assistlearn("network", "renew", "authority", "lab", "--json")
    assert (said.code, "Use --passphrase-file" in said.json["message"]) == (2, True)
    monkeypatch.setenv("ASSISTLEARN_PASSPHRASE", PASSPHRASE)
    assert assistlearn("network", "renew", "authority", "lab", "-f", "--json").json["file"] == "lab.member"
