"""The program as a user has it: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from assistlearn.cli import run


@dataclass(frozen=True)
class Said:
    """What a command said, and the exit code that it ended with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.out.count("\n") == 1
        assert self.out.endswith("\n")
        facts = json.loads(self.out)
        assert isinstance(facts, dict)
        return facts

    def failed(self, code: int, *words: str) -> Said:
        """Check an error: its exit code, words that its message has, and that standard output is left alone."""
        assert self.code == code, self.err
        assert self.out == ""
        assert self.err.startswith("Error: ")
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err
        return self


def assistlearn(*arguments: object, **program: Any) -> Said:
    """Run a command in this process; helpers still run in processes of their own. ``program`` names another program."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run([str(argument) for argument in arguments], **program)
    return Said(code, out.getvalue(), err.getvalue())


def modules_after(code: str) -> set[str]:
    """Return the modules that a process of its own has imported once it has run this code."""
    ask = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))
