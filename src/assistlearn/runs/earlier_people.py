"""The people of an earlier run who take part again. Those with no change come first, in their earlier order."""

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
        The earlier run.
    rows : ndarray of int
        The initiator's rows.
    places : ndarray of int
        The position of each of them among the samples of the earlier run; -1 for new people.
    same : ndarray of bool
        For whom nothing has changed: neither the label, nor whether they are held out.
    """

    earlier: EarlierRun
    rows: Rows
    places: NDArray[np.intp]
    same: Bools

    @classmethod
    def of(cls, run: OpenRun, labelled: Rows) -> EarlierPeople | None:
        """Return the labelled rows in their new order; None in a run that goes on from no other.

        Labels of people who were held out are not compared: a helper that hears of a change would learn of the label.
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
        """Return only the rows that take part."""
        return EarlierPeople(self.earlier, self.rows[kept], self.places[kept], self.same[kept])

    @property
    def roles(self) -> Codes:
        """What each of them was in the earlier run: new, trained on or held out."""
        held_out = self.earlier.aside[self.places]
        return np.where(self.places < 0, NEW, np.where(held_out, HELD_OUT, TRAINED_ON))

    def write(self, run: OpenRun) -> None:
        """Write with which earlier samples the run begins, and what each of its own samples was before."""
        still = np.zeros(len(self.earlier.aside), dtype=bool)
        still[self.places[self.same]] = True
        EarlierRunFolder(run.folder.path).write_people(still, self.roles)


def roles_of(run: OpenRun) -> Codes | None:
    """Return what each sample of a run was in the earlier run; None in a run that goes on from no other."""
    return EarlierRunFolder(run.folder.path).roles()
