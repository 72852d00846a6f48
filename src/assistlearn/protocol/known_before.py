"""A turn that is taken again, as it travels: what was said about people in the earlier run is not sent again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from assistlearn.core import Reward, SoftReward, Verdict
from assistlearn.core.people import Places, completed, places_before
from assistlearn.errors import ProtocolError
from assistlearn.methods.method import ABSTAINS, HoldoutAnswer, Method
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import pack_holdout, pack_reward, unpack_holdout, unpack_reward
from assistlearn.types import Bools, Codes


@dataclass(frozen=True)
class RunSamples:
    """The samples of one run, as an agent knows them.

    ``codes`` are about those to train on; ``aside`` says of all which are held out, and ``held`` which the agent holds.
    """

    codes: Codes
    aside: Bools
    held: Bools


@dataclass(frozen=True)
class KnownBefore:
    """The samples about which an agent's kept models already spoke in an earlier run; both sides know them.

    ``places`` and ``holdout_places`` have the position of each sample to train on, and of each hold-out sample, among
    those of the earlier run; -1 where nothing was said about it. The method and the classes are those of both runs.
    """

    then: RunSamples
    now: RunSamples
    places: Places
    holdout_places: Places
    method: Method
    n_classes: int

    @classmethod
    def of(cls, still: Bools, then: RunSamples, now: RunSamples, method: Method, n_classes: int) -> KnownBefore:
        """Return what was said before; ``still`` says which samples of the earlier run the new one begins with."""
        if len(still) != len(then.aside) or int(np.count_nonzero(still)) > len(now.aside):
            raise ProtocolError(
                f"The earlier run has {len(then.aside):,} samples and this one {len(now.aside):,}; the message is "
                f"about {len(still):,} earlier samples, and says that {int(np.count_nonzero(still)):,} of them are "
                "still there."
            )
        places = places_before(still, ~then.aside, then.held, ~now.aside)
        if not np.array_equal(then.codes[places[places >= 0]], now.codes[places >= 0]):
            raise ProtocolError(
                "Some people are said to have the same labels as in the earlier run, but their labels differ."
            )
        return cls(then, now, places, places_before(still, then.aside, then.held, now.aside), method, n_classes)

    @property
    def fresh(self) -> Bools:
        """The samples to train on about which nothing was said."""
        return self.places < 0

    @property
    def fresh_holdout(self) -> Bools:
        return self.holdout_places < 0

    def said(self, before: m.TurnTaken) -> tuple[Reward, HoldoutAnswer | None]:
        n_aside = int(np.count_nonzero(self.then.aside))
        reward = unpack_reward(before.reward, self.then.codes, self.n_classes)
        self.method.check_reward(reward, self.n_classes)
        return reward, unpack_holdout(before.holdout, n_aside, self.n_classes) if n_aside else None

    def all_rewards(self, fresh: Reward, before: Reward) -> Reward:
        gone = ~self.now.held[~self.now.aside]
        reward: Reward = completed(_alike(fresh, before), before, self.places, gone, silence=True)
        return reward

    def all_answers(self, fresh: HoldoutAnswer, before: HoldoutAnswer | None) -> HoldoutAnswer:
        if before is None:
            return fresh
        gone = ~self.now.held[self.now.aside]
        answer: HoldoutAnswer = completed(_alike(fresh, before), before, self.holdout_places, gone, silence=ABSTAINS)
        return answer

    def part(self, whole: m.TurnTaken) -> m.TurnTaken:
        """Return the part of a turn that is sent when it was taken again: only what is about fresh samples."""
        reward = unpack_reward(whole.reward, self.now.codes, self.n_classes)
        n_aside = int(np.count_nonzero(self.now.aside))
        holdout = unpack_holdout(whole.holdout, n_aside, self.n_classes)
        return msgspec.structs.replace(
            whole,
            reward=pack_reward(_at(reward, self.fresh), self.now.codes[self.fresh]),
            holdout=None if holdout is None else pack_holdout(_at(holdout, self.fresh_holdout), self.n_classes),
        )

    def whole(self, part: m.TurnTaken, before: m.TurnTaken) -> m.TurnTaken:
        """Return the answer about all samples, from the part that was sent and from the turn of the earlier run."""
        if Verdict(part.model_weight, part.mean_reward, part.perfect).useless:
            silence = self.method.silence(len(self.now.codes), self.n_classes)
            return msgspec.structs.replace(part, reward=pack_reward(silence, self.now.codes), holdout=None)
        then, then_answered = self.said(before)
        fresh = unpack_reward(part.reward, self.now.codes[self.fresh], self.n_classes)
        self.method.check_reward(fresh, self.n_classes)
        reward = pack_reward(self.all_rewards(fresh, then), self.now.codes)
        if not self.now.aside.any():
            return msgspec.structs.replace(part, reward=reward, holdout=None)
        answered = unpack_holdout(part.holdout, int(np.count_nonzero(self.fresh_holdout)), self.n_classes)
        self.method.check_holdout(answered, self.n_classes)
        assert answered is not None
        holdout = pack_holdout(self.all_answers(answered, then_answered), self.n_classes)
        return msgspec.structs.replace(part, reward=reward, holdout=holdout)


def _alike(fresh: Any, before: Any) -> Any:
    """Return what is said about fresh samples; refuse another form, or scale, than that of the earlier run."""
    same = isinstance(fresh, SoftReward) == isinstance(before, SoftReward)
    if same and isinstance(fresh, SoftReward):
        same = (fresh.scale, fresh.bits, fresh.levels.shape[1:]) == (before.scale, before.bits, before.levels.shape[1:])
    if not same:
        raise ProtocolError(
            "The answers about new people have another form, or another scale, than the earlier answers about the "
            "others."
        )
    return fresh


def _at(said: Any, which: Bools) -> Any:
    return replace(said, levels=said.levels[which]) if isinstance(said, SoftReward) else said[which]
