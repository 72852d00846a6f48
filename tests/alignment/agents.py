"""Ways to align two agents, and what they should find: worked out with a dictionary of the ids in clear."""

import numpy as np
from hypothesis import strategies as st

from assistlearn.alignment import HashHelper, HashInitiator, Ids, Minimum, PsiHelper, PsiInitiator

SECRET = b"sixteen bytes or more"
ANY_OVERLAP = Minimum(samples=0, share=0.0)


def by_hash(ours, theirs, minimum=ANY_OVERLAP):
    return HashInitiator(Ids(ours), SECRET, "lab", minimum), HashHelper(Ids(theirs), SECRET, minimum)


def by_psi(ours, theirs, minimum=ANY_OVERLAP):
    return PsiInitiator(Ids(ours), "lab", minimum), PsiHelper(Ids(theirs), minimum)


def rows_in_clear(ours, theirs):
    row_of = {str(value).strip(): row for row, value in enumerate(theirs)}
    return np.array([row_of.get(str(value).strip(), -1) for value in ours])


@st.composite
def two_tables(draw, max_size=25):
    """Two lists of ids with a random overlap, each in its own order, written in different ways."""
    pool = draw(st.lists(st.integers(0, 10**6), unique=True, min_size=2, max_size=max_size))
    ours = draw(st.lists(st.sampled_from(pool), unique=True, min_size=1))
    theirs = draw(st.lists(st.sampled_from(pool), unique=True, min_size=1))
    ways = [int, str, "{} ".format, "\t{}".format]
    ours = [draw(st.sampled_from(ways))(number) for number in ours]
    theirs = [draw(st.sampled_from(ways))(number) for number in theirs]
    return ours, theirs
