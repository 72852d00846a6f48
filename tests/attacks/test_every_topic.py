"""Every channel and topic of FLARE: listed, judged, and tried at every kind of process."""

from __future__ import annotations

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")

from assistlearn.reach.flare.guard.lists import DATA, METHODS, REQUESTS, TAKEN, Sender
from assistlearn.reach.flare.guard.processes import Process
from tests.attacks.attack import attack
from tests.attacks.attackers import Door, HostileRelay, relay_log, said_by_relay
from tests.attacks.flare_topics import FILE, Topic, text, topics
from tests.attacks.forging import command, forged, streamed
from tests.attacks.test_commands_to_a_site import processes
from tests.reach.organisations import HELPERS, STRANGER

SHOP = HELPERS[2]


def test_the_list_has_every_topic_of_flare_with_its_verdict():
    assert FILE.read_text() == text(), "look at what is new, then: python -m tests.attacks.flare_topics"


def test_the_list_knows_what_is_dangerous():
    refused = {line.split(" | ")[1] for line in FILE.read_text().splitlines() if " | refused | " in line}
    assert {"sys.shell", "train.delete_run", "train.shutdown", "stop_cell", "change_root", "bulk"} <= refused


def test_the_methods_that_others_may_call_are_those_that_we_publish():
    from nvflare.collab.api.decorators import is_publish

    from assistlearn.reach.flare.site.apps import Site

    published = {name for name, value in vars(Site).items() if is_publish(value)}
    assert published == frozenset().union(*METHODS.values())


def foreign(process: Process, sender: Sender) -> list[Topic]:
    """Return the topics that a kind of process does not take from a kind of sender."""
    taken = {row[2:] for row in TAKEN if row[:2] == (process, sender)}
    found = {topic.topic: topic for topic in topics() if topic.topic != DATA}
    chosen = [topic for topic in found.values() if ("plain", *topic[:2]) not in taken]
    assert len(chosen) > 150
    return chosen


def told(chosen: list[Topic]) -> list[str]:
    return [f"FLARE {topic.channel}/{topic.topic}" for topic in chosen]


@pytest.mark.network
@attack("member", "sends every topic that FLARE knows to another's site", "each is refused, and in the ledger")
def test_a_member_sends_every_topic_to_a_site(organisations, stranger):
    door, before = Door(organisations, SHOP), processes(organisations, SHOP)
    chosen = foreign("site", "site")
    with HostileRelay(organisations):
        for topic in chosen:
            stranger.send(forged(SHOP, topic.channel, topic.topic, {}, origin=STRANGER))
            stranger.send(streamed(SHOP, topic.channel, topic.topic, {}, origin=STRANGER))
        door.refused(*told(chosen), peer=STRANGER)
    assert processes(organisations, SHOP) == before


@pytest.mark.network
@attack(
    "member", "sends every topic that FLARE knows to the job of another's site", "each is refused, and in the ledger"
)
def test_a_member_sends_every_topic_to_a_job(organisations, stranger, job):
    door, before = Door(organisations, SHOP), processes(organisations, SHOP)
    chosen = foreign("job", "site")
    with HostileRelay(organisations):
        for topic in chosen:
            stranger.send(forged(f"{SHOP}.{job}", topic.channel, topic.topic, {}, origin=STRANGER))
        door.refused(*told(chosen), peer=STRANGER)
    assert processes(organisations, SHOP) == before


@pytest.mark.network
@attack("member", "sends every topic that FLARE knows to the relay", "what a site must say is taken, all else refused")
def test_a_member_sends_every_topic_to_the_relay(organisations, stranger):
    start, before = relay_log(organisations), processes(organisations, "relay")
    chosen = foreign("relay", "site")
    for topic in chosen:
        stranger.send(forged("server", topic.channel, topic.topic, {}, origin=STRANGER))
    said_by_relay(organisations, start, *(f"Refused from {STRANGER}: {what}" for what in told(chosen)))
    assert processes(organisations, "relay") == before


@pytest.mark.network
@attack("relay", "sends every topic that FLARE knows to a site, and to its job", "all but job control is refused")
def test_the_relay_sends_every_topic(organisations, job):
    relay, door, before = HostileRelay(organisations), Door(organisations, SHOP), processes(organisations, SHOP)
    commands = [topic for topic in topics() if topic.channel == "admin" and topic.topic not in REQUESTS]
    assert len(commands) > 20
    for topic in commands:
        relay.say(command(SHOP, topic.topic, {}, job_id=job, origin="server"))
    at_site, at_job = foreign("site", "relay"), foreign("job", "relay-job")
    for topic in at_site:
        relay.say(forged(SHOP, topic.channel, topic.topic, {}, origin="server"))
    for topic in at_job:
        relay.say(forged(f"{SHOP}.{job}", topic.channel, topic.topic, {}, origin=f"server.{job}"))
    door.refused(*told(commands), *told(at_site), peer="server")
    door.refused(*told(at_job), peer=f"server.{job}")
    assert processes(organisations, SHOP) == before
