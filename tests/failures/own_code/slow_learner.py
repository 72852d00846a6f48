"""A helper's own code: a learner that takes its time, and an agent's service that can be told to misbehave.

``MISBEHAVE`` names a folder; a file in it with the site's name says how.
"""

import os
import time
from pathlib import Path

import msgspec
from sklearn.tree import DecisionTreeClassifier

from assistlearn.agent.service import AgentService
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_bits, unpack_bits

SECONDS = 0.4


class SlowTree(DecisionTreeClassifier):
    def fit(self, X, y, sample_weight=None):
        time.sleep(SECONDS)
        return super().fit(X, y, sample_weight)


def tree():
    return SlowTree(max_depth=2)


def _changed(reply: bytes, **facts) -> bytes:
    message = decode(reply)
    return encode(msgspec.structs.replace(message, **facts)) if isinstance(message, m.TurnTaken) else reply


def _wrong_size(reply: bytes) -> bytes:
    message = decode(reply)
    if not isinstance(message, m.TurnTaken):
        return reply
    reward = unpack_bits(message.reward, message.reward.n)
    return encode(msgspec.structs.replace(message, reward=pack_bits(reward[:-1])))


def _version(reply: bytes) -> bytes:
    return reply[:4] + bytes([99]) + reply[5:]


MISDEEDS = {
    "garbage": lambda reply, before: b"\x00\xffnonsense" * 7,
    "wrong size": lambda reply, before: _wrong_size(reply),
    "nan": lambda reply, before: _changed(reply, model_weight=float("nan")),
    "another run": lambda reply, before: _changed(reply, run="another"),
    "twice": lambda reply, before: before or reply,
    "version": lambda reply, before: _version(reply),
}

_honest = AgentService.answer
_before: list[bytes] = []


def _answer(self, request, asker=None):
    reply = _honest(self, request, asker)
    told = Path(os.environ["MISBEHAVE"]) / os.environ.get("ASSISTLEARN_SITE", "nobody")
    said = reply
    if isinstance(decode(reply), m.TurnTaken):
        if told.exists():
            said = MISDEEDS[told.read_text()](reply, _before[-1] if _before else b"")
        _before.append(reply)
    return said


if "ASSISTLEARN_SITE" in os.environ and "MISBEHAVE" in os.environ:  # in a site's process, and nowhere else
    AgentService.answer = _answer
