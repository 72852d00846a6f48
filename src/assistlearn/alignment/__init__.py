"""Alignment: the agents find out which samples they share, in one order, without sending ids in clear.

Every step takes bytes or returns bytes. The caller carries them from one agent to the other.
"""

from assistlearn.alignment.asked import ids_asked
from assistlearn.alignment.composite_id import join_ids, split_ids
from assistlearn.alignment.hashed import HashHelper, HashInitiator
from assistlearn.alignment.id_column import normalise
from assistlearn.alignment.ids import Ids
from assistlearn.alignment.one_id import normalise_one
from assistlearn.alignment.psi import PsiHelper, PsiInitiator
from assistlearn.alignment.roles import Helper, Initiator
from assistlearn.alignment.samples import Minimum, Overlap, samples_of_run

__all__ = [
    "HashHelper",
    "HashInitiator",
    "Helper",
    "Ids",
    "Initiator",
    "Minimum",
    "Overlap",
    "PsiHelper",
    "PsiInitiator",
    "ids_asked",
    "join_ids",
    "normalise",
    "normalise_one",
    "samples_of_run",
    "split_ids",
]
