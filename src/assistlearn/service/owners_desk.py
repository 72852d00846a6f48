"""What an agent's owner does with requests for consent: read them, say yes, say no, take a yes back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from assistlearn.errors import RequestsError, SettingsError
from assistlearn.protocol.decision import Decision, OwnersAnswer, Proof
from assistlearn.protocol.ledger import Ledger, counted
from assistlearn.protocol.words import LONGEST_NAME, shown
from assistlearn.service.inbox import LAST_YEAR, Inbox, KeptRequest
from assistlearn.service.store import ledger_of

RequestState: TypeAlias = OwnersAnswer | Literal["waiting", "ended", "expired", "withdrawn"]
"""What the owner has answered. Or: nobody has answered yet (waiting), an approval is over (ended), nobody answered in
time (expired), or the initiator no longer asks (withdrawn)."""

LONGEST_REASON = 500
"""The most characters of a reason."""


@dataclass(frozen=True)
class RequestStanding:
    """A request, and its state.

    Attributes
    ----------
    request, state : str
        Its number, and its state.
    initiator, proof, purpose : str
        Who asks, what proves the name, and what for.
    run, method, n_samples, n_rounds : str, str, int, int
        What the request said about the run that it came with.
    since, answer_until : str
        When it came, and when it expires if nobody answers, in UTC.
    by, decided, until, reason : str
        Who has answered, when, until when an approval holds, and why; empty where there is nothing to say.
    """

    request: str
    state: RequestState
    initiator: str
    proof: Proof
    purpose: str
    run: str
    method: str
    n_samples: int
    n_rounds: int
    since: str
    answer_until: str = ""
    by: str = ""
    decided: str = ""
    until: str = ""
    reason: str = ""


class OwnersDesk:
    """The owner's side of the inbox.

    Parameters
    ----------
    home : path
        Where the agent keeps its runs, its ledger and its inbox.
    answer_within : int
        Days in which a request can be answered.
    clock : callable, optional
        Returns the present time.
    """

    def __init__(
        self, home: Path, answer_within: int, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._home = home
        self._inbox = Inbox(home, answer_within)
        self._clock = clock

    def requests(self) -> tuple[list[RequestStanding], list[str]]:
        """Return all requests, the oldest first, and in words what is wrong with files that are no requests."""
        decisions = counted(ledger_of(self._home)).decisions
        kept, damaged = self._inbox.all()
        waiting = [each for each in kept if each.number not in decisions or decisions[each.number].since != each.since]
        found = [self._kept(each) for each in waiting]
        again = {each.number for each in waiting}
        found += [self._decided(each) for each in decisions.values() if each.request not in again]
        return sorted(found, key=lambda each: (each.since, each.request)), damaged

    def find(self, number: str) -> RequestStanding:
        """Return the request with this number, or the only one whose number begins like this."""
        found, damaged = self.requests()
        meant = [each for each in found if number and each.request.startswith(number.lower())]
        if len(meant) == 1:
            return meant[0]
        known = ", ".join(each.request for each in found) or "none"
        what = f"{len(meant)} requests begin with {number!r}" if meant else f"There is no request {number!r}"
        raise RequestsError(" ".join([f"{what}. The requests are: {known}.", *damaged]))

    def approve(self, standing: RequestStanding, by: str, until: date | None = None) -> Decision:
        """Approve a request until the end of a day (UTC), or for ever; return the decision as the ledger has it."""
        if until is not None and until.year > LAST_YEAR:
            raise SettingsError(
                f"--until {until} is too far in the future. Leave --until out to consent without an end."
            )
        ends = None if until is None else datetime.combine(until + timedelta(days=1), time(), tzinfo=UTC)
        if ends is not None and ends <= self._clock():
            raise SettingsError(f"--until {until} is in the past. Name a later day.")
        if standing.state == "withdrawn":
            raise RequestsError(f"Request {standing.request} was withdrawn: {standing.initiator!r} no longer asks.")
        return self._decide(standing, "approved", by, "" if ends is None else ends.isoformat(), "")

    def reject(self, standing: RequestStanding, by: str, reason: str) -> Decision:
        """Reject a request, or take an approval back; return the decision as the ledger has it."""
        if not reason.strip():
            raise SettingsError("--reason is empty. The initiator is told the reason: a few words are enough.")
        _check_words("--reason", reason, LONGEST_REASON)
        answer: OwnersAnswer = "taken back" if standing.state in ("approved", "ended", "taken back") else "rejected"
        return self._decide(standing, answer, by, "", reason)

    def _decide(self, standing: RequestStanding, answer: OwnersAnswer, by: str, until: str, reason: str) -> Decision:
        _check_words("--by", by, LONGEST_NAME)
        with self._inbox.locked():
            if self.find(standing.request) != standing:
                raise RequestsError(f"Request {standing.request} has changed in the meantime. Look at it again.")
            decision = Decision(
                request=standing.request,
                answer=answer,
                initiator=standing.initiator,
                purpose=standing.purpose,
                proof=standing.proof,
                by=by,
                time=self._clock().isoformat(timespec="milliseconds"),
                since=standing.since,
                run=standing.run,
                method=standing.method,
                n_samples=standing.n_samples,
                n_rounds=standing.n_rounds,
                until=until,
                reason=reason,
            )
            Ledger(ledger_of(self._home), self._clock).decide(decision)
            self._inbox.remove(standing.request)  # the ledger has it: a crash before this loses nothing
        return decision

    def _kept(self, kept: KeptRequest) -> RequestStanding:
        state: RequestState = "waiting"
        if kept.ended == "withdrawn":
            state = "withdrawn"
        elif kept.ended or kept.expired(self._clock(), self._inbox.answer_within):
            state = "expired"
        until = datetime.fromisoformat(kept.since) + timedelta(days=self._inbox.answer_within)
        return RequestStanding(
            kept.number,
            state,
            kept.initiator,
            kept.proof,
            kept.purpose,
            kept.run,
            kept.method,
            kept.n_samples,
            kept.n_rounds,
            kept.since,
            until.isoformat(timespec="milliseconds"),
        )

    def _decided(self, decision: Decision) -> RequestStanding:
        state: RequestState = "ended" if decision.ended(self._clock()) else decision.answer
        return RequestStanding(
            decision.request,
            state,
            decision.initiator,
            decision.proof,
            decision.purpose,
            decision.run,
            decision.method,
            decision.n_samples,
            decision.n_rounds,
            decision.since,
            by=decision.by,
            decided=decision.time,
            until=decision.until,
            reason=decision.reason,
        )


def _check_words(flag: str, text: str, longest: int) -> None:
    if shown(text, longest) != text:
        raise SettingsError(
            f"{flag} {shown(text, 40)!r}: use at most {longest} characters, on one line, and only readable text."
        )
