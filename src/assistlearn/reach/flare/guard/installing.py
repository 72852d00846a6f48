"""Installs the guard in front of FLARE's own code. This must happen before the first cell exists."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from nvflare.fuel.f3 import communicator
from nvflare.fuel.f3.cellnet import cell as streaming_cell
from nvflare.fuel.f3.cellnet import core_cell
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.comm_config import CommConfigurator
from nvflare.fuel.f3.drivers.driver_params import DriverParams
from nvflare.fuel.f3.message import Message
from nvflare.private.admin_defs import error_reply
from nvflare.private.defs import new_cell_message
from nvflare.private.fed.client.admin import FedAdminAgent

from assistlearn.errors import NetworkError
from assistlearn.protocol.ledger import Ledger
from assistlearn.reach.flare.guard import decoding, envelope, job_requests
from assistlearn.reach.flare.guard.cell_names import CellName, parsed, plain
from assistlearn.reach.flare.guard.judging import TAKE, Judge, Side
from assistlearn.reach.flare.guard.launching import launch_behind_guard
from assistlearn.reach.flare.guard.processes import Process
from assistlearn.reach.flare.guard.refusals import Refusals
from assistlearn.reach.flare.guard.unix_driver import FOLDER, SCHEME, UnixDriver
from assistlearn.reach.flare.site.environment import AGENT_FILE
from assistlearn.reach.flare.site.revocation import install_revocation
from assistlearn.reach.flare.site.sealing import seal

LARGEST_STREAM = 1 << 26
"""Bytes of one stream at the most; ours are pieces of two million."""

logger = logging.getLogger("assistlearn.reach.flare.guard")


def install(process: Process, kit: Path) -> None:
    """Guard this process.

    Parameters
    ----------
    process : {"site", "job", "relay", "relay-job"}
        What kind of process it is.
    kit : path
        The folder of the kit it belongs to.
    """
    refusals = Refusals(_Book() if AGENT_FILE in os.environ else None)
    refusals.start()
    seal()
    install_revocation()
    decoding.restrict()
    _guard_cells(process, refusals)
    _guard_decoding(refusals)
    _guard_requests(refusals)
    _talk_over_socket(kit)
    if process in ("site", "relay"):
        launch_behind_guard("job" if process == "site" else "relay-job")


class _Book:
    """Writes refusals into the ledger of this organisation's agent."""

    def __init__(self) -> None:
        self._ledgers: dict[Path, Ledger] = {}

    def __call__(self, peer: str, what: str, content: bytes) -> None:
        from assistlearn.agent.file import load_description  # slow to import, and mostly not needed

        path = load_description(Path(os.environ[AGENT_FILE])).models / "ledger.jsonl"
        if path not in self._ledgers:
            self._ledgers[path] = Ledger(path)
        self._ledgers[path].record("refused", peer, "", what, content)


def _guard_cells(process: Process, refusals: Refusals) -> None:
    """Look at every message that reaches a cell, before anything else does."""
    take = core_cell.CoreCell._process_received_msg

    @wraps(take)
    def guarded(cell: Any, endpoint: Any, connection: Any, message: Message) -> Any:
        written = envelope.read(message.headers or {})
        if endpoint.name == cell.my_info.fqcn:
            return take(cell, endpoint, connection, message)  # a cell that writes to itself
        me = parsed(cell.my_info.fqcn)
        if me is None:
            raise NetworkError(f"{plain(cell.my_info.fqcn)!r} is not a name for a process of this network.")
        why = Judge(process, me).verdict(written, parsed(endpoint.name), *_way(connection))
        if why != TAKE:
            refusals.note(_peer(message), written.what, why, message.payload or b"")
            return None
        if envelope.is_answer(written) and written.destination == me and not _awaited(cell, message):
            logger.debug("An answer without a request came from %s, and was dropped.", _peer(message))
            return None
        return take(cell, endpoint, connection, message)

    core_cell.CoreCell._process_received_msg = guarded


def _way(connection: Any) -> tuple[Side, str]:
    """Return where a connection comes from, and the name in the certificate that was shown for it."""
    if isinstance(connection.connector.driver, UnixDriver):
        return "inside", ""
    return "outside", str(connection.get_conn_properties().get(DriverParams.PEER_CN.value) or "")


def _peer(message: Message) -> str:
    return plain((message.headers or {}).get(MessageHeaderKey.ORIGIN) or "nobody")


def _awaited(cell: Any, message: Message) -> bool:
    """Return whether a cell still waits for this answer, which may have come too late."""
    numbers = message.get_header(MessageHeaderKey.REQ_ID)
    numbers = [numbers] if isinstance(numbers, str) else numbers
    return isinstance(numbers, list) and any(isinstance(one, str) and one in cell.waiters for one in numbers)


def _guard_decoding(refusals: Refusals) -> None:
    """Note every content that is refused for what it holds."""

    def noting(decode: Callable[..., None]) -> Callable[..., None]:
        @wraps(decode)
        def decoded(message: Message, *arguments: Any, **options: Any) -> None:
            try:
                decode(message, *arguments, **options)
            except decoding.ForbiddenContentError as error:
                written = envelope.read(message.headers or {})
                content = message.payload if isinstance(message.payload, bytes) else b""
                refusals.note(_peer(message), written.what, str(error).rstrip("."), content)
                raise

        return decoded

    for module in (core_cell, streaming_cell):
        module.decode_payload = noting(module.decode_payload)


def _guard_requests(refusals: Refusals) -> None:
    """Check what the relay asks of a site's parent process: only the content says which request it is."""
    answer = FedAdminAgent._dispatch_request

    @wraps(answer)
    def answered(agent: Any, request: Message) -> Any:
        content = request.payload
        sender = parsed(request.get_header(MessageHeaderKey.ORIGIN) or "") or CellName("")
        running = agent.app_ctx.get_all_job_ids()
        why = job_requests.refused(content, sender, agent.cell.core_cell.my_info.fqcn, len(running))
        if not why:
            return answer(agent, request)
        body = content.body if isinstance(content.body, bytes) else b""
        refusals.note(_peer(request), f"FLARE admin/{plain(content.topic)}", why, body)
        return new_cell_message({}, error_reply(f"refused: {why}"))

    FedAdminAgent._dispatch_request = answered


def _talk_over_socket(kit: Path) -> None:
    """Make a parent and its jobs talk over a socket of this user, and forbid FLARE's ad-hoc connections."""
    communicator.driver_mgr.register(UnixDriver)
    start = CommConfigurator.__init__

    @wraps(start)
    def configured(configurator: Any) -> None:
        start(configurator)
        configurator.config = (configurator.config or {}) | {
            "internal": {"scheme": SCHEME, "resources": {FOLDER: str(kit / "sockets")}},
            "allow_adhoc_conns": False,
            "streaming_max_blob_size": LARGEST_STREAM,
        }

    CommConfigurator.__init__ = configured
