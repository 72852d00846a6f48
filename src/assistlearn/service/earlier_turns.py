"""What an agent keeps of an earlier run while a run goes on from it: a copy, so that the earlier run may be forgotten.

::

    again/recall.msg      what was asked for
    again/begin.msg       the task of the earlier run
    again/rows.npy        the agent's row of each sample of the earlier run, or -1
    again/000003/         one folder for each turn that can be taken again
        model.skops       its model
        reply.msg         the agent's answer in that turn, about all samples
        honest            empty; there if the agent's rewards had become honest
        origin.txt        the run that the model was fitted in
    again/answer.msg      what was answered to recall.msg; written last
    again/digests.txt     the digest of each file
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistlearn import storage
from assistlearn.alignment.matching import Rows
from assistlearn.errors import RunError
from assistlearn.learners.model import Model
from assistlearn.learners.models_on_disk import load_model
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.service.store import RunStore
from assistlearn.storage.file_digests import FileDigests
from assistlearn.storage.removing import remove_tree

FOLDER = "again"


@dataclass(frozen=True)
class EarlierTurn:
    """A turn of an earlier run.

    It has the model, the answer about all samples, whether rewards were honest, and the run that the model is from.
    """

    model: Model
    reply: m.TurnTaken
    honest: bool
    origin: str


class EarlierTurns:
    """The turns of an earlier run, in the store of the one that goes on from it.

    Parameters
    ----------
    store : RunStore
        The store of the run that goes on.
    packages : sequence of str
        As in :class:`~assistlearn.service.store.RunStore`.
    """

    def __init__(self, store: RunStore, packages: tuple[str, ...] = ()) -> None:
        self._folder = store.folder / FOLDER
        self._packages = packages
        self._files = FileDigests(self._folder)

    def answered(self, request: bytes) -> bytes | None:
        """Return the earlier answer to this request; None if there is none."""
        path = self._folder / "answer.msg"
        if not path.exists() or self._files.read(self._folder / "recall.msg") != request:
            return None
        return self._files.read(path)

    def copy(self, earlier: RunStore, turns: Sequence[int]) -> None:
        """Copy turns of another run; raise ``RunError`` if one of them is missing or has changed."""
        past = {turn.number: turn for turn in earlier.past_turns()}
        begin, rows = earlier.task(), earlier.rows()
        if begin is None or rows is None:
            raise RunError(f"Run {earlier.folder.name!r} has not begun here.")
        files = {self._folder / "begin.msg": begin, self._folder / "rows.npy": storage.array_bytes(rows)}
        for number in turns:
            turn = past.get(number)
            if turn is None or turn.model is None:
                raise RunError(f"No model of turn {number} of run {earlier.folder.name!r} is kept here.")
            folder = self._folder / f"{number:06d}"
            files |= {folder / "model.skops": earlier.model_bytes(turn.model), folder / "reply.msg": turn.whole}
            files |= {folder / "origin.txt": (turn.origin or earlier.folder.name).encode()}
            files |= {folder / "honest": b""} if turn.honest else {}
        self._files.write(files)

    def close(self, request: bytes, answer: bytes) -> None:
        """Write the request and its answer. From now on they do not change."""
        self._files.write({self._folder / "recall.msg": request, self._folder / "answer.msg": answer})

    def recall(self) -> m.Recall | None:
        """Return the request for earlier turns; None if the run does not go on from another."""
        path = self._folder / "recall.msg"
        message = decode(self._files.read(path)) if (self._folder / "answer.msg").exists() else None
        assert message is None or isinstance(message, m.Recall)
        return message

    def task(self) -> m.Begin:
        """Return the task of the earlier run."""
        begin = decode(self._files.read(self._folder / "begin.msg"))
        assert isinstance(begin, m.Begin)
        return begin

    def rows(self) -> Rows:
        """Return the agent's row of each sample of the earlier run, or -1."""
        path = self._folder / "rows.npy"
        return np.asarray(storage.array_of(self._files.read(path), path))

    def has(self, number: int) -> bool:
        """Whether a turn can be taken again."""
        return (self._folder / f"{number:06d}" / "reply.msg").exists()

    def turn(self, number: int) -> EarlierTurn:
        """Return a turn; its model is checked like any stored model."""
        folder = self._folder / f"{number:06d}"
        reply = decode(self._files.read(folder / "reply.msg"))
        assert isinstance(reply, m.TurnTaken)
        self._files.read(folder / "model.skops")
        model = load_model(folder / "model.skops", self._packages)
        origin = self._files.read(folder / "origin.txt").decode()
        return EarlierTurn(model, reply, (folder / "honest").exists(), origin)

    def remove(self) -> None:
        """Remove all these files. Models that are used again are kept with the turns of the run by now."""
        remove_tree(self._folder)
