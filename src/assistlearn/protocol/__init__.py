"""The messages, their bytes, the ledger, and the transport's one verb."""

from assistlearn.protocol.codec import Encoded, Limits, decode, encode
from assistlearn.protocol.ledger import Ledger
from assistlearn.protocol.transport import MemoryTransport, Transport

__all__ = ["Encoded", "Ledger", "Limits", "MemoryTransport", "Transport", "decode", "encode"]
