"""Which releases are at work here."""

from __future__ import annotations

import platform

import numpy as np
import sklearn

from assistlearn.release import __version__


def versions() -> dict[str, str]:
    """Return the versions of what figures depend on, by name.

    >>> list(versions())
    ['assistlearn', 'Python', 'numpy', 'scikit-learn']
    """
    return {
        "assistlearn": __version__,
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
