"""The command line: ``assistlearn init | check | simulate | predict | show | audit | privacy | forget``.

===========  =============================================================================
exit code    meaning
===========  =============================================================================
0            all is well
1            a fault of the program
2            something in the input is wrong: an option, a file, a table, a run's folder
3            an agent refused, or cannot be reached
4            a ledger was changed
130          interrupted
===========  =============================================================================

With ``--json`` a command prints exactly one JSON object on standard output. Where it fails, the object has the keys
``error`` (a name), ``message``, ``notes`` (what to do next) and ``exit_code``. All else goes to standard error.

A command imports what it needs when it is called, so that ``--help`` does not wait for scikit-learn.
"""

from assistlearn.cli.program import app, main

__all__ = ["app", "main"]
