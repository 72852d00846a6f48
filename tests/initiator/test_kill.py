"""A dozen points at which SIGKILL strikes real processes, in the way ``bench.kill`` tries two hundred."""

from __future__ import annotations

from bench import kill


def test_runs_that_are_killed_go_on_and_end_the_same():
    report = kill.kill_all(12, seed=1, names=("ascii", "soft", "auto", "labels"))
    assert report.failures == []
    assert report.kinds.total() == 12
    assert report.restarts >= 8  # every one of the points that are at a step, at least
