"""Work on many columns, or on pieces of one, in a few threads: Polars and ``hashlib`` release Python's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST = 4
"""The most threads. More of them would only wait for memory."""


def by_column(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result of each item, in order.

    Work begins on later items before their results are asked for, but only on as many as there are threads. Errors are
    raised in the order of the items: the first error is the one that a plain loop would raise.

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
