"""Whether the helpers of a run vote for new people as they did in training, from prediction to prediction.

People are compared in blocks: everybody of whom votes were asked since the last look, each once, and nobody who took
part in training. Each look has a share of the rate of false alarms, and all looks together have the whole. So it does
not grow, however often a run is asked.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile

import numpy as np

from assistlearn import storage
from assistlearn.alignment import Ids
from assistlearn.core.ignorance import Floats
from assistlearn.errors import RunError
from assistlearn.evaluation.constancy import RATE, Changed, changed
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.people import people_of
from assistlearn.runs.settings import RunSettings

AT_ONCE = 200
"""People of whom a service is asked before it looks. A prediction of a table looks at once."""

MOST_SEEN = 100_000
"""The last people that were counted are known again; one that is asked about again does not count again."""


class VoteWatch:
    """Compares votes for new people with those of training.

    Parameters
    ----------
    folder : RunFolder
        The run's folder. What was heard since the last look is kept there.
    settings : RunSettings
        The run's settings.

    Attributes
    ----------
    named : dict of str to Changed
        The helpers that were found to vote otherwise, in this prediction or an earlier one.
    """

    def __init__(self, folder: RunFolder, settings: RunSettings) -> None:
        self._folder = folder
        self._agents, self._initiator = settings.agents, settings.initiator
        said = folder.votes_in_training()
        self._then = {} if said is None else dict(zip(settings.agents, said.astype(float), strict=True))
        trained_on = folder.people()
        self._known = set() if trained_on is None else {row.tobytes() for row in np.ascontiguousarray(trained_on)}
        self._load(settings)

    def _load(self, settings: RunSettings) -> None:
        path, shape = self._folder.votes_heard, (0, len(self._agents), len(settings.classes))
        self._heard: list[Floats] = []
        self._seen: dict[bytes, None] = {}
        self._n_looks = 0
        self.named: dict[str, Changed] = {}
        if not path.exists():
            return
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                heard, seen, facts = kept["heard"], kept["seen"], json.loads(bytes(kept["facts"]))
            if heard.shape[1:] != shape[1:]:
                raise ValueError(f"its votes have the shape {heard.shape}")
            self._heard = [row.astype(float) for row in heard]
            self._seen = dict.fromkeys(row.tobytes() for row in seen)
            self._n_looks = int(facts["looks"])
            self.named = {name: Changed(name, **known) for name, known in facts["named"].items()}
        except (ValueError, KeyError, TypeError, EOFError, OSError, BadZipFile) as error:
            raise RunError(
                f"{path} is damaged ({error}). It holds the votes that were heard since helpers were last compared "
                "with training. Remove it: the comparison then begins anew."
            ) from None

    def hear(self, ids: Ids, home: Any, said: Mapping[str, Floats], at_least: int) -> list[Changed]:
        """Hear votes for new people; return the helpers that are named for the first time.

        Parameters
        ----------
        ids : Ids
            The people.
        home : path
            Where the initiator keeps the key of their digests.
        said : mapping of str to ndarray of shape (n_people, n_classes)
            Each agent's votes for them, by one unit of model weight; zeros where it says nothing.
        at_least : int
            How many people there must be for a look.
        """
        if not self._then:
            return []
        rows = {}
        for place, digest in enumerate(np.ascontiguousarray(people_of(ids, home))):
            key = digest.tobytes()
            if key not in self._known and key not in self._seen:
                rows[key] = place
        self._seen |= dict.fromkeys(rows)
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        nothing = np.zeros((len(ids), next(iter(self._then.values())).shape[1]))
        votes = np.stack([said.get(name, nothing) for name in self._agents], axis=1)
        self._heard += [votes[place] for place in rows.values()]
        return self._look() if len(self._heard) >= at_least else []

    def _look(self) -> list[Changed]:
        """Compare what was heard since the last look with training."""
        self._n_looks += 1
        heard = np.array(self._heard)
        self._heard = []
        there = {name: heard[:, place] for place, name in enumerate(self._agents) if name not in self.named}
        rate = RATE / (self._n_looks * (self._n_looks + 1))  # all looks together: at most RATE
        found = list(changed(self._then, there, self._initiator, rate))
        self.named |= {each.helper: each for each in found}
        self.save()
        return found

    def save(self) -> None:
        """Keep what was heard, for the next prediction."""
        if not self._n_looks and not self._heard:
            return
        named = {name: {"n": each.n, "why": each.why} for name, each in self.named.items()}
        facts = json.dumps({"looks": self._n_looks, "named": named}).encode()
        n_classes = next(iter(self._then.values())).shape[1]
        heard = np.array(self._heard, dtype=np.float32).reshape(-1, len(self._agents), n_classes)
        seen = np.array([np.frombuffer(key, np.uint8) for key in self._seen], dtype=np.uint8)
        content = io.BytesIO()
        np.savez(content, heard=heard, seen=seen, facts=np.frombuffer(facts, np.uint8))
        storage.write_bytes(self._folder.votes_heard, content.getvalue())
