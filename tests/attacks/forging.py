"""Messages as an attacker writes them: every header is the attacker's own."""

from __future__ import annotations

import time
import uuid
from typing import Any, NamedTuple

from nvflare.fuel.utils import fobs
from nvflare.private.admin_defs import Message as AdminMessage


class Forged(NamedTuple):
    """A message, before it is sent."""

    headers: dict[str, Any]
    payload: bytes


def forged(
    to: str, channel: str, topic: str, content: Any = None, *, origin: str, kind: str = "req", **headers: Any
) -> Forged:
    """Return a message in somebody's name."""
    written = {
        "cn__msg_type": kind,
        "cn__channel": channel,
        "cn__topic": topic,
        "cn__origin": origin,
        "cn__destination": to,
        "cn__from": origin,
        "cn__to": to,
        "cn__req_id": str(uuid.uuid4()),
        "cn__reply_expected": True,
        "cn__route": [[origin, time.time()]],
        "cn__payload_encoding": "fobs",
    }
    return Forged(written | headers, content if isinstance(content, bytes) else fobs.dumps(content))


def command(to: str, topic: str, body: Any = "", *, origin: str, **headers: Any) -> Forged:
    """Return a command to a site's parent; ``headers`` are the command's own."""
    message = AdminMessage(topic=topic, body=body)
    for name, value in headers.items():
        message.set_header(name, value)
    return forged(to, "admin", "admin", message, origin=origin)


def streamed(
    to: str, channel: str, topic: str, content: Any = None, *, origin: str, method: str = "", **headers: Any
) -> Forged:
    """Return a message that comes in one piece of a stream."""
    packed = content if isinstance(content, bytes) else fobs.dumps(content)
    written = {
        "sm__ch": channel,
        "sm__tp": topic,
        "sm__id": uuid.uuid4().int >> 70,
        "sm__sq": 0,
        "sm__os": 0,
        "sm__sz": len(packed),
        "sm__dt": 2,
        "sm__pe": "fobs",
        "sm__ri": str(uuid.uuid4()),
        "collab__protocol_version": 1,
        "collab__target_name": f"{to.partition('.')[0]}",
        "collab__method_name": method,
        "cn__payload_encoding": "bytes",
    }
    return forged(to, "sm__STREAM", "sm__DATA", packed, origin=origin, **(written | headers))
