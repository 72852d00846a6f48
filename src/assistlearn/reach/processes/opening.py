"""Runs of agents that are all on this machine: opened and trained, every helper in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistlearn.reach.processes.process_transport import ProcessTransport
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.leader import Leader, Progress
from assistlearn.runs.simulation import follow, leader_of
from assistlearn.session import Event
from assistlearn.tables import LoadedAgent


@contextmanager
def opened_run(
    folder: RunFolder, *, training: bool, timeout: float = 3600.0, progress: Progress | None = None
) -> Iterator[tuple[Leader, LoadedAgent]]:
    """Start the helpers' processes and yield the run's leader and the initiator's own agent; stop them afterwards."""
    settings = folder.settings()
    files = {name: Path(file) for name, file in settings.files.items()}
    with ProcessTransport({name: files[name] for name in settings.agents[1:]}, timeout) as transport:
        yield leader_of(folder, transport, training=training, progress=progress)


def train(folder: RunFolder, timeout: float = 3600.0, progress: Progress | None = None) -> Iterator[Event]:
    """Train from wherever the run was left, yielding what happens; see :func:`follow`."""
    with opened_run(folder, training=True, timeout=timeout, progress=progress) as (leader, _):
        yield from follow(leader)
