"""The protocol between agents: the messages, how they become bytes, the ledger, and the transport."""

from assistlearn.protocol.codec import Encoded, Limits, decode, encode
from assistlearn.protocol.ledger import Ledger
from assistlearn.protocol.transport import MemoryTransport, Transport

__all__ = ["Encoded", "Ledger", "Limits", "MemoryTransport", "Transport", "decode", "encode"]
