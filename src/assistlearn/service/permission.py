"""Whether a run is allowed: by the owner's file, or by the owner's consent. Initiators not in the file ask for it.

Only an entry of the ledger is an approval (:mod:`assistlearn.protocol.decision`). It is looked up before every answer,
so a decision holds from the next request on, without a restart. It is for one initiator and one purpose. It holds only
if the initiator's name is proved in the same way as when the owner decided.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from assistlearn.errors import NoConsentError, ProtocolError, RefusedError
from assistlearn.protocol import Ledger
from assistlearn.protocol import messages as m
from assistlearn.protocol.decision import Decision, Proof, request_number
from assistlearn.protocol.words import LONGEST_NAME
from assistlearn.service.holdings import Holdings
from assistlearn.service.inbox import Inbox, KeptRequest

LARGEST_NUMBER = 2**53
"""The largest number of samples or rounds in a request for consent. People read these numbers."""


class Permission:
    """What an agent's owner permits.

    Parameters
    ----------
    own : Holdings
        What the agent has, and what its owner's file allows.
    ledger : Ledger or None
        Where decisions are; None if nobody can be asked.
    clock : callable
        Returns the present time.
    """

    def __init__(
        self, own: Holdings, ledger: Ledger | None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._own = own
        self._ledger = ledger
        self._clock = clock
        self._inbox = Inbox(own.home, own.answer_within)

    def check(self, opening: m.Open, asker: str | None) -> None:
        """Raise if the agent's owner does not, or no longer, allow a run; ``asker`` is the proved name, or None."""
        self._check_learner(opening.initiator)
        if self._own.allow is None:
            return
        try:
            self._own.allow(opening)
        except NoConsentError:
            decision = self._decision(opening.initiator, opening.purpose, _proof(asker))
            if decision is None:
                raise
            if not decision.holds(self._clock()):
                raise RefusedError(self._ended(decision)) from None

    def _check_learner(self, initiator: str) -> None:
        own = self._own
        if own.estimator is None and own.features is not None and initiator != own.name:  # a door has no features
            raise RefusedError(f"Agent {self._own.name!r} has only labels, and no learner: it can help nobody.")

    def knows(self, asker: str) -> bool:
        """Whether the owner has consented to runs of this asker, for any purpose."""
        return self._ledger is not None and has_consent(self._ledger, asker, self._clock())

    def proposed(self, proposal: m.Propose, asker: str | None) -> m.Consent:
        """Return the state of a request for consent; keep a new request for the owner."""
        _check_proposal(proposal)
        self._check_learner(proposal.initiator)
        proof = _proof(asker)
        if self._is_allowed(proposal) or self._ledger is None:
            return m.Consent(run=proposal.run, state="allowed")
        number = request_number(proposal.initiator, proposal.purpose, proof)
        with self._inbox.locked():
            kept = self._inbox.get(number)
            decision = self._decision(proposal.initiator, proposal.purpose, proof)
            if kept is not None and decision is not None and decision.since == kept.since:
                self._inbox.remove(number)  # a crash came after the decision
                kept = None
            if proposal.withdrawn:
                return self._withdrawn(proposal, number, kept)
            if kept is None and decision is not None and not decision.ended(self._clock()):
                return _decided(proposal, decision)
            return self._waiting(proposal, proof, kept)

    def _is_allowed(self, proposal: m.Propose) -> bool:
        """Whether the owner's file allows such runs; raise ``RefusedError`` if the owner must not be asked."""
        said = {"run": proposal.run, "initiator": proposal.initiator, "purpose": proposal.purpose}
        try:
            if self._own.allow is not None:
                self._own.allow(m.Open(**said, alignment="hash", overlap="abstain"))
        except NoConsentError:
            return False
        return True

    def _waiting(self, proposal: m.Propose, proof: Proof, kept: KeptRequest | None) -> m.Consent:
        """Return that a request waits, or that it has expired.

        An initiator that was told so and asks again makes a new request.
        """
        now = self._clock()
        if kept is None or kept.ended:
            kept = _request(proposal, proof, now)
            self._inbox.add(kept, now)
        elif kept.expired(now, self._inbox.answer_within):
            self._inbox.keep(msgspec.structs.replace(kept, ended="expired"))
            text = f"{self._inbox.answer_within} days"
            return m.Consent(run=proposal.run, state="expired", request=kept.number, since=kept.since, text=text)
        return m.Consent(run=proposal.run, state="waiting", request=kept.number, since=kept.since)

    def _withdrawn(self, proposal: m.Propose, number: str, kept: KeptRequest | None) -> m.Consent:
        if kept is not None and not kept.ended:
            self._inbox.keep(msgspec.structs.replace(kept, ended="withdrawn"))
        since = "" if kept is None else kept.since
        return m.Consent(run=proposal.run, state="withdrawn", request=number, since=since)

    def _decision(self, initiator: str, purpose: str, proof: Proof) -> Decision | None:
        """Return what the owner has decided about such runs; None if nothing was decided."""
        decisions = {} if self._ledger is None else self._ledger.decisions()
        found = decisions.get(request_number(initiator, purpose, proof))
        return found if found is not None and found.is_about(initiator, purpose, proof) else None

    def _ended(self, decision: Decision) -> str:
        who = f"Agent {self._own.name!r}: its owner's consent to runs of {decision.initiator!a} for this purpose"
        if decision.answer == "approved":
            return f"{who} ended at {moment_in_words(decision.until)}."
        reason = f": {decision.reason}" if decision.reason else ""
        said = "was not given" if decision.answer == "rejected" else "was taken back"
        return f"{who} {said}, at {moment_in_words(decision.time)}{reason}"


def has_consent(ledger: Ledger, asker: str, now: datetime) -> bool:
    """Whether a ledger has a decision that now allows something to ``asker``, whose name a certificate proves."""
    known = ledger.decisions().values()
    return any((each.initiator, each.proof) == (asker, "certificate") and each.holds(now) for each in known)


def moment_in_words(time: str) -> str:
    """Return a moment as it is told: to the minute.

    >>> moment_in_words("2030-12-31T09:30:00.000+00:00")
    '2030-12-31 09:30 UTC'
    """
    return time[:16].replace("T", " ") + " UTC"


def _proof(asker: str | None) -> Proof:
    return "nothing" if asker is None else "certificate"


def _check_proposal(proposal: m.Propose) -> None:
    if len(proposal.method) > LONGEST_NAME:
        raise ProtocolError(
            f"The name of the method has {len(proposal.method):,} characters; at most {LONGEST_NAME} are accepted."
        )
    for name in ("n_samples", "n_rounds"):
        if not 0 <= getattr(proposal, name) <= LARGEST_NUMBER:
            raise ProtocolError(
                f"{name} = {getattr(proposal, name)} is not possible: it must lie between 0 and {LARGEST_NUMBER:,}."
            )


def _request(proposal: m.Propose, proof: Proof, now: datetime) -> KeptRequest:
    return KeptRequest(
        initiator=proposal.initiator,
        purpose=proposal.purpose,
        proof=proof,
        run=proposal.run,
        method=proposal.method,
        n_samples=proposal.n_samples,
        n_rounds=proposal.n_rounds,
        since=now.isoformat(timespec="milliseconds"),
    )


def _decided(proposal: m.Propose, decision: Decision) -> m.Consent:
    state: m.ConsentState = "allowed" if decision.answer == "approved" else "rejected"
    said = {"request": decision.request, "since": decision.since, "text": decision.reason}
    return m.Consent(run=proposal.run, state=state, **said)
