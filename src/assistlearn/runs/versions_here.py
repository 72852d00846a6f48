"""The versions of this program and of the libraries that it uses here."""

from __future__ import annotations

import platform

import numpy as np
from importlib.metadata import version

from assistlearn.release import __version__


def versions() -> dict[str, str]:
    """Return the versions of the software that results depend on, by name.

    >>> list(versions())
    ['assistlearn', 'Python', 'numpy', 'scikit-learn']
    """
    return {
        "assistlearn": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
    }
