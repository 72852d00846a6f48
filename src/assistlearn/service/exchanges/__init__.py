"""The exchanges: what an agent can be asked, one exchange per file, and the registry that finds the one for a request.

An exchange of your own is a class below :class:`~assistlearn.service.exchanges.exchange.Exchange` and a line,
``register(YourExchange())``, at every agent; its messages are understood from then on.
"""

from __future__ import annotations

from assistlearn.protocol import codec
from assistlearn.protocol.messages import Message
from assistlearn.service.exchanges.align import Aligning
from assistlearn.service.exchanges.exchange import Exchange
from assistlearn.service.exchanges.forget import Forgetting
from assistlearn.service.exchanges.open import Opening
from assistlearn.service.exchanges.predict import Predicting
from assistlearn.service.exchanges.recall import Recalling
from assistlearn.service.exchanges.train import Training

__all__ = ["Exchange", "exchange_of", "register"]

_EXCHANGES: dict[type[Message], Exchange] = {}


def register(exchange: Exchange) -> None:
    """Let agents be asked this."""
    codec.learn(*exchange.requests, *exchange.replies)
    _EXCHANGES.update(dict.fromkeys(exchange.requests, exchange))


for each in (Opening(), Aligning(), Recalling(), Training(), Predicting(), Forgetting()):
    register(each)


def exchange_of(message: Message) -> Exchange | None:
    """Return the exchange that answers a message; None for one that is no request."""
    return _EXCHANGES.get(type(message))
