"""What an owner has decided: only a yes can end."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pytest

from assistlearn.protocol.ledger import Decision, OwnersAnswer

BEFORE, END = datetime(2026, 11, 15, 23, 59, tzinfo=UTC), datetime(2026, 11, 16, tzinfo=UTC)


def decided(answer: OwnersAnswer, until: str = "") -> Decision:
    said = {"initiator": "clinic", "purpose": "pilot", "proof": "nothing", "by": "owner", "time": "", "since": ""}
    return Decision.of({"request": "0123456789ab", "answer": answer, "until": until} | said)


def test_a_yes_holds_until_its_time_is_over():
    yes = decided("approved", END.isoformat())
    assert (yes.holds(BEFORE), yes.ended(BEFORE)) == (True, False)
    assert (yes.holds(END), yes.ended(END)) == (False, True)


def test_a_yes_without_a_time_holds_for_ever():
    yes = decided("approved")
    assert (yes.holds(END), yes.ended(END)) == (True, False)


@pytest.mark.parametrize("until", ["", END.isoformat()])
@pytest.mark.parametrize("answer", [each for each in get_args(OwnersAnswer) if each != "approved"])
def test_a_no_never_holds_and_never_ends(answer, until):
    """If it ended, the initiator could ask again. The program gives a no no time; a ledger may come from elsewhere."""
    no = decided(answer, until)
    assert (no.holds(END), no.ended(END)) == (False, False)
