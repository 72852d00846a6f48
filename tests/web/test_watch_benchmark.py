"""The memory of the live page stays flat, in the small form of its benchmark."""

from __future__ import annotations

from bench.watch import BLOCK, an_hour


def test_memory_does_not_grow_with_the_number_of_facts():
    hour = an_hour(10 * BLOCK)
    assert hour.facts == 50_000
    assert hour.rss[-1] < hour.rss[4] * 1.15  # by then everything has been drawn at least once
