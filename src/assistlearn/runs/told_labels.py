"""The labels that helpers are told in a run, where the true ones stay with the initiator."""

from __future__ import annotations

import math

import numpy as np

from assistlearn.alignment.matching import Rows
from assistlearn.core.votes import Codes
from assistlearn.events import LabelsTold
from assistlearn.runs.label_ledger import LabelLedger
from assistlearn.runs.open_run import OpenRun


def told_labels(run: OpenRun, rows: Rows) -> Codes | None:
    """Return the class codes that helpers are told; None where they are told the true ones.

    They are drawn once, and kept in the run's folder: a run that goes on after an interruption tells the same.
    """
    plan, table = run.settings.plan, run.table
    ledger = LabelLedger(run.holdings.home, table.label, run.settings.classes)
    if not plan.make_method().keeps_labels:
        if ledger.exists:  # what was kept back so far is told now, and the ledger has to know
            ledger.tell(run.ids_at(rows), table.labels[rows], math.inf, math.inf)
        return None
    told = run.folder.told()
    if told is None:
        drawn = ledger.tell(run.ids_at(rows), table.labels[rows], plan.epsilon, table.max_label_epsilon)
        told = np.asarray(run.folder.permutation())[drawn.codes]
        run.folder.write_told(told)
        run.log.append(LabelsTold(table.label, plan.epsilon, len(rows), drawn.n_drawn, drawn.most_spent))
    return told
