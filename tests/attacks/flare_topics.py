"""Every channel and topic of FLARE, found in its source, with what our processes do with it.

``python -m tests.attacks.flare_topics`` writes ``flare_topics.txt`` anew; a test compares, so that what a new version
of FLARE brings is noticed, and looked at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nvflare

from assistlearn.reach.flare.guard.lists import REQUESTS, TAKEN

FLARE = Path(nvflare.__file__).parent
FILE = Path(__file__).with_suffix(".txt")

CHANNELS = {
    "TrainingTopic": "admin",
    "SysCommandTopic": "admin",
    "InfoCollectorTopic": "admin",
    "ComponentCallerTopic": "admin",
    "ControlCommandTopic": "admin",
    "AdminCommandNames": "client_command",
    "ServerCommandNames": "server_command",
    "CellChannelTopic": "task",
    "fuel/f3/cellnet/net_agent.py": "_net_manager",
    "fuel/f3/cellnet/core_cell.py": "cellnet.channel",
    "fuel/f3/streaming/stream_const.py": "sm__STREAM",
    "fuel/f3/streaming/download_service.py": "download_service__",
    "collab/runtime/defs.py": "collab",
}
"""The channel of topics that are defined in a class or file of this name; the others are of the auxiliary channel."""

REGISTER = re.compile(r"register_(request|blob|stream|file|objects)_cb")
_CLASS = re.compile(r"Topics?$|CommandNames$")
_NAME = re.compile(r"(^|_)TOPIC(_|$)")


class Topic(NamedTuple):
    """A topic, and where FLARE defines it."""

    channel: str
    topic: str
    where: str


@cache
def topics() -> tuple[Topic, ...]:
    """Return every topic that FLARE's source defines."""
    found = set()
    for path, tree in _modules():
        for owner, value in _constants(tree):
            channel = CHANNELS.get(owner) or CHANNELS.get(path) or "aux_communication"
            found.add(Topic(channel, value, f"{path} {owner}".strip()))
    return tuple(sorted(found))


def registrations() -> list[str]:
    """Return every place where FLARE says that it takes a topic."""
    found = set()
    for path, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and REGISTER.match(node.func.attr):
                named = {word.arg: ast.unparse(word.value) for word in node.keywords}
                words = [named.get("channel"), named.get("topic"), *map(ast.unparse, node.args)]
                found.add(f"{path}: {' '.join(filter(None, words))}")
    return sorted(found)


def verdict(topic: Topic) -> str:
    """Return who takes a topic from whom."""
    takers = {
        f"{row[0]} from {row[1]}"
        for row in TAKEN
        if (row[3], row[4]) == topic[:2] or row[3:] == ("return_only", f"{topic.channel}:{topic.topic}")
    }
    if topic.topic in REQUESTS:
        takers.add("site from relay")
    if topic.topic == "sm__DATA":
        return "by what the stream holds"
    return f"taken: {', '.join(sorted(takers))}" if takers else "refused"


def text() -> str:
    """Return the whole list."""
    lines = ["# Topics that FLARE defines: channel, topic, what our processes do, where it is defined"]
    lines += [f"{topic.channel} | {topic.topic} | {verdict(topic)} | {topic.where}" for topic in topics()]
    lines += ["", "# Places where FLARE registers what it takes"]
    return "\n".join([*lines, *registrations(), ""])


@cache
def _modules() -> tuple[tuple[str, ast.Module], ...]:
    wanted = re.compile(rf"{REGISTER.pattern}|Topic|TOPIC|CommandNames")
    return tuple(
        (str(file.relative_to(FLARE)), ast.parse(source))
        for file in sorted(FLARE.rglob("*.py"))
        if wanted.search(source := file.read_text(encoding="utf-8"))
    )


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield topics that a module defines, each with the class it is in."""
    for node in tree.body:
        inside = isinstance(node, ast.ClassDef) and _CLASS.search(node.name)
        for one in node.body if inside else [node]:
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Constant | ast.BinOp):
                name = one.targets[0].id if isinstance(one.targets[0], ast.Name) else ""
                value = _value(one.value)
                if value and (inside or _NAME.search(name)):
                    yield node.name if inside else "", value


def _value(node: ast.expr) -> str:
    """Return a constant, or the end of one that begins with a prefix."""
    if isinstance(node, ast.BinOp):
        prefix = {"STREAM_PREFIX": "sm__", "DOWNLOAD_PREFIX": "download_service__"}
        return prefix.get(ast.unparse(node.left), "") + _value(node.right)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
