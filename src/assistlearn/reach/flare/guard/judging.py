"""Whether a message is accepted: who sends it, over which connection, and whether it is on the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from nvflare.fuel.f3.cellnet.defs import MessageType

from assistlearn.reach.flare.guard.cell_names import RELAY, CellName
from assistlearn.reach.flare.guard.envelope import Envelope, is_answer
from assistlearn.reach.flare.guard.lists import CALL, METHODS, TAKEN, Sender
from assistlearn.reach.flare.guard.processes import Process
from assistlearn.reach.flare.site import sealing

Side: TypeAlias = Literal["inside", "outside"]
"""Where a message came from: a process of the same user on this machine, or the network."""

TAKE = ""
"""The verdict on a message that is accepted; every other verdict says why it is not."""


@dataclass(frozen=True)
class Judge:
    """Judges the messages that reach one cell.

    Attributes
    ----------
    process : {"site", "job", "relay", "relay-job"}
        What kind of process the cell is in.
    me : CellName
        The cell's own name.
    """

    process: Process
    me: CellName

    def verdict(self, envelope: Envelope, neighbour: CellName | None, side: Side, certified: str) -> str:
        """Return :data:`TAKE`, or why a message is refused.

        Parameters
        ----------
        envelope : Envelope
            The headers of the message.
        neighbour : CellName or None
            The cell at the other end of the connection it came over, as it said when it connected.
        side : {"inside", "outside"}
            Where it came from.
        certified : str
            The name in the certificate that was shown for the connection; empty inside.
        """
        if envelope.forbidden:
            return f"nobody may send the header {envelope.forbidden}"
        if envelope.origin is None or envelope.destination is None or neighbour is None:
            return "its sender or its receiver has a name that no site can have"
        if envelope.kind != MessageType.REQ and not is_answer(envelope):
            return "it is neither a request nor an answer"
        if wrong := self._impostor(envelope.origin, neighbour, side, certified):
            return wrong
        return self._listed(envelope, envelope.origin, envelope.destination, side)

    def _impostor(self, origin: CellName, neighbour: CellName, side: Side, certified: str) -> str:
        """Return why a message cannot come from the sender that it names; empty where it can."""
        if self.process == "relay":
            return self._impostor_at_relay(origin, neighbour, side, certified)
        if side == "inside":
            mine = neighbour.site == self.me.site and (self.process != "site") == (neighbour.job == "")
            known = origin == neighbour or (self.process != "site" and origin.site != self.me.site)
            return TAKE if mine and known else "it came from this machine under a name that is not its own"
        if neighbour != (RELAY, ""):
            return "it came from somebody who is not the relay"
        return "it came over the relay in this site's own name" if origin.site == self.me.site else TAKE

    def _impostor_at_relay(self, origin: CellName, neighbour: CellName, side: Side, certified: str) -> str:
        if side == "inside":
            known = neighbour.site == RELAY and neighbour.job != "" and origin == neighbour
            return TAKE if known else "it came from this machine under a name that is not its own"
        if neighbour.is_admin != ("@" in certified) or not (neighbour.is_admin or neighbour.site == certified):
            return f"its connection was opened with the certificate of {certified!r}"
        return TAKE if origin.site == neighbour.site else f"it came from {neighbour.site!r} in another's name"

    def _listed(self, envelope: Envelope, origin: CellName, destination: CellName, side: Side) -> str:
        """Return why a message is not on the list; empty where it is."""
        if destination == self.me:
            if is_answer(envelope):
                return TAKE  # installing.py checks whether the cell waits for it
            return self._on_list(self.process, _relation(origin, self.me, side), envelope)
        if side == "inside":
            return TAKE  # our own processes may write to others
        return self._passed_on(envelope, origin, destination)

    def _passed_on(self, envelope: Envelope, origin: CellName, destination: CellName) -> str:
        """Return why a message for another cell is not passed on; empty where it is."""
        if self.process == "site":
            process: Process = "job"
            near = destination.site == self.me.site
        else:
            process = "relay-job" if destination.site == RELAY else "job"
            near = self.process == "relay" and destination.site != origin.site
        if not near or not destination.job:
            return "it is for a process that accepts no messages from this sender"
        if is_answer(envelope):
            return TAKE if origin.job in ("", destination.job) else "it is for another job"
        return self._on_list(process, _relation(origin, destination, "outside"), envelope)

    def _on_list(self, process: Process, sender: Sender | None, envelope: Envelope) -> str:
        if process == "relay-job" and sender in ("relay", "own site"):
            return TAKE
        if process == "relay" and sender == "own job":
            return TAKE
        key = (process, sender, envelope.form, envelope.channel, envelope.topic)
        if key not in TAKEN:
            return "this process does not accept such a message from this sender"
        if (envelope.channel, envelope.topic) == CALL and envelope.method not in METHODS[str(sender)]:
            return "there is no such method for others to call"
        if (
            sender == "job"
            and process == "job"
            and envelope.form == "stream"
            and sealing.SECURE
            and not envelope.sealed
        ):
            return "it was not encrypted from site to site"
        return TAKE


def _relation(origin: CellName, to: CellName, side: Side) -> Sender | None:
    """Return who the sender is from the receiver's view; None where the two have nothing to do with each other."""
    if origin.site == to.site:
        inside: Sender = "own job" if origin.job else "own site"
        return inside if side == "inside" else None
    if origin.is_admin:
        return "admin"
    if origin.job and to.job and origin.job != to.job:
        return None
    if origin.site == RELAY:
        return "relay-job" if origin.job else "relay"
    return "job" if origin.job else "site"
