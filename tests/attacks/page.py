"""The table of attacks in ``README.md``, and its counts in the documentation, made of what the attacks say.

``python -m tests.attacks.page`` writes it anew; a test compares.
"""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

from tests.attacks.attack import ATTACKERS, Attack

README = Path(__file__).with_name("README.md")
PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "attacks.md"
BEGIN, END = "<!-- attacks: begin -->", "<!-- attacks: end -->"


def attacks() -> list[Attack]:
    """Return every attack there is, in the order of the attackers and of the files."""
    found = []
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"tests.attacks.{file.stem}")
        found += [value.attack for value in vars(module).values() if isinstance(getattr(value, "attack", None), Attack)]
    return sorted(found, key=lambda attack: ATTACKERS.index(attack.by))


def table() -> str:
    """Return the table."""
    rows = [f"| {attack.by} | {attack.tries} | {attack.outcome} |" for attack in attacks()]
    return "\n".join(["| who | tries | and |", "| --- | --- | --- |", *rows])


def counts() -> str:
    """Return how many attacks each attacker tries."""
    tried = Counter(attack.by for attack in attacks())
    rows = [f"| {attacker} | {tried[attacker]} |" for attacker in ATTACKERS]
    return "\n".join(["| who | attacks |", "| --- | --- |", *rows])


def written(page: str, table: str) -> str:
    """Return a page with a table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


if __name__ == "__main__":
    for page, made in ((README, table()), (PAGE, counts())):
        page.write_text(written(page.read_text(encoding="utf-8"), made), encoding="utf-8")
