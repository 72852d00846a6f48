"""Kill real processes in the middle of real runs, start again, and compare what comes out, bit for bit.

    python -m bench.kill [--points 200] [--seed 0] [--executables 8] [--json]

Three agents with tables and files of their own are trained and asked to predict, each in its own process, by the code
that ``assistlearn simulate`` and ``predict`` run. A point is one such run in which SIGKILL strikes

- the initiator at one of its steps in the file system (every file that is opened for writing, renamed or removed, every
  folder made, every lock taken is a step; the points are spread over all of them),
- a helper at one of its steps,
- or, from outside and at a random instant, the initiator, a helper, or all of them, up to three times in a row.

Then the run is started again. Its contributions, with their weights, and its scores must be those of a run that nobody
disturbed, and every ledger must be whole.

To save the seconds that Python needs to import scikit-learn, processes are forked from one that has imported everything
and done nothing; ``--executables`` points start the command line itself instead.
"""

from bench.kill.report import Report, kill_all

__all__ = ["Report", "kill_all"]
