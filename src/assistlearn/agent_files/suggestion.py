"""What somebody who misspelt a word probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a blank and a sentence with the nearest known word; an empty text where no word is near.

    >>> did_you_mean("exlude", ["include", "exclude"])
    " Did you mean 'exclude'?"
    >>> did_you_mean("ID", ["id", "age"])
    " Did you mean 'id'?"
    >>> did_you_mean("weather", ["id", "age"])
    ''
    >>> did_you_mean("lable", ["table", "label"])
    " Did you mean 'label'?"
    """
    by_folded = {name.casefold(): name for name in known}
    folded = word.casefold()
    near = difflib.get_close_matches(folded, by_folded, n=3, cutoff=0.6)
    near.sort(key=lambda name: sorted(name) != sorted(folded))  # a word of the same letters comes first
    return f" Did you mean {by_folded[near[0]]!r}?" if near else ""


def listed(names: Iterable[object], at_most: int = 20) -> str:
    """Return names for an error message: the first ones, and how many more there are.

    >>> listed(["a", "b", "c"], at_most=2)
    "'a', 'b' and 1 more"
    """
    shown = list(names)
    text = ", ".join(repr(name) for name in shown[:at_most])
    return text if len(shown) <= at_most else f"{text} and {len(shown) - at_most} more"
