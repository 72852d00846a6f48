"""The ids that a request asks about: checked, and normalised as the ids of tables are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from assistlearn.alignment.one_id import normalise_one
from assistlearn.web.serving.serving_limits import ServingLimits


@dataclass(frozen=True)
class AskedIds:
    """Ids as they were given, and as they are looked up.

    Attributes
    ----------
    given : list of str
        In the order of the request; an id may be there twice.
    texts : list of str
        Normalised, each once.
    places : list of int
        The position of each given id in ``texts``.

    Examples
    --------
    >>> asked = AskedIds.of(["17", " 17 ", "0017"], ServingLimits())
    >>> asked.texts, asked.places
    (['17', '0017'], [0, 0, 1])
    >>> AskedIds.of(["P-1", "p-1"], ServingLimits(), ignore_case=True).texts
    ['p-1']
    """

    given: list[str]
    texts: list[str]
    places: list[int]

    @classmethod
    def of(cls, values: Sequence[Any], limits: ServingLimits, ignore_case: bool = False) -> AskedIds:
        """Check and normalise the ids of a request. A value that cannot be an id is refused, with its position."""
        if not values:
            raise HTTPException(400, "No id is given.")
        if len(values) > limits.most_ids:
            raise HTTPException(413, f"{len(values):,} ids are given; at most {limits.most_ids:,} may be in a request.")
        alike = [value.lower() if ignore_case and isinstance(value, str) else value for value in values]
        texts = [_text(value, position, limits) for position, value in enumerate(alike)]
        found = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        return cls([str(value) for value in values], list(found), [found[text] for text in texts])


def _text(value: Any, position: int, limits: ServingLimits) -> str:
    try:
        text = normalise_one(value)
        if text is not None:
            text.encode()
    except (ValueError, OverflowError) as error:  # also half a pair of surrogates, which no table holds
        why = str(error) if not isinstance(error, UnicodeEncodeError) else "which is not text"
        raise HTTPException(400, f"ids[{position}] cannot be an id: {str(value)[:80]!a}, {why}.") from None
    if text is None:
        raise HTTPException(400, f"ids[{position}] is empty.")
    if len(text) > limits.longest_id:
        raise HTTPException(
            400, f"ids[{position}] has {len(text):,} characters; at most {limits.longest_id:,} are accepted."
        )
    return text
