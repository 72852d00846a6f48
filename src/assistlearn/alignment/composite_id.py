"""Join the parts of ids that are in several columns, in the same way in every table.

Every part becomes text by the rule of :mod:`assistlearn.alignment.one_id`. Parts are separated by ``|``. Inside a part,
a backslash is put before every ``|`` and every backslash, so that no two people get the same id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from assistlearn.alignment.id_column import normalise
from assistlearn.errors import IdsError

BETWEEN = "|"

_PART = re.compile(r"(?:\\[\\|]|[^|])*", re.DOTALL)


def join_ids(parts: Sequence[pl.Series], owner: str = "This table") -> pl.Series:
    r"""Return one id for each row: the text of all its parts.

    Parameters
    ----------
    parts : sequence of Series
        The columns, in the order that all agents agreed on.
    owner : str
        Whose ids they are, for error messages.

    Examples
    --------
    >>> join_ids([pl.Series("country", ["FR", "DE"]), pl.Series("number", [17.0, 4.0])]).to_list()
    ['FR|17', 'DE|4']
    >>> join_ids([pl.Series(["a|b", "a"]), pl.Series(["c", "b|c"])]).to_list()
    ['a\\|b|c', 'a|b\\|c']
    """
    texts = [normalise(part, f"{owner}, column {part.name!r}") for part in parts]
    if len(texts) == 1:
        return texts[0]
    escaped = [text.str.replace_all(r"([\\|])", r"\${1}").rename(str(place)) for place, text in enumerate(texts)]
    return pl.DataFrame(escaped).select(pl.concat_str(pl.all(), separator=BETWEEN).alias("id"))["id"]


def split_ids(ids: pl.Series, names: Sequence[str], owner: str = "This table") -> list[pl.Series]:
    r"""Return the parts of ids, each in a column of its own.

    >>> [part.to_list() for part in split_ids(pl.Series(["FR|17", "a\\|b|c"]), ["country", "number"])]
    [['FR', 'a|b'], ['17', 'c']]
    >>> split_ids(pl.Series(["FR"]), ["country", "number"])
    Traceback (most recent call last):
        ...
    assistlearn.errors.IdsError: This table: id 'FR' has 1 part, but there are 2: country|number. ...
    """
    if len(names) == 1:
        return [ids.rename(names[0])]
    rows = [_parts(text) for text in ids]
    for text, parts in zip(ids, rows, strict=True):
        if len(parts) != len(names):
            raise IdsError(
                f"{owner}: id {text!r} has {len(parts)} part{'s' * (len(parts) != 1)}, but there are {len(names)}: "
                f"{BETWEEN.join(names)}. Write {BETWEEN!r} between the parts."
            )
    return [pl.Series(name, [parts[place] for parts in rows], dtype=pl.String) for place, name in enumerate(names)]


def _parts(text: str) -> list[str]:
    parts, at = [], 0
    while True:
        found = _PART.match(text, at)
        assert found is not None  # the pattern matches an empty text, too
        parts.append(re.sub(r"\\([\\|])", r"\1", found[0]))
        at = found.end() + 1
        if at > len(text):
            return parts
