"""Work on many columns, or pieces of one, on a few threads: the engine and the digests let go of Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""More threads would only wait for memory."""


def by_column(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of each, in order; no more are under way or waiting than there are threads.

    An error is raised when its turn comes, so it is the first one's, as if there were no threads.

    >>> list(by_column(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    n_threads = min(MOST, os.cpu_count() or 1)
    with ThreadPoolExecutor(n_threads, thread_name_prefix="column") as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()
