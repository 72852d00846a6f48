"""Private set intersection: no agent learns an id that only the other one holds.

Both agents turn ids into points of an elliptic curve and apply a secret key of their own, made for this one alignment.
The keys commute: an id has the same point under both keys, in either order. So points under both keys can be compared,
although no agent ever has the other's key:

1. The initiator sends its ids under its key ``a``, sorted by their bytes, which hides their order.
2. The helper applies its key ``b`` to them, and sends them back beside its own ids under ``b``, sorted likewise.
3. The initiator applies ``a`` to the helper's points. It now has both lists under both keys, and sees the equal ones.
4. It sends the helper, for each sample of the run, the position of its point in the helper's own sorted list, or -1.
   The helper maps positions to rows.
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
from numpy.typing import NDArray

from assistlearn.alignment import curve
from assistlearn.alignment.curve import POINT_BYTES, Done, Piece
from assistlearn.alignment.ids import CodedIds, Ids, Rows, codes_from, positions, refuse_repeated
from assistlearn.alignment.roles import (
    MAX_IDS,
    AlignmentMessage,
    Helper,
    Initiator,
    Minimum,
    PsiAnswer,
    PsiRequest,
    decode,
)
from assistlearn.errors import AlignmentError, MissingExtraError, SettingsError
from assistlearn.extras import install_line
from assistlearn.types import Bools

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how many elements of a step are done, and how many there are."""

PIECE = 2_000
"""Elements in a piece: a fifth of a second of work. A list that is not longer is worked on in this process."""

NOTHING: Rows = np.empty(0, dtype=np.int64)


class PsiInitiator(Initiator):
    """Learns which of its ids the helper holds, and lets the helper know the samples of the run.

    >>> clinic = PsiInitiator(Ids([17, 18, 19]), "lab", Minimum(samples=2))
    >>> lab = PsiHelper(Ids(["19", "20", "17"]), Minimum(samples=2))
    >>> held = clinic.finish(lab.answer(clinic.start()))
    >>> held
    array([ True, False,  True])
    >>> clinic.confirm(lab.agree(clinic.settle(held)))
    >>> lab.rows
    array([2, 0])
    """

    def __init__(
        self,
        ids: Ids,
        helper: str = "helper",
        minimum: Minimum | None = None,
        max_ids: int = MAX_IDS,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__(ids, helper, minimum, max_ids)
        self._n_jobs = n_jobs
        self._progress = progress
        self._cipher = Cipher(n_jobs)
        self._sorting = NOTHING

    def _request(self, token: bytes) -> AlignmentMessage:
        cipher = Cipher(self._n_jobs)  # a key is for one alignment
        points, sorting = _sort(cipher.points(self.ids, self._progress))
        self._cipher, self._sorting = cipher, sorting
        return PsiRequest(token, points.tobytes())

    def _read_answer(self, answer: bytes, token: bytes) -> Rows:
        n_ids = len(self.ids)
        message = decode(answer, PsiAnswer, POINT_BYTES * (n_ids + self._max_ids), token)
        both = codes_from(message.both, POINT_BYTES, "points under both keys")
        if len(both) != n_ids:
            raise AlignmentError(f"PsiAnswer: {len(both):,} points came back for {n_ids:,}.")
        refuse_repeated(both, "points under both keys")
        theirs = _read_sorted(message.own, "helper's points", self._max_ids)
        places = np.empty(n_ids, dtype=np.int64)
        places[self._sorting] = positions(both, self._cipher.again(theirs, self._progress))
        return places

    def _samples(self, places: Rows, kept: Bools) -> bytes:
        return places[kept].astype("<i4").tobytes()


class PsiHelper(Helper):
    """Applies its key to the initiator's points and to its own ids; learns which of its rows the run has."""

    def __init__(
        self,
        ids: Ids,
        minimum: Minimum | None = None,
        max_ids: int = MAX_IDS,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(ids, minimum, max_ids)
        self._n_jobs = n_jobs
        self._next = Cipher(n_jobs)
        self._sorting = NOTHING
        self._n_asked = 0

    def _answer(self, request: bytes) -> AlignmentMessage:
        message = decode(request, PsiRequest, POINT_BYTES * self._max_ids)
        theirs = _read_sorted(message.points, "initiator's points", self._max_ids)
        both = self._next.again(theirs)  # first, because it fails if they are no points
        own, self._sorting = _sort(self._next.points(self.ids))
        self._next, self._n_asked = Cipher(self._n_jobs), len(theirs)  # a key is for one alignment
        return PsiAnswer(message.token, own.tobytes(), both.tobytes())

    def _rows_of(self, samples: bytes) -> Rows:
        if len(samples) % 4 or len(samples) > 4 * self._n_asked:
            raise AlignmentError(
                f"SampleOrder: {len(samples):,} bytes cannot be places of at most {self._n_asked:,} samples."
            )
        places = np.frombuffer(samples, dtype="<i4").astype(np.int64)
        shared = places[places >= 0]
        if len(places) and not (places.min() >= -1 and places.max() < len(self.ids)):
            raise AlignmentError(f"SampleOrder: a place is not one of this agent's {len(self.ids):,} samples.")
        if len(np.unique(shared)) < len(shared):
            raise AlignmentError("SampleOrder: two samples of the run have the same place.")
        rows = np.full(len(places), -1, dtype=np.int64)
        rows[places >= 0] = self._sorting[shared]
        return rows


def _sort(points: CodedIds) -> tuple[CodedIds, Rows]:
    rows = np.argsort(_comparable(points), kind="stable")
    return points[rows], rows.astype(np.int64)


def _read_sorted(data: bytes, what: str, max_ids: int) -> CodedIds:
    points = codes_from(data, POINT_BYTES, what)
    if not 0 < len(points) <= max_ids:
        raise AlignmentError(f"There are {len(points):,} {what}; from 1 to {max_ids:,} are accepted.")
    in_order = _comparable(points)
    if not (in_order[:-1] < in_order[1:]).all():
        raise AlignmentError(f"The {what} are not sorted, or one is repeated.")
    return points


def _comparable(points: CodedIds) -> NDArray[np.bytes_]:
    return np.ascontiguousarray(points).view(f"S{POINT_BYTES}").reshape(-1)


class Cipher:
    """One agent's fresh secret key on the curve, and the processes that apply it; by default one for each core.

    A list is cut into pieces by position, not by content. So the number and the sizes of the pieces say nothing about
    the ids.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        if n_jobs is not None and n_jobs < 1:
            raise SettingsError(f"n_jobs must be at least 1, not {n_jobs}.")
        require_library()
        self._key = curve.new_key()
        self._n_jobs = n_jobs or usable_cores()

    def points(self, ids: Ids, progress: Progress | None = None) -> CodedIds:
        texts = ids.texts.to_list()
        pieces = [(self._key, texts[at : at + PIECE], b"") for at in range(0, len(texts), PIECE)]
        return self._run(pieces, len(texts), progress)

    def again(self, points: CodedIds, progress: Progress | None = None) -> CodedIds:
        pieces: list[Piece] = [
            (self._key, [], points[at : at + PIECE].tobytes()) for at in range(0, len(points), PIECE)
        ]
        return self._run(pieces, len(points), progress)

    def _run(self, pieces: Sequence[Piece], total: int, progress: Progress | None) -> CodedIds:
        parts: list[bytes] = []
        done = 0
        with _workers(min(self._n_jobs, len(pieces))) as workers:
            for points, error in workers(pieces):
                if error:
                    last = min(done + PIECE, total) - 1
                    raise AlignmentError(f"A point between positions {done:,} and {last:,} {error}.")
                parts.append(points)
                done += len(points) // POINT_BYTES
                if progress is not None:
                    progress(done, total)
        return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, POINT_BYTES)


def require_library() -> None:
    try:
        curve.library()
    except ImportError as error:
        raise MissingExtraError(f"Private set intersection needs openmined.psi: {install_line('psi')}") from error


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _workers(count: int) -> Iterator[Callable[[Sequence[Piece]], Iterator[Done]]]:
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
        done: Done = msgspec.msgpack.decode(data, type=Done)
        return done

    def kill(self) -> None:
        self._process.kill()  # it holds nothing that has to be saved

    def close(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # it ended before it read all its input
                    stream.close()
