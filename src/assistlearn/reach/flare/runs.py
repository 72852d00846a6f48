"""Runs over a network: created from a task's file, trained, and opened again to predict or to forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assistlearn.agent_files import load_description
from assistlearn.errors import SettingsError
from assistlearn.events import Event as Fact
from assistlearn.events import EventLog, JobStarted, TroubleMet
from assistlearn.protocol import Transport
from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.installed import require_flare
from assistlearn.reach.flare.provisioning.kit import load_kit
from assistlearn.reach.flare.site.findings import check_named
from assistlearn.reach.flare.task_file import check_helpers, load_task
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.leader import Leader, Progress
from assistlearn.runs.simulation import check_matching, check_new, follow, leader_of, new_folder, write_run
from assistlearn.session import Event
from assistlearn.tables import LoadedAgent

Tell = Callable[[str], None]
Watch = Callable[[str, int], None]


def create_run(folder: Path, run: str, task_file: Path) -> RunFolder:
    """Check a task and the initiator's kits and table, and write the settings of a new run.

    Parameters
    ----------
    folder : path
        Where the run shall live; no run may live there yet.
    run : str
        Its name.
    task_file : path
        The task.
    """
    require_flare()
    made = new_folder(folder)
    task = load_task(task_file)
    site, admin = load_kit(task.site, "site"), load_kit(task.admin, "admin")
    check_helpers(task_file, task.helpers, site.name)
    if site.network != admin.network:
        raise SettingsError(
            f"{task_file}: the kit {task.site} is of the network {site.network!r}, {task.admin} of {admin.network!r}. "
            "Name two kits of one network."
        )
    agent_file = task.agent or site.agent_file
    initiator = load_description(agent_file)
    check_named(site, initiator)
    if not initiator.is_initiator:
        raise SettingsError(f"{agent_file} names no label column (label = ...): the initiator has the labels.")
    check_new(run, [initiator])
    check_matching(task.options.alignment, [initiator])
    write_run(
        made,
        run,
        initiator,
        task.helpers,
        task.options,
        files={initiator.name: str(agent_file.resolve())},
        kits={"site": str(site.folder), "admin": str(admin.folder)},
        patience_seconds=task.patience,
    )
    return made


@contextmanager
def opened_run(
    folder: RunFolder,
    *,
    training: bool,
    progress: Progress | None = None,
    tell: Tell | None = None,
    watch: Watch | None = None,
) -> Iterator[tuple[Leader, LoadedAgent]]:
    """Yield the run's leader and the initiator's own agent, with lines to the other organisations.

    Parameters
    ----------
    folder : RunFolder
        Where the run lives.
    training : bool
        Whether to train: then the initiator's table must be as it was.
    progress : callable, optional
        Told how far it is with an agent, in alignment and in prediction.
    tell : callable, optional
        Told of trouble, in words.
    watch : callable, optional
        Told, whenever an agent is asked, who it is and how many bytes have gone to and fro by then.
    """
    require_flare()
    settings = folder.settings()
    site, admin = load_kit(Path(settings.kits["site"]), "site"), load_kit(Path(settings.kits["admin"]), "admin")
    log = EventLog()
    if tell is not None:
        log.listen(_teller(tell))
    with FlareTransport(site, admin, settings.agents[1:], settings.patience_seconds, log) as transport:
        watched = transport if watch is None else _Watched(transport, watch)
        yield leader_of(folder, watched, training=training, progress=progress)


def _teller(tell: Tell) -> Callable[[Fact], None]:
    def listener(fact: Fact) -> None:
        if isinstance(fact, JobStarted):
            tell("Starting the job.")
        elif isinstance(fact, TroubleMet):
            tell(fact.words)

    return listener


class _Watched:
    """A transport that tells who is asked, and how many bytes have gone to and fro by then."""

    def __init__(self, transport: Transport, watch: Watch) -> None:
        self._transport = transport
        self._watch = watch
        self._bytes = 0

    def ask(self, agent: str, request: bytes) -> bytes:
        self._bytes += len(request)
        self._watch(agent, self._bytes)
        answer = self._transport.ask(agent, request)
        self._bytes += len(answer)
        return answer


def train(
    folder: RunFolder, progress: Progress | None = None, tell: Tell | None = None, watch: Watch | None = None
) -> Iterator[Event]:
    """Train from wherever the run was left, yielding what happens."""
    with opened_run(folder, training=True, progress=progress, tell=tell, watch=watch) as (leader, _):
        yield from follow(leader)
