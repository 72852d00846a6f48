"""Work on columns by threads: a map, the first error first, and no more at once than said."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistlearn.tables import table as module
from assistlearn.tables.table import in_threads


@given(st.lists(st.integers(), max_size=30))
def test_it_is_a_map(numbers):
    assert list(in_threads(lambda n: n * n, numbers)) == [n * n for n in numbers]


def test_the_error_is_that_of_the_first_column_whichever_thread_is_quicker():
    late = threading.Event()

    def work(n):
        if n == 0:
            late.wait(5)  # the second has failed by then
            raise ValueError("first")
        late.set()
        raise ValueError("other")

    with pytest.raises(ValueError, match="first"):
        list(in_threads(work, range(8)))


def test_no_more_columns_are_taken_than_threads_can_work_on(monkeypatch):
    monkeypatch.setattr(module.os, "cpu_count", lambda: 2)
    taken = []

    def columns():
        for n in range(50):
            taken.append(n)
            yield n

    ahead = [len(taken) - done - 1 for done, _ in enumerate(in_threads(abs, columns()))]
    assert max(ahead) == 2
