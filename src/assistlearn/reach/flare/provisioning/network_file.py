"""``network.toml``: the organisations of a network, and where its relay is."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from assistlearn.agent_files.keys import Keys
from assistlearn.agent_files.places import Places
from assistlearn.errors import DescriptionError

KEYS = ("name", "relay", "port", "organisations", "initiator", "valid_days")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
RESERVED = ("server", "relay", "admin")
LONGEST_INITIATOR = 54
"""Letters of the initiator's name: its admin's, which is made of it, must fit into a certificate."""


@dataclass(frozen=True)
class Network:
    """What a network is made of.

    Attributes
    ----------
    name : str
        Of the network.
    relay : str
        The host name by which every organisation reaches the relay.
    port : int
        The relay's only port.
    organisations : tuple of str
        Their names; each is the name of the organisation's agent, too.
    initiator : str
        Which of them starts runs.
    valid_days : int
        How long certificates are valid.
    """

    name: str
    relay: str
    organisations: tuple[str, ...]
    initiator: str
    port: int = 8002
    valid_days: int = 360


def load_network(file: Path) -> Network:
    """Read and check a network's file.

    Raises
    ------
    DescriptionError
        It names the file, the line, and what to do.
    """
    text, values = read_toml(file, "network's file")
    keys = Keys(values, Places.of(file, text), KEYS)
    for key, example in (
        ("name", 'name = "credit"'),
        ("relay", 'relay = "relay.example.org"'),
        ("organisations", 'organisations = ["bank", "shop"]'),
        ("initiator", 'initiator = "bank"'),
    ):
        keys.required(key, example)
    organisations = keys.texts("organisations") or ()
    _check_names(keys, organisations)
    return Network(
        name=_name(keys),
        relay=_host(keys, organisations),
        organisations=organisations,
        initiator=_initiator(keys, organisations),
        port=_port(keys),
        valid_days=keys.count("valid_days") or Network.valid_days,
    )


def read_toml(file: Path, what: str) -> tuple[str, dict[str, object]]:
    """Return a TOML file's text and values."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        return text, tomllib.loads(text)
    except FileNotFoundError:
        raise DescriptionError(f"There is no {what} {file}. Check the path, or write one.") from None
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{file} is not valid TOML: {error}. Correct it; texts need quotes.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"The {what} {file} cannot be read: {error}. It must be UTF-8 text.") from None


def _check_names(keys: Keys, organisations: tuple[str, ...]) -> None:
    if len(organisations) < 2:
        raise keys.error("organisations", f"a network needs at least two organisations, not {len(organisations)}.")
    for name in organisations:
        if not NAME.fullmatch(name):
            raise keys.error(
                "organisations",
                f"{name!r} cannot be an organisation's name: use at most 63 letters, digits, '_' and '-'.",
            )
        if name.lower() in RESERVED:
            raise keys.error("organisations", f"{name!r} is taken: the names {', '.join(RESERVED)} have a meaning.")
    if len({name.lower() for name in organisations}) < len(organisations):
        raise keys.error("organisations", "two organisations have the same name. Name each once.")


def _name(keys: Keys) -> str:
    name = keys.text("name") or ""
    if not NAME.fullmatch(name):
        raise keys.error("name", f"name = {name!r}: use at most 63 letters, digits, '_' and '-'.")
    return name


def _host(keys: Keys, organisations: tuple[str, ...]) -> str:
    host = keys.text("relay") or ""
    if host.lower() in [name.lower() for name in organisations]:
        raise keys.error("relay", f"relay = {host!r} is the name of an organisation, too. Rename the organisation.")
    if not HOST.fullmatch(host) or host.replace(".", "").isdecimal():
        raise keys.error(
            "relay", f"relay = {host!r} must be a host name, such as relay.example.org; the port has a key of its own."
        )
    return host


def _port(keys: Keys) -> int:
    port = keys.count("port") or Network.port
    if port > 65535:
        raise keys.error("port", f"port = {port} must be at most 65535.")
    return port


def _initiator(keys: Keys, organisations: tuple[str, ...]) -> str:
    initiator = keys.text("initiator") or ""
    if initiator not in organisations:
        raise keys.error("initiator", f"initiator = {initiator!r} is none of the organisations {list(organisations)}.")
    if len(initiator) > LONGEST_INITIATOR:
        raise keys.error(
            "initiator", f"the initiator's name has {len(initiator)} letters; use at most {LONGEST_INITIATOR}."
        )
    return initiator
