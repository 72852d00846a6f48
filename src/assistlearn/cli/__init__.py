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

import os

# By default Polars keeps free memory for a second, and so uses a third more memory than a table needs. This must be set
# before Polars is imported; the processes of agents inherit it, and a value that the user has set is kept. Memory is
# given back after a tenth of a second, and wholly: muzzy memory still counts as used until the system needs it. To give
# all of it back at once would cost a third of the time.
MEMORY_VARIABLE = "_RJEM_MALLOC_CONF"
BACK_SOON = "background_thread:true,dirty_decay_ms:100,muzzy_decay_ms:0"
os.environ.setdefault(MEMORY_VARIABLE, BACK_SOON)

from assistlearn.cli.program import app, main  # noqa: E402  (this may import Polars)

__all__ = ["app", "main"]
