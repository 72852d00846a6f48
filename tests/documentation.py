"""Where the pages of the documentation are."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def pages() -> list[Path]:
    """Return all pages that people write, or that commands write into the repository; not their parts."""
    return sorted(page for page in DOCS.rglob("*.md") if not {"_build", "generated", "examples"} & {*page.parts})
