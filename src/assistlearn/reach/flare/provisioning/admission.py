"""Whether an authority signs a request: the network's file says who takes part, the record which keys are known."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.authority_record import Standing
from assistlearn.reach.flare.provisioning.fingerprint import fingerprint
from assistlearn.reach.flare.provisioning.kit import Kind
from assistlearn.reach.flare.provisioning.network_file import Network, admin_name
from assistlearn.reach.flare.provisioning.signing_request import Requested


def admitted(
    network: Network, standings: Sequence[Standing], requested: Sequence[Requested], renew: bool, now: datetime
) -> dict[Kind, Requested]:
    """Return what a request asks for, by the kind of kit; raise where it is not to be signed.

    Parameters
    ----------
    network : Network
        Who takes part.
    standings : sequence of Standing
        The certificates that were signed before.
    requested : sequence of Requested
        What was read from the request.
    renew : bool
        Whether another key may take the place of one that is still valid.
    now : datetime
        The present time.
    """
    kinds = kinds_of(network, [one.name for one in requested])
    if len({fingerprint(one.key) for one in requested}) < len(requested):
        raise NetworkError("The request has one key under two names. Have a key made for each.")
    for one in requested:
        key = fingerprint(one.key)
        for standing in standings:
            _check_key(one.name, key, standing)
            _check_place(one.name, key, standing, renew, now)
    return dict(zip(kinds, requested, strict=True))


def kinds_of(network: Network, names: list[str]) -> list[Kind]:
    """Return the kinds of kit for the names in one request; the network's file decides, not the request."""
    if names == [network.relay]:
        return ["relay"]
    first = names[0]
    wanted = [first, admin_name(first)] if first in network.all_initiators else [first]
    if first not in network.organisations or names != wanted:
        raise NetworkError(
            f"The request is for {names}. The network's file names the relay {network.relay!r}, the organisations "
            f"{list(network.organisations)} and, of these, the initiators {list(network.all_initiators)}; names must "
            "be exactly the same. A new member is added to the file in the authority's folder first; the request of "
            "an initiator is made with --role initiator."
        )
    return ["site", "admin"] if len(names) == 2 else ["site"]


def _check_key(name: str, key: str, standing: Standing) -> None:
    """Refuse a key that belongs to another name, or was revoked."""
    if standing.signed.key != key:
        return
    if standing.signed.name != name:
        raise NetworkError(f"The key of {name!r} is that of {standing.signed.name!r}. Have a new one made.")
    if standing.revoked is not None:
        raise NetworkError(f"The key of {name!r} was revoked on {standing.revoked:%d %B %Y}. Have a new one made.")


def _check_place(name: str, key: str, standing: Standing, renew: bool, now: datetime) -> None:
    """Refuse a name that has a valid certificate for another key, unless ``renew`` permits a new key."""
    if standing.signed.name == name and standing.signed.key != key and standing.is_valid(now) and not renew:
        raise NetworkError(
            f"{name!r} has a certificate for another key, valid until {standing.signed.until:%d %B %Y}. If its owner "
            "has told you of a new key, sign it with --renew, and revoke the old one (network revoke --replaced)."
        )
