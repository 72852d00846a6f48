"""A run of separate agents on this machine: their files in, a led run out."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assistlearn.agent_files import AgentDescription, load_description
from assistlearn.alignment import Ids, normalise
from assistlearn.alignment.cipher import require_library
from assistlearn.errors import AssistLearnError, RunError, SettingsError, TableChangedError
from assistlearn.protocol import Transport
from assistlearn.runs.class_order import own_key, secret_order
from assistlearn.runs.folder import RunFolder, RunSettings
from assistlearn.runs.leader import Leader, Progress
from assistlearn.service.holdings_of_file import from_loaded
from assistlearn.service.service import AgentService
from assistlearn.service.store import RunStore, run_folder
from assistlearn.session import Event
from assistlearn.tables import LoadedAgent, Table, load_agent


@dataclass(frozen=True)
class Options:
    """How to train; as for ``AssistedClassifier`` and :class:`~assistlearn.runs.folder.RunSettings`."""

    method: str = "ascii"
    order: str = "chain"
    n_rounds: int = 20
    weak_agent: str = "skip"
    holdout: float | None = None
    patience: int = 3
    seed: int = 0
    alignment: str = "hash"
    overlap: str = "abstain"
    purpose: str = ""
    reward: str = "in-sample"
    cv: int = 5
    loss: str = "logistic"
    shrinkage: float = 0.5
    score_bits: int = 8
    absent: str = "stop"


def create_run(folder: Path, run: str, files: Sequence[Path], options: Options) -> RunFolder:
    """Check the agents' files and write the settings of a new run.

    Parameters
    ----------
    folder : path
        Where the run shall live; no run may live there yet.
    run : str
        Its name.
    files : sequence of path
        The agents' files; one of them, the initiator's, names a label column.
    options : Options
        How to train.
    """
    made = new_folder(folder)
    descriptions = [load_description(file) for file in files]
    _check_apart(descriptions)
    initiator = _initiator(descriptions)
    helpers = [d.name for d in descriptions if d.name != initiator.name]
    check_new(run, descriptions)
    check_matching(options.alignment, descriptions)
    files_of = {d.name: str(Path(d.file).resolve()) for d in descriptions}
    write_run(made, run, initiator, helpers, options, files=files_of)
    return made


def new_folder(path: Path) -> RunFolder:
    """Return the folder for a new run, in which no run may live yet."""
    made = RunFolder(path)
    if made.exists:
        raise RunError(f"{path} holds a run already. Go on with it ({resuming(made)}), or name another folder.")
    return made


def write_run(
    folder: RunFolder,
    run: str,
    initiator: AgentDescription,
    helpers: Sequence[str],
    options: Options,
    **places: Any,
) -> None:
    """Write the settings of a new run, and the secret order of its classes.

    Parameters
    ----------
    folder : RunFolder
        Where.
    run : str
        Its name.
    initiator : AgentDescription
        Whose labels they are.
    helpers : sequence of str
        The other agents.
    options : Options
        How to train.
    **places
        Where the agents are: ``files``, ``kits`` and ``patience_seconds`` of ``RunSettings``.
    """
    table = load_agent(initiator).table
    classes = classes_of(table, initiator)
    permutation = secret_order(own_key(initiator.models), table.fingerprint, options.seed, len(classes))
    settings = RunSettings(
        **asdict(options),
        **places,
        run=run,
        initiator=initiator.name,
        agents=[initiator.name, *helpers],
        classes=classes,
        fingerprint=table.fingerprint,
    )
    folder.write_settings(settings, permutation)


def leader_of(
    folder: RunFolder, transport: Transport, *, training: bool, progress: Progress | None = None
) -> tuple[Leader, LoadedAgent]:
    """Return the leader of a run over a transport, and the initiator's own agent with its table."""
    settings = folder.settings()
    own = load_agent(Path(settings.files[settings.initiator]))
    if training and own.table.fingerprint != settings.fingerprint:
        raise TableChangedError(
            f"The table of {settings.initiator!r} ({own.table.source}) has changed since run {settings.run!r} "
            "began. Bring the old table back to go on, or start a new run."
        )
    holdings = from_loaded(own)
    leader = Leader(
        folder,
        AgentService(holdings, ledger=False),
        transport,
        holdings.ids,
        codes_of(own.table, settings.classes),
        holdings.home,
        holdings.secret,
        progress=progress,
    )
    return leader, own


def follow(leader: Leader) -> Iterator[Event]:
    """Train, yielding what happens.

    A run that fails before its samples are settled is removed at every agent, so that it can be started again under the
    same name. One that fails later, or because another machine cannot be reached, is kept, to go on with. The error
    says which.
    """
    folder = leader.folder
    try:
        yield from leader.train()
    except AssistLearnError as error:
        unreachable = bool(folder.settings().kits) and isinstance(error, ConnectionError)
        if folder.samples() is None and not unreachable:
            leader.forget()
            folder.remove()
            error.add_note("Nothing was trained, and nothing of the run is kept: put this right and start again.")
        else:
            error.add_note(f"The run is kept in {folder.path}. Put this right, then go on: {resuming(folder)}")
        raise


def resuming(folder: RunFolder) -> str:
    """Return the command that goes on with a run."""
    verb = "train" if folder.settings().kits else "simulate"
    return shlex.join(["assistlearn", verb, "--resume", str(folder.path)])


def classes_of(table: Table, initiator: AgentDescription) -> list[Any]:
    """Return the classes in the order of their values."""
    assert table.labels is not None
    classes: list[Any] = table.labels.drop_nulls().unique().sort().to_list()
    if len(classes) < 2:
        raise SettingsError(
            f"{table.source}: column {initiator.label!r} has {len(classes)} class ({classes}); two are needed."
        )
    return classes


def codes_of(table: Table, classes: Sequence[Any]) -> NDArray[Any]:
    """Return each row's position among the classes; -1 without a label or with one that is not among them."""
    if table.labels is None:
        return np.full(len(table), -1)
    place = {label: position for position, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in table.labels.to_list()], dtype=np.int64)


def rows_of(ids: Ids, table_ids: pl.Series) -> NDArray[Any]:
    """Return the row of each id in a table, or -1 where it has none."""
    table = pl.DataFrame({"id": normalise(table_ids), "row": np.arange(len(table_ids))})
    asked = pl.DataFrame({"id": ids.take(np.arange(len(ids)))})
    found = asked.join(table, on="id", how="left", maintain_order="left")["row"]
    return found.fill_null(-1).to_numpy().astype(np.int64)


def _initiator(descriptions: Sequence[AgentDescription]) -> AgentDescription:
    found = [d for d in descriptions if d.is_initiator]
    if len(found) != 1:
        files = " and ".join(str(d.file) for d in found)
        raise SettingsError(
            "Exactly one agent, the initiator, has the labels: its file names a label column (label = ...). "
            + (f"Here {files} do. Remove the line from the helpers' files." if found else "Here none does.")
        )
    return found[0]


def _check_apart(descriptions: Sequence[AgentDescription]) -> None:
    """Refuse two files of one agent, and two agents in one folder, where they would mix up their models."""
    names: dict[str, AgentDescription] = {}
    homes: dict[Path, AgentDescription] = {}
    for this in descriptions:
        other = names.setdefault(this.name, this)
        if other is not this:
            raise SettingsError(f"{other.file} and {this.file} both describe an agent {this.name!r}. Name each once.")
        other = homes.setdefault(this.models.resolve(), this)
        if other is not this:
            raise SettingsError(
                f"{other.file} and {this.file} both keep their models in {this.models}. Give each agent a folder of "
                "its own (models = ...)."
            )


def check_new(run: str, descriptions: Sequence[AgentDescription]) -> None:
    """Refuse a name that an agent has a run of already."""
    for description in descriptions:
        if RunStore(run_folder(description.models, run)).exists:
            raise RunError(
                f"Agent {description.name!r} has a run {run!r} already. Choose another name (--run NAME), or let the "
                f"agent forget it: {shlex.join(['assistlearn', 'forget', run, '--agent', str(description.file)])}"
            )


def check_matching(alignment: str, descriptions: Sequence[AgentDescription]) -> None:
    """Refuse a way to match samples that cannot work here, before anything is sent."""
    if alignment == "psi":
        require_library()
        return
    for description in descriptions:
        if description.secret is None:
            raise SettingsError(
                f"{description.file}: agent {description.name!r} has no secret for matching ids by keyed hashes. Name "
                "one (secret = ...), the same for all agents, or match by private set intersection (--align "
                'psi; in a task: alignment = "psi").'
            )
