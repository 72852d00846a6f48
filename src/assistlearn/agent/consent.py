"""Consent: requests that wait for an agent's owner, the answers, and whether a run is allowed."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from assistlearn import storage
from assistlearn.agent.loading import Holdings
from assistlearn.agent.store import ledger_of
from assistlearn.errors import NoConsentError, ProtocolError, RefusedError, RequestsError, SettingsError
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import LONGEST_NAME, shown
from assistlearn.protocol.ledger import Decision, Ledger, OwnersAnswer, Proof, counted, request_number
from assistlearn.storage import wait_for

# Requests wait in small files, ``requests/333806532b0f.json``. The owner's answers are not kept there but in the
# ledger: a file that is written or changed by hand lets nobody in. An answered one is removed. A request that
# nobody has answered in time stays until room is needed.

MOST = 64
"""Requests that are kept at a time; half as many of initiators whose name is not proved."""

MOST_OF_ONE = 8
"""Requests that can wait at a time, each for another purpose."""

LARGEST = 32_768

LAST_YEAR = 9_000
"""The last year of a request or a consent: dates need room for the days that are added to them."""

NO_LINK, NO_WAIT = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
"""Options to open a file without following links or waiting for pipes; zero on Windows, which does not have them."""

_NAME = re.compile(r"[0-9a-f]{12}\.json")

LARGEST_NUMBER = 2**53
"""The largest number of samples or rounds in a request for consent. People read these numbers."""

LONGEST_REASON = 500

ABOUT = ("run", "method", "n_samples", "n_rounds")
"""What a request says of the run that it is about."""

RequestState: TypeAlias = OwnersAnswer | Literal["waiting", "ended", "expired", "withdrawn"]
"""What the owner has answered. Or: nobody has answered yet (waiting), an approval is over (ended), nobody answered in
time (expired), or the initiator no longer asks (withdrawn)."""


class KeptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request's file: who asks, what for, what proves the name, about which run, and since when (UTC).

    ``ended`` says whether it is over: the initiator was told that it expired, or has withdrawn it. If the initiator
    asks once more after that, it is a new request.
    """

    initiator: str
    purpose: str
    proof: Proof
    run: str
    method: str
    n_samples: int
    n_rounds: int
    since: str
    ended: Literal["", "expired", "withdrawn"] = ""

    @property
    def number(self) -> str:
        return request_number(self.initiator, self.purpose, self.proof)

    def expired(self, now: datetime, answer_within: int) -> bool:
        return now >= datetime.fromisoformat(self.since) + timedelta(days=answer_within)


@dataclass(frozen=True)
class ConsentRequest:
    """A request as its owner sees it.

    ``since`` and ``answer_until`` are in UTC. ``by``, ``decided``, ``until`` and ``reason`` say who has answered, when,
    until when an approval holds, and why; empty where there is nothing to say.
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


class Inbox:
    def __init__(
        self, home: Path, answer_within: int, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.folder = home / "requests"
        self.answer_within = answer_within
        self._home = home
        self._clock = clock

    # -- the owner's side: read requests, say yes, say no, take a yes back

    def requests(self) -> tuple[list[ConsentRequest], list[str]]:
        """Return all requests, the oldest first, and in words what is wrong with files that are no requests."""
        now = self._clock()
        decisions = counted(ledger_of(self._home)).decisions
        kept, damaged = self._files()
        waiting = [each for each in kept if each.number not in decisions or decisions[each.number].since != each.since]
        found = [_as_it_waits(each, now, self.answer_within) for each in waiting]
        again = {each.number for each in waiting}
        found += [_as_decided(each, now) for each in decisions.values() if each.request not in again]
        return sorted(found, key=lambda each: (each.since, each.request)), damaged

    def find(self, number: str) -> ConsentRequest:
        """Return the request with this number, or the only one whose number begins like this."""
        found, damaged = self.requests()
        meant = [each for each in found if number and each.request.startswith(number.lower())]
        if len(meant) == 1:
            return meant[0]
        known = ", ".join(each.request for each in found) or "none"
        what = f"{len(meant)} requests begin with {number!r}" if meant else f"There is no request {number!r}"
        raise RequestsError(" ".join([f"{what}. The requests are: {known}.", *damaged]))

    def approve(self, request: ConsentRequest, by: str, until: date | None = None) -> Decision:
        """Approve a request until the end of a day (UTC), or for ever."""
        if until is not None and until.year > LAST_YEAR:
            raise SettingsError(
                f"--until {until} is too far in the future. Leave --until out to consent without an end."
            )
        ends = None if until is None else datetime.combine(until + timedelta(days=1), time(), tzinfo=UTC)
        if ends is not None and ends <= self._clock():
            raise SettingsError(f"--until {until} is in the past. Name a later day.")
        if request.state == "withdrawn":
            raise RequestsError(f"Request {request.request} was withdrawn: {request.initiator!r} no longer asks.")
        return self._decide(request, "approved", by, "" if ends is None else ends.isoformat(), "")

    def reject(self, request: ConsentRequest, by: str, reason: str) -> Decision:
        if not reason.strip():
            raise SettingsError("--reason is empty. The initiator is told the reason: a few words are enough.")
        _check_words("--reason", reason, LONGEST_REASON)
        answer: OwnersAnswer = "taken back" if request.state in ("approved", "ended", "taken back") else "rejected"
        return self._decide(request, answer, by, "", reason)

    def _decide(self, request: ConsentRequest, answer: OwnersAnswer, by: str, until: str, reason: str) -> Decision:
        _check_words("--by", by, LONGEST_NAME)
        with self.locked():
            if self.find(request.request) != request:
                raise RequestsError(f"Request {request.request} has changed in the meantime. Look at it again.")
            decision = Decision(
                request=request.request,
                answer=answer,
                by=by,
                time=self._clock().isoformat(timespec="milliseconds"),
                **{name: getattr(request, name) for name in KeptRequest.__struct_fields__ if name != "ended"},
                until=until,
                reason=reason,
            )
            Ledger(ledger_of(self._home), self._clock).decide(decision)
            self.remove(request.request)  # the ledger has it: a crash before this loses nothing
        return decision

    # -- the files

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the inbox against other processes of the agent and its owner's commands."""
        if self.folder.is_symlink():
            raise RequestsError(f"{self.folder} is a link, and is not followed. Put a folder in its place.")
        with storage.writing(self.folder):
            storage.private_folder(self.folder)
            lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | NO_LINK, 0o600)
        try:
            wait_for(lock)
            yield
        finally:
            os.close(lock)

    def get(self, number: str) -> KeptRequest | None:
        path = self._path(number)
        content = _content(path)
        return None if content is None else _parsed(content, path)

    def _files(self) -> tuple[list[KeptRequest], list[str]]:
        found, damaged = [], []
        for path in sorted(self.folder.glob("*.json")):
            if not _NAME.fullmatch(path.name):
                damaged.append(f"{path} is not a request: its file name is not the number of a request.")
                continue
            with suppress(FileNotFoundError):
                try:
                    request = self.get(path.stem)
                except RequestsError as error:
                    damaged.append(str(error))
                    continue
                found += [] if request is None else [request]
        return sorted(found, key=lambda request: (request.since, request.number)), damaged

    def keep(self, request: KeptRequest) -> None:
        """Write a request's file. After a crash, either the old or the new file is there."""
        storage.write_json(self._path(request.number), msgspec.structs.asdict(request))

    def add(self, request: KeptRequest) -> None:
        """Keep a new request if there is room. Requests that are over are removed for it, but none that still waits."""
        now = self._clock()
        there, damaged = self._files()
        there = [each for each in there if each.number != request.number]
        open_ = [each for each in there if not each.ended and not each.expired(now, self.answer_within)]
        if sum(each.initiator == request.initiator for each in open_) >= MOST_OF_ONE:
            raise RefusedError(f"{MOST_OF_ONE} requests of {request.initiator!r} already wait for its owner's consent.")
        alike = [each for each in open_ if each.proof == request.proof]
        if len(alike) >= (MOST if request.proof == "certificate" else MOST // 2):
            raise RefusedError(f"{len(alike)} requests already wait for its owner's consent. Ask again later.")
        while len(there) + len(damaged) >= MOST:
            over = next((each for each in there if each not in open_), None)
            if over is None:
                raise RefusedError(f"{MOST} requests already wait for its owner's consent. Ask again later.")
            there.remove(over)
            self.remove(over.number)
        self.keep(request)

    def remove(self, number: str) -> None:
        self._path(number).unlink(missing_ok=True)

    def _path(self, number: str) -> Path:
        return self.folder / f"{number}.json"


def _content(path: Path) -> bytes | None:
    try:
        with open(os.open(path, os.O_RDONLY | NO_LINK | NO_WAIT), "rb") as file:
            return file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise _damaged(path, f"{why}, and is not read") from None


def _parsed(content: bytes, path: Path) -> KeptRequest:
    if len(content) > LARGEST:
        raise _damaged(path, f"it has more than {LARGEST:,} bytes")
    try:
        request = msgspec.json.decode(content, type=KeptRequest)
        since = datetime.fromisoformat(request.since)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if f"{request.number}.json" != path.name or since.tzinfo is None or since.year > LAST_YEAR:
        raise _damaged(path, "its number is not that of the file name, or its time is not valid")
    return request


def _damaged(path: Path, why: str) -> RequestsError:
    return RequestsError(
        f"{path} is not a valid request for consent ({why}): it was changed or damaged, and gives nobody access. Move "
        "it away; the initiator can ask again."
    )


def _as_it_waits(kept: KeptRequest, now: datetime, answer_within: int) -> ConsentRequest:
    state: RequestState = "waiting"
    if kept.ended == "withdrawn":
        state = "withdrawn"
    elif kept.ended or kept.expired(now, answer_within):
        state = "expired"
    until = datetime.fromisoformat(kept.since) + timedelta(days=answer_within)
    said = {name: value for name, value in msgspec.structs.asdict(kept).items() if name != "ended"}
    return ConsentRequest(kept.number, state, **said, answer_until=until.isoformat(timespec="milliseconds"))


def _as_decided(decision: Decision, now: datetime) -> ConsentRequest:
    said = {name: getattr(decision, name) for name in KeptRequest.__struct_fields__ if name != "ended"}
    return ConsentRequest(
        decision.request,
        "ended" if decision.ended(now) else decision.answer,
        **said,
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


# Whether a run is allowed: by the owner's file, or by the owner's consent. Initiators not in the file ask for it.
#
# Only an entry of the ledger is an approval. It is looked up before every answer, so a decision holds from the next
# request on, without a restart. It is for one initiator and one purpose, and holds only if the initiator's name is
# proved in the same way as when the owner decided.


class Permission:
    def __init__(
        self, own: Holdings, ledger: Ledger | None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._own = own
        self._ledger = ledger
        self._clock = clock
        self._inbox = Inbox(own.home, own.answer_within, clock)

    def check(self, initiator: str, purpose: str, asker: str | None) -> None:
        """Raise if the agent's owner does not, or no longer, allow a run; ``asker`` is the proved name, or None."""
        self._check_learner(initiator)
        if self._own.allow is None:
            return
        try:
            self._own.allow(initiator, purpose)
        except NoConsentError:
            decision = self._decision(initiator, purpose, _proof(asker))
            if decision is None:
                raise
            if not decision.holds(self._clock()):
                raise RefusedError(self._ended(decision)) from None

    def _check_learner(self, initiator: str) -> None:
        own = self._own  # without a table, it has no features
        if own.estimator is None and own.features is not None and initiator != own.name:
            raise RefusedError(f"Agent {self._own.name!r} has only labels, and no learner: it can help nobody.")

    def knows(self, asker: str) -> bool:
        return self._ledger is not None and has_consent(self._ledger, asker, self._clock())

    def proposed(self, proposal: m.Propose, asker: str | None) -> m.Consent:
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
                state: m.ConsentState = "allowed" if decision.answer == "approved" else "rejected"
                said = {"request": decision.request, "since": decision.since, "text": decision.reason}
                return m.Consent(run=proposal.run, state=state, **said)
            return self._waiting(proposal, proof, kept)

    def _is_allowed(self, proposal: m.Propose) -> bool:
        """Raise ``RefusedError`` if the owner must not be asked."""
        try:
            if self._own.allow is not None:
                self._own.allow(proposal.initiator, proposal.purpose)
        except NoConsentError:
            return False
        return True

    def _waiting(self, proposal: m.Propose, proof: Proof, kept: KeptRequest | None) -> m.Consent:
        """Return that a request waits, or has expired: an initiator that was told so and asks again makes a new one."""
        now = self._clock()
        if kept is None or kept.ended:
            asked = {name: getattr(proposal, name) for name in ("initiator", "purpose", *ABOUT)}
            kept = KeptRequest(proof=proof, since=now.isoformat(timespec="milliseconds"), **asked)
            self._inbox.add(kept)
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
        decisions = {} if self._ledger is None else self._ledger.decisions()
        found = decisions.get(request_number(initiator, purpose, proof))
        if found is None or (found.initiator, found.purpose, found.proof) != (initiator, purpose, proof):
            return None  # comparing the numbers is not enough: they are short
        return found

    def _ended(self, decision: Decision) -> str:
        who = f"Agent {self._own.name!r}: its owner's consent to runs of {decision.initiator!a} for this purpose"
        if decision.answer == "approved":
            return f"{who} ended at {moment_in_words(decision.until)}."
        reason = f": {decision.reason}" if decision.reason else ""
        said = "was not given" if decision.answer == "rejected" else "was taken back"
        return f"{who} {said}, at {moment_in_words(decision.time)}{reason}"


def has_consent(ledger: Ledger, asker: str, now: datetime) -> bool:
    known = ledger.decisions().values()
    return any((each.initiator, each.proof) == (asker, "certificate") and each.holds(now) for each in known)


def moment_in_words(time: str) -> str:
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
