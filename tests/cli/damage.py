"""Every file of a run, damaged in every way: does a command then say so, or do what it would have done?

``python -m tests.cli.damage`` tries all of it, some 2,000 commands in half an hour; the test has a small part of it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.program import Said, assistlearn
from tests.cli.small_agents import write_agents
from tests.forked_agents import forked


def _halve(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 1] = b"\x07"
    file.write_bytes(content)


def _make_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "emptied": lambda file: file.write_bytes(b""),
    "junk": lambda file: file.write_bytes(bytes(range(256))),
    "cut in half": _halve,
    "one byte changed": _flip,
    "a folder in its place": _make_folder,
    "another JSON": lambda file: file.write_text("[1, null]\n"),
}

COMMANDS: dict[str, Callable[[Path], list[object]]] = {
    "show": lambda folder: ["show", folder / "run"],
    "audit": lambda folder: ["audit", folder / "lab.toml"],
    "privacy": lambda folder: ["privacy", folder / "run"],
    "predict": lambda folder: ["predict", folder / "run", "--out", folder / "predictions.csv"],
    "forget": lambda folder: ["forget", "--yes", folder / "run"],
    "report": lambda folder: ["report", folder / "run", "--out", folder / "page.html"],
}

SAID = ("lacks the end of the run", "is lost", "is missing", "is not where it was", "not known", "did not take part")
"""Words by which a command that did its work all the same says what is missing."""


@dataclass(frozen=True)
class Case:
    """A file, what happened to it, and the command that was tried then."""

    file: str
    damage: str
    command: str


def cases(run: Path) -> Iterator[Case]:
    """Yield all of them, for a folder with agents and a finished run."""
    for file in sorted(path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()):
        if not file.endswith("lock"):
            yield from (Case(file, damage, command) for damage in DAMAGES for command in COMMANDS)


def finished(folder: Path) -> Path:
    """Return a folder with two agents and their finished run."""
    agents = write_agents(folder)[:2]
    said = assistlearn("simulate", *agents, "--run", "first", "--out", folder / "run", "--rounds", 2)
    assert said.code == 0, said.err
    return folder.rename(folder.with_name("moved"))  # a copy must not find the files of the first


def outcome(folder: Path, command: str) -> tuple[Said, str]:
    """Return what a command said, and what it has made."""
    said = assistlearn(*COMMANDS[command](folder))
    made = folder / "predictions.csv"
    return said, made.read_text() if command == "predict" and made.exists() else said.out


def fault(run: Path, case: Case, whole: str) -> str | None:
    """Return what is wrong with how a command meets a damaged file; None where it is right.

    ``whole`` is what the command makes where nothing is damaged.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "copy"
        shutil.copytree(run, folder)
        DAMAGES[case.damage](folder / case.file)
        said, made = outcome(folder, case.command)
        left = list(folder.glob("*-models/runs/first"))
    if "Traceback" in said.err + said.out or said.code not in (0, 2, 3, 4):
        return f"exit code {said.code}: {said.err[-2000:]}"
    if case.command == "forget":  # a model that is gone cannot be removed, and is not counted
        return f"exit code 0, and there is still {left}" if said.code == 0 and left else None
    same = made.replace(str(folder), "") == whole or case.file.endswith(".csv")  # a changed value is another value
    if said.code == 0 and not same and not any(words in " ".join(said.out.split()) for words in SAID):
        return f"exit code 0, and without a word something else: {said.out[:2000]}"
    if said.code in (2, 4) and not said.err.startswith("Error: "):
        return f"exit code {said.code} without an error: {said.err!r}"
    return None


def main() -> int:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary, forked():
        run = finished(Path(temporary) / "agents")
        whole = {command: whole_of(run, command) for command in COMMANDS}
        for case in cases(run):
            found = fault(run, case, whole[case.command])
            counts["faults" if found else "met well"] += 1
            if found:
                sys.stdout.write(f"{case}: {found}\n")
    sys.stdout.write(f"{dict(counts)}\n")
    return counts["faults"]


def whole_of(run: Path, command: str) -> str:
    """Return what a command makes where nothing is damaged."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "copy"
        shutil.copytree(run, folder)
        return outcome(folder, command)[1].replace(str(folder), "")


if __name__ == "__main__":
    sys.exit(main())
