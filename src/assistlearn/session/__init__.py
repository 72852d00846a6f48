"""The only loop of the program: a session, its rounds, and the agents as the session sees them."""

from assistlearn.session.judging import Combining, HoldOut, Kept
from assistlearn.session.session import LocalParticipant, Participant, Session

__all__ = ["Combining", "HoldOut", "Kept", "LocalParticipant", "Participant", "Session"]
