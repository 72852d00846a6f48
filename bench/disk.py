"""What runs leave on the disks of a network: ``python -m bench.disk [--runs 30]``, on loopback, real certificates.

After every run: bytes of logs, of ledgers, of models and run folders, and of the rest in kits and homes; in the end,
what is left of temporary files. Ledgers and models grow with every run, logs up to their limit. Nothing else may grow.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from assistlearn.reach.flare.local import LocalNetwork
from assistlearn.reach.flare.site.job_folders import GRACE
from bench.network_files import write_agent, write_task

SETTLED = GRACE + 15
"""Seconds after which what a job leaves is swept."""

KINDS = {
    "logs": r"\.(log|out)(\.\d)?$",
    "ledgers": r"/ledger\.jsonl(\.\w+)?$",
    "models": r"^([a-z]+-models|run-\d+)(/|$)",
}
"""Files that may grow, by their paths in the network's folder."""


def kind(path: str) -> str:
    """Return what a file is.

    >>> [kind(path) for path in ("kits/shop/site.log.1", "shop-models/ledger.jsonl", "run-3/result.json", "kits/a/b")]
    ['logs', 'ledgers', 'models', 'rest']
    """
    return next((name for name, pattern in KINDS.items() if re.search(pattern, path)), "rest")


def measure(folder: Path) -> dict[str, int]:
    """Return the bytes on the disk below a folder, by what they are."""
    found: Counter[str] = Counter()
    for path, size in _files(folder):
        found[kind(path.relative_to(folder).as_posix())] += size
    return {name: found[name] for name in (*KINDS, "rest")}


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    """Yield files and folders with their sizes; one may be gone in the next moment."""
    for path in folder.rglob("*"):
        try:
            yield path, path.lstat().st_size
        except FileNotFoundError:
            continue


def many_runs(folder: Path, runs: int, show: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Train run after run in one network, and return what was on the disks before, after each, and in the end."""
    names = ("bank", "shop", "telco")
    tree = "sklearn.tree.DecisionTreeClassifier"
    files = {name: write_agent(folder, name, 1_000, 3, 2, tree, "max_depth = 2") for name in names}
    temporary = _temporary_files_in(folder / "tmp")
    with LocalNetwork(folder, files) as network:
        task = write_task(folder, network, names[1:], 2)
        sizes = [measure(folder)]
        for number in range(1, runs + 1):
            words = ["train", str(task), "--out", str(folder / f"run-{number}"), "--run", f"run-{number}", "--json"]
            subprocess.run([sys.executable, "-m", "assistlearn", *words], check=True, stdout=subprocess.DEVNULL)
            sizes.append(measure(folder))
            show(f"after run {number:2d}: " + _in_words(sizes[-1]))
        time.sleep(SETTLED)
        sizes.append(measure(folder))
        show("  at rest    : " + _in_words(sizes[-1]))
    return {"runs": runs, "sizes": sizes, "temporary": sorted(path.name for path in temporary.iterdir())}


def _temporary_files_in(folder: Path) -> Path:
    """Let this process, and those that it starts, have their temporary files in a folder."""
    folder.mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def _in_words(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} {size / 1e3:9,.1f} kB" for name, size in sizes.items())


def growth(found: dict[str, Any]) -> dict[str, float]:
    """Return by how many bytes each kind has grown per run, from before the first to rest after the last."""
    first, last = found["sizes"][0], found["sizes"][-1]
    return {name: (last[name] - first[name]) / found["runs"] for name in last}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("out/network"))
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        found = many_runs(Path(folder), options.runs, lambda line: print(line, flush=True))
    print("growth per run: " + ", ".join(f"{name} {size:,.0f} bytes" for name, size in growth(found).items()))
    print(f"left among the temporary files: {found['temporary'] or 'nothing'}")
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "disk.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
