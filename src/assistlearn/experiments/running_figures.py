"""Replications, one after another or side by side, keeping each as soon as it is finished."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import msgspec

from assistlearn.experiments.drawn_samples import remember, settled, whole
from assistlearn.experiments.figures import FigureSettings, Patients, Shared
from assistlearn.experiments.keeping import Shelf
from assistlearn.experiments.replication import Replication, replicate


def run(settings: FigureSettings, out: Path, jobs: int = 1, data: str | None = None) -> Iterator[Replication]:
    """Yield a figure's replications as they are finished; those that are kept from an earlier run come first.

    Parameters
    ----------
    settings : FigureSettings
        The figure's settings, from :func:`prepared`.
    out : Path
        The folder of all results; a figure has a folder of its own inside.
    jobs : int, default=1
        How many replications run side by side, each in a process of its own.
    data : str, optional
        The data folder.
    """
    shelf = Shelf(out / settings.name)
    missing = []
    for number in range(settings.replications):
        kept = shelf.find(settings, number)
        if kept is None:
            missing.append(number)
        else:
            yield kept
    yield from _made(settings, missing, jobs, data, shelf)


def prepared(settings: FigureSettings, data: str | None = None) -> FigureSettings:
    """Return the settings with data that can be read: the demo if the files of MIMIC-III are missing."""
    return msgspec.structs.replace(settings, data=settled(settings.data, data))


def _made(
    settings: FigureSettings, numbers: list[int], jobs: int, data: str | None, shelf: Shelf
) -> Iterator[Replication]:
    if jobs == 1 or len(numbers) < 2:
        for number in numbers:
            yield _kept(settings, number, data, shelf)
        return
    pool = ProcessPoolExecutor(
        min(jobs, len(numbers)),
        mp_context=multiprocessing.get_context("spawn"),  # a forked process would inherit our threads' locks
        initializer=_hand_on(settings, data),
    )
    try:
        waiting: list[Future[Replication]] = [pool.submit(_kept, settings, number, data, shelf) for number in numbers]
        for future in as_completed(waiting):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _kept(settings: FigureSettings, number: int, data: str | None, shelf: Shelf) -> Replication:
    """Run a replication and write it in the same process, so that it is kept even if the main process ends."""
    replication = replicate(settings, number, data)
    shelf.keep(replication)
    return replication


def _hand_on(settings: FigureSettings, data: str | None) -> Callable[[], None] | None:
    """Read the table once, and return a function that gives it to another process; None if there is no table."""
    if not isinstance(settings.data, Shared | Patients):
        return None
    return partial(remember, settings.data, data, whole(settings.data, data))
