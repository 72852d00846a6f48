"""From an agent's file to what the agent has: table, learner, secret, and what its owner allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from assistlearn.agent_files import AgentDescription, Allowance
from assistlearn.agent_files.allowance import ANSWER_WITHIN
from assistlearn.alignment import Ids
from assistlearn.errors import DescriptionError, NoConsentError, RefusedError, TableChangedError, WrongKeyError
from assistlearn.protocol import messages as m
from assistlearn.service.holdings import Holdings
from assistlearn.service.limits import OwnerLimits
from assistlearn.service.privacy.privacy_keeper import PrivacyKeeper
from assistlearn.tables import LoadedAgent, Schema, load_agent
from assistlearn.tables.distribution import distributions

MIN_SECRET = 16
"""Bytes that a shared secret must have at least."""


def holdings_of(file: Path) -> Holdings:
    """Return what the agent of this file has; everything is read and checked."""
    return from_loaded(load_agent(file))


def from_loaded(agent: LoadedAgent) -> Holdings:
    """Return what an agent has, if its table is already read."""
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


def door_of(description: AgentDescription) -> Holdings:
    """Return holdings without a table, to answer askers that are not allowed anything.

    Requests are recorded and refused with the same words as by the agent itself; a run of the past can be forgotten.
    """
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
    """Return the keeper of the rules of ``[privacy]``. Methods of the owner's own package are registered by now."""
    assert description.privacy is not None
    try:
        description.privacy.check_methods()
    except WrongKeyError as error:
        raise DescriptionError(f"{description.places('privacy', error.key)}: {error}") from None
    return PrivacyKeeper(description.name, description.privacy, description.models, ids)


def _nobody(name: str) -> Callable[[m.Open], None]:
    """Return a check that refuses every opening: the file does not say who may ask. Mostly it is an initiator's."""

    def refuse(opening: m.Open) -> None:
        raise RefusedError(
            f"Agent {name!r} works for nobody: its file does not say who may start runs with it ([allow])."
        )

    return refuse


def _read_as(agent: LoadedAgent, schema: Mapping[str, Any]) -> Any:
    """Read the table again with an earlier schema, and return its features with the columns and kinds of then."""
    description = agent.description
    again = load_agent(description, schema=Schema.from_dict(schema))
    if not again.table.ids.equals(agent.table.ids):
        raise TableChangedError(f"Agent {description.name!r}: its table changed while it was being read. Try again.")
    return again.rows()


def secret_of(description: AgentDescription) -> bytes | None:
    """Return the secret that an agent's file names; None where it names none."""
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
    """Return a check that raises ``RefusedError`` for an opening that the agent's owner does not allow.

    For another initiator or another purpose it raises ``NoConsentError``, if the owner can be asked for consent.
    """
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
