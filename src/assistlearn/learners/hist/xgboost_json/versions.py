"""The versions of XGBoost that write models in a known way.

XGBoost promises to read what an older version wrote, but not to write it the same way. Code in this folder joins
several trees into one model, and checks trees from a file. All of it was tested with the versions named here.
The extra ``xgboost`` in ``pyproject.toml`` is pinned to them.
"""

from __future__ import annotations

from assistlearn.errors import MissingExtraError
from assistlearn.extras import install_line

KNOWN_VERSIONS = frozenset({(3, 2)})
"""Major and minor number. To add one: run the tests of ``tests/learners_hist`` with it, list it, and raise the pin."""


def check_version(installed: str) -> None:
    """Refuse an XGBoost whose way of writing a model is not known.

    >>> check_version("3.2.1")
    >>> check_version("4.0.0")
    Traceback (most recent call last):
        ...
    assistlearn.errors.MissingExtraError: XGBoost 4.0.0 is installed, but histogram trees can only read models of
    version 3.2. Install that version: pip install 'xgboost...'
    """
    major, minor, *_ = installed.split(".")
    if (int(major), int(minor)) not in KNOWN_VERSIONS:
        known = " and ".join(f"{major}.{minor}" for major, minor in sorted(KNOWN_VERSIONS))
        raise MissingExtraError(
            f"XGBoost {installed} is installed, but histogram trees can only read models of version {known}. Install "
            f"that version: {install_line('xgboost')}"
        )
