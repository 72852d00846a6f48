"""Check that a tag names the version of the package: ``python release_tag.py v0.1.0``. Nothing has to be installed."""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]


def faults(tag: str, root: Path = ROOT) -> list[str]:
    """Return why a release by this name must not be made; nothing where it may."""
    version = version_of(root)
    found = [] if tag == f"v{version}" else [f"The tag is {tag}, but src/assistlearn/release.py says {version}."]
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff names another version than {version}.")
    heading = re.search(
        rf"^## {re.escape(version)} \((.*)\)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    if heading is None or not _is_day(heading[1]):
        found.append(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'.")
    return found


def version_of(root: Path = ROOT) -> str:
    """Return the version from its one place, without importing the package."""
    said = re.search(r'^__version__ = "(.+)"$', (root / "src/assistlearn/release.py").read_text("utf-8"), re.MULTILINE)
    assert said is not None
    return said[1]


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


if __name__ == "__main__":
    wrong = faults(sys.argv[1])
    sys.stdout.write("".join(f"{line}\n" for line in wrong))
    sys.exit(1 if wrong else 0)
