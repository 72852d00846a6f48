"""Sphinx settings: MyST pages, furo, and the pages that the program writes."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generated import write_all  # noqa: E402  (found beside this file)

from assistlearn.release import __version__  # noqa: E402

project = "assistlearn"
author = "The assistlearn developers"
copyright = "The assistlearn developers, Apache-2.0"
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

# Tutorials are notebooks in Markdown. They run whenever the documentation is built; a cell that fails fails the build.
nb_execution_mode = os.environ.get("ASSISTLEARN_NOTEBOOKS", "force")  # "off" to look at pages quickly
suppress_warnings = ["myst-nb.lexer"] if nb_execution_mode == "off" else []  # only a run says which lexer
nb_execution_raise_on_error = True
nb_execution_timeout = 180
nb_execution_in_temp = True
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. |\$ |!(?=\w)"  # what is copied from a tutorial goes into a terminal
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the numpy docstrings say the types in words
autodoc_use_type_comments = False  # there are none, and looking for them takes time
toc_object_entries = False  # the list at the side of every page would be made of thousands of names each time
autosummary_generate = False  # generated.py writes the pages, a layer each
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # a list; autodoc would document each a second time
napoleon_use_param = napoleon_use_rtype = False  # types are words; as fields, every word would be looked up as a name

# Every name that a page or a docstring refers to must be found. Names of other projects are found where their
# inventories can be fetched: ASSISTLEARN_ONLINE=1 make docs. Without it they stay plain text.
nitpicky = True
ONLINE = os.environ.get("ASSISTLEARN_ONLINE") == "1"
if ONLINE:
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_timeout = 10
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "polars": ("https://docs.pola.rs/api/python/stable", None),
    }
WITH_INVENTORY = [*sys.stdlib_module_names, "numpy", "sklearn", "pandas", "polars"]
WITHOUT = ["matplotlib", "msgspec", "nvflare", "starlette", "typer", "uvicorn"]
"""Bases of our classes come from these; nobody needs a link to them."""
nitpick_ignore_regex = [
    (r"py:.*", r"assistlearn\..*\._\w+"),  # a base that is a detail has no place of its own
    (r"py:.*", r"assistlearn\.report\.story\.Row"),  # a type variable
    (r"py:class", r":1\]'"),  # the last part of an address, in the default of a field
    (r"py:.*", rf"({'|'.join(WITHOUT if ONLINE else WITHOUT + WITH_INVENTORY)})(\..*)?"),
]

# make linkcheck asks every address outside, where there is a network; tests hold them to external-links.txt.
linkcheck_timeout = 20
linkcheck_retries = 2
linkcheck_workers = 4
linkcheck_anchors_ignore_for_url = [r"https://github\.com/.*"]  # a script makes the anchors there
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost)\b.*", r"https://[\w.-]*\.example\b.*"]

html_theme = "furo"
html_title = f"assistlearn {release}"
html_static_path = ["_static"]
exclude_patterns = ["_build", "reference/examples"]  # examples are parts of the pages on commands
smartquotes_action = "qe"  # quotes and dots; two dashes begin an option


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


def find_passed_on(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """Find what a package passes on, ``assistlearn.learners.BestOf`` say, where it is defined and documented."""
    package, _, name = str(node.get("reftarget")).rpartition(".")
    if node.get("refdomain") != "py" or package.split(".")[0] != "assistlearn":
        return None
    try:
        found = getattr(import_module(package), name)
    except (ImportError, AttributeError):
        return None
    own = f"{getattr(found, '__module__', package)}.{getattr(found, '__qualname__', name)}"
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, node["reftype"], own, node, shown)


def spread_tutorials(app: Any, env: Any, names: list[str]) -> None:
    """Spread the tutorials among all pages: pages that follow each other are read by one process, and these run."""
    slow = [name for name in names if name.startswith("tutorials/")]
    others = [name for name in names if name not in slow]
    each = len(others) // len(slow) + 1 if slow else 0
    names[:] = [part for i, name in enumerate(slow) for part in (name, *others[i * each : (i + 1) * each])] or others


def setup(app: Any) -> None:
    """Write the generated pages, and connect the five above; napoleon, between two of them, has priority 500."""
    app.connect("builder-inited", lambda app: write_all())
    app.connect("env-before-read-docs", spread_tutorials)
    app.connect("missing-reference", find_passed_on)
    app.connect("autodoc-skip-member", skip_scikit_learn)
    app.connect("autodoc-process-docstring", escape_learned, priority=400)
    app.connect("autodoc-process-docstring", rejoin_colon, priority=600)
