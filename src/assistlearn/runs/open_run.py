"""An open run at the initiator: its folder, its own agent, and the ways to all agents."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from assistlearn.alignment import Ids
from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.errors import UnreachableError
from assistlearn.events import EventLog
from assistlearn.protocol import Ledger, Transport
from assistlearn.protocol.messages import Message
from assistlearn.runs.correspondent import Correspondent
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.own_way import OwnWay
from assistlearn.runs.settings import RunSettings
from assistlearn.runs.vote_watch import VoteWatch
from assistlearn.service.holdings import Holdings
from assistlearn.service.service import AgentService


@dataclass(frozen=True)
class OwnTable:
    """What the initiator brings to a run beside its agent.

    Attributes
    ----------
    labels : ndarray
        Each row's label as a position in the run's classes; -1 where a row has none.
    weights : ndarray, optional
        The initial weight of each row; equal by default.
    groups : ndarray of int, optional
        Which rows are about the same person; None where no two are.
    label : str, default=""
        The name of the column with the labels, or that by which the ledger of told labels knows it.
    label_named : bool, default=True
        Whether the owner's file says that this is the ledger's name for it.
    told_labels : {"stay", "afresh"}, default="stay"
        Whether what helpers were told about a label stays told, or everybody is drawn afresh.
    max_label_epsilon : float, optional
        How much helpers may be told about a person's label in all, where labels stay with the initiator.
    """

    labels: Codes
    weights: Floats | None = None
    groups: Groups | None = None
    label: str = ""
    label_named: bool = True
    told_labels: Literal["stay", "afresh"] = "stay"
    max_label_epsilon: float | None = None


@dataclass
class OpenRun:
    """A run that can be trained, predicted with or forgotten.

    Attributes
    ----------
    folder : RunFolder
        The run's folder.
    settings : RunSettings
        What it is about.
    own : AgentService
        The initiator's own agent.
    holdings : Holdings
        What that agent has: ids, secret.
    table : OwnTable
        The initiator's labels and weights.
    agents : dict of str to Correspondent
        The ways to all agents, the initiator's own first.
    ledger : Ledger
        The initiator's ledger.
    log : EventLog
        The log of the run's events.
    asks_first : bool, default=False
        Whether helpers are asked for consent before the run is opened anywhere: so does a command that waits for it.
    without : tuple of str
        Helpers that are not asked in prediction.
    """

    folder: RunFolder
    settings: RunSettings
    own: AgentService
    holdings: Holdings
    table: OwnTable
    agents: dict[str, Correspondent]
    ledger: Ledger
    log: EventLog = field(default_factory=EventLog)
    asks_first: bool = False
    without: tuple[str, ...] = ()

    @cached_property
    def watch(self) -> VoteWatch:
        """Whether helpers vote for new people as they did in training."""
        return VoteWatch(self.folder, self.settings)

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.settings.run

    @property
    def ledger_path(self) -> Path:
        """Where the initiator's ledger is."""
        return self.ledger.path

    def ids_at(self, rows: Codes) -> Ids:
        """Return the ids of some of the initiator's rows."""
        return Ids(self.holdings.ids.take(rows), f"Agent {self.settings.initiator!r}")

    def reach(self, agent: str, request: Message, expected: type[Message]) -> None:
        """Ask an agent between turns.

        If it cannot be reached, the run goes on without it, where the plan says so and the samples are settled.
        """
        if agent in self.folder.left():
            return
        try:
            self.agents[agent].ask(request, expected)
        except UnreachableError as error:
            if not self.may_leave(agent) or self.folder.samples() is None:
                raise
            self.folder.leave(agent, self.folder.n_turns + 1, str(error))

    def may_leave(self, agent: str) -> bool:
        """Whether the run goes on when this agent cannot be reached."""
        return self.settings.plan.absent == "go on" and agent != self.settings.initiator


def open_run(
    folder: RunFolder,
    holdings: Holdings,
    table: OwnTable,
    transport: Transport,
    log: EventLog | None = None,
    timeout: float = math.inf,
) -> OpenRun:
    """Return an open run, whose helpers are reached by a transport.

    Parameters
    ----------
    folder : RunFolder
        The run's folder.
    holdings : Holdings
        What the initiator's own agent has.
    table : OwnTable
        The initiator's labels.
    transport : Transport
        The way to the helpers.
    log : EventLog, optional
        Where facts go; the folder's own by default.
    timeout : float
        Seconds to wait for an answer of the initiator's own agent.
    """
    settings = folder.settings()
    log = folder.log() if log is None else log
    ledger = Ledger(holdings.home / "ledger.jsonl")
    at_home = replace(holdings, min_effective=0.0, proof=False, privacy=None, allow=None, at_home=True)
    own = AgentService(at_home, ledger=False)
    here = OwnWay(settings.initiator, own.answer, timeout)
    agents = {settings.initiator: Correspondent(settings.initiator, here)}
    agents |= {name: Correspondent(name, transport, ledger, log) for name in settings.helpers}
    return OpenRun(folder, settings, own, holdings, table, agents, ledger, log)
