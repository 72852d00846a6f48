"""The initiator alone, as a baseline: the same learner, columns, samples and rules, and as many models.

An initiator that has labels alone knows the shares of the classes, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assistlearn.agents import Agent, TrainingSamples
from assistlearn.core.groups import Groups
from assistlearn.core.ignorance import Floats
from assistlearn.core.votes import Codes
from assistlearn.events import RunFinished
from assistlearn.plan import Plan
from assistlearn.runs.setup import SetUp, set_up
from assistlearn.session import HoldOut, Session
from assistlearn.session.holdout_votes import HoldoutVotes
from assistlearn.session.local_participant import LocalParticipant


@dataclass(frozen=True)
class Alone:
    """Trains the initiator alone.

    Attributes
    ----------
    plan : Plan
        The plan of the run.
    agent : Agent
        A fresh agent with the initiator's learner.
    samples : callable
        Returns the initiator's rows of the samples to train on, and of the hold-out samples.
    labels, codes, n_classes, weights
        As in :func:`~assistlearn.runs.setup.set_up`, of all samples.
    own : ndarray or None
        The initiator's columns as numbers, where a combination may use them.
    holdout_words, roles, order, groups
        As in :func:`~assistlearn.runs.setup.set_up`: the same samples are held out.
    """

    plan: Plan
    agent: Agent
    samples: Callable[[], TrainingSamples]
    labels: Codes
    codes: Codes
    n_classes: int
    weights: Floats | None
    own: Floats | None
    holdout_words: Sequence[int] = ()
    roles: Codes | None = None
    order: Codes | None = None
    groups: Groups | None = None

    def __call__(self, n_models: int) -> HoldoutVotes:
        """Train at most ``n_models`` models, and return the votes on the hold-out samples."""
        plan, name = replace(self.plan.at_home(), n_rounds=n_models, order="chain"), self.agent.name
        made = set_up(
            plan,
            [name],
            self.labels,
            self.codes,
            self.n_classes,
            self.weights,
            own=self.own,
            holdout_words=self.holdout_words,
            roles=self.roles,
            order=self.order,
            groups=self.groups,
        )
        assert made.holdout is not None, "there is nothing to compare on"
        self.agent.begin(self.samples(), made.seeds[name])
        combining = made.combining(plan, [name], self.codes, self.n_classes, self.own)
        participant = LocalParticipant(self.agent, made.states[name], made.methods[name])
        session = Session(plan, [participant], made.states, made.holdout, combining=combining)
        finished = next(event for event in session.run() if isinstance(event, RunFinished))
        return made.holdout.votes_of(finished.n_rounds, None if combining is None else combining.final)


@dataclass(frozen=True)
class LabelsAlone:
    """The baseline of an initiator that has labels alone: the shares of the classes.

    Attributes
    ----------
    holdout : HoldOut
        The hold-out samples. It also knows the shares of the classes among the training samples.
    """

    holdout: HoldOut

    def __call__(self, n_models: int) -> HoldoutVotes:
        """Return no votes on the hold-out samples, so that the shares of the classes decide; there are no models."""
        return self.holdout.votes_of(0)


def alone_of(made: SetUp, own: Alone) -> Alone | LabelsAlone:
    """Return the baseline of a run: the initiator's own models, or the shares of the classes if it has labels alone."""
    return LabelsAlone(made.holdout) if made.label_only and made.holdout is not None else own
