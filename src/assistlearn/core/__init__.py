"""Pure arithmetic on arrays: reward, ignorance, model weight, votes. Needs numpy alone."""

from assistlearn.core.contribution import Contribution
from assistlearn.core.quantise import Reward, SoftReward
from assistlearn.core.run_state import RunState
from assistlearn.core.soft_state import SoftState
from assistlearn.core.state import State, Verdict

__all__ = ["Contribution", "Reward", "RunState", "SoftReward", "SoftState", "State", "Verdict"]
