"""A new run: checked before anything is sent, with the labels that helpers will be told."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn.agent.file import AgentDescription, PrivacyRules
from assistlearn.agent.holdings import from_loaded
from assistlearn.agent.loading import load_agent
from assistlearn.agent.store import RunStore, run_folder, runs_at
from assistlearn.alignment.ids import Rows
from assistlearn.alignment.psi import require_library
from assistlearn.core.people import at
from assistlearn.errors import AssistLearnWarning, RefusedError, RunError, SettingsError
from assistlearn.events import LabelsTold
from assistlearn.initiator.continuing import check_can_go_on, roles_of, take_over
from assistlearn.initiator.folder import LABELS, RunFolder, locked
from assistlearn.initiator.keys import own_key, secret_order, secret_words
from assistlearn.initiator.label_ledger import Booked, LabelLedger, Witness
from assistlearn.initiator.run import OpenRun
from assistlearn.initiator.settings import RunSettings
from assistlearn.initiator.setup import classes_of, split_of
from assistlearn.plan import LARGEST_EPSILON, Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.ledger import entries_of_type
from assistlearn.storage import private_folder
from assistlearn.tables.labels import notes_on_labels
from assistlearn.types import Codes

# -- the labels that helpers are told
#
# The label ledger, the key and the runs are tied together. Every run that tells labels keeps the digest of its entry,
# in its own folder and in the ledger of messages. Before labels are drawn, all of these must be in the label ledger.


NOT_TOLD = -1
"""In place of the class code of a hold-out sample."""

BOOKED = "LabelsBooked"
"""The type of an entry in the ledger of messages: the digest of an entry in the label ledger."""


def told_labels(run: OpenRun, rows: Rows) -> Codes | None:
    """Return the class codes that helpers are told; None where they are told the true ones.

    They are drawn once, and kept in the run's folder: a run that goes on after an interruption tells the same. Labels
    of hold-out samples are not told at all: their codes are -1.
    """
    plan, table, folder = run.settings.plan, run.table, run.folder
    ledger = LabelLedger(run.holdings.home, table.label, run.settings.classes, table.label_named)
    training, _ = split_of(plan, table.labels[rows], folder.holdout_words(), roles_of(run), at(table.groups, rows))
    told_rows = rows if training is None else rows[training]
    if not plan.make_method().keeps_labels:
        _tell_truly(run, ledger, told_rows)
        return None
    check_ledger(ledger, folder, run.settings, run.holdings.home)
    told = folder.told()
    if told is None:
        labels, afresh = table.labels[told_rows], table.told_labels == "afresh"
        ids, most = run.ids_at(told_rows), table.max_label_epsilon
        drawn = ledger.tell(run.name, ids, labels, plan.epsilon, most, afresh)
        told = np.full(len(rows), NOT_TOLD)
        told[slice(None) if training is None else training] = np.asarray(folder.permutation())[drawn.codes]
        _note(run, drawn.booked)
        folder.write_told(told)
        counts = len(told_rows), drawn.n_drawn, drawn.n_changed, drawn.n_true
        run.log.append(LabelsTold(table.label, plan.epsilon, *counts, drawn.most_spent))
    return told


def check_ledger(ledger: LabelLedger, folder: RunFolder, settings: RunSettings, home: Path) -> None:
    """Raise an error if the label ledger, its key, and the runs that told labels do not belong together."""
    ledger.check(_witnesses(folder, settings, home))


def _tell_truly(run: OpenRun, ledger: LabelLedger, rows: Rows) -> None:
    """Book that helpers are told the true labels, once for each run."""
    if run.table.max_label_epsilon is not None:
        raise RefusedError(
            f"Helpers may be told labels at epsilon {run.table.max_label_epsilon:g} at most (privacy.max_label_epsilon "
            f"in the agent file), but method {run.settings.plan.method!r} tells the true labels. Nothing was told."
        )
    noted = run.folder.labels()
    if noted is None or not ledger.has(_booked(noted)):
        _note(run, ledger.tell_truly(run.name, run.ids_at(rows)))


def _note(run: OpenRun, booked: Booked) -> None:
    """Keep the digest of an entry where the label ledger is not: in both it must be found again."""
    settings = run.settings
    run.ledger.record("noted", settings.initiator, settings.run, BOOKED, booked.hash.encode())
    run.folder.write_labels(asdict(booked) | {"run": settings.run} | _owner(settings))


def _owner(settings: RunSettings) -> dict[str, Any]:
    """Return by what one recognises another run of the same initiator, if its folder of models is another."""
    file = settings.files.get(settings.initiator, "")
    return {"initiator": settings.initiator, "file": str(file), "fingerprint": settings.fingerprint}


def _booked(noted: dict[str, Any]) -> Booked:
    return Booked(noted["number"], noted["hash"])


def _witnesses(folder: RunFolder, settings: RunSettings, home: Path) -> Iterator[Witness]:
    """Yield what shows that labels were told: the folders of this run and of those beside it, and folders of models.

    The initiator may have had another folder of models: it is looked for beside this one, and beside the agent's file.
    """
    own = _owner(settings)
    for path in sorted({*folder.path.resolve().parent.glob(f"*/{LABELS}"), folder.path.resolve() / LABELS}):
        noted = RunFolder(path.parent).labels()
        if (
            noted is not None
            and noted["initiator"] == own["initiator"]
            and any(noted[fact] == own[fact] != "" for fact in ("file", "fingerprint"))
        ):
            yield Witness(str(path), noted["run"], _booked(noted))
    homes = {home.resolve(), *home.resolve().parent.glob("*/")}
    homes |= set(Path(own["file"]).resolve().parent.glob("*/")) if own["file"] else set()
    for path in sorted(each / "ledger.jsonl" for each in homes):
        for entry in entries_of_type(path, BOOKED):
            if entry.peer == settings.initiator:
                yield Witness(f"entry {entry.number} of {path}", entry.run, digest=entry.digest)
    for name in runs_at(home):
        store = RunStore(run_folder(home, name))
        begin = _begin(store.task())
        # An initiator's own agent is told all labels, also those that it keeps from helpers.
        if begin is not None and begin.epsilon == math.inf and begin.run != settings.run:
            yield Witness(str(store.folder), begin.run)


def _begin(task: bytes | None) -> m.Begin | None:
    begin = None if task is None else decode(task)
    return begin if isinstance(begin, m.Begin) else None


# -- a new run


def write_run(
    folder: RunFolder,
    run: str,
    initiator: AgentDescription,
    helpers: Sequence[str],
    plan: Plan,
    *,
    reach: str,
    files: dict[str, str],
    goes_on: RunFolder | None = None,
    **places: Any,
) -> None:
    """Write the settings of a new run, and the secret order of its classes, once nothing speaks against the run.

    ``reach`` says how the agents are reached, ``files`` has those agents' files that are on this machine, and
    ``places`` are further facts for the settings. A run that ``goes_on`` from a finished one copies what it needs.
    """
    plan.check_for_runs()
    _check_labels(initiator, plan)
    loaded = load_agent(initiator)
    table, classes = loaded.table, classes_of(loaded.table)
    assert table.labels is not None
    for note in notes_on_labels(table.labels, table.features):
        warnings.warn(f"{table.source}: {note}", AssistLearnWarning, stacklevel=2)
    if goes_on is not None:
        classes = check_can_go_on(goes_on, initiator.name, classes, plan).classes
    settings = RunSettings(
        run=run,
        initiator=initiator.name,
        agents=[initiator.name, *helpers],
        classes=classes,
        fingerprint=table.fingerprint,
        files=files,
        plan=plan,
        reach=reach,
        places=places,
        label_only=initiator.is_label_only,
    )
    rules = initiator.privacy or PrivacyRules()
    if plan.make_method().keeps_labels:
        ledger = LabelLedger(initiator.models, rules.label_name or initiator.label or "", classes)
        check_ledger(ledger, folder, settings, initiator.models)
    # Where labels stay with the initiator, not even the order of their codes may follow from them.
    known_by = "" if plan.make_method().keeps_labels else table.fingerprint
    key = own_key(initiator.models)
    order, words = secret_order(key, known_by, plan.seed, len(classes)), secret_words(key, known_by, plan.seed)
    order = order if goes_on is None else goes_on.permutation()  # the order in which kept models answer
    private_folder(folder.path)
    with locked(folder.path, alone=True):
        if folder.exists:  # another command has begun one in the meantime
            raise RunError(f"{folder.path} holds a run already. Name another folder (--out).")
        if goes_on is not None:
            take_over(folder, goes_on, initiator.models, from_loaded(loaded).ids)
        folder.write_settings(settings, order, words)


def _check_labels(initiator: AgentDescription, plan: Plan) -> None:
    """Refuse a run that would tell helpers more about the labels than the initiator's own file lets it."""
    keeps = plan.make_method().keeps_labels
    if keeps and math.isinf(plan.epsilon):
        raise SettingsError(
            f"An infinite epsilon would tell helpers the true labels, which method {plan.method!r} is to keep. Set "
            f'epsilon to {LARGEST_EPSILON:g} or less, or use the method "soft".'
        )
    most = None if initiator.privacy is None else initiator.privacy.max_label_epsilon
    if most is None:
        return
    where = initiator.places("privacy", "max_label_epsilon")
    if not keeps:
        raise SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but method {plan.method!r} tells them "
            'the true labels. Use the method "label-private", or remove the key.'
        )
    if plan.epsilon > most:
        raise SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but the run asks for {plan.epsilon:g}. "
            "Ask for a smaller epsilon, or set max_label_epsilon in the agent file to a larger number."
        )


def check_new(run: str, descriptions: Sequence[AgentDescription]) -> None:
    """Refuse the name of a run that one of the agents has already."""
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
