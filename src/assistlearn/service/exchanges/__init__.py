"""The exchanges: what an agent can be asked, one exchange per file, and the registry that finds the one for a request.

To add your own exchange, write a class that inherits from
:class:`~assistlearn.service.exchanges.exchange.Exchange`, and call ``register(YourExchange())`` at every agent. From
then on the agents understand its messages.
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
    """Make the messages of an exchange known, and let it answer its requests."""
    codec.learn(*exchange.requests, *exchange.replies)
    _EXCHANGES.update(dict.fromkeys(exchange.requests, exchange))


for each in (Opening(), Aligning(), Recalling(), Training(), Predicting(), Forgetting()):
    register(each)


def exchange_of(message: Message) -> Exchange | None:
    """Return the exchange that answers a message; None for one that is no request."""
    return _EXCHANGES.get(type(message))
