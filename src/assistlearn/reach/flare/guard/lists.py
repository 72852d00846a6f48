"""Which topics each kind of process accepts, and from whom. What is not on the list is refused.

A row says that *this process* accepts from *this sender*, as a plain message or as a stream, *this topic* of *this
channel*. The relay and a site's parent process also pass messages on: only those that the receiver's rows accept.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from nvflare.collab.runtime.defs import MSG_CHANNEL, MSG_TOPIC
from nvflare.fuel.f3.cellnet.core_cell import _SM_CHANNEL, _SM_TOPIC
from nvflare.fuel.f3.cellnet.defs import CellChannel, CellChannelTopic

from assistlearn.reach.flare.guard.processes import Process

Sender: TypeAlias = Literal["relay", "relay-job", "site", "job", "admin", "own site", "own job"]
"""Who sends a message: the relay, the relay's process in this job, another site, that site's process in this job, or an
admin's session. On this machine: the parent process of the site or the relay, or one of its own jobs."""

Form: TypeAlias = Literal["plain", "stream"]
"""How a message comes: as one, or in pieces."""


class Row(NamedTuple):
    """One kind of message that a process accepts.

    Attributes
    ----------
    process : str
        Which kind of process accepts it.
    sender : str
        From whom.
    form : {"plain", "stream"}
        How it comes.
    channel, topic : str
        What FLARE calls it.
    """

    process: Process
    sender: Sender
    form: Form
    channel: str
    topic: str


STREAM, DATA, ACK, ERROR = "sm__STREAM", "sm__DATA", "sm__ACK", "sm__ERROR"
ADMIN, TASK, COMMAND = CellChannel.CLIENT_MAIN, CellChannel.SERVER_MAIN, CellChannel.SERVER_COMMAND
AUX, BACK, HCI = CellChannel.AUX_COMMUNICATION, CellChannel.RETURN_ONLY, CellChannel.HCI
BYE = (CellChannel.CELLNET, CellChannelTopic.Bye)
CALL = (MSG_CHANNEL, MSG_TOPIC)
CALLED = (BACK, f"{MSG_CHANNEL}:{MSG_TOPIC}")

_SITE = [
    Row("site", "relay", "plain", ADMIN, "admin"),  # its content is looked at, too: job_requests.py
    Row("site", "relay", "plain", *BYE),
    Row("site", "own job", "plain", ADMIN, "train.notify_job_status"),
    Row("site", "own job", "plain", *BYE),
]
_JOB = [
    Row("job", "own site", "plain", CellChannel.CLIENT_COMMAND, "abort"),
    Row("job", "own site", "plain", *BYE),
    Row("job", "relay", "plain", *BYE),
    Row("job", "relay-job", "plain", STREAM, ACK),
    Row("job", "relay-job", "plain", STREAM, ERROR),
    Row("job", "relay-job", "stream", *CALL),
    Row("job", "relay-job", "stream", AUX, "__end_run__"),
    Row("job", "relay-job", "stream", BACK, f"{AUX}:__sync_runner__"),
    Row("job", "relay-job", "stream", BACK, f"{AUX}:__task_check__"),
    Row("job", "relay-job", "stream", BACK, f"{AUX}:__job_heartbeat__"),
    Row("job", "relay-job", "stream", BACK, f"{COMMAND}:get_task"),
    Row("job", "relay-job", "stream", BACK, f"{COMMAND}:submit_update"),
    Row("job", "relay", "plain", STREAM, ERROR),
    Row("job", "site", "plain", STREAM, ERROR),
    Row("job", "job", "plain", STREAM, ACK),
    Row("job", "job", "plain", STREAM, ERROR),
    Row("job", "job", "plain", _SM_CHANNEL, _SM_TOPIC),
    Row("job", "job", "stream", *CALL),
    Row("job", "job", "stream", *CALLED),
]
_RELAY = [
    *(Row("relay", "site", "plain", TASK, topic) for topic in ("challenge", "register", "quit", "heart_beat")),
    Row("relay", "site", "plain", TASK, "report_job_failure"),
    Row("relay", "site", "plain", *BYE),
    Row("relay", "job", "plain", *BYE),
    *(Row("relay", "admin", "plain", TASK, topic) for topic in ("challenge", "register", "quit")),
    Row("relay", "admin", "plain", *BYE),
    Row("relay", "admin", "plain", STREAM, ACK),
    Row("relay", "admin", "plain", STREAM, ERROR),
    Row("relay", "admin", "stream", HCI, "command"),
    Row("relay", "admin", "stream", AUX, "ObjectStreamer.Request"),
    Row("relay", "admin", "stream", AUX, "ObjectStreamer.Abort"),
]
_RELAY_JOB = [
    *(Row("relay-job", "job", "stream", AUX, topic) for topic in ("__sync_runner__", "__task_check__")),
    Row("relay-job", "job", "stream", AUX, "__job_heartbeat__"),
    Row("relay-job", "job", "stream", COMMAND, "get_task"),
    Row("relay-job", "job", "stream", COMMAND, "submit_update"),
    Row("relay-job", "job", "stream", *CALLED),
    Row("relay-job", "job", "plain", STREAM, ACK),
    Row("relay-job", "job", "plain", STREAM, ERROR),
    Row("relay-job", "site", "plain", STREAM, ERROR),
]

TAKEN: frozenset[tuple[str, ...]] = frozenset((*_SITE, *_JOB, *_RELAY, *_RELAY_JOB))
"""All rows. Messages between the relay's own processes are not listed: they are always accepted."""

METHODS: dict[str, frozenset[str]] = {
    "relay-job": frozenset({"lead", "leads"}),
    "job": frozenset({"ask", "bring", "fetch"}),
}
"""Which methods of our part of a job each sender may call."""

REQUESTS = ("scheduler.check_resource", "scheduler.cancel_resource", "train.deploy", "train.start_job", "train.abort")
"""What the relay may ask of a site's parent: whether it can take a job, to take it, to start it, to end it."""
