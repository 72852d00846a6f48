"""How large the house is, and through how many doors a reader follows a feature: for planning, not a test.

    python -m bench.house [--commit REV] [--json] [--page]

Counts of the source that goes into the wheel, of the tests and of the documentation, as they are in the working tree
or, with ``--commit``, in a commit. In the working tree also the modules of assistlearn in which a function is entered
on four ways: one reward (:mod:`bench.way_of_a_reward`), ``fit``, one warm prediction of ``serve``, and from a CSV file
to features. ``--page`` writes the table into the page on the architecture, beside the one of ``BEFORE``.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import threading
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from bench.evidence_page import ROOT, put

PAGE = ROOT / "docs" / "explanation" / "architecture.md"
BEFORE = "d6385ae8"
"""The commit before the house was made smaller."""
WAYS_BEFORE = {"one reward": 45, "fit": 58, "one prediction of serve": 68, "CSV to features": 19}
GENERATED = ("docs/reference/commands/", "docs/reference/errors.md", "docs/reference/api/", "docs/reference/examples/")


def texts_of(commit: str | None) -> dict[str, str]:
    """Return the Python files and pages of a commit, or of the working tree, by their paths."""
    if commit is None:
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        paths = [name for name in listed.splitlines() if (ROOT / name).is_file()]
        return {name: (ROOT / name).read_text(encoding="utf-8") for name in paths if name.endswith((".py", ".md"))}
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        members = [each for each in tar.getmembers() if each.isfile() and each.name.endswith((".py", ".md"))]
        return {each.name: tar.extractfile(each).read().decode() for each in members}  # type: ignore[union-attr]


def counts(texts: dict[str, str]) -> dict[str, Any]:
    """Return what is counted about the source in the wheel, the tests and the pages."""
    source = {name: text for name, text in texts.items() if name.startswith("src/") and name.endswith(".py")}
    lengths = sorted(text.count("\n") for text in source.values())
    lines = sum(lengths)
    imports = docstrings = classes = comments = 0
    for text in source.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports += (node.end_lineno or node.lineno) - node.lineno + 1
            classes += isinstance(node, ast.ClassDef)
            body = getattr(node, "body", None)
            for each in body if isinstance(body, list) else []:
                if (
                    isinstance(each, ast.Expr)
                    and isinstance(each.value, ast.Constant)
                    and type(each.value.value) is str
                ):
                    docstrings += (each.end_lineno or each.lineno) - each.lineno + 1
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments += sum(each.type == tokenize.COMMENT and each.line.strip().startswith("#") for each in tokens)
    pages = [name for name in texts if name.startswith("docs/") and name.endswith(".md")]
    written = [name for name in pages if not name.startswith(GENERATED)]
    return {
        "files": len(source),
        "lines": lines,
        "files of reach": sum("/reach/" in name for name in source),
        "lines of reach": sum(text.count("\n") for name, text in source.items() if "/reach/" in name),
        "90 % of files have at most (lines)": lengths[int(0.9 * len(lengths))],
        "classes": classes,
        "import lines": f"{imports / lines:.1%}",
        "docstrings": f"{docstrings / lines:.1%}",
        "lines that are comments": comments,
        "lines of tests": sum(
            text.count("\n") for name, text in texts.items() if name.startswith("tests/") and name.endswith(".py")
        ),
        "pages, without generated reference": len(written),
        "words on them": sum(len(texts[name].split()) for name in written),
    }


def entered(work: Callable[[], Any]) -> dict[str, int]:
    """Return how often functions of each module of assistlearn are called while some work is done, in all threads."""
    modules: dict[str, int] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("assistlearn.") and frame.f_code.co_name != "<module>":
            modules[name] = modules.get(name, 0) + 1

    threading.setprofile_all_threads(watch) if sys.version_info >= (3, 12) else threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return modules


def ways(folder: Path) -> dict[str, dict[str, int]]:
    """Return the modules that are entered on each way, with the number of calls."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    from assistlearn import AssistedClassifier
    from assistlearn.agent.file import load_description
    from assistlearn.tables.table import read_table
    from bench.way_of_a_reward import follow

    X, y = load_breast_cancer(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3)
    model = AssistedClassifier([("a", tree, slice(0, 10)), ("b", tree, slice(10, 30))], random_state=0)
    found = {"one reward": follow(1000, folder / "reward").modules, "fit": entered(lambda: model.fit(X, y))}
    house = folder / "house"
    command = [sys.executable, "-m", "assistlearn"]
    subprocess.run([*command, "init", str(house), "--example"], check=True, capture_output=True)
    files = [str(house / f"{name}.toml") for name in ("clinic", "lab", "scans")]
    subprocess.run([*command, "simulate", *files, "--out", str(house / "run")], check=True, capture_output=True)
    found["one prediction of serve"] = entered_by_serve(house)
    description = load_description(house / "lab.toml")
    found["CSV to features"] = entered(lambda: read_table(description))
    return found


def entered_by_serve(house: Path) -> dict[str, int]:
    """Return the modules that one warm request enters in the process of a prediction service."""
    import polars as pl

    from tests.web.served_run import served

    person = pl.read_csv(house / "new-patients.csv")["patient"][0]
    modules: dict[str, int] = {}
    warm = threading.Event()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if warm.is_set() and event == "call" and name.startswith("assistlearn."):
            modules[name] = modules.get(name, 0) + 1

    threading.setprofile(watch)  # before the service starts its threads
    try:
        with served(house / "run") as service:
            service.post("/predict", {"ids": [person]})
            warm.set()
            status, _ = service.post("/predict", {"ids": [person]})
            warm.clear()
    finally:
        threading.setprofile(None)
    if status != 200:
        raise RuntimeError(f"The service answered {status}.")
    return modules


def table(now: dict[str, Any], before: dict[str, Any], doors: dict[str, int]) -> str:
    """Return the counts side by side, in Markdown."""
    rows = [(name, before[name], value) for name, value in now.items()]
    rows += [(f"modules: {name}", WAYS_BEFORE[name], count) for name, count in doors.items()]
    shown = [
        f"| {name} | {was:,} | {value:,} |" if isinstance(value, int) else f"| {name} | {was} | {value} |"
        for name, was, value in rows
    ]
    return "\n".join([f"| | commit {BEFORE} | now |", "| --- | --- | --- |", *shown])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default=None, help="count in a commit instead of the working tree; no ways")
    parser.add_argument("--json", action="store_true", help="one JSON object, with the modules on each way")
    parser.add_argument("--page", action="store_true", help="write the table into the page on the architecture")
    asked = parser.parse_args()
    now = counts(texts_of(asked.commit))
    if asked.commit:
        print(json.dumps(now, indent=2))
        return
    with tempfile.TemporaryDirectory() as folder:
        found = ways(Path(folder))
    if asked.json:
        print(json.dumps(now | {"ways": found}, indent=2))
        return
    shown = table(now, counts(texts_of(BEFORE)), {name: len(modules) for name, modules in found.items()})
    print(shown)
    if asked.page:
        put(PAGE, "bench/house.py", shown, "python -m bench.house --page")


if __name__ == "__main__":
    main()
