"""Types of arrays that occur everywhere."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

Codes: TypeAlias = NDArray[np.integer[Any]]
"""Class codes, one for each sample."""

Said: TypeAlias = Codes | Floats
"""What a model answers: class codes, or class probabilities of shape (n, K)."""
