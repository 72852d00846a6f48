"""The only loop of the program: a session, its rounds, and the agents as the session sees them."""

from assistlearn.session.combining import Combining
from assistlearn.session.holdout import HoldOut
from assistlearn.session.participant import Participant
from assistlearn.session.session import Session

__all__ = ["Combining", "HoldOut", "Participant", "Session"]
