"""One agent's secret key on the curve, applied to long lists by all cores.

A list is cut into pieces by position, not by content: every element is treated alone and under the same key. So the
pieces can go to as many processes as there are cores, and their number and sizes say nothing about the ids.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TypeAlias

import msgspec
import numpy as np

from assistlearn.alignment import curve
from assistlearn.alignment.curve import POINT_BYTES, Done, Piece
from assistlearn.alignment.ids import Ids
from assistlearn.alignment.matching import CodedIds
from assistlearn.errors import AlignmentError, MissingExtraError, SettingsError
from assistlearn.extras import install_line

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many elements of a step are done, and how many there are."""

PIECE = 2_000
"""Elements in a piece: a fifth of a second of work. A list that is not longer is worked on in this process."""


class Cipher:
    """A fresh secret key and the processes that apply it.

    Parameters
    ----------
    n_jobs : int, optional
        How many processes work side by side; by default one for each core that this process may use.

    Examples
    --------
    >>> a, b = Cipher(), Cipher()
    >>> ids = Ids(["p-17", "p-18"])
    >>> bool((a.again(b.points(ids)) == b.again(a.points(ids))).all())
    True
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        if n_jobs is not None and n_jobs < 1:
            raise SettingsError(f"n_jobs must be at least 1, not {n_jobs}.")
        require_library()
        self._key = curve.new_key()
        self._n_jobs = n_jobs or usable_cores()

    def points(self, ids: Ids, progress: Progress | None = None) -> CodedIds:
        """Return each id as a point with the key applied, in their order."""
        texts = ids.texts.to_list()
        pieces = [Piece(self._key, texts[at : at + PIECE], b"") for at in range(0, len(texts), PIECE)]
        return self._run(pieces, len(texts), progress or _say_nothing)

    def again(self, points: CodedIds, progress: Progress | None = None) -> CodedIds:
        """Return these points with the key applied as well, in their order."""
        pieces = [Piece(self._key, [], points[at : at + PIECE].tobytes()) for at in range(0, len(points), PIECE)]
        return self._run(pieces, len(points), progress or _say_nothing)

    def _run(self, pieces: Sequence[Piece], total: int, progress: Progress) -> CodedIds:
        parts: list[bytes] = []
        done = 0
        with _workers(min(self._n_jobs, len(pieces))) as workers:
            for answer in workers(pieces):
                if answer.error:
                    last = min(done + PIECE, total) - 1
                    raise AlignmentError(f"A point between positions {done:,} and {last:,} {answer.error}.")
                parts.append(answer.points)
                done += len(answer.points) // POINT_BYTES
                progress(done, total)
        return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, POINT_BYTES)


def require_library() -> None:
    """Raise an error with the install line where ``openmined.psi`` is missing."""
    try:
        curve.library()
    except ImportError as error:
        raise MissingExtraError(f"Private set intersection needs openmined.psi: {install_line('psi')}") from error


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _say_nothing(done: int, total: int) -> None:
    pass


@contextmanager
def _workers(count: int) -> Iterator[Callable[[Sequence[Piece]], Iterator[Done]]]:
    """Yield a function that works on pieces and returns the results in order; one worker works in this process."""
    if count <= 1:
        yield lambda pieces: map(curve.work, pieces)
        return
    idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    workers: list[_Worker] = []
    threads = ThreadPoolExecutor(count, thread_name_prefix="alignment")

    def give(piece: Piece) -> Done:
        worker = idle.get()
        try:
            return worker.work(piece)
        finally:
            idle.put(worker)

    try:
        for _ in range(count):
            workers.append(_Worker())
            idle.put(workers[-1])
        yield lambda pieces: threads.map(give, pieces)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.kill()
        threads.shutdown(wait=True)  # a thread that waited for an answer has seen its worker end
        for worker in workers:
            worker.close()


class _Worker:
    """A process that runs :mod:`assistlearn.alignment.curve`."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", curve.__file__]  # -P: modules beside that file must not shadow others
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603

    def work(self, piece: Piece) -> Done:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            curve.send(self._process.stdin, piece)
            data = curve.receive(self._process.stdout)
        except (OSError, ValueError):  # its end of the pipe is closed, or ours
            data = None
        if data is None:
            self.kill()
            raise AlignmentError(
                f"A worker process of the alignment ended early (exit code {self._process.wait()}). "
                "Is there enough memory? Fewer processes (n_jobs) need less."
            )
        return msgspec.msgpack.decode(data, type=Done)

    def kill(self) -> None:
        self._process.kill()  # it holds nothing that has to be saved

    def close(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # it ended before it read all its input
                    stream.close()
