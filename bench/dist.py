"""Build the package as it is shipped, and try it where nothing else is installed: ``make dist``.

    python -m bench.dist [--only core,web] [--python python3.13] [--keep] [--no-try]

builds wheel and sdist into ``dist/``, lets ``twine check`` read them, and installs the wheel into fresh environments in
a temporary folder: without extras, then with each extra. There it runs ``tests/dist/smoke.py``, and measures the
size of what was installed and the time of imports. Versions are those of ``constraints.txt``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SMOKE = ROOT / "tests" / "dist" / "smoke.py"
CORE = "core"
IMPORTS = ("pass", "import sklearn", "import assistlearn", "from assistlearn import AssistedClassifier")
TIMES = 9
"""How often each import is timed; the processes take turns, so that a busy moment meets all alike."""


@dataclass(frozen=True)
class Tried:
    """One environment: how long it took to fill and to try, how large it is, and what went wrong."""

    name: str
    installing: float
    trying: float
    megabytes: float
    wrong: str


def main() -> int:
    """Build, check, install and try; print two tables and return the exit code."""
    asked = _arguments()
    wheel, sdist = build()
    print(f"{wheel.name}: {_mb(wheel.stat().st_size)} MB    {sdist.name}: {_mb(sdist.stat().st_size)} MB")
    if asked.no_try:
        return 0
    names = asked.only.split(",") if asked.only else [CORE, *extras()]
    kept = Path(tempfile.mkdtemp(prefix="assistlearn-dist-"))
    tried = []
    print(f"\n{'environment':<14}{'install s':>10}{'try s':>8}{'MB':>8}  ok", flush=True)
    try:
        for name in names:
            tried.append(each := attempt(name, wheel, kept / name, asked.python))
            said = "yes" if not each.wrong else "NO"
            print(f"{name:<14}{each.installing:>10.0f}{each.trying:>8.0f}{each.megabytes:>8.0f}  {said}", flush=True)
            print(each.wrong, end="", flush=True)
            if name == CORE and not each.wrong:
                sizes, times = largest(kept / name), import_times(_python(kept / name))
            if name != CORE and not asked.keep:
                shutil.rmtree(kept / name)
        if CORE in names:
            _show_core(sizes, times)
    finally:
        if not asked.keep:
            shutil.rmtree(kept, ignore_errors=True)
    return 1 if any(each.wrong for each in tried) else 0


def build() -> tuple[Path, Path]:
    """Build wheel and sdist anew, check them, and return where they are."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run([sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT)])
    made = sorted(str(file) for file in DIST.iterdir())
    _run([sys.executable, "-m", "twine", "check", "--strict", *made])
    [wheel], [sdist] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def extras() -> list[str]:
    """Return the extras that users may ask for."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    return [name for name in told if name != "dev"]


def attempt(name: str, wheel: Path, folder: Path, python: str) -> Tried:
    """Install the wheel with one extra, or none, into a fresh environment, and try it there."""
    wanted = str(wheel) if name == CORE else f"{wheel}[{name}]"
    start, installed = time.monotonic(), 0.0
    try:
        _run([python, "-m", "venv", str(folder)])
        compiling = [] if name == CORE else ["--no-compile"]  # only there are sizes and imports measured
        _run([str(_python(folder)), "-m", "pip", "install", "--quiet", *compiling, wanted])
        installed = time.monotonic()
        _run([str(_python(folder)), str(SMOKE), *([] if name == CORE else [name])], folder)
        wrong = ""
    except subprocess.CalledProcessError as error:
        wrong = (error.stdout or "")[-3000:]
    done = time.monotonic()
    installed = installed or done
    return Tried(name, installed - start, done - installed, sum(sizes_of(folder).values()) / 1e6, wrong)


def sizes_of(environment: Path) -> dict[str, int]:
    """Return the bytes of every package in an environment, by its folder; pip itself is not counted."""
    [packages] = [*environment.glob("lib/python*/site-packages"), *environment.glob("Lib/site-packages")]
    out: dict[str, int] = {}
    for entry in packages.iterdir():
        if not re.match(r"pip(-|$)|setuptools|__pycache__|.*dist-info", entry.name):
            files = [entry] if entry.is_file() else entry.rglob("*")
            out[entry.name] = sum(file.stat().st_size for file in files if file.is_file())
    return out


def largest(environment: Path) -> dict[str, float]:
    """Return the megabytes of what the core installs, the largest first; libraries count with their package."""
    found: dict[str, float] = {}
    for name, size in sizes_of(environment).items():
        package = {"_polars_runtime_32": "polars", "PIL": "pillow"}.get(name, name.split(".")[0])
        found[package] = found.get(package, 0) + size / 1e6
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def import_times(python: Path) -> dict[str, float]:
    """Return the median seconds of a fresh process that imports, for each of ``IMPORTS``."""
    taken: dict[str, list[float]] = {code: [] for code in IMPORTS}
    for code in IMPORTS:  # once, so that all is compiled
        _run([str(python), "-c", code])
    for _ in range(TIMES):
        for code, seconds in taken.items():
            start = time.perf_counter()
            _run([str(python), "-c", code])
            seconds.append(time.perf_counter() - start)
    return {code: statistics.median(seconds) for code, seconds in taken.items()}


def _show_core(sizes: dict[str, float], times: dict[str, float]) -> None:
    print(
        "\nInstalled without extras, MB: " + ", ".join(f"{name} {size:.1f}" for name, size in sizes.items() if size > 1)
    )
    print("\nA fresh process, median seconds (and without Python's own start):")
    for code, seconds in times.items():
        print(f"  {code:<44}{seconds:>7.3f}{seconds - times['pass']:>8.3f}")
    ratio = times["import assistlearn"] / times["import sklearn"]
    print(f"  import assistlearn / import sklearn: {ratio:.2f}")


def _python(environment: Path) -> Path:
    windows = environment / "Scripts" / "python.exe"
    return windows if windows.exists() else environment / "bin" / "python"


def _run(command: list[str], folder: Path = ROOT) -> None:
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    own["PIP_CONSTRAINT"] = str(ROOT / "constraints.txt")  # for what builds it, too
    subprocess.run(
        command, cwd=folder, env=own, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _mb(size: int) -> str:
    return f"{size / 1e6:.2f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="environments, with commas between them: core, web, ...")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environments")
    parser.add_argument("--keep", action="store_true", help="leave the environments where they are")
    parser.add_argument("--no-try", action="store_true", help="build and check only")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{' '.join(map(str, failed.cmd))}\n{failed.stdout}")
