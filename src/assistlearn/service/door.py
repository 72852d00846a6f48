"""The door of an agent: it reads requests, and refuses bytes that are too large, no message, or hold unsafe text."""

from __future__ import annotations

import re
from collections.abc import Callable

from assistlearn.errors import ProtocolError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import HEADER_BYTES, Limits, decode
from assistlearn.protocol.messages import Message, type_of
from assistlearn.protocol.words import check_words
from assistlearn.service.limits import OwnerLimits

SMALL = 2**16
"""The most bytes of a message from somebody unknown, and of any request without samples."""

BYTES_PER_SAMPLE = {type_of(m.Align): 64, type_of(m.Begin): 32}
"""Bytes that a sample needs in these requests, with room to spare. Others may hold rewards, and need ``MANY``."""

MANY = 4_096

WITHOUT_SAMPLES = {type_of(kind) for kind in (m.Open, m.End, m.Predict, m.Forget, m.Propose)}

_TYPE_FIRST = re.compile(rb"(?:[\x90-\x9f]|\xdc..)[\xa1-\xbf]", re.DOTALL)


class Door:
    """Reads requests.

    Parameters
    ----------
    largest : Limits
        The largest message that is read at all.
    limits : OwnerLimits or None
        What the agent's owner allows; None if the owner sets no limits.
    consented : callable, optional
        Whether the owner has consented to runs of somebody whom its file does not name.
    """

    def __init__(
        self, largest: Limits, limits: OwnerLimits | None, consented: Callable[[str], bool] = lambda asker: False
    ) -> None:
        self._largest = largest
        self._limits = limits
        self._consented = consented

    def read(self, request: bytes, asker: str | None) -> Message:
        """Decode a request; raise ``ProtocolError`` if it is not accepted. ``asker``: as in ``AgentService.answer``."""
        most = self._most(_type(request), asker)
        if most is not None and len(request) > HEADER_BYTES + most:
            raise ProtocolError(
                f"The message has {len(request) - HEADER_BYTES:,} bytes; at most {most:,} bytes are accepted for this "
                "kind of message."
            )
        message = decode(request, self._largest)
        check_words(message)
        return message

    def _most(self, type: str, asker: str | None) -> int | None:
        """Return how many bytes a message of this type may have; None for the general limit only."""
        if type in WITHOUT_SAMPLES:
            return SMALL
        if self._limits is None:
            return None
        if not type or (asker is not None and not self._known(asker, self._limits)):
            return SMALL
        samples = self._limits.most_samples
        return None if samples is None else SMALL + BYTES_PER_SAMPLE.get(type, MANY) * samples

    def _known(self, asker: str, limits: OwnerLimits) -> bool:
        return asker in limits.initiators or self._consented(asker)


def _type(request: bytes) -> str:
    """Return the type at the beginning of a message, without decoding it; an empty text if there is none."""
    found = _TYPE_FIRST.match(request, HEADER_BYTES)
    if found is None:
        return ""
    length = request[found.end() - 1] & 0x1F
    return request[found.end() : found.end() + length].decode(errors="replace")
