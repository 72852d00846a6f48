"""The labels that helpers are told in a run, and what the ledger of told labels knows of that.

The ledger, the key and the runs are tied together. Every run that tells labels keeps the digest of its entry, in its
own folder and in the ledger of messages. Before labels are drawn, all of these must be found in the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn.alignment.matching import Rows
from assistlearn.core.groups import at
from assistlearn.core.votes import Codes
from assistlearn.errors import RefusedError
from assistlearn.events import LabelsTold
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.ledger_of_run import entries_of_type
from assistlearn.runs.earlier_people import roles_of
from assistlearn.runs.folder import LABELS, RunFolder
from assistlearn.runs.label_ledger import Booked, LabelLedger, Witness
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.settings import RunSettings
from assistlearn.runs.setup import split_of
from assistlearn.service.store import RunStore, run_folder, runs_at

NOT_TOLD = -1
"""In place of the class code of a hold-out sample."""

BOOKED = "LabelsBooked"
"""The type of an entry in the ledger of messages: the digest of an entry in the ledger of told labels."""


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
    """Raise an error if the ledger of told labels, its key, and the runs that told labels do not belong together."""
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
    """Keep the digest of an entry where the ledger of told labels is not: in both it must be found again."""
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
