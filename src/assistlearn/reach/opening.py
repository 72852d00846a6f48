"""Opens, trains and resumes runs, wherever their agents are."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from assistlearn.agent.file import PrivacyRules
from assistlearn.agent.loading import LoadedAgent, from_loaded, load_agent
from assistlearn.errors import (
    AlignmentError,
    AssistLearnError,
    ConsentAwaitedError,
    DiskError,
    RunError,
    SettingsError,
)
from assistlearn.events import Event, EventLog
from assistlearn.initiator import pilots as pilot_run
from assistlearn.initiator import training
from assistlearn.initiator.folder import RunFolder, locked, terms_of
from assistlearn.initiator.opening import forget
from assistlearn.initiator.run import OpenRun, OwnTable, codes_of, open_run, weights_of
from assistlearn.protocol import Transport
from assistlearn.reach import TIMEOUT, reach_named


@contextmanager
def opened_run(
    folder: RunFolder,
    *,
    training: bool,
    alone: bool | None = None,
    log: EventLog | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[tuple[OpenRun, LoadedAgent]]:
    """Yield the open run and the initiator's own agent with its table; close the ways to the others afterwards.

    Parameters
    ----------
    folder : RunFolder
        Where the run lives.
    training : bool
        Whether to train: then the initiator's table must not have changed.
    alone : bool, optional
        Whether no other command may use the folder meanwhile; by default, while training.
    log : EventLog, optional
        Where facts go; the folder's own by default.
    timeout : float
        Seconds to wait for an answer of an agent on this machine, the initiator's own among them.
    """
    settings = folder.settings()
    log = folder.log() if log is None else log
    with (
        locked(folder.path, alone=training if alone is None else alone),
        reach_named(settings.reach).opened(settings, log, timeout) as transport,
    ):
        yield with_own_table(folder, transport, training=training, log=log, timeout=timeout)


def with_own_table(
    folder: RunFolder,
    transport: Transport,
    *,
    training: bool,
    log: EventLog | None = None,
    timeout: float = math.inf,
) -> tuple[OpenRun, LoadedAgent]:
    """Return the open run over a transport, and the initiator's own agent with its table."""
    settings = folder.settings()
    own = load_agent(Path(settings.files[settings.initiator]))
    if training and own.table.fingerprint != settings.fingerprint:
        raise AlignmentError(
            f"The table of {settings.initiator!r} ({own.table.source}) has changed since run {settings.run!r} "
            "began. Bring the old table back to go on, or start a new run."
        )
    rules = own.description.privacy or PrivacyRules()
    table = OwnTable(
        codes_of(own.table, settings.classes),
        weights_of(own.table),
        own.table.groups(),
        label=rules.label_name or own.description.label or "",
        label_named=rules.label_name is not None,
        told_labels=rules.told_labels,
        max_label_epsilon=rules.max_label_epsilon,
    )
    holdings = replace(from_loaded(own), accepts_moved_columns=True)  # about its own table an initiator is only warned
    return open_run(folder, holdings, table, transport, log, timeout), own


def train(
    folder: RunFolder, log: EventLog | None = None, timeout: float = TIMEOUT, asks_first: bool = False
) -> Iterator[Event]:
    """Train from wherever the run was left, yielding what happens; see :func:`follow`.

    With ``asks_first``, helpers' owners are asked for their consent before the run is opened anywhere.
    """
    with opened_run(folder, training=True, log=log, timeout=timeout) as (run, _):
        yield from follow(replace(run, asks_first=asks_first))


def pilot(folder: RunFolder, log: EventLog | None = None, timeout: float = TIMEOUT) -> Iterator[Event]:
    """Make a pilot from wherever it was left, yielding what happens; see :func:`follow`."""
    terms = terms_of(folder.settings())
    if terms is None:
        raise SettingsError(f"{folder.path} is not a pilot, but a run. Go on with it: {resuming(folder)}")
    with opened_run(folder, training=True, log=log, timeout=timeout) as (run, _):
        yield from follow(run, pilot_run.pilot(run, terms))


def follow(run: OpenRun, events: Iterator[Event] | None = None) -> Iterator[Event]:
    """Train, or make a pilot, yielding what happens.

    A run that fails before its samples are settled is removed at every agent, so that it can be started again under the
    same name. One that fails later, or because another machine cannot be reached, is kept, to go on with. The error
    says which.
    """
    folder = run.folder
    try:
        yield from training.train(run) if events is None else events
    except AssistLearnError as error:
        later = reach_named(run.settings.reach).may_come_back and isinstance(error, ConnectionError)
        if folder.samples() is None and not later:
            forget(run)
            folder.remove()
            error.add_note(_nothing_kept(error))
        else:
            error.add_note(_going_on(folder))
        raise
    except OSError as error:  # of a disk: writing to the run folder raises DiskError, to the ledger it does not
        why = f"{error.filename or run.ledger.path} cannot be written: {error.strerror or error}."
        full = DiskError(f"{why} Make room on its disk, or correct its permissions; then go on.")
        full.add_note(_going_on(folder))
        raise full from error


def _nothing_kept(error: AssistLearnError) -> str:
    if isinstance(error, ConsentAwaitedError):
        return "Nothing was trained, and nothing of the run is kept. Give the same command again later for the answer."
    return "Nothing was trained, and nothing of the run is kept. Correct this and start again."


def _going_on(folder: RunFolder) -> str:
    return f"The run is kept in {folder.path}. Correct this, then go on: {resuming(folder)}"


def new_folder(path: Path) -> RunFolder:
    """Return the folder for a new run, in which no run may live yet."""
    made = RunFolder(path)
    if made.exists:
        raise RunError(f"{path} holds a run already. Go on with it ({resuming(made)}), or name another folder.")
    return made


def resuming(folder: RunFolder) -> str:
    """Return the command that goes on with a run."""
    return shlex.join(["assistlearn", _command_of(folder), "--resume", str(folder.path)])


def check_command(folder: RunFolder, command: str) -> None:
    """Refuse to resume a run by a command that is not for runs of its kind."""
    if _command_of(folder) != command:
        raise SettingsError(f"{folder.path} is not a run of 'assistlearn {command}'. Go on with: {resuming(folder)}")


def _command_of(folder: RunFolder) -> str:
    settings = folder.settings()
    return "worth" if terms_of(settings) is not None else reach_named(settings.reach).command
