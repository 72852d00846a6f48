"""A time limit for work that may never end: FLARE, and servers of tables, may wait without limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of some work; raise ``TimeoutError`` if it takes longer than ``seconds``.

    In that case the work goes on in a thread, which does not keep the program from ending.

    >>> within(5.0, max, 1, 2)
    2
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work(*arguments))
        except BaseException as error:  # raised by the caller, below
            errors.append(error)

    thread = threading.Thread(target=do, name=f"within {seconds:g} s", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]
