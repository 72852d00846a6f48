"""How the initiator combines the agents' scores, on its own machine: by their sum, or by a model that it learns."""

from assistlearn.combination.combination import Combination
from assistlearn.combination.fitting import KINDS, fit
from assistlearn.combination.storage import from_bytes, to_bytes

__all__ = ["KINDS", "Combination", "fit", "from_bytes", "to_bytes"]
