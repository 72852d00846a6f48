"""Keeps the rules of ``[privacy]``: what is told about a person is counted before it is sent, or refused.

Bits, predictions and randomised answers are counted for each person and each initiator, and for ever
(:mod:`~assistlearn.service.privacy.told_book`). If one person has reached a limit, an answer that includes this person
is refused as a whole, so the others in it are not told about either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from assistlearn.agent_files import PrivacyRules
from assistlearn.alignment import Ids
from assistlearn.alignment.matching import Rows
from assistlearn.core.ignorance import Floats, effective_size
from assistlearn.core.votes import Codes
from assistlearn.errors import RefusedError, RunError, SitsOutError
from assistlearn.methods import method_class, names
from assistlearn.methods.method import Method
from assistlearn.service.privacy.coin import Coin
from assistlearn.service.privacy.told_book import People, PeopleTold, Release, ToldBook

SLACK = 1.0 + 1e-9
"""Sums of epsilons and effective sample sizes have rounding errors. A limit may be passed by this factor."""


class PrivacyKeeper:
    """Checks and counts what may be told about the people in an owner's table.

    Parameters
    ----------
    agent : str
        The agent's name.
    rules : PrivacyRules
        What its owner wrote under ``[privacy]``.
    home : path
        Where the agent keeps its key, and the book of what it has told.
    ids : Ids
        The ids of its table.

    Attributes
    ----------
    stated : callable
        Returns the figures of what an initiator was told, by the agent's ledger. If the book has less, it was lost, and
        nothing is told.
    """

    def __init__(self, agent: str, rules: PrivacyRules, home: Path, ids: Ids) -> None:
        self.rules = rules
        self.book = ToldBook(home / "told")
        self.stated: Callable[[str], Mapping[str, float]] = lambda initiator: {}
        self._agent = agent
        self._home = home
        self._ids = ids

    @cached_property
    def coin(self) -> Coin:
        """The agent's own random numbers. Their key is drawn when it is first needed."""
        path = self._home / "coin.key"
        if not path.exists() and not self.book.empty:
            raise RunError(
                f"{path} is missing. The counts of what was told about each person depend on this key. Restore it "
                "from a backup. If there is none: assistlearn recount FILE."
            )
        return Coin(path)

    @cached_property
    def _people(self) -> People:
        return self.coin.people(self._ids.texts.to_list())

    def people(self, rows: Rows) -> People:
        """Return the people among some samples whom the agent holds, as numbers in rising order."""
        return np.unique(self._people[rows[rows >= 0]])

    def texts(self, rows: Rows) -> list[str]:
        """Return the ids of those samples that the agent holds."""
        return self._ids.take(rows[rows >= 0]).to_list()

    # -- about a run as a whole

    def check_method(self, name: str, method: Method) -> None:
        """Raise for a method that the owner does not take part in, or whose answers it cannot randomise."""
        allowed = self.rules.methods
        if allowed is not None and name not in allowed:
            raise RefusedError(
                f"Agent {self._agent!r} takes part only in runs with method {' or '.join(map(repr, allowed))}, not "
                f"{name!r}. Its owner may add it to methods, under [privacy] in the agent file."
            )
        if self.rules.randomise is not None and method.wants_probabilities:
            raise RefusedError(
                f"Agent {self._agent!r} randomises what it says about a person (privacy.randomise = "
                f"{self.rules.randomise:g}): one bit, or a class. With method {name!r} it would also say how sure it "
                f"is, which is more than one bit. Start a run with method {' or '.join(map(repr, _of_one_bit()))}."
            )

    def check_people(self, n_people: float) -> None:
        """Raise if a run would train on too few of the agent's rows; how many they are is not said."""
        if self.rules.min_samples is not None and n_people * SLACK < self.rules.min_samples:
            raise RefusedError(
                f"Agent {self._agent!r} only trains on at least {self.rules.min_samples:,} people that it knows; this "
                "run has fewer. Its owner may lower min_samples, under [privacy] in the agent file."
            )

    def check_classes(self, codes: Codes, weights: Floats | None) -> None:
        """Raise if the agent holds too few people, in all or of one class. The error does not say how many they are.

        People count by the effective sample size of their initial weights: a person with almost no weight hides nobody.
        A class that none of them has is not checked.
        """
        if self.rules.min_samples is None:
            return
        counts = np.ones(len(codes)) if weights is None else weights
        self.check_people(effective_size(counts))
        for code in np.unique(codes):
            if effective_size(counts[codes == code]) * SLACK < self.rules.min_samples:
                raise RefusedError(
                    f"Agent {self._agent!r} only trains on at least {self.rules.min_samples:,} people of each class. "
                    "This run has fewer of one class, and could single people out. Its owner may lower min_samples, "
                    "under [privacy] in the agent file."
                )

    def check_rounds(self, n_told: int) -> None:
        """Raise if no turn is left in a run in which the agent may tell something about samples."""
        if self.rules.max_rounds is not None and n_told >= self.rules.max_rounds:
            raise SitsOutError(
                f"Agent {self._agent!r} answers about its samples in at most {self.rules.max_rounds:,} turns of one "
                f"run: {n_told:,} are used, 0 are left. Its owner may raise max_rounds, under [privacy] in the agent "
                "file."
            )

    # -- about each person

    def check(
        self, initiator: str, mark: int, releases: Sequence[Release], refusal: type[RefusedError] = RefusedError
    ) -> None:
        """Raise ``refusal`` if an initiator would be told too much about a person."""
        told = self.book.check(initiator, self.stated(initiator))
        self._check(told, _due(told, mark, releases), refusal)

    def charge(
        self, initiator: str, mark: int, releases: Sequence[Release], refusal: type[RefusedError] = RefusedError
    ) -> None:
        """Count what will be told, or raise ``refusal`` if it is too much; count nothing twice under the same mark."""
        with self.book.alone():
            told = self.book.check(initiator, self.stated(initiator))
            due = _due(told, mark, releases)
            self._check(told, due, refusal)
            for release in due:
                told = told.with_release(release, self.rules.randomise, mark)
            if due:
                self.book.keep(told)

    def _check(self, told: PeopleTold, releases: Sequence[Release], refusal: type[RefusedError]) -> None:
        rules, epsilon = self.rules, self.rules.randomise or 0.0
        for release in releases:
            told = told.with_people(release.people) if told.is_rebuilt else told
            for key, unit, most, values, more in (
                ("max_bits_per_sample", "bits", rules.max_bits_per_sample, told.bits, release.bits),
                ("max_predictions", "predictions", rules.max_predictions, told.votes, release.votes),
                ("max_epsilon", "epsilon", rules.max_epsilon, told.epsilon(), epsilon * release.answers),
            ):
                if most is None or not more or not len(release.people):
                    continue
                spent = told.of(values, release.people)
                over = int(np.count_nonzero(spent + more > most * SLACK))
                if over:
                    top = float(spent.max())
                    raise refusal(
                        f"Agent {self._agent!r} tells {told.initiator!r} at most {most:,g} {unit} about one person in "
                        f"all: {top:,g} are used for the person it has told most about, {max(most - top, 0):,g} are "
                        f"left, {more:,g} more are asked for. {over:,} of {len(release.people):,} people would pass "
                        f"the limit. Leave them out, or ask its owner to raise {key}, under [privacy] in the agent "
                        "file."
                    )


def _of_one_bit() -> list[str]:
    """Return the methods with which agents say where they are right, and not how sure they are."""
    return [name for name in names() if not method_class(name).wants_probabilities]


def _due(told: PeopleTold, mark: int, releases: Sequence[Release]) -> list[Release]:
    """Return the releases with this mark that are not counted yet.

    Votes on a person are not counted again if the last votes on that person had the same mark.
    """
    if mark in told.marks:
        return []
    due = [
        replace(each, people=each.people[told.of(told.last, each.people) != mark]) if each.votes else each
        for each in releases
    ]
    return [each for each in due if len(each.people)]
