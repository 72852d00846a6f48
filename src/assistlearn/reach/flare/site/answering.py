"""Whom a site's agent answers from its table: those whom its owner allows. All others get an answer without it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from assistlearn.agent.consent import has_consent
from assistlearn.agent.file import load_description
from assistlearn.agent.loading import from_loaded, holdings_without_table, load_agent
from assistlearn.agent.service import AgentService
from assistlearn.errors import RefusedError
from assistlearn.protocol.ledger import Ledger
from assistlearn.reach.flare.guard.refusals import Refusals

MOST_REFUSED = 50
"""How many requests of somebody who may ask for nothing are answered in a job, and written down one by one."""


class Answering:
    """Answers requests for one agent during one job.

    The agent's file is read when this is made. Its table is read for the first request of somebody who is allowed to
    ask; nobody else can make the agent do that work.

    Parameters
    ----------
    agent_file : path
        The agent's file.
    """

    def __init__(self, agent_file: Path) -> None:
        self._description = load_description(agent_file)
        self._door: AgentService | None = None
        self._service: AgentService | None = None
        self._asked: dict[str, int] = {}
        self._refusals = Refusals(self._record)
        self._refusals.start()

    def check_allowed(self, asker: str) -> None:
        """Raise where the agent's owner allows an asker nothing at all."""
        if not self._allows(asker):
            raise RefusedError(f"Agent {self._description.name!r} does not work for {asker!r}.")

    def answer(self, asker: str, request: bytes) -> bytes:
        """Return the reply to a request; both are in the ledger.

        Of somebody who may ask for nothing, the ledger has the first requests in a job one by one, and only counts the
        others: see :data:`MOST_REFUSED`.
        """
        if not self._allows(asker):
            self._asked[asker] = self._asked.get(asker, 0) + 1
            if self._asked[asker] > MOST_REFUSED or len(self._asked) > MOST_REFUSED:
                self._refusals.note(asker, "requests of somebody who may ask for nothing", "too many", b"")
                raise RefusedError(f"Agent {self._description.name!r} does not work for {asker!r}.")
        return self._service_for(asker).answer(request, asker)

    def _record(self, peer: str, what: str, content: bytes) -> None:
        self._ledger.record("refused", peer, "", what, content)

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self._description.models / "ledger.jsonl")

    def _allows(self, asker: str) -> bool:
        """Return whether the owner allows an asker anything: in the agent file, or by consent, which may come later."""
        allowance = self._description.allow
        if allowance is None or asker in allowance.initiators:
            return allowance is not None
        return allowance.unknown != "refuse" and has_consent(self._ledger, asker, datetime.now(UTC))

    def _service_for(self, asker: str) -> AgentService:
        if self._service is None and not self._allows(asker):
            self._door = self._door or AgentService(holdings_without_table(self._description))
            return self._door
        if self._service is None:
            self._service, self._door = AgentService(from_loaded(load_agent(self._description))), None
        return self._service
