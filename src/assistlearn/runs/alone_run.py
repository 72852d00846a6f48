"""The initiator alone: the same settings, the same samples and its own columns, without a message to anybody."""

from __future__ import annotations

from dataclasses import replace

from assistlearn.alignment.matching import Rows
from assistlearn.events import EventLog
from assistlearn.protocol import MemoryTransport
from assistlearn.runs.folder import ALONE, RunFolder
from assistlearn.runs.open_run import OpenRun, open_run
from assistlearn.runs.prediction import Prediction, decided, predict
from assistlearn.runs.training import train
from assistlearn.storage import private_folder
from assistlearn.storage.removing import remove_tree


def alone_on(run: OpenRun, rows: Rows) -> Prediction:
    """Return what the initiator alone predicts, trained on the samples of a run.

    It has as many turns as all agents of the run have together. Nothing of this training is kept. An initiator that has
    labels alone predicts the shares of the classes in the run.

    Parameters
    ----------
    run : OpenRun
        The run.
    rows : ndarray of int
        The initiator's rows of the samples to predict.
    """
    if run.settings.label_only:
        return decided(run, rows, {})
    home = run.folder.path / ALONE
    remove_tree(home)  # left by an earlier try
    private_folder(home)
    try:
        single = _single(run)
        for _ in train(single):
            pass
        return predict(single, single.ids_at(rows), rows)
    finally:
        remove_tree(home)


def _single(run: OpenRun) -> OpenRun:
    """Return a run of the initiator's own agent in a folder of its own."""
    settings = run.settings
    plan = replace(settings.plan, n_rounds=settings.plan.n_rounds * len(settings.agents))
    folder = RunFolder(run.folder.path / ALONE)
    folder.write_settings(replace(settings, agents=[settings.initiator], plan=plan), run.folder.permutation())
    holdings = replace(run.holdings, home=folder.path / "models")
    return open_run(folder, holdings, run.table, MemoryTransport({}), EventLog())
