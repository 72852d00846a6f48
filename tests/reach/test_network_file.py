"""What a network's file says, and what is wrong with it: file, line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistlearn.errors import DescriptionError
from assistlearn.reach.flare.provisioning.kit import load_kit
from assistlearn.reach.flare.provisioning.network_file import Network, load_network
from assistlearn.reach.flare.provisioning.provision import create_kits

LINES = {
    "name": 'name = "credit"',
    "relay": 'relay = "relay.example.org"',
    "port": "port = 9000",
    "organisations": 'organisations = ["bank", "shop", "phone-co"]',
    "initiator": 'initiator = "bank"',
    "valid_days": "valid_days = 30",
}
WHOLE = Network("credit", "relay.example.org", ("bank", "shop", "phone-co"), "bank", 9000, 30)


def written(folder: Path, *without: str, **lines: str) -> Path:
    """Write a network's file in which some lines are left out and others changed; keys keep their lines."""
    file = folder / "network.toml"
    kept = [lines.get(key, line) for key, line in LINES.items() if key not in without]
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return file


def test_every_key_is_read(tmp_path):
    assert load_network(written(tmp_path)) == WHOLE


def test_port_and_days_may_be_left_out(tmp_path):
    network = load_network(written(tmp_path, "port", "valid_days"))
    assert network == Network("credit", "relay.example.org", ("bank", "shop", "phone-co"), "bank")
    assert (network.port, network.valid_days) == (8002, 360)


@pytest.mark.parametrize("key", ["name", "relay", "organisations", "initiator"])
def test_a_key_that_is_missing_is_named_with_an_example(tmp_path, key):
    file = written(tmp_path, key)
    with pytest.raises(DescriptionError, match=rf"^{file}: the key '{key}' is missing. Add a line such as: {key} = "):
        load_network(file)


@pytest.mark.parametrize(
    ("key", "line", "words"),
    [
        ("name", 'name = "two words"', "'two words'"),
        ("name", 'name = ""', "a text in quotes"),
        ("name", f'name = "{"n" * 64}"', "at most 63"),
        ("relay", 'relay = "relay.example.org:8002"', "the port has a key of its own"),
        ("relay", 'relay = "https://relay.example.org"', "must be a host name"),
        ("relay", 'relay = "10.0.0.1"', "must be a host name"),
        ("relay", 'relay = "-relay.org"', "must be a host name"),
        ("relay", f'relay = "{"r" * 61}.org"', "has 65 characters; a certificate has room for 64"),
        ("relay", 'relay = "SHOP"', "is the name of an organisation, too"),
        ("port", "port = 65536", "at most 65535"),
        ("port", "port = 0", "port"),
        ("port", 'port = "8002"', "port"),
        ("organisations", 'organisations = ["bank"]', "at least two organisations, not 1"),
        ("organisations", 'organisations = "bank"', "organisations"),
        ("organisations", 'organisations = ["bank", "the shop"]', "'the shop' cannot be an organisation's name"),
        ("organisations", 'organisations = ["bank", "../shop"]', "'../shop' cannot be an organisation's name"),
        ("organisations", 'organisations = ["bank", "Bank"]', "the same name"),
        ("organisations", 'organisations = ["bank", "Server"]', "'Server' cannot be used"),
        ("organisations", 'organisations = ["bank", "relay"]', "'relay' cannot be used"),
        ("initiator", 'initiator = "baker"', "not one of the organisations ['bank', 'shop', 'phone-co']"),
        ("valid_days", "valid_days = 0", "valid_days"),
        ("valid_days", "valid_days = 1.5", "valid_days"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(tmp_path, key, line, words):
    file = written(tmp_path, **{key: line})
    with pytest.raises(DescriptionError) as raised:
        load_network(file)
    assert str(raised.value).startswith(f"{file}, line {list(LINES).index(key) + 1}: ")
    assert words in str(raised.value)


def test_several_initiators_are_listed_and_each_gets_an_admin_kit(tmp_path):
    network = load_network(written(tmp_path, initiator='initiators = ["bank", "shop"]'))
    assert network.all_initiators == ("bank", "shop")
    kits = create_kits(network, tmp_path / "kits")
    names = [load_kit(kits[name], "admin").name for name in ("admin", "shop/admin")]
    assert names == ["admin@bank.org", "admin@shop.org"]
    assert not (tmp_path / "kits" / "phone-co" / "admin").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('initiators = ["bank", "baker"]', "'baker' is not one of the organisations"),
        ('initiators = ["bank", "bank"]', "Give each a different name"),
        ('initiators = ["phone-co", "phone_co"]', "'phone_co' is not one of the organisations"),
        ("initiators = []", "the key 'initiator' is missing"),
        ('initiator = "bank"\ninitiators = ["shop"]', "not both"),
    ],
)
def test_initiators_that_cannot_be_are_refused(tmp_path, line, words):
    with pytest.raises(DescriptionError, match=words):
        load_network(written(tmp_path, initiator=line))


def test_an_initiators_name_fits_into_the_certificate_of_its_admin(tmp_path):
    for n in (54, 55):
        name = "b" * n
        organisations = f'organisations = ["{name}", "shop"]'
        file = written(tmp_path, organisations=organisations, initiator=f'initiator = "{name}"')
        if n == 54:
            assert "admin" in create_kits(load_network(file), tmp_path / "kits")
            continue
        with pytest.raises(DescriptionError, match=r"line 5: the initiator's name has 55 characters; use at most 54"):
            load_network(file)


def test_an_unknown_key_is_named_with_the_one_that_was_meant(tmp_path):
    file = written(tmp_path, port="prot = 9000")
    with pytest.raises(DescriptionError, match=rf"^{file}, line 3: there is no key 'prot'. Did you mean 'port'\?"):
        load_network(file)


def test_a_file_that_is_missing_or_not_toml_or_not_text_is_said_so(tmp_path):
    with pytest.raises(DescriptionError, match="There is no network's file"):
        load_network(tmp_path / "nowhere.toml")
    file = tmp_path / "network.toml"
    file.write_text("name = credit\n")
    with pytest.raises(DescriptionError, match=r"is not valid TOML: .*line 1"):
        load_network(file)
    file.write_bytes(b"name = '\xff\xfe'\n")
    with pytest.raises(DescriptionError, match="must be UTF-8"):
        load_network(file)
