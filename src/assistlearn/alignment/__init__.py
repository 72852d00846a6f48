"""Alignment: the agents find out which samples they share, in one order, without sending ids in clear.

Every step takes bytes or returns bytes. The caller carries them from one agent to the other.
"""

from assistlearn.alignment.ids import Ids, join_ids, normalise, normalise_one, split_ids
from assistlearn.alignment.psi import PsiHelper, PsiInitiator
from assistlearn.alignment.roles import (
    HashHelper,
    HashInitiator,
    Helper,
    Initiator,
    Minimum,
    Overlap,
    ids_asked,
    samples_of_run,
)

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
