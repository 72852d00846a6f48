"""The only loop: a session, its rounds, and the agents as it sees them."""

from assistlearn.session.holdout import HoldOut
from assistlearn.session.participant import Participant
from assistlearn.session.session import Session

__all__ = ["HoldOut", "Participant", "Session"]
