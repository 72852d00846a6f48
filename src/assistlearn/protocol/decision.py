"""What an agent's owner has decided about a request for consent, as the ledger keeps it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec

from assistlearn.errors import LedgerError

Proof: TypeAlias = Literal["certificate", "nothing"]
"""What proves that a request comes from its initiator: in a network, the certificate of its site; between processes of
one machine, nothing: the other process may say any name."""

OwnersAnswer: TypeAlias = Literal["approved", "rejected", "taken back"]
"""What an owner says to a request: yes; no; or no after a yes."""


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One decision; the last one on a request counts.

    Attributes
    ----------
    request : str
        The number of the request.
    answer : {"approved", "rejected", "taken back"}
        Yes; no; or no after a yes.
    initiator, purpose : str
        Whose runs it is about, and for which purpose, word for word. It holds for nothing else.
    proof : {"certificate", "nothing"}
        What proved the initiator's name when it asked. Later requests need the same proof.
    by : str
        Who decided, as the program knows it: the user of the machine, or the name that was given.
    time : str
        When, in UTC.
    since : str
        Since when the request waited.
    run, method, n_samples, n_rounds : str, str, int, int
        What the request said about the run that it came with. Later runs may differ.
    until : str
        When a yes ends, in UTC; empty if it never ends.
    reason : str
        Why, in the owner's words; the initiator is told.
    """

    request: str
    answer: OwnersAnswer
    initiator: str
    purpose: str
    proof: Proof
    by: str
    time: str
    since: str
    run: str = ""
    method: str = ""
    n_samples: int = 0
    n_rounds: int = 0
    until: str = ""
    reason: str = ""

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Decision:
        """Return the decision that an entry of a ledger holds."""
        try:
            return msgspec.convert(facts, cls)
        except msgspec.ValidationError as error:
            raise LedgerError(f"An entry of the ledger is not a valid decision of the owner ({error}).") from None

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values."""
        return msgspec.structs.asdict(self)

    def is_about(self, initiator: str, purpose: str, proof: Proof) -> bool:
        """Return whether this is about such runs. Comparing the numbers is not enough: they are short."""
        return (self.initiator, self.purpose, self.proof) == (initiator, purpose, proof)

    def holds(self, now: datetime) -> bool:
        """Return whether this is a yes that has not ended."""
        return self.answer == "approved" and not self.ended(now)

    def ended(self, now: datetime) -> bool:
        """Return whether this is a yes whose time is over; a no never ends."""
        return self.answer == "approved" and bool(self.until) and now >= datetime.fromisoformat(self.until)


def request_number(initiator: str, purpose: str, proof: Proof) -> str:
    """Return the number of an initiator's request for a purpose: always the same one.

    >>> request_number("bank", "credit pilot", "certificate")
    '333806532b0f'
    """
    named = msgspec.json.encode([initiator, purpose, proof])
    return hashlib.sha256(named).hexdigest()[:12]
