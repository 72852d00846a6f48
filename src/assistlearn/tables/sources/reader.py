"""A process of its own for engines that a crafted file or query can bring down: Polars on Parquet, and DuckDB.

What crashes there, takes too much memory or never ends is one error here. A reader does one thing at a time and is used
again; it ends with this process, or by itself when its time is over. Rows come back as Arrow's file format, in memory
that has no name on any disk.
"""

from __future__ import annotations

import atexit
import builtins
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NoReturn

import polars as pl

from assistlearn import errors

if TYPE_CHECKING:
    from assistlearn.tables.settings import ReadingLimits

SPARE = 256 + 16 * (os.cpu_count() or 1)
"""Megabytes that an engine has besides ``max_memory``, for its threads and for what it keeps from earlier readings."""

LARGEST_ANSWER = 64 << 20
"""Bytes of what comes back besides rows: names of columns, or an error."""

MOST_FILES = 64
"""How many files bring a table: the memory of each is free again as soon as its columns are no longer needed."""

LARGE = 50_000_000
"""After a table of more bytes a reader is not used again."""

GIVES_BACK = "background_thread:true,dirty_decay_ms:0,muzzy_decay_ms:0"
"""The allocator's settings: what is free goes back to the system at once."""

GRACE = 5.0
"""Seconds that a reader has to end by itself."""

_idle: list[Reader] = []


def apart(
    work: Callable[..., Any],
    arguments: Sequence[Any],
    name: str,
    limits: ReadingLimits,
    seconds: float,
    share: int = 1,
) -> Any:
    """Return what a function of a module returns in another process: plain values, or a frame, read or to be read.

    An error that it raises is raised here. One in ``share`` of the memory that ``limits`` allow is enough.
    """
    if not hasattr(socket, "send_fds"):  # on Windows all is read here
        found = work(*arguments)
        return found.collect() if isinstance(found, pl.LazyFrame) else found
    request = {
        "work": [work.__module__, work.__name__, *arguments],
        "surroundings": [os.getcwd(), dict(os.environ)],  # they may have changed since the process began
        "megabytes": max(limits.max_memory // share, 1),
        "seconds": seconds,
    }
    reader = _taken()
    try:
        error, found = reader.ask(request, seconds)
    except TimeoutError:
        reader.end(at_once=True)
        raise errors.TableError(
            f"{name} is not read: it took longer than read_seconds allows, {seconds:g} s. If the table is right, raise "
            "read_seconds in the agent's file."
        ) from None
    except (EOFError, ConnectionError):
        _refuse(name, reader.end(), limits)
    except BaseException:
        reader.end(at_once=True)
        raise
    if error is not None and error[0] == "MemoryError":
        reader.end(at_once=True)
        _refuse(name, -signal.SIGKILL, limits)
    if isinstance(found, pl.DataFrame) and found.estimated_size() > LARGE:
        reader.end(at_once=True)  # it would give the memory back later
    else:
        _idle.append(reader)
    if error is not None:
        raise _error(*error)
    return found


def get_ready() -> None:
    """Begin a reader, which takes a fifth of a second, if none is waiting."""
    if hasattr(socket, "send_fds") and not _idle:
        _idle.append(Reader())


def _taken() -> Reader:
    with suppress(IndexError):
        reader = _idle.pop()
        if reader.is_there():
            return reader
    return Reader()


def _refuse(name: str, code: int, limits: ReadingLimits) -> NoReturn:
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
    raise errors.TableError(
        f"{name} is not read: the process that reads it {how}. Either it needs more than max_memory allows, "
        f"{limits.max_memory:,} megabytes, or it is damaged or made to do harm. Write it again from where it comes "
        "from. If it is right, raise max_memory under [reading] in the agent's file."
    )


def _error(kind: str, message: str) -> Exception:
    """Return an error of the other process as one of the same type, if it is ours, the engine's or Python's."""
    places = (errors, pl.exceptions, builtins)
    types = [found for place in places if isinstance(found := getattr(place, kind, None), type)]
    return types[0](message) if types and issubclass(types[0], Exception) else errors.TableError(message)


class Reader:
    """The other process, seen from here."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        with theirs:
            began = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve({theirs.fileno()})"
            self._process = subprocess.Popen(  # noqa: S603 our own program
                [sys.executable, "-I", "-c", began],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env={**os.environ, "_RJEM_MALLOC_CONF": GIVES_BACK},
            )

    def is_there(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], seconds: float) -> tuple[list[str] | None, Any]:
        """Return the error's type and message, or what was found. Raise ``EOFError`` if the process is gone."""
        end = time.monotonic() + seconds
        self._line.settimeout(seconds)
        self._line.sendall(json.dumps(request).encode() + b"\n")
        answer, files = bytearray(), list[int]()
        try:
            while not answer.endswith(b"\n"):
                self._line.settimeout(max(end - time.monotonic(), 0.001))
                piece, numbers, *_ = socket.recv_fds(self._line, 1 << 20, MOST_FILES)
                files += numbers
                answer += piece
                if not piece or len(answer) > LARGEST_ANSWER:
                    raise EOFError
            error, found = json.loads(answer)
            return error, _frame(files) if files else found
        finally:
            for number in files:
                os.close(number)

    def end(self, at_once: bool = False) -> int:
        """Return the exit code, which is negative after a signal."""
        self._line.close()
        if at_once:
            self._process.kill()
        try:
            return self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def leave(self) -> None:
        """Forget a process that is another's: this one was forked."""
        self._process.returncode = 0


def _frame(files: Sequence[int]) -> pl.DataFrame:
    parts = []
    for number in files:
        with open(number, "rb", closefd=False) as file:
            parts.append(pl.read_ipc(file))
    return pl.concat(parts, how="horizontal")


@atexit.register
def end_readers() -> None:
    while _idle:
        _idle.pop().end()


def _leave_all() -> None:
    for reader in _idle:
        reader.leave()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


# What follows runs in the other process.


def serve(number: int) -> None:
    """Do what is asked through a socket until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when to end
    with socket.socket(fileno=number) as line, line.makefile("rb") as requests:
        for request in requests:
            answer, files = _answer(**json.loads(request))
            sent = json.dumps(answer).encode() + b"\n"
            if files:
                socket.send_fds(line, [sent], [file.fileno() for file in files])
            else:
                line.sendall(sent)
            for file in files:
                file.close()
    os._exit(0)  # nothing here is worth the time of an orderly end


def _answer(
    work: Sequence[Any], surroundings: tuple[str, dict[str, str]], megabytes: int, seconds: float
) -> tuple[tuple[Any, Any], list[IO[bytes]]]:
    folder, variables = surroundings
    os.chdir(folder)
    for name in [name for name in os.environ if name not in variables]:
        del os.environ[name]
    os.environ.update(variables)
    signal.setitimer(signal.ITIMER_REAL, seconds + 1)  # ends this process, also where nobody waits for it any longer
    _limit(megabytes)
    module, function, *arguments = work
    try:
        found = getattr(import_module(module), function)(*arguments)
        if isinstance(found, pl.DataFrame | pl.LazyFrame):
            columns = found.lazy().collect().get_columns()
            del found  # so that each column is free when it is written
            return (None, None), _written(columns)
        return (None, found), []
    except Exception as error:
        return ([type(error).__name__, str(error)], None), []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _written(columns: list[pl.Series]) -> list[IO[bytes]]:
    """Write some columns into each of a few files without names, and let go of those that are written."""
    files: list[IO[bytes]] = []
    together = -(-len(columns) // MOST_FILES)
    while columns:
        files.append(_file_without_name())
        pl.DataFrame(columns[:together]).write_ipc(files[-1])
        del columns[:together]
        files[-1].seek(0)
    return files


def _file_without_name() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("table"), "w+b")
    return TemporaryFile()


def _limit(megabytes: int) -> None:
    """Limit what this process may take from now on. A table takes a third of what reading it takes at the most."""
    import resource

    def at_most(what: int, most: int) -> None:
        hardest = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hardest == resource.RLIM_INFINITY else min(most, hardest), hardest))

    at_most(resource.RLIMIT_CORE, 0)  # a core would leave the table on the disk
    at_most(resource.RLIMIT_FSIZE, (megabytes // 2 + SPARE) * 1_000_000)
    with suppress(FileNotFoundError), open("/proc/self/status") as status:  # only Linux counts what RLIMIT_DATA limits
        taken = re.search(r"VmData:\s*(\d+) kB", status.read())
        if taken is not None:
            at_most(resource.RLIMIT_DATA, int(taken[1]) * 1024 + (megabytes + SPARE) * 1_000_000)
