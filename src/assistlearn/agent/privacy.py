"""The rules of ``[privacy]``: what is told about a person is counted, and perhaps randomised, before it is told."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assistlearn import storage
from assistlearn.agent.agent import Answer, ChangesVotes, KeptModel, Turn
from assistlearn.agent.file import PrivacyRules
from assistlearn.agent.limits import People, PeopleTold, Release, ToldBook, check_people
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows
from assistlearn.core import Reward, SoftReward
from assistlearn.core.ignorance import effective_size
from assistlearn.core.labels import draw
from assistlearn.errors import RefusedError, RunError, SitsOutError
from assistlearn.methods import method_class, names
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer, Method
from assistlearn.types import Bools, Codes, Floats, Said

if TYPE_CHECKING:
    from assistlearn.agent.agent import Task
    from assistlearn.agent.store import RunStore


# An agent's own random numbers, which nobody else can know: they are computed from a secret key. The seeds of a run
# come from its initiator, which could remove any noise that was drawn from them. The numbers here come from a key that
# never leaves the agent's home. The same question gets the same draw, so asking again tells nothing new.

KEY_BYTES = 32


class Coin:
    """Random numbers, each a keyed digest (BLAKE2b) of what it is for.

    If the file of the key does not exist, a key is drawn, and only the owner can read the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     coin = Coin(Path(home, "coin.key"))
    ...     again = Coin(Path(home, "coin.key"))
    ...     bool(coin.people(["ann"]) == again.people(["ann"])), oct(Path(home, "coin.key").stat().st_mode)[-3:]
    (True, '600')
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            _draw_key(path)
        self._key = path.read_bytes()
        if len(self._key) != KEY_BYTES:
            raise RunError(
                f"{path} has {len(self._key)} bytes; the key for this agent's random answers must have {KEY_BYTES}. "
                "Restore it from a backup: the counts of what was told about each person depend on it."
            )

    def people(self, ids: Iterable[str]) -> NDArray[np.uint64]:
        """Return a number for each id. Nobody can find the id from the number without the key."""
        return self._digests(b"person", b"", (text.encode() for text in ids))

    def mark(self, *what: str | int) -> int:
        return int(self._digests(b"mark", b"", [json.dumps(what).encode()])[0])

    def draws(self, what: tuple[str | int, ...], ids: Iterable[str], truth: Codes) -> Floats:
        """Return uniform random numbers from zero to one for one question.

        If a true answer changes, it gets another draw. With the same draw, the two answers together would tell more
        than each by itself.
        """
        pairs = zip(ids, truth.tolist(), strict=True)
        drawn = self._digests(b"coin", json.dumps(what).encode(), (f"{code} {text}".encode() for text, code in pairs))
        even: Floats = (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return even

    def _digests(self, person: bytes, what: bytes, texts: Iterable[bytes]) -> NDArray[np.uint64]:
        keyed = hashlib.blake2b(what + b"\0", key=self._key, digest_size=8, person=person)

        def digest(text: bytes) -> bytes:
            state = keyed.copy()  # the key is hashed once, not for each text
            state.update(text)
            return state.digest()

        return np.frombuffer(b"".join(map(digest, texts)), dtype="<u8").astype(np.uint64)


def _draw_key(path: Path) -> None:
    """Draw a key; where another process does so at the same time, the first one counts."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with storage.writing(path):
        storage.private_folder(path.parent)
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()


# Randomised response: it changes what an agent says about a person in training, on hold-out samples and in prediction.
#
# Rewards are randomised before the model is judged. The model's weight, its mean reward and whether it is kept follow
# from the randomised reward, so they tell nothing more about anybody. Given the agent's models, each answer is then
# epsilon-differentially private in the row that it is about.


@dataclass(frozen=True)
class Randomiser:
    """Randomised response in one run.

    ``run`` is the mark of the run: the same question in another run gets another draw. ``training`` and ``holdout`` are
    the ids of the samples that the agent holds.
    """

    coin: Coin
    epsilon: float
    run: str
    n_classes: int
    training: list[str]
    holdout: list[str]

    def reward(self, turn: Turn, reward: Reward, held: Bools | None) -> Reward:
        """Randomise where a model is right; where the agent abstains, nothing changes."""
        if isinstance(reward, SoftReward):
            raise RefusedError("an answer of more than one bit is not randomised (privacy.randomise).")
        mine = slice(None) if held is None else held
        told = reward.copy()
        told[mine] = self._said("reward", turn.number, self.training, reward[mine].astype(np.int64), 2) == 1
        return told

    def holdout_answer(self, turn: Turn, answer: HoldoutAnswer) -> HoldoutAnswer:
        if isinstance(answer, SoftReward):
            raise RefusedError("an answer of more than one class is not randomised (privacy.randomise).")
        told, voting = answer.copy(), answer != ABSTAINS
        told[voting] = self._said("hold-out", turn.number, self.holdout, answer[voting], self.n_classes)
        return told

    def votes(self, kept: KeptModel, said: Said, ids: list[str]) -> Said:
        if said.ndim != 1:
            raise RefusedError("probabilities are not randomised (privacy.randomise).")
        return self._said("vote", kept.round, ids, np.asarray(said, dtype=np.int64), self.n_classes)

    def _said(self, what: str, number: int, ids: list[str], truth: Codes, n_answers: int) -> Codes:
        chance = self.coin.draws((what, self.run, number), ids, truth)
        return draw(truth, None, (math.inf, self.epsilon, 0.0), n_answers, chance)


# How many bits an agent tells about one person, by the method, before any entropy coding. Numbers about all people
# together, such as a model's weight, are not counted. Nor is which people an agent holds.


def reward_bits(method: Method, n_classes: int) -> int:
    """Return the bits of a reward: 1 of a hard method, else those of a score; of each class, if there are more than 2.

    >>> from assistlearn.methods import method_named
    >>> soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 0})
    >>> reward_bits(method_named("ascii", {}), 3), reward_bits(soft, 2), reward_bits(soft, 3)
    (1, 8, 12)
    """
    form = method.silence(1, n_classes)
    return int(form.bits * form.levels.size) if isinstance(form, SoftReward) else 1


def holdout_bits(method: Method, n_classes: int) -> int:
    """Return the bits of an answer for a hold-out sample: of a hard method those of a class code, else those of votes.

    >>> from assistlearn.methods import method_named
    >>> [holdout_bits(method_named("ascii", {}), n_classes) for n_classes in (2, 3, 4, 5)]
    [1, 2, 2, 3]
    >>> soft = method_named("soft", {"loss": "logistic", "shrinkage": 0.5, "score_bits": 0})
    >>> holdout_bits(soft, 2), holdout_bits(soft, 3)
    (8, 24)
    """
    if isinstance(method.silence(1, n_classes), SoftReward):
        return method.vote_bits(n_classes) * (1 if n_classes == 2 else n_classes)
    return (n_classes - 1).bit_length()


def vote_bits(method: Method, n_classes: int, n_models: int) -> int:
    """Return the bits of the votes of some models on one person. With two classes one number tells both votes.

    Those of a hard method are no more than the class codes that its models answer.

    >>> from assistlearn.methods import method_named
    >>> ascii = method_named("ascii", {})
    >>> vote_bits(ascii, 2, n_models=40), vote_bits(ascii, 2, n_models=3), vote_bits(ascii, 4, n_models=3)
    (16, 3, 6)
    """
    said = method.vote_bits(n_classes) * (1 if n_classes == 2 else n_classes)
    if method.wants_probabilities:
        return said
    return min(said, n_models * holdout_bits(method, n_classes))


# Keeps the rules of ``[privacy]``: what is told about a person is counted before it is sent, or refused.
#
# Bits, predictions and randomised answers are counted for each person and each initiator, and for ever. If one person
# has reached a limit, an answer that includes this person is refused as a whole, so the others in it are not told about
# either.

SLACK = 1.0 + 1e-9
"""Sums of epsilons and effective sample sizes have rounding errors. A limit may be passed by this factor."""


class PrivacyKeeper:
    """Checks and counts what may be told about the people in an owner's table.

    ``home`` has the agent's key and the book of what it has told. ``stated`` returns the figures of what an initiator
    was told, by the agent's ledger: if the book has less, it was lost, and nothing is told.
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
        return np.unique(self._people[rows[rows >= 0]])

    def texts(self, rows: Rows) -> list[str]:
        return self._ids.take(rows[rows >= 0]).to_list()

    # -- about a run as a whole

    def check_method(self, name: str, method: Method) -> None:
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
        check_people(self._agent, n_people * SLACK, self.rules.min_samples, "min_samples, under [privacy]")

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
        if self.rules.max_rounds is not None and n_told >= self.rules.max_rounds:
            raise SitsOutError(
                f"Agent {self._agent!r} answers about its samples in at most {self.rules.max_rounds:,} turns of one "
                f"run: {n_told:,} are used, 0 are left. Its owner may raise max_rounds, under [privacy] in the agent "
                "file."
            )

    # -- about each person

    def check(
        self, initiator: str, mark: int, releases: Sequence[Release], refusal: type[RefusedError] = RefusedError
    ) -> PeopleTold | None:
        """Raise ``refusal`` where too much would be told; return the counts with these releases, None if they had them.

        Nothing is counted twice under the same mark.
        """
        told = self.book.check(initiator, self.stated(initiator))
        due = _due(told, mark, releases)
        self._check(told, due, refusal)
        for release in due:
            told = told.with_release(release, self.rules.randomise, mark)
        return told if due else None

    def charge(
        self, initiator: str, mark: int, releases: Sequence[Release], refusal: type[RefusedError] = RefusedError
    ) -> None:
        """Count what will be told, or raise ``refusal`` if it is too much."""
        with self.book.locked():
            told = self.check(initiator, mark, releases, refusal)
            if told is not None:
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


class RunPrivacy:
    """The owner's rules in one run. Votes with a table of another fingerprint count as new votes."""

    def __init__(self, keeper: PrivacyKeeper, store: RunStore, fingerprint: str) -> None:
        self._keeper = keeper
        self._store = store
        self._fingerprint = fingerprint

    @cached_property
    def _initiator(self) -> str:
        return str(self._store.opened()["initiator"])

    # -- training

    def check_task(self, task: Task) -> None:
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
        self._keeper.check_method(task.method_name, task.method)
        self._keeper.check(self._initiator, self._votes_mark(), self._of_votes(rows, n_models, task))

    def count_votes(self, rows: Rows, n_models: int, task: Task) -> None:
        """Count what votes tell; the same votes as last time tell nothing new."""
        self._keeper.charge(self._initiator, self._votes_mark(), self._of_votes(rows, n_models, task))

    def voting(self, rows: Rows, task: Task) -> ChangesVotes | None:
        randomiser = self._randomiser(task.n_classes, [], [])
        if randomiser is None:
            return None
        ids = self._keeper.texts(rows)
        return lambda kept, said, block: randomiser.votes(kept, said, ids[block])

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
