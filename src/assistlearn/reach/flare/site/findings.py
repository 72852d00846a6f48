"""What a site can check before anything is shared: its kit, its certificates, the relay, the clocks, its table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assistlearn.agent.file import AgentDescription, load_description
from assistlearn.agent.loading import from_loaded, load_agent
from assistlearn.errors import AssistLearnError, DescriptionError, NetworkError
from assistlearn.reach.flare.installed import VERSION, require_flare
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.certificates import check_certificate
from assistlearn.reach.flare.site.relay_contact import compare_clocks, knock


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    what : str
        What was looked at.
    right : bool
        Whether it is as it should be.
    words : str
        What was found and, where it is wrong, what to do.
    """

    what: str
    right: bool
    words: str


def check_site(kit: Kit, agent_file: Path | None = None) -> Iterator[Finding]:
    """Look at everything that a site, the relay or the admin needs, and yield what is found.

    Parameters
    ----------
    kit : Kit
        The kit.
    agent_file : path, optional
        The organisation's agent file; without, the one in its kit.
    """
    yield _found("NVIDIA FLARE", _flare)
    yield _found("certificate", lambda: check_certificate(kit, datetime.now(UTC)))
    if kit.kind != "relay":
        try:
            date = knock(kit)
        except NetworkError as error:
            yield Finding("relay", False, str(error))
        else:
            yield Finding("relay", True, f"{kit.host}:{kit.port} answers and shows a certificate of this network")
            yield _found("clocks", lambda: compare_clocks(date))
    if kit.kind == "site":
        yield _found("agent", lambda: check_agent(kit, agent_file or kit.agent_file))


def _found(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, look())
    except (AssistLearnError, OSError) as error:
        return Finding(what, False, str(error))


def _flare() -> str:
    require_flare()
    return f"version {VERSION} is installed"


def check_agent(kit: Kit, file: Path) -> str:
    """Return the agent of a site in words; raise if its file or table is not right for this site."""
    description = load_description(file)
    check_described(kit, description)
    agent = load_agent(description)
    from_loaded(agent)
    role = "initiator" if description.is_initiator else "helper"
    return f"{description.name!r}, {role}, {len(agent.table):,} rows from {agent.table.source}"


def check_described(kit: Kit, description: AgentDescription) -> None:
    """Refuse an agent's file that does not belong to a site, or does not say who may ask the agent."""
    check_named(kit, description)
    if not description.is_initiator and description.allow is None:
        raise DescriptionError(
            f"{description.file} does not say who may start runs with this agent. Add, for example:\n"
            '[allow]\ninitiators = ["bank"]\npurpose = "credit pilot"\nmax_runs = 5\nexpires = 2030-12-31'
        )


def check_named(kit: Kit, description: AgentDescription) -> None:
    """Refuse an agent's file that does not belong to a site."""
    if description.name != kit.name:
        raise DescriptionError(
            f"{description.file} describes agent {description.name!r}, but the kit is that of {kit.name!r}. The names "
            f"must be the same: name = {kit.name!r}"
        )
