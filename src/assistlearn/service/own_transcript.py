"""All that one initiator was told about an agent's people, as numbers, from what the agent itself has kept.

An initiator has what was released in all its runs, so the runs are put side by side. The initiator's own columns are
not known here. An attacker that has them guesses better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assistlearn.alignment.matching import Rows
from assistlearn.core.ignorance import Floats
from assistlearn.core.quantise import votes_of
from assistlearn.core.weight import NEGLIGIBLE
from assistlearn.disclosure.said import beside, of_labels, said_of_classes
from assistlearn.errors import RunError
from assistlearn.learners.models_on_disk import packages_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.ledger_of_run import entries_of
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.rewards import unpack_reward
from assistlearn.service.holdings import Holdings
from assistlearn.service.part import Part
from assistlearn.service.privacy.run_privacy import RunPrivacy
from assistlearn.service.store import RunStore, run_folder
from assistlearn.service.task import Task


@dataclass(frozen=True, eq=False)
class OwnTranscript:
    """What was told about an agent's people.

    Attributes
    ----------
    runs : tuple of str
        The runs that the transcript comes from.
    left_out : tuple of str
        Runs that are left out, because their rows are those of an earlier table.
    rows : ndarray of int
        The rows of these people in the agent's table.
    labels : ndarray of shape (n_people, any)
        The labels as the agent was told them; NaN for people who were not in a run.
    told : ndarray of shape (n_people, any)
        What was released, turn by turn, and the votes if any were sent.
    with_votes : bool
        Whether ``told`` has votes.
    """

    runs: tuple[str, ...]
    left_out: tuple[str, ...]
    rows: Rows
    labels: Floats
    told: Floats
    with_votes: bool


def transcript_of(own: Holdings, runs: Sequence[str]) -> OwnTranscript:
    """Return what was told in some runs of one initiator; raise ``RunError`` if no run can be used.

    Parameters
    ----------
    own : Holdings
        What the agent has.
    runs : sequence of str
        The runs, all of one initiator.
    """
    stores = {run: RunStore(run_folder(own.home, run), packages_of(own.estimator)) for run in runs}
    begun = {run: store for run, store in stores.items() if store.task() is not None and store.rows() is not None}
    used = {run: store for run, store in begun.items() if store.fingerprint() == own.fingerprint}
    if not used:
        raise RunError(_nothing(own.name, runs, changed=bool(begun)))
    n_rows = len(own.ids)
    labels, told, with_votes = [], [], False
    for store in used.values():
        told_in = _Told(own, store)
        labels.append(told_in.placed(told_in.labels(), n_rows))
        told += [told_in.placed(numbers, n_rows) for numbers in told_in.turns()]
        voted = told_in.votes()
        with_votes |= voted is not None
        told += [] if voted is None else [told_in.placed(voted, n_rows)]
    rows = np.flatnonzero(np.isfinite(np.column_stack(labels)).any(axis=1))
    return OwnTranscript(
        tuple(used),
        tuple(run for run in begun if run not in used),
        rows,
        beside([one[rows] for one in labels], len(rows)),
        beside([one[rows] for one in told], len(rows)),
        with_votes,
    )


class _Told:
    """What was told in one run, for its training samples."""

    def __init__(self, own: Holdings, store: RunStore) -> None:
        begin = store.task()
        assert begin is not None
        message = decode(begin)
        assert isinstance(message, m.Begin)
        self._own, self._store = own, store
        self._task = Task.of(message, store.rows(), 0.0)
        assert self._task.rows is not None
        self._rows = self._task.rows[~self._task.aside]

    def labels(self) -> Floats:
        return of_labels(self._task.training_codes, self._task.n_classes)

    def turns(self) -> Iterator[Floats]:
        codes, n_classes = self._task.training_codes, self._task.n_classes
        for past in self._store.past_turns():
            reply = decode(past.whole)
            if isinstance(reply, m.TurnTaken) and reply.model_weight > NEGLIGIBLE:
                yield said_of_classes(unpack_reward(reply.reward, codes, n_classes), codes, n_classes)

    def votes(self) -> Floats | None:
        """Return the votes of the kept models on all training samples; None if votes were never sent.

        The agent does not keep which samples were asked for, so all are counted. If the owner randomises votes, these
        are randomised in the same way.
        """
        entries = entries_of(self._own.home / "ledger.jsonl", self._store.folder.name)
        if not any(entry.direction == "sent" and entry.type == type_of(m.Scores) for entry in entries):
            return None
        part, held = Part.recalled(self._own, self._store), self._rows >= 0
        privacy = (
            None if self._own.privacy is None else RunPrivacy(self._own.privacy, self._store, self._own.fingerprint)
        )
        said = part.votes(self._rows, None if privacy is None else privacy.voting(self._rows, self._task))
        votes = np.full((len(held), part.n_classes), np.nan)
        votes[held] = votes_of(self._task.method.told_votes(said, part.agent.total_weight))
        return votes

    def placed(self, numbers: Floats, n_rows: int) -> Floats:
        """Return an array with the numbers of the samples at the agent's rows, and NaN in all other rows."""
        held = self._rows >= 0
        out: Floats = np.full((n_rows, numbers.shape[1]), np.nan)
        out[self._rows[held]] = numbers[held]
        return out


def _nothing(name: str, runs: Sequence[str], changed: bool) -> str:
    named = ", ".join(runs)
    if changed:
        return (
            f"Agent {name!r}: its table has changed since these runs, so it is not known which rows they were about: "
            f"{named}. Restore the old table to try the attack."
        )
    return (
        f"Agent {name!r} was given no task in these runs, and released nothing that could be attacked: "
        f"{named or 'none'}."
    )
