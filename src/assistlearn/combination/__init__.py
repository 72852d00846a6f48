"""How the initiator combines the agents' scores, on its own machine: by their sum, or by a model that it learns."""

from assistlearn.combination.combination import Combination, from_bytes, to_bytes
from assistlearn.combination.fitting import KINDS, fit

__all__ = ["KINDS", "Combination", "fit", "from_bytes", "to_bytes"]
