"""``network.toml``: the organisations of a network, and where its relay is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from assistlearn.errors import WrongKeyError
from assistlearn.toml import Count, Text, read_toml_file

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
RESERVED = ("server", "relay", "admin")
LONGEST_HOST = 64
"""Characters of the relay's host name, at the most: it is in the relay's certificate."""

LONGEST_INITIATOR = 54
"""Characters of an initiator's name, at the most: its admin's name contains it, and must fit into a certificate."""


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a network is made of: the keys of its file.

    Attributes
    ----------
    name : str
        The network's name.
    relay : str
        The host name by which every organisation reaches the relay.
    organisations : tuple of str
        Their names; each is the name of the organisation's agent, too.
    initiator : str
        The organisation that starts runs, where only one does.
    port : int
        The relay's only port.
    valid_days : int
        How long certificates are valid.
    initiators : tuple of str
        The organisations that start runs, where several do.

    Examples
    --------
    >>> Network("credit", "relay.example.org", ("bank", "shop"), "bank").all_initiators
    ('bank',)
    """

    name: Annotated[Text, Meta(examples=["credit"])]
    relay: Annotated[Text, Meta(examples=["relay.example.org"])]
    organisations: Annotated[tuple[str, ...], Meta(examples=[["bank", "shop"]])]
    initiator: Text | None = None
    port: Annotated[int, Meta(ge=1, le=65535)] = 8002
    valid_days: Count = 360
    initiators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_organisations(self.organisations)
        if not NAME.fullmatch(self.name):
            raise WrongKeyError("name", f"name = {self.name!r}: use at most 63 letters, digits, '_' and '-'.")
        _check_relay(self.relay, self.organisations)
        _check_initiators(self)

    @property
    def all_initiators(self) -> tuple[str, ...]:
        """The organisations that start runs."""
        return self.initiators if self.initiator is None else (self.initiator,)


def admin_name(initiator: str) -> str:
    """Return the name in the certificate of an initiator's admin kit, in the form of an address, as FLARE wants it.

    >>> admin_name("Data_Shop")
    'admin@data-shop.org'
    """
    return f"admin@{initiator.lower().replace('_', '-')}.org"


def load_network(file: Path) -> Network:
    """Read and check a network's file.

    Raises
    ------
    DescriptionError
        It names the file, the line, and what to do.
    """
    return read_toml_file(file, Network, "network's file")[0]


def _check_organisations(organisations: tuple[str, ...]) -> None:
    if len(organisations) < 2:
        raise WrongKeyError(
            "organisations", f"a network needs at least two organisations, not {len(organisations)}. Name them all."
        )
    for name in organisations:
        if not NAME.fullmatch(name):
            raise WrongKeyError(
                "organisations",
                f"{name!r} cannot be an organisation's name: use at most 63 letters, digits, '_' and '-'.",
            )
        if name.lower() in RESERVED:
            raise WrongKeyError(
                "organisations", f"{name!r} cannot be used: the names {', '.join(RESERVED)} are reserved."
            )
    if len({name.lower() for name in organisations}) < len(organisations):
        raise WrongKeyError("organisations", "two organisations have the same name. Name each once.")


def _check_relay(host: str, organisations: tuple[str, ...]) -> None:
    if host.lower() in [name.lower() for name in organisations]:
        raise WrongKeyError("relay", f"relay = {host!r} is the name of an organisation, too. Rename the organisation.")
    if len(host) > LONGEST_HOST:
        raise WrongKeyError(
            "relay", f"the relay's name has {len(host)} characters; a certificate has room for {LONGEST_HOST}."
        )
    if not HOST.fullmatch(host) or host.replace(".", "").isdecimal():
        raise WrongKeyError(
            "relay", f"relay = {host!r} must be a host name, such as relay.example.org; the port has a key of its own."
        )


def _check_initiators(network: Network) -> None:
    key = "initiators" if network.initiator is None else "initiator"
    if network.initiator is not None and network.initiators:
        raise WrongKeyError("initiators", "give initiator, for one, or initiators, for several; not both.")
    if not network.all_initiators:
        raise WrongKeyError("", "the key 'initiator' is missing. Add a line such as: initiator = \"bank\"")
    for name in network.all_initiators:
        if name not in network.organisations:
            raise WrongKeyError(key, f"{key}: {name!r} is not one of the organisations {list(network.organisations)}.")
        if len(name) > LONGEST_INITIATOR:
            raise WrongKeyError(
                key, f"the initiator's name has {len(name)} characters; use at most {LONGEST_INITIATOR}."
            )
    if len(set(map(admin_name, network.all_initiators))) < len(network.all_initiators):
        raise WrongKeyError(
            key,
            f"two of the initiators {list(network.all_initiators)} have the same name, or differ only in '_' and '-'. "
            "Give each a different name.",
        )
