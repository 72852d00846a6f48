"""The only loop, the events it yields, and the orders it can follow."""

from assistlearn.session.events import AgentLeft, Event, RoundFinished, RunFinished, StopReason, TurnFinished
from assistlearn.session.holdout import HoldOut
from assistlearn.session.order import GREEDY, ORDERS, Adaptive, Order, Strongest, order_of
from assistlearn.session.session import Participant, Settings, run

__all__ = [
    "GREEDY",
    "ORDERS",
    "Adaptive",
    "AgentLeft",
    "Event",
    "HoldOut",
    "Order",
    "Participant",
    "RoundFinished",
    "RunFinished",
    "Settings",
    "StopReason",
    "Strongest",
    "TurnFinished",
    "order_of",
    "run",
]
