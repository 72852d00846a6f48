"""Where the pages of the documentation are."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).parents[1] / "docs"
NOT_WRITTEN_BY_PEOPLE = {"_build", "generated", "commands", "errors.md"}


def pages() -> list[Path]:
    """Return all pages that people write; not their parts, and not what is written when they are built."""
    others = {"examples", *NOT_WRITTEN_BY_PEOPLE}
    return sorted(page for page in DOCS.rglob("*.md") if others.isdisjoint(page.relative_to(DOCS).parts))


def generator() -> ModuleType:
    """Return the module that writes the other pages."""
    spec = spec_from_file_location("generated", DOCS / "generated.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["generated"] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
