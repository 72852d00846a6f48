"""Who of an earlier run takes part again: those of whom all is as it was come first, in the order that they had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistlearn.alignment.matching import Rows
from assistlearn.core.ignorance import Bools
from assistlearn.core.votes import Codes
from assistlearn.runs.earlier_run_folder import EarlierRun, EarlierRunFolder
from assistlearn.runs.open_run import OpenRun
from assistlearn.runs.people import people_of, places_among
from assistlearn.runs.setup import HELD_OUT, NEW, TRAINED_ON


@dataclass(frozen=True)
class EarlierPeople:
    """Some of the initiator's rows, and what they were in the earlier run.

    Attributes
    ----------
    earlier : EarlierRun
        That run.
    rows : ndarray of int
        The rows.
    places : ndarray of int
        Where they stood there; -1 for new people.
    same : ndarray of bool
        Of whom all is as it was: the label, and being held out or not.
    """

    earlier: EarlierRun
    rows: Rows
    places: NDArray[np.intp]
    same: Bools

    @classmethod
    def of(cls, run: OpenRun, labelled: Rows) -> EarlierPeople | None:
        """Return the labelled rows in their new order; None in a run that goes on from no other.

        Labels of people who were held out are not compared: whoever hears that one differs would learn of it.
        """
        earlier = EarlierRunFolder(run.folder.path).read()
        if earlier is None:
            return None
        places = places_among(people_of(run.ids_at(labelled), run.holdings.home), earlier.people)
        codes = np.asarray(run.folder.permutation())[run.table.labels[labelled]]
        there = places >= 0
        held_out = there & earlier.aside[places]
        before = np.full(len(earlier.aside), -1)
        before[~earlier.aside] = earlier.codes
        same = there & ~held_out & (before[places] == codes)
        if run.settings.plan.holdout is not None:
            same |= held_out
        first = np.flatnonzero(same)
        order = np.concatenate([first[np.argsort(places[first])], np.flatnonzero(~same)])
        return cls(earlier, labelled[order], places[order], same[order])

    def kept(self, kept: Bools) -> EarlierPeople:
        """Return those of them that take part."""
        return EarlierPeople(self.earlier, self.rows[kept], self.places[kept], self.same[kept])

    @property
    def roles(self) -> Codes:
        """What each of them was."""
        held_out = self.earlier.aside[self.places]
        return np.where(self.places < 0, NEW, np.where(held_out, HELD_OUT, TRAINED_ON))

    def write(self, run: OpenRun) -> None:
        """Keep whom the run begins with, and what each of its samples was."""
        still = np.zeros(len(self.earlier.aside), dtype=bool)
        still[self.places[self.same]] = True
        EarlierRunFolder(run.folder.path).write_people(still, self.roles)


def roles_of(run: OpenRun) -> Codes | None:
    """Return what each sample of a run was in the one that it goes on from; None where it goes on from no other."""
    return EarlierRunFolder(run.folder.path).roles()
