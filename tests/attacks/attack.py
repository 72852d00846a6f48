"""What an attack says about itself: who tries what, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

Attacker = Literal["member", "relay", "initiator", "helper", "local process", "listener"]

ATTACKERS: tuple[Attacker, ...] = ("member", "relay", "initiator", "helper", "local process", "listener")
"""Who attacks: a member of the network that nobody allows anything; whoever runs the relay, its software changed; the
initiator of a run; one of its helpers; another program on a site's machine; whoever listens on the line."""

Test = TypeVar("Test", bound=Callable[..., Any])


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes
    ----------
    by : str
        Who attacks.
    tries : str
        What is tried, as the end of a sentence that begins with the attacker.
    outcome : str
        What comes of it, and what stopped it.
    """

    by: Attacker
    tries: str
    outcome: str


def attack(by: Attacker, tries: str, outcome: str) -> Callable[[Test], Test]:
    """Mark a test as an attack.

    >>> @attack("helper", "votes 1e300 for a class", "refused: its votes are bounded by its models' weights")
    ... def test_loud_votes(): ...
    >>> test_loud_votes.attack.by
    'helper'
    """

    def marked(test: Test) -> Test:
        test.attack = Attack(by, tries, outcome)  # type: ignore[attr-defined]
        return test

    return marked
