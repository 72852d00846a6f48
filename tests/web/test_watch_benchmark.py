"""The benchmark of the live page in its small form: it keeps up with a busy run, and its memory stays flat."""

from __future__ import annotations

from bench.watch import BLOCK, an_hour, keep_up


def test_a_thousand_facts_a_second_are_shown_within_a_second():
    kept = keep_up(rate=1000.0, seconds=2.0, n_watchers=2)
    assert kept.facts == 2000
    assert kept.pages >= 3
    assert kept.median < 1.0  # the worst is below, too, but on a machine that does nothing else


def test_memory_does_not_grow_with_the_number_of_facts():
    hour = an_hour(10 * BLOCK)
    assert hour.facts == 50_000
    assert hour.rss[-1] < hour.rss[4] * 1.15  # by then everything has been drawn at least once
