"""The rules of ``[privacy]`` in one run: what a turn or a prediction tells about people is checked, then counted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from assistlearn.agents import Answer, KeptModel, Turn
from assistlearn.alignment.matching import Rows
from assistlearn.core.confidence import Said
from assistlearn.errors import SitsOutError
from assistlearn.service.privacy.privacy_keeper import PrivacyKeeper
from assistlearn.service.privacy.randomiser import Randomiser
from assistlearn.service.privacy.told_bits import holdout_bits, reward_bits, vote_bits
from assistlearn.service.privacy.told_book import Release

if TYPE_CHECKING:
    from assistlearn.service.store import RunStore
    from assistlearn.service.task import Task


class RunPrivacy:
    """Keeps an owner's rules in one run.

    Parameters
    ----------
    keeper : PrivacyKeeper
        The rules, and what was told before.
    store : RunStore
        What the agent keeps of the run.
    fingerprint : str
        The fingerprint of the agent's table. Votes with another table count as new votes.
    """

    def __init__(self, keeper: PrivacyKeeper, store: RunStore, fingerprint: str) -> None:
        self._keeper = keeper
        self._store = store
        self._fingerprint = fingerprint

    @cached_property
    def _initiator(self) -> str:
        return str(self._store.opened()["initiator"])

    # -- training

    def check_task(self, task: Task) -> None:
        """Raise, before any training, for a task in which the agent could take no turn."""
        self._check_run(task)
        self._keeper.check(self._initiator, self._turn_mark(0), self._of_a_turn(task, task.rows))

    def check_turn(self, turn: int, n_told: int, task: Task, rows: Rows) -> None:
        """Raise where a turn would tell too much; ``n_told`` turns have told something before.

        ``rows`` has the agent's rows of the samples about which it tells something. In a turn that is taken again,
        these are only the new samples.
        """
        self._check_run(task)
        if (rows >= 0).any():
            self._keeper.check_rounds(n_told)
        self._keeper.check(self._initiator, self._turn_mark(turn), self._of_a_turn(task, rows), SitsOutError)

    def count_turn(self, turn: Turn, answer: Answer, task: Task, rows: Rows) -> None:
        """Count what the answer to a turn tells about each person.

        A useless model tells no bits. But if rewards are randomised, one answer counts: that the model is useless
        follows from the randomised reward.
        """
        releases = self._of_a_turn(task, rows, not answer.verdict.useless, answer.holdout is not None)
        self._keeper.charge(self._initiator, self._turn_mark(turn.number), releases, SitsOutError)

    def randomiser(self, task: Task) -> Randomiser | None:
        """Return how answers are randomised; None where they are not."""
        assert task.rows is not None
        training, aside = task.rows[~task.aside], task.rows[task.aside]
        return self._randomiser(task.n_classes, self._keeper.texts(training), self._keeper.texts(aside))

    def _check_run(self, task: Task) -> None:
        self._keeper.check_method(task.method_name, task.method)
        assert task.rows is not None
        held = task.rows[~task.aside] >= 0
        self._keeper.check_classes(task.training_codes[held], None if task.weights is None else task.weights[held])

    def _of_a_turn(self, task: Task, rows: Rows | None, rewarded: bool = True, held_out: bool = True) -> list[Release]:
        assert rows is not None
        answers = int(self._keeper.rules.randomise is not None)
        bits = reward_bits(task.method, task.n_classes) if rewarded else 0
        out = [Release(self._keeper.people(rows[~task.aside]), bits, answers)]
        if held_out and task.aside.any():
            bits = holdout_bits(task.method, task.n_classes)
            out.append(Release(self._keeper.people(rows[task.aside]), bits, answers))
        return [release for release in out if release.bits or release.answers]

    def _turn_mark(self, turn: int) -> int:
        return self._keeper.coin.mark("turn", self._store.mark(), turn)

    # -- prediction

    def check_votes(self, rows: Rows, n_models: int, task: Task) -> None:
        """Raise where votes would tell too much of the people in some rows."""
        self._keeper.check_method(task.method_name, task.method)
        self._keeper.check(self._initiator, self._votes_mark(), self._of_votes(rows, n_models, task))

    def count_votes(self, rows: Rows, n_models: int, task: Task) -> None:
        """Count what votes tell of the people in some rows; the same votes as last time tell nothing new."""
        self._keeper.charge(self._initiator, self._votes_mark(), self._of_votes(rows, n_models, task))

    def voting(self, rows: Rows, task: Task) -> _Voting | None:
        """Return how votes on these rows are randomised; None where they are not."""
        randomiser = self._randomiser(task.n_classes, [], [])
        return None if randomiser is None else _Voting(randomiser, self._keeper.texts(rows))

    def _of_votes(self, rows: Rows, n_models: int, task: Task) -> list[Release]:
        if not n_models:
            return []
        answers = n_models if self._keeper.rules.randomise is not None else 0
        return [Release(self._keeper.people(rows), vote_bits(task.method, task.n_classes, n_models), answers, votes=1)]

    def _votes_mark(self) -> int:
        return self._keeper.coin.mark("votes", self._store.mark(), self._fingerprint)

    def _randomiser(self, n_classes: int, training: list[str], holdout: list[str]) -> Randomiser | None:
        epsilon = self._keeper.rules.randomise
        if epsilon is None:
            return None
        return Randomiser(self._keeper.coin, epsilon, self._store.mark(), n_classes, training, holdout)


class _Voting:
    """Randomises the votes of kept models on some people, block by block."""

    def __init__(self, randomiser: Randomiser, ids: list[str]) -> None:
        self._randomiser = randomiser
        self._ids = ids

    def __call__(self, kept: KeptModel, said: Said, rows: slice) -> Said:
        return self._randomiser.votes(kept, said, self._ids[rows])
