"""The command line: ``assistlearn init | check | simulate | predict | show | audit | forget``.

Exit codes: 0 all is well; 1 a fault of the program; 2 something in the input is wrong; 3 an agent refused or cannot be
reached; 4 a ledger was changed; 130 interrupted.
"""

from assistlearn.cli.main import app, main

__all__ = ["app", "main"]
