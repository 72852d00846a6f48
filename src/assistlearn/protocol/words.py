"""Words that come from outside: short, and without anything that a terminal or a reader's eye would obey."""

from __future__ import annotations

import unicodedata

from assistlearn.errors import ProtocolError
from assistlearn.protocol.messages import Message, type_of

LONGEST = 1_000
"""How many letters a text in a message may have, unless it is a name."""

LONGEST_NAME = 80
"""How many letters a name may have: of an agent, of a run."""

_NAMES = {"initiator": LONGEST_NAME, "agent": LONGEST_NAME, "run": LONGEST_NAME}
_JOINERS = "\u200c\u200d"
"""Not to be seen, but part of how Persian and Hindi are written."""


def check_words(message: Message) -> None:
    r"""Raise if a text of a message is too long, or holds line ends, terminal escapes or marks that turn text around.

    >>> from assistlearn.protocol.messages import Open
    >>> check_words(Open(run="r", initiator="bank", purpose="a\x1b[2J", alignment="psi", overlap="abstain"))
    Traceback (most recent call last):
        ...
    assistlearn.errors.ProtocolError: The purpose of 'open' holds '\x1b', which is no letter: write it without.
    """
    for field in message.__struct_fields__:
        text = getattr(message, field)
        if not isinstance(text, str):
            continue
        longest = _NAMES.get(field, LONGEST)
        if len(text) > longest:
            noun = "is not the name of a run" if field == "run" else "is too long"
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} {noun}: it has {len(text):,} letters, and at most "
                f"{longest:,} are taken."
            )
        strange = next((letter for letter in text if not _seen(letter)), None)
        if strange is not None and field != "run":  # what is wrong with a run's name is said where it is checked
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} holds {strange!a}, which is no letter: write it without."
            )


def shown(text: str, longest: int = LONGEST) -> str:
    r"""Return a text of others as it may be logged and shown: on one line, cut where it is long.

    >>> shown("Grüße\x1b[31m\n\u202e"), shown("abcdef", longest=3)
    ('Grüße\\x1b[31m\\n\\u202e', 'abc...')
    """
    whole = "".join(letter if _seen(letter) else ascii(letter)[1:-1] for letter in text[:longest])
    return whole + "..." if len(text) > longest else whole


def mixed_scripts(text: str) -> str:
    r"""Return a text that has letters of several scripts with all but the Latin ones spelled out; else nothing.

    Such letters can look like Latin ones.

    >>> mixed_scripts("b\u0430nk"), mixed_scripts("bank"), mixed_scripts("\u0431\u0430\u043d\u043a")
    ('b\\u0430nk', '', '')
    """
    scripts = {_script(letter) for letter in text if letter.isalpha()}
    if len(scripts) < 2:
        return ""
    return "".join(letter if _script(letter) == "LATIN" else ascii(letter)[1:-1] for letter in text)


def _script(letter: str) -> str:
    """Return the script of a letter, by the first word of its name; that of everything else is Latin here."""
    return unicodedata.name(letter, "LATIN").partition(" ")[0] if letter.isalpha() else "LATIN"


def _seen(letter: str) -> bool:
    return letter.isprintable() or letter in _JOINERS
