"""Pure arithmetic on arrays: reward, ignorance, model weight, votes. Needs numpy alone."""

from assistlearn.core.contribution import Contribution
from assistlearn.core.state import State, Verdict

__all__ = ["Contribution", "State", "Verdict"]
