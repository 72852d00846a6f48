"""The command line: ``assistlearn COMMAND``.

===========  =============================================================================
exit code    meaning
===========  =============================================================================
0            all is well
1            a fault of the program
2            something in the input is wrong: an option, a file, a table, a run's folder
3            an agent refused or cannot be reached, or the network does not work
4            a ledger was changed
6            a run waits for the consent of helpers' owners
130          interrupted
===========  =============================================================================

With ``--json`` a command prints exactly one JSON object on standard output. Where it fails, the object has the keys
``error`` (a name), ``message``, ``notes`` (what to do next) and ``exit_code``. All else goes to standard error.

A command imports what it needs when it is called, so that ``--help`` does not wait for scikit-learn.
"""

from assistlearn.cli.engine_memory import hand_memory_back

hand_memory_back()

from assistlearn.cli.program import app, main  # noqa: E402  (this may import Polars)

__all__ = ["app", "main"]
