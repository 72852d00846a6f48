"""What the relay receives: neither labels, ids, rewards nor scores; all of them where encryption is switched off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assistlearn.alignment import Ids
from assistlearn.alignment.ids import digests, key_from
from assistlearn.errors import UnreachableError
from assistlearn.initiator.prediction import predict
from assistlearn.initiator.training import train
from assistlearn.protocol import decode
from assistlearn.protocol import messages as m
from assistlearn.reach.flare import reach_flare
from assistlearn.reach.opening import opened_run
from tests.reach.organisations import HELPERS, INITIATOR, Organisations

pytestmark = pytest.mark.network

SLICE = 20
"""Bytes that are looked for at a time: by chance they would turn up once in 10**40 captures."""


def slices(content: bytes) -> list[bytes]:
    """Return parts of a message, from many offsets; a message that is sent in pieces still has most of them whole."""
    found = {content[start : start + SLICE] for start in range(0, len(content) - SLICE + 1, 7)}
    return [part for part in found if len(set(part)) > SLICE // 3]  # not what may stand anywhere, such as zeros


def train_and_predict(made: Organisations, run: str) -> None:
    """Train with a hold-out, and predict; leave in the taps what was said."""
    folder = reach_flare.create_run(made.folder / run, run, made.task(run, HELPERS[:2], rounds=2, seed=1, holdout=0.2))
    with opened_run(folder, training=True) as (open_run, own):
        list(train(open_run))
        prediction = predict(open_run, Ids(own.table.ids), np.arange(len(own.table)))
    assert prediction.absent == {}


class Capture:
    """What came to the relay, and what the agents of the helpers were told and said, in one run."""

    def __init__(self, made: Organisations, run: str) -> None:
        before = set(made.taps.iterdir())
        sizes = {path: path.stat().st_size for path in before}
        train_and_predict(made, run)
        frames = sorted(made.taps.glob("relay-*.frames"))
        self.relay = b"".join(path.read_bytes()[sizes.get(path, 0) :] for path in frames)
        said = sorted(path for path in set(made.taps.glob("*.msg")) - before)
        self.messages = [(path, decode(path.read_bytes()), path.read_bytes()) for path in said]
        self.run_folder = made.folder / run

    def of(self, *kinds: type[m.Message]) -> list[bytes]:
        return [content for _, message, content in self.messages if isinstance(message, kinds)]

    def seen(self, contents: list[bytes]) -> tuple[int, int]:
        """Return how many parts of messages the relay has seen, and of how many."""
        parts = [part for content in contents for part in slices(content)]
        return sum(part in self.relay for part in parts), len(parts)


@pytest.fixture(scope="module")
def encrypted(organisations) -> Capture:
    organisations.small_tables()
    return Capture(organisations, "encrypted")


@pytest.fixture(scope="module")
def plain(organisations) -> Capture:
    organisations.small_tables()
    switch = organisations.taps / "plain"
    switch.touch()
    try:
        return Capture(organisations, "in-the-clear")
    finally:
        switch.unlink()


SECRETS = {
    "ids": (m.Align, m.Aligned),
    "labels": (m.Begin,),
    "rewards that are brought": (m.TakeTurn,),
    "rewards that are given": (m.TurnTaken,),
    "scores": (m.Scores,),
    "openings": (m.Open, m.Opened),
}


@pytest.mark.parametrize("what", SECRETS)
def test_the_relay_sees_no_part_of_any_message(encrypted, what):
    n_seen, n_parts = encrypted.seen(encrypted.of(*SECRETS[what]))
    assert n_parts > 5
    assert n_seen == 0


@pytest.mark.parametrize("what", SECRETS)
def test_without_encryption_the_relay_would_see_all_of_it(plain, what):
    n_seen, n_parts = plain.seen(plain.of(*SECRETS[what]))
    assert n_parts > 5
    assert n_seen == n_parts


def test_what_lies_in_the_run_folders_is_what_was_looked_for(encrypted, plain):
    """Rewards as the initiator has them, and requests as the helpers have them, were in the messages at the taps."""
    for capture in (encrypted, plain):
        kept = {path.read_bytes() for path in (capture.run_folder / "turns").glob("*.msg")}
        given = capture.of(m.TurnTaken)
        assert len(given) == 4  # two helpers, two rounds
        assert set(given) < kept
        assert len(kept) == 6  # the others are the initiator's own, which the helpers hear of as news
        n_seen, n_parts = capture.seen(list(kept))
        assert n_parts > 5
        assert (n_seen > 0) == (capture is plain)


def test_the_helpers_own_records_are_of_the_messages_at_the_taps(organisations, encrypted):
    homes = organisations.folder / "agents"
    requests = [path.read_bytes() for path in homes.rglob("runs/encrypted/turns/*/request.msg")]
    begins = [path.read_bytes() for path in homes.rglob("runs/encrypted/begin.msg")]
    assert (len(requests), len(begins)) == (6, 3)  # the initiator's own among them
    assert set(encrypted.of(m.TakeTurn)) < set(requests)
    assert set(encrypted.of(m.Begin)) < set(begins)
    assert encrypted.seen(requests + begins)[0] == 0


def test_digests_of_ids_are_in_the_clear_capture_alone(organisations, encrypted, plain):
    """The digests are computed here, from the ids and the shared secret, and looked for one by one."""
    ids = Ids(pl.read_csv(organisations.folder / "agents" / f"{INITIATOR}.csv")["id"])
    secret = (organisations.folder / "agents" / "shared.key").read_bytes()
    for capture, share in ((encrypted, 0.0), (plain, 1.0)):
        starts = [content for _, message, content in capture.messages if isinstance(message, m.Align)]
        tokens = {token for content in starts for token in _windows(content)}
        found = _share_of_digests(ids, secret, tokens, starts)
        assert found is not None  # the token is in the message: the digests can be made again
        seen = np.mean([bytes(digest) in capture.relay for digest in found])
        assert seen == share


def _windows(content: bytes) -> list[bytes]:
    """Return every 16 bytes of the beginning of a message: one of them is the alignment's token."""
    return [content[start : start + 16] for start in range(min(len(content) - 16, 200))]


def _share_of_digests(ids: Ids, secret: bytes, tokens: set[bytes], contents: list[bytes]) -> np.ndarray | None:
    """Return the digests under the token for which the messages hold them."""
    for token in sorted(tokens):
        made = digests(ids, key_from(secret, token))
        if any(bytes(made[0]) in content and bytes(made[-1]) in content for content in contents):
            return made
    return None


def test_ids_and_features_themselves_are_in_no_message_at_all(organisations, encrypted, plain):
    table = pl.read_csv(organisations.folder / "agents" / f"{INITIATOR}.csv")
    said = b"".join(content for _, _, content in plain.messages)
    for capture in (encrypted.relay, plain.relay, said):
        for value in (*table["id"][:50], repr(table["x0"][0])):
            assert value.encode() not in capture


def test_the_taps_hold_what_the_relay_needs_to_know(encrypted):
    """So that a tap that caught nothing would be noticed: the names of the sites pass the relay in the clear."""
    assert len(encrypted.relay) > 100_000
    for name in (INITIATOR, *HELPERS[:2]):
        assert name.encode() in encrypted.relay


def test_no_private_key_passes_the_relay(organisations, encrypted):
    for path in Path(organisations.folder / "kits").rglob("*.key"):
        body = path.read_bytes()
        public = path.with_suffix(".crt").read_bytes()  # a key holds the public one, too, which everybody may have
        private = [part for part in slices(body) if part not in public]
        assert private
        assert not any(part in encrypted.relay for part in private[:50])


@pytest.mark.slow
def test_a_site_answers_no_call_that_was_not_encrypted(organisations):
    """As a relay that was changed could send them, in the initiator's name."""
    organisations.small_tables()
    switch = organisations.taps / f"plain-{INITIATOR}"
    switch.touch()
    before = set(organisations.taps.glob("*.msg"))
    try:
        task = organisations.task("unsealed", HELPERS[:1], rounds=1, seed=1, holdout=0.2)
        task.write_text(task.read_text().replace("[training]", "give_up_after = 6\n[training]"))
        folder = reach_flare.create_run(organisations.folder / "unsealed", "unsealed", task)
        with opened_run(folder, training=True) as (open_run, _), pytest.raises(UnreachableError, match=HELPERS[0]):
            list(train(open_run))
    finally:
        switch.unlink()
    assert set(organisations.taps.glob("*.msg")) == before  # no agent has seen a message
