"""Sphinx settings: MyST pages, furo, and one API page per layer, written from what the package holds."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from layer_pages import write_layer_pages  # noqa: E402  (found beside this file)

PYPROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))

project = "assistlearn"
author = "The assistlearn developers"
copyright = "The assistlearn developers, Apache-2.0"
release = version = PYPROJECT["project"]["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpy docstrings say the types in words
autosummary_generate = False  # the pages are written below, a layer each
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list; autodoc would document each a second time

# Words of a docstring's types ("name", say) are looked up as if they were references, and may fit several objects.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"assistlearn {release}"
html_static_path = ["_static"]
exclude_patterns = ["_build"]

write_layer_pages(PYPROJECT, HERE.parent / "src" / "assistlearn", HERE / "api" / "generated")


def skip_scikit_learn(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: its docstrings refer to pages of its own."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn.") else None


def escape_learned(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep ``(n_features_in_,)`` in a type from being read as a link, which an underscore at the end means."""
    lines[:] = [
        re.sub(r"(?<=[( ])(\w+)_(?=,? ?[\w,]*\))", r"\1\\_", line) if " of shape (" in line else line for line in lines
    ]


def rejoin_colon(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Undo napoleon's reading of "a word: and more" under a constant as its type and its description."""
    types = [line for line in lines if line.startswith(":type: ")]
    if what in {"attribute", "data", "property"} and types:
        first, *rest = [line for line in lines if line not in types]
        lines[:] = [f"{types[0].removeprefix(':type: ')}: {first}", *rest]


def setup(app: Any) -> None:
    """Connect the three above, to either side of napoleon, whose priority is 500."""
    app.connect("autodoc-skip-member", skip_scikit_learn)
    app.connect("autodoc-process-docstring", escape_learned, priority=400)
    app.connect("autodoc-process-docstring", rejoin_colon, priority=600)
