"""The keys of an agent's file, read one by one with the type each must have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assistlearn.agent_files.places import KeyPath, Places
from assistlearn.agent_files.suggestion import did_you_mean, listed
from assistlearn.errors import DescriptionError


class Keys:
    """One table of a TOML file, whose keys must be among those known.

    Parameters
    ----------
    values : mapping
        What TOML gave.
    places : Places
        Where the keys stand, for error messages.
    known : sequence of str
        Every key that may be there.
    at : tuple of str, default=()
        The table's own path in the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> keys = Keys({"nmae": "lab"}, Places.of(Path("lab.toml"), 'nmae = "lab"'), ["name", "table"])
    Traceback (most recent call last):
        ...
    assistlearn.errors.DescriptionError: lab.toml, line 1: there is no key 'nmae'. Did you mean 'name'? The keys here
    are 'name', 'table'.
    """

    def __init__(self, values: Mapping[str, Any], places: Places, known: Sequence[str], at: KeyPath = ()) -> None:
        self._values = values
        self._places = places
        self._at = at
        for key in values:
            if key not in known:
                inside = f" in [{'.'.join(at)}]" if at else ""
                raise self.error(
                    key,
                    f"there is no key {key!r}{inside}.{did_you_mean(key, known)} The keys here are {listed(known)}.",
                )

    def error(self, key: str, message: str) -> DescriptionError:
        """Return an error that begins with the file and the key's line."""
        return DescriptionError(f"{self._places(*self._at, key)}: {message}")

    def required(self, key: str, example: str) -> None:
        """Refuse a file without this key."""
        if key not in self._values:
            raise self.error(key, f"the key {self._name(key)!r} is missing. Add a line such as: {example}")

    def get(self, key: str) -> Any:
        """Return the value as TOML gave it, or None."""
        return self._values.get(key)

    def text(self, key: str) -> str | None:
        """Return a text that is not empty, or None where the key is absent."""
        text: str | None = self._checked(key, "a text in quotes, not an empty one", _is_text)
        return text

    def count(self, key: str, least: int = 1) -> int | None:
        """Return a whole number, or None where the key is absent."""
        count: int | None = self._checked(
            key,
            f"a whole number of at least {least}",
            lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
        )
        return count

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """Return one of the texts allowed."""
        value = self._values.get(key, default)
        if value not in allowed:
            meant = did_you_mean(value, allowed) if isinstance(value, str) else ""
            raise self.error(
                key, f"{self._name(key)} = {value!r} is not known.{meant} Choose one of {listed(allowed)}."
            )
        return str(value)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of texts, or None where the key is absent."""
        value = self._checked(
            key,
            'a list of texts such as ["a", "b"]',
            lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        )
        return None if value is None else tuple(value)

    def table(self, key: str, known: Sequence[str]) -> Keys:
        """Return the keys of a table inside this one; none where it is absent."""
        return Keys(self.mapping(key), self._places, known, (*self._at, key))

    def mapping(self, key: str) -> Mapping[str, Any]:
        """Return a table inside this one with whatever keys it has; none where it is absent."""
        value = self._checked(key, f"a table, [{self._name(key)}]", lambda value: isinstance(value, dict))
        return {} if value is None else value

    def _checked(self, key: str, wanted: str, is_right: Callable[[Any], bool]) -> Any:
        if key not in self._values:
            return None
        value = self._values[key]
        if not is_right(value):
            raise self.error(key, f"{self._name(key)} = {value!r} must be {wanted}.")
        return value

    def _name(self, key: str) -> str:
        return ".".join((*self._at, key))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""
