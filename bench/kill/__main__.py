"""The program: ``python -m bench.kill``."""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console
from rich.table import Table

from bench import kill


def main() -> int:
    parser = argparse.ArgumentParser(description=kill.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executables", type=int, default=8, help="how many of the points start the command line")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    report = kill.kill_all(arguments.points, arguments.seed, arguments.executables, progress=not arguments.json)
    if arguments.json:
        print(json.dumps(vars(report)))
    else:
        console = Console()
        table = Table(title=f"{report.kinds.total()} points, {len(report.failures)} with another outcome")
        table.add_column("killed at")
        table.add_column("points", justify="right")
        for kind, count in sorted(report.kinds.items()):
            table.add_row(kind, str(count))
        console.print(table)
        console.print(f"{report.restarts} restarts, {report.seconds:.0f} s")
        for failure in report.failures:
            console.print_json(data=failure)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
