"""The labels that helpers are told in a run, where the true ones stay with the initiator."""

from __future__ import annotations

import math

import numpy as np

from assistlearn.alignment.matching import Rows
from assistlearn.core.groups import at
from assistlearn.core.votes import Codes
from assistlearn.errors import RunError
from assistlearn.events import LabelsTold
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import as_sent_now
from assistlearn.runs.earlier_people import roles_of
from assistlearn.runs.label_ledger import LabelLedger
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.setup import split_of
from assistlearn.service.store import RunStore, run_folder, runs_at

NOT_TOLD = -1
"""In place of the class code of a hold-out sample."""


def told_labels(run: OpenRun, rows: Rows) -> Codes | None:
    """Return the class codes that helpers are told; None where they are told the true ones.

    They are drawn once, and kept in the run's folder: a run that goes on after an interruption tells the same. Labels
    of hold-out samples are not told at all: their codes are -1.
    """
    plan, table = run.settings.plan, run.table
    ledger = LabelLedger(run.holdings.home, table.label, run.settings.classes)
    training, _ = split_of(plan, table.labels[rows], run.folder.holdout_words(), roles_of(run), at(table.groups, rows))
    told_rows = rows if training is None else rows[training]
    if not plan.make_method().keeps_labels:
        if ledger.exists:  # what was kept back so far is told now, and the ledger has to know
            ledger.tell(run.ids_at(told_rows), table.labels[told_rows], math.inf, math.inf)
        return None
    told = run.folder.told()
    if told is None:
        _check_ledger(run, ledger)
        drawn = ledger.tell(run.ids_at(told_rows), table.labels[told_rows], plan.epsilon, table.max_label_epsilon)
        told = np.full(len(rows), NOT_TOLD)
        told[slice(None) if training is None else training] = np.asarray(run.folder.permutation())[drawn.codes]
        run.folder.write_told(told)
        run.log.append(LabelsTold(table.label, plan.epsilon, len(told_rows), drawn.n_drawn, drawn.most_spent))
    return told


def _check_ledger(run: OpenRun, ledger: LabelLedger) -> None:
    """Raise an error if the ledger is missing, but there are still runs that must have written to it."""
    if ledger.exists:
        return
    home = run.holdings.home
    tasks = {name: RunStore(run_folder(home, name)).task() for name in runs_at(home) if name != run.name}
    before = [name for name, task in tasks.items() if task is not None and _kept_labels(task)]
    if before:
        raise RunError(
            f"{ledger.path}, the ledger of what helpers were told about labels, is missing, but there were runs with "
            f"randomised labels: {', '.join(before)}. Restore it from a backup: without it the same labels would be "
            "told anew, which gives away more. If that is what you want, forget these runs first."
        )


def _kept_labels(task: bytes) -> bool:
    begin = as_sent_now(task).message
    return isinstance(begin, m.Begin) and begin.epsilon is not None
