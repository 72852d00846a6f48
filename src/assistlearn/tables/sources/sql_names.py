"""Names of columns in SQL."""

from __future__ import annotations

from collections import Counter

from assistlearn.errors import TableError


def quoted(name: str) -> str:
    """Return a column's name in double quotes, so that SQL accepts any character in it.

    >>> print(quoted('my age'))
    "my age"
    """
    return '"' + name.replace('"', '""') + '"'


def refuse_twice(names: list[str], place: str) -> list[str]:
    """Return the names of a query's columns, or raise ``TableError`` where two are the same."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise TableError(
            f"{place}: the query has more than one column {twice[0]!r}. Give each its own name: ... as another_name"
        )
    return names
