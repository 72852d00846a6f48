"""Going on from an earlier run: check that this is possible, and copy what is needed into the new folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assistlearn.alignment import Ids
from assistlearn.alignment.matching import CodedIds
from assistlearn.core.ignorance import Bools
from assistlearn.errors import RunError, SettingsError
from assistlearn.plan import Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_codes
from assistlearn.protocol.codec import decode
from assistlearn.runs.class_order import KEY_FILE
from assistlearn.runs.earlier_run_folder import EarlierRun, EarlierRunFolder
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.people import people_of, places_among
from assistlearn.runs.pilot_terms import terms_of
from assistlearn.runs.settings import RunSettings
from assistlearn.service.store import RunStore, run_folder

ANEW = "Start a new run without --from."

SAME_TERMS = ("method", "loss", "score_bits")
"""The settings that decide what an answer means. A run that goes on must have those of the earlier one."""


@dataclass(frozen=True)
class OwnSide:
    """What the initiator has now: where it keeps its models, and the ids of its table."""

    home: Path
    ids: Ids


def check_can_go_on(earlier: RunFolder, initiator: str, classes: Sequence[Any], plan: Plan) -> RunSettings:
    """Return the settings of an earlier run; refuse a run from which no other can go on.

    Parameters
    ----------
    earlier : RunFolder
        The earlier run.
    initiator : str
        Who wants to go on from it.
    classes : sequence
        The classes in the initiator's table now.
    plan : Plan
        How the new run trains.
    """
    settings = earlier.settings()
    if terms_of(settings) is not None or earlier.result() is None:
        what = "a pilot" if terms_of(settings) is not None else "not finished. Finish it first, with --resume"
        raise RunError(f"Cannot go on from {earlier.path}: the run there is {what}.")
    if settings.initiator != initiator:
        raise RunError(f"{earlier.path} is a run of {settings.initiator!r}, not of {initiator!r}. {ANEW}")
    new = [label for label in classes if label not in settings.classes]
    if new:
        raise RunError(
            f"The table has a class {new[0]!r} that run {settings.run!r} did not have: its classes were "
            f"{settings.classes}, and its models can answer with no other class. {ANEW}"
        )
    if plan.make_method().keeps_labels:
        raise SettingsError(
            f"With method {plan.method!r}, helpers are told randomised labels once, and each answers once: no turn of "
            f"an earlier run can be used again. {ANEW}"
        )
    check_same_terms(settings, {name: getattr(plan, name) for name in SAME_TERMS})
    return settings


def check_same_terms(earlier: RunSettings, given: Mapping[str, Any]) -> None:
    """Refuse another value for a setting that decides what the turns of the earlier run mean.

    Parameters
    ----------
    earlier : RunSettings
        The settings of the earlier run.
    given : mapping
        Settings of the new run, by name; some or all.
    """
    for name in SAME_TERMS:
        before = getattr(earlier.plan, name)
        now = given.get(name, before)
        if before != now:
            raise SettingsError(
                f"Run {earlier.run!r} was trained with {name}={before!r}. A run with {name}={now!r} cannot use its "
                f"turns. Leave {name} as it was, or start a new run without --from."
            )


def take_over(new: RunFolder, earlier: RunFolder, own: OwnSide) -> None:
    """Copy what the new run needs of an earlier one into the new run's folder."""
    settings, result, rows = earlier.settings(), earlier.result(), earlier.samples()
    begin = RunStore(run_folder(own.home, settings.run)).task()
    task = None if begin is None else decode(begin)
    if not isinstance(task, m.Begin):
        raise RunError(f"Agent {settings.initiator!r} has forgotten run {settings.run!r}. {ANEW}")
    if result is None or rows is None:
        raise _missing(earlier, "samples.npy")
    n = len(rows)
    aside: Bools = np.zeros(n, bool) if task.holdout is None else unpack_bits(task.holdout, n)
    made = [{key: each[key] for key in ("turn", "round", "agent")} for each in result["contributions"]]
    facts = {
        "run": settings.run,
        "agents": settings.agents,
        "contributions": made,
        "settings": settings.plan.of_runs(),
        "fingerprint": settings.fingerprint,
    }
    codes = unpack_codes(task.labels, n - int(np.count_nonzero(aside)), task.n_classes)
    kept = EarlierRun(facts, _people(earlier, settings, own), codes, aside, _held(earlier, n))
    EarlierRunFolder(new.path).write(kept, {each["turn"]: _answer(earlier, each["turn"]) for each in made})


def _people(earlier: RunFolder, settings: RunSettings, own: OwnSide) -> CodedIds:
    people = earlier.people()
    if people is None:
        raise _missing(earlier, "people.npy")
    if not (places_among(people, people_of(own.ids, own.home)) >= 0).any():
        raise RunError(
            f"None of the {len(people):,} people of run {settings.run!r} is found in the table of "
            f"{settings.initiator!r} now. Either it is another table, or {own.home / KEY_FILE}, the key that "
            "recognises people, was lost or changed. People who were trained on would then count as new, and "
            f"could be held out. Restore the old file. {ANEW}"
        )
    return people


def _held(earlier: RunFolder, n_samples: int) -> Bools:
    held = earlier.held(n_samples)
    if held is None:
        raise _missing(earlier, "held.npy")
    return np.concatenate([np.ones((1, n_samples), dtype=bool), held])


def _missing(earlier: RunFolder, name: str) -> RunError:
    return RunError(f"{earlier.path}: {name} is missing. Restore it from a backup. {ANEW}")


def _answer(earlier: RunFolder, turn: int) -> bytes:
    content = earlier.whole_turn(turn)
    if content is None:
        raise RunError(f"{earlier.path}: the record of turn {turn} is missing. {ANEW}")
    return content
