"""Do what the README says, command by command, in a fresh clone: ``python -m bench.readme [--keep FOLDER]``.

The script knows nothing but the README. It runs the blocks of shell commands and of Python in the order in which a
newcomer reads them, in one shell, and stops at the first that fails. It prints each command with its seconds.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


@dataclass(frozen=True)
class Block:
    """A block of the README: its language (sh or python), its heading and its text."""

    language: str
    heading: str
    text: str

    def commands(self) -> list[str]:
        """Return the commands of a block of the shell."""
        return [line.partition("  #")[0].strip() for line in self.text.splitlines() if line.strip()]


def blocks(page: str) -> list[Block]:
    r"""Return the blocks of a page, in order.

    >>> [(each.heading, each.commands()) for each in blocks("## Go\n```sh\nls  # all\n```\n")]
    [('Go', ['ls'])]
    """
    found, heading = [], ""
    for match in re.finditer(r"^## ([^\n]+)$|^```(sh|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if match[1]:
            heading = match[1]
        else:
            found.append(Block(match[2], heading, match[3]))
    return found


def as_commands(block: Block, folder: Path) -> list[str]:
    """Return what a newcomer types: Python goes into an interpreter, which compares what it says."""
    if block.language == "sh":
        return block.commands()
    script = folder / "readme_example.txt"
    script.write_text(block.text, encoding="utf-8")
    return [f"python -m doctest -o NORMALIZE_WHITESPACE {shlex.quote(str(script))}"]


def walk(clone: Path, found: list[Block]) -> None:
    """Run all blocks in one shell, in a folder; raise at the first command that fails."""
    with tempfile.TemporaryDirectory() as beside:
        lines = [command for block in found for command in as_commands(block, Path(beside))]
        with subprocess.Popen(["bash"], cwd=clone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
            assert shell.stdin is not None
            assert shell.stdout is not None
            for line in lines:
                start = time.perf_counter()
                shell.stdin.write(f"{line} 1>&2; echo done $?\n")
                shell.stdin.flush()
                said = shell.stdout.readline().split()
                print(f"{time.perf_counter() - start:7.1f} s  {line}", flush=True)
                if said != ["done", "0"]:
                    raise SystemExit(f"The README's command failed ({' '.join(said)}): {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="where the clone goes, to look at it later")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clone = options.keep or Path(folder, "assistlearn")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        walk(clone, blocks((clone / "README.md").read_text(encoding="utf-8")))
    print("All that the README says works.", file=sys.stderr)


if __name__ == "__main__":
    main()
