"""What an agent has and never shows, made from its file; and whether its columns have moved since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assistlearn.agent.file import ANSWER_WITHIN, AgentDescription, Allowance
from assistlearn.agent.limits import OwnerLimits
from assistlearn.agent.loading import LoadedAgent, load_agent
from assistlearn.agent.privacy import PrivacyKeeper
from assistlearn.agent.store import RunStore, note_problem
from assistlearn.alignment import Ids
from assistlearn.core.people import Groups
from assistlearn.errors import (
    DescriptionError,
    MovedColumnsError,
    NoConsentError,
    RefusedError,
    TableChangedError,
    WrongKeyError,
)
from assistlearn.protocol import messages as m
from assistlearn.tables.schema import Schema
from assistlearn.tables.table import distributions, moved


@dataclass(frozen=True)
class Holdings:
    """What an agent has, and never shows.

    Without a learner, at an initiator that has labels alone, the estimator is None and the features have no columns.
    ``allow``, given the opening of a run, raises ``RefusedError`` if the agent does not allow it, or ``NoConsentError``
    if its owner can be asked for consent (and answers within ``answer_within`` days). It is called before every answer,
    except to ``Forget``.

    Without ``limits``, any amount may be asked, as where all agents are on one machine of one owner; without
    ``privacy``, anything may be told, and nothing is counted. ``min_effective`` is the least effective sample size with
    which the agent takes a turn. With ``proof``, it tells nothing about a model unless the model is better than chance
    beyond doubt, on samples that it was not fitted to (:mod:`assistlearn.agent.task`).

    ``fingerprint`` shows a change of the table in the middle of a run. ``schema``, and what ``columns`` returns (how
    the columns are distributed), are plain values, kept with the models; ``read_as`` returns the features with the
    columns of an earlier schema, and raises if they do not fit. With ``accepts_moved_columns`` the agent votes although
    columns have moved far since training.

    ``known`` says which rows have a value in any feature: a helper does not hold the people of the others. ``groups``
    says which rows are about the same person, as far as its own table says; None where no two are. ``at_home``: this is
    the initiator's own agent in a run that it leads, so nothing that it says leaves.
    """

    name: str
    estimator: Any
    ids: Ids
    features: Any
    home: Path
    secret: bytes | None = None
    allow: Callable[[m.Open], None] | None = None
    answer_within: int = ANSWER_WITHIN
    limits: OwnerLimits | None = None
    privacy: PrivacyKeeper | None = None
    min_effective: float = 0.0
    proof: bool = False
    fingerprint: str = ""
    schema: Mapping[str, Any] | None = None
    read_as: Callable[[Mapping[str, Any]], Any] | None = None
    columns: Callable[[], Mapping[str, Any]] | None = None
    accepts_moved_columns: bool = False
    known: NDArray[np.bool_] | None = None
    ignores_case: bool = False
    groups: Groups | None = None
    at_home: bool = False

    def held(self) -> tuple[Ids, NDArray[np.intp] | None]:
        """Return the ids of the people whom the agent holds as a helper, and their rows; None for all rows."""
        if self.known is None:
            return self.ids, None
        rows = np.flatnonzero(self.known)
        return Ids(self.ids.take(rows), f"Agent {self.name!r}"), rows

    def features_as(self, schema: Mapping[str, Any] | None) -> Any:
        if schema is None or schema == self.schema or self.read_as is None:
            return self.features
        return self.read_as(schema)


MIN_SECRET = 16
"""In bytes."""


def holdings_of(file: Path) -> Holdings:
    return from_loaded(load_agent(file))


def from_loaded(agent: LoadedAgent) -> Holdings:
    description, allowance = agent.description, agent.description.allow
    ids = Ids(agent.table.ids, f"Agent {description.name!r}")
    return Holdings(
        name=description.name,
        estimator=agent.estimator,
        ids=ids,
        features=agent.rows(),
        home=description.models,
        known=agent.table.says_something(),
        secret=secret_of(description),
        fingerprint=agent.table.fingerprint,
        schema=agent.table.schema.to_dict(),
        read_as=partial(_read_as, agent),
        columns=partial(distributions, agent.table.features),
        ignores_case=description.id_case == "ignore",
        groups=agent.table.groups(),
        accepts_moved_columns=description.moved_columns == "accept",
        min_effective=0 if allowance is None else allowance.min_effective,
        proof=allowance is not None and allowance.proof,
        allow=None if allowance is None else gate(description.name, allowance),
        answer_within=ANSWER_WITHIN if allowance is None else allowance.answer_within,
        limits=None if allowance is None else OwnerLimits(description.name, allowance, len(agent.table)),
        privacy=None if description.privacy is None else _keeper(description, ids),
    )


def holdings_without_table(description: AgentDescription) -> Holdings:
    """Return holdings to answer askers that are not allowed anything, in the words of the agent itself."""
    return Holdings(
        name=description.name,
        estimator=None,
        ids=Ids(["nobody"], f"Agent {description.name!r}"),  # at least one id is needed; nobody asks about it
        features=None,
        home=description.models,
        allow=_nobody(description.name) if description.allow is None else gate(description.name, description.allow),
        answer_within=ANSWER_WITHIN if description.allow is None else description.allow.answer_within,
    )


def _keeper(description: AgentDescription, ids: Ids) -> PrivacyKeeper:
    """Check the methods here: by now, those of the owner's own package are registered."""
    assert description.privacy is not None
    try:
        description.privacy.check_methods()
    except WrongKeyError as error:
        raise DescriptionError(f"{description.places('privacy', error.key)}: {error}") from None
    return PrivacyKeeper(description.name, description.privacy, description.models, ids)


def _nobody(name: str) -> Callable[[m.Open], None]:
    def refuse(opening: m.Open) -> None:
        raise RefusedError(
            f"Agent {name!r} works for nobody: its file does not say who may start runs with it ([allow])."
        )

    return refuse


def _read_as(agent: LoadedAgent, schema: Mapping[str, Any]) -> Any:
    description = agent.description
    again = load_agent(description, schema=Schema.from_dict(schema))
    if not again.table.ids.equals(agent.table.ids):
        raise TableChangedError(f"Agent {description.name!r}: its table changed while it was being read. Try again.")
    return again.rows()


def secret_of(description: AgentDescription) -> bytes | None:
    if description.secret is None:
        return None
    try:
        secret = description.secret.read_bytes().strip()
    except OSError as error:
        raise DescriptionError(
            f"{description.places('secret')}: the secret cannot be read: {error}. All agents need the same file."
        ) from None
    if len(secret) < MIN_SECRET:
        raise DescriptionError(
            f"{description.places('secret')}: the secret has {len(secret)} bytes; at least {MIN_SECRET} are needed. "
            "Make one: openssl rand -hex 32 > shared.key"
        )
    return secret


def gate(
    name: str, allowance: Allowance, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> Callable[[m.Open], None]:
    """Return a check that raises ``NoConsentError``, where the owner can be asked for consent, or ``RefusedError``."""
    unknown = RefusedError if allowance.unknown == "refuse" else NoConsentError

    def check(opening: m.Open) -> None:
        known = opening.initiator in allowance.initiators
        if allowance.expired(clock()) and (known or unknown is NoConsentError):
            raise RefusedError(
                f"Agent {name!r}: its owner's permission has expired: it was valid until {allowance.until}."
            )
        if not known:
            raise unknown(
                f"Agent {name!r} does not work for {opening.initiator!a}, but for {list(allowance.initiators)}."
            )
        if allowance.purpose is not None and opening.purpose != allowance.purpose:
            raise unknown(f"Agent {name!r} works for the purpose {allowance.purpose!r} only, not {opening.purpose!r}.")

    return check


def moved_columns(own: Holdings, store: RunStore) -> list[str]:
    """Return in words for the owner which columns have moved far since a run was trained."""
    then = store.columns()
    if then is None or own.columns is None or store.fingerprint() == own.fingerprint:
        return []
    return moved(then, own.columns())


def check_columns(own: Holdings, store: RunStore) -> None:
    """Tell the owner which columns have moved far, and refuse to vote with them unless the owner accepts it.

    Others are not told which columns these are, or how they have moved.
    """
    words = moved_columns(own, store)
    if not words:
        return
    lines = "".join(f"  {each}\n" for each in words)
    told = f"Run {store.folder.name!r}: the table has changed since training, as if units had changed:\n{lines}"
    note_problem(own.home, told)
    if not own.accepts_moved_columns:
        raise MovedColumnsError(
            f"Agent {own.name!r}: {len(words)} of the columns of its table have moved far since training, as if their "
            "units had changed. Its votes would mean nothing. Its owner finds the columns in problems.log, and "
            'corrects the table, or accepts the change: moved_columns = "accept" in the agent file.'
        )
