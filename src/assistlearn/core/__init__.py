"""Pure arithmetic on arrays: reward, ignorance, model weight, votes. Needs numpy alone."""

from assistlearn.core.state import Contribution, Reward, RunState, ScoreVectors, SoftReward, SoftState, State, Verdict

__all__ = [
    "Contribution",
    "Reward",
    "RunState",
    "ScoreVectors",
    "SoftReward",
    "SoftState",
    "State",
    "Verdict",
]
