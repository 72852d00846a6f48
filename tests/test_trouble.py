"""Messages that the page about trouble quotes are those that the program prints."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "how-to" / "trouble.md"
LEAST = 8
"""Letters. Shorter parts of a message, such as "Agent", say nothing."""


def _texts(tree):
    """Every text of a module, one on each line; what is filled into a text is a gap."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "\0".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


SAID = "\n".join(
    " ".join(text.split())
    for file in sorted((ROOT / "src").rglob("*.py"))
    for text in _texts(ast.parse(file.read_text(encoding="utf-8")))
)


def quoted(page):
    """The messages of a page: what stands in code in the first column of its tables."""
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [message for row in rows for message in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def fixed(message):
    """The parts of a message that are the same every time: ``...`` stands for what differs."""
    return [part for part in (part.strip(" .,:;()'\"") for part in message.split("...")) if len(part) >= LEAST]


def test_every_quoted_message_is_in_the_source():
    messages = quoted(PAGE)
    assert len(messages) > 10
    assert [message for message in messages if not fixed(message)] == []
    assert [(message, part) for message in messages for part in fixed(message) if part not in SAID] == []
