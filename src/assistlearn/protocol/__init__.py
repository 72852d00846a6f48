"""The protocol between agents: the messages, how they become bytes, the ledger, and the transport."""

from assistlearn.protocol.codec import Encoded, Limits, MemoryTransport, Transport, decode, encode
from assistlearn.protocol.ledger import Ledger

__all__ = ["Encoded", "Ledger", "Limits", "MemoryTransport", "Transport", "decode", "encode"]
