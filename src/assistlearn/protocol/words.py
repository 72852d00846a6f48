"""Texts that come from other agents: short, and without characters that control a terminal or mislead a reader."""

from __future__ import annotations

import unicodedata

from assistlearn.errors import ProtocolError
from assistlearn.protocol.messages import Message, type_of

LONGEST = 1_000
"""How many characters a text in a message may have, unless it is a name."""

LONGEST_NAME = 80
"""How many characters a name may have: of an agent, of a run."""

_NAMES = {"initiator": LONGEST_NAME, "agent": LONGEST_NAME, "run": LONGEST_NAME}
_JOINERS = "\u200c\u200d"
"""These are invisible, but Persian and Hindi cannot be written without them."""


def check_words(message: Message) -> None:
    r"""Raise if a text of a message is too long, or holds line ends, terminal escapes or marks that reverse text.

    >>> from assistlearn.protocol.messages import Open
    >>> check_words(Open(run="r", initiator="bank", purpose="a\x1b[2J", alignment="psi", overlap="abstain"))
    Traceback (most recent call last):
        ...
    assistlearn.errors.ProtocolError: The purpose of 'open' contains '\x1b', which is not readable text. Remove it.
    """
    for field in message.__struct_fields__:
        text = getattr(message, field)
        if not isinstance(text, str):
            continue
        longest = _NAMES.get(field, LONGEST)
        if len(text) > longest:
            noun = "is not the name of a run" if field == "run" else "is too long"
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} {noun}: it has {len(text):,} characters; at most {longest:,} "
                "are accepted."
            )
        strange = next((letter for letter in text if not _seen(letter)), None)
        if strange is not None and field != "run":  # the name of a run has a check of its own
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} contains {strange!a}, which is not readable text. Remove it."
            )


def shown(text: str, longest: int = LONGEST) -> str:
    r"""Return another agent's text so that it can be logged and shown: on one line, and cut if it is long.

    >>> shown("Grüße\x1b[31m\n\u202e"), shown("abcdef", longest=3)
    ('Grüße\\x1b[31m\\n\\u202e', 'abc...')
    """
    whole = "".join(letter if _seen(letter) else ascii(letter)[1:-1] for letter in text[:longest])
    return whole + "..." if len(text) > longest else whole


def mixed_scripts(text: str) -> str:
    r"""Return a text that mixes scripts, with the letters that are not Latin spelled out; otherwise an empty text.

    Letters of other scripts can look like Latin ones.

    >>> mixed_scripts("b\u0430nk"), mixed_scripts("bank"), mixed_scripts("\u0431\u0430\u043d\u043a")
    ('b\\u0430nk', '', '')
    """
    scripts = {_script(letter) for letter in text if letter.isalpha()}
    if len(scripts) < 2:
        return ""
    return "".join(letter if _script(letter) == "LATIN" else ascii(letter)[1:-1] for letter in text)


def _script(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name. Whatever is no letter counts as Latin."""
    return unicodedata.name(letter, "LATIN").partition(" ")[0] if letter.isalpha() else "LATIN"


def _seen(letter: str) -> bool:
    return letter.isprintable() or letter in _JOINERS
