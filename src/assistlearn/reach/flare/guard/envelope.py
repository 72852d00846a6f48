"""The headers of a message, which are read before anything looks at its content."""

from __future__ import annotations

from typing import Any, NamedTuple

from nvflare.collab.runtime.defs import CallHeaderKey
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, MessageType
from nvflare.fuel.f3.streaming.stream_const import StreamHeaderKey

from assistlearn.reach.flare.guard.cell_names import CellName, parsed, plain
from assistlearn.reach.flare.guard.lists import DATA, STREAM, Form

FORBIDDEN = (MessageHeaderKey.CONN_URL, CallHeaderKey.AUTHENTICATED_CALLER)
"""Headers that nobody may send. The first makes FLARE connect to an address that the sender names. In the second, FLARE
notes for itself who has called."""


class Envelope(NamedTuple):
    """The headers of a message, as far as the guard needs them.

    Attributes
    ----------
    kind : {"req", "reply", "return"}
        A request, its answer, or a request that could not be passed on.
    origin, destination : CellName or None
        Who sends it and whom it is for, as the message says; None where no cell can have that name.
    form : {"plain", "stream"}
        Whether it is a piece of a stream.
    channel, topic : str
        Those of the message or, for a piece of a stream, those of the stream.
    method : str
        Which of our methods is called, if any.
    sealed : bool
        Whether it is encrypted from end to end.
    forbidden : str
        A header in it that nobody may send; empty where there is none.
    """

    kind: str
    origin: CellName | None
    destination: CellName | None
    form: Form
    channel: str
    topic: str
    method: str
    sealed: bool
    forbidden: str

    @property
    def what(self) -> str:
        """The channel and the topic, in words for people."""
        return f"FLARE {plain(self.channel)}/{plain(self.topic)}"


def read(headers: dict[str, Any]) -> Envelope:
    """Return the envelope of a message with these headers."""
    header = headers.get
    channel, topic = header(MessageHeaderKey.CHANNEL), header(MessageHeaderKey.TOPIC)
    form: Form = "plain"
    if channel == STREAM and topic == DATA:
        form, channel, topic = "stream", header(StreamHeaderKey.CHANNEL), header(StreamHeaderKey.TOPIC)
    return Envelope(
        kind=_text(header(MessageHeaderKey.MSG_TYPE)),
        origin=parsed(_text(header(MessageHeaderKey.ORIGIN))),
        destination=parsed(_text(header(MessageHeaderKey.DESTINATION))),
        form=form,
        channel=_text(channel),
        topic=_text(topic),
        method=_text(header(CallHeaderKey.METHOD_NAME)),
        sealed=header(MessageHeaderKey.SECURE) is True and header(MessageHeaderKey.ENCRYPTED) is True,
        forbidden=next((name for name in FORBIDDEN if name in headers), ""),
    )


def is_answer(envelope: Envelope) -> bool:
    """Return whether a message answers a request."""
    return envelope.kind in (MessageType.REPLY, MessageType.RETURN)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
