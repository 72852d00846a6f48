"""``task.toml``: what the initiator wants to train, with whom, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistlearn.agent_files.keys import Keys
from assistlearn.agent_files.places import Places
from assistlearn.agent_files.toml_file import read_toml
from assistlearn.errors import DescriptionError
from assistlearn.runs.simulation import Options

KEYS = (
    *("run", "purpose", "site", "admin", "agent", "helpers", "alignment", "overlap", "absent", "patience"),
    *("training",),
)
TRAINING = (
    *("method", "order", "rounds", "weak_agent", "reward", "cv", "holdout", "holdout_patience", "seed"),
    *("loss", "shrinkage", "score_bits"),
)
PATIENCE = 120.0


@dataclass(frozen=True)
class TaskFile:
    """What a task's file says; paths are relative to its folder.

    Attributes
    ----------
    site, admin : path
        The initiator's kits.
    agent : path or None
        Its agent file; None: the one in its kit.
    helpers : tuple of str
        The organisations that are asked to help.
    options : Options
        How to train.
    run : str or None
        The run's name.
    patience : float
        Seconds to try to reach an organisation.
    """

    site: Path
    admin: Path
    agent: Path | None
    helpers: tuple[str, ...]
    options: Options
    run: str | None = None
    patience: float = PATIENCE


def load_task(file: Path) -> TaskFile:
    """Read and check a task's file, without touching anything that it names.

    Raises
    ------
    DescriptionError
        It names the file, the line, and what to do.
    """
    text, values = read_toml(file, "task's file")
    keys = Keys(values, Places.of(file, text), KEYS)
    keys.required("site", 'site = "kits/bank"')
    keys.required("admin", 'admin = "kits/admin"')
    keys.required("helpers", 'helpers = ["shop"]')
    helpers = keys.texts("helpers") or ()
    if not helpers or len(set(helpers)) < len(helpers):
        raise keys.error("helpers", f"helpers = {list(helpers)} must name at least one organisation, each once.")
    agent = keys.text("agent")
    return TaskFile(
        site=file.parent / (keys.text("site") or ""),
        admin=file.parent / (keys.text("admin") or ""),
        agent=None if agent is None else file.parent / agent,
        helpers=helpers,
        options=_options(keys, keys.table("training", TRAINING)),
        run=keys.text("run"),
        patience=_number(keys, "patience", 5.0, 86_400.0, PATIENCE) or PATIENCE,
    )


def _options(keys: Keys, training: Keys) -> Options:
    plain = Options()
    holdout = _number(training, "holdout", 0.0, 1.0, None)
    bits = training.count("score_bits") or plain.score_bits
    if bits not in (4, 8, 16, 32):
        raise training.error("score_bits", f"training.score_bits = {bits} must be 4, 8, 16 or 32.")
    return Options(
        method=training.choice("method", ("ascii", "simple", "ensemble", "soft"), plain.method),
        order=training.choice("order", ("chain", "random", "strongest"), plain.order),
        n_rounds=training.count("rounds") or plain.n_rounds,
        weak_agent=training.choice("weak_agent", ("skip", "stop"), plain.weak_agent),
        holdout=holdout,
        patience=training.count("holdout_patience") or plain.patience,
        seed=training.count("seed", 0) or 0,
        alignment=keys.choice("alignment", ("hash", "psi"), plain.alignment),
        overlap=keys.choice("overlap", ("abstain", "intersection"), plain.overlap),
        purpose=keys.text("purpose") or "",
        reward=training.choice("reward", ("in-sample", "out-of-fold", "auto"), plain.reward),
        cv=_folds(training, plain.cv),
        loss=training.choice("loss", ("logistic", "exponential"), plain.loss),
        shrinkage=_number(training, "shrinkage", 0.0, 1.0, plain.shrinkage, closed=True) or plain.shrinkage,
        score_bits=bits,
        absent=keys.choice("absent", ("stop", "go on"), plain.absent),
    )


def _folds(training: Keys, default: int) -> int:
    folds = training.count("cv", 2) or default
    if folds > 100:
        raise training.error("cv", f"training.cv = {folds} must be at most 100.")
    return folds


def _number(keys: Keys, key: str, low: float, high: float, default: float | None, closed: bool = False) -> float | None:
    value: Any = keys.get(key)
    if value is None:
        return default
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (low < value < high or (closed and value == high)):
        raise keys.error(key, f"{key} = {value!r} must be a number between {low:g} and {high:g}.")
    return float(value)


def check_helpers(file: Path, helpers: Sequence[str], initiator: str) -> None:
    """Refuse a task in which the initiator helps itself."""
    if initiator in helpers:
        raise DescriptionError(f"{file}: helpers names {initiator!r}, which is the initiator itself. Leave it out.")
