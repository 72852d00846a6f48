"""Pure arithmetic on arrays: reward, ignorance, model weight, votes. Needs numpy alone."""

from assistlearn.core.contribution import Contribution
from assistlearn.core.quantise import Reward, ScoreVectors, SoftReward
from assistlearn.core.run_state import RunState
from assistlearn.core.soft_state import SoftState
from assistlearn.core.state import State, Verdict
from assistlearn.core.vector_state import VectorState

__all__ = [
    "Contribution",
    "Reward",
    "RunState",
    "ScoreVectors",
    "SoftReward",
    "SoftState",
    "State",
    "VectorState",
    "Verdict",
]
