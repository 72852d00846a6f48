"""The paper's method with every setting that goes with it, for tests that start from these and change some."""

from __future__ import annotations

from typing import Any

PAPERS: dict[str, Any] = {"method": "ascii", "reward": "in-sample", "models_per_turn": 1, "combine": "sum"}

PAPERS_OF_RUNS: dict[str, Any] = PAPERS | {"holdout": "none"}
"""As a task's file has them; nothing is held out."""

PAPERS_OPTIONS = [
    word for name, value in PAPERS_OF_RUNS.items() for word in (f"--{name.replace('_', '-')}", str(value))
]
"""The same on the command line. What is given after them has its way."""
