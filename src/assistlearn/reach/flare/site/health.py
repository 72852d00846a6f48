"""The health of a site: what it reports in its kit, and what ``site status`` finds."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from assistlearn.reach.flare.provisioning.kit import Kind, Kit
from assistlearn.reach.flare.site.site_lock import holder
from assistlearn.storage import write_bytes

SILENCE = 60.0
"""Seconds without a sign of life after which FLARE's process is started anew."""

OLD = 30.0
"""Seconds after which a site's last report no longer counts."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """What a running site reports about itself, every few seconds, in ``KIT/status.json``.

    Attributes
    ----------
    name, kind, network : str
        Of the kit.
    pid : int
        The process of ``site start``.
    flare : int or None
        FLARE's process; None while it is being started anew.
    since, said : datetime
        When the site was started; when this was written.
    starts : int
        How often FLARE's process has been started.
    silent : float
        Seconds since its last sign of life.
    connected : bool
        Whether the site is connected to the relay, or the relay listens.
    jobs : tuple of str
        The jobs that run.
    last_line : str
        The last line of the log.
    lost_lines : int
        Lines of the log that could not be written to the disk.
    """

    name: str
    kind: Kind
    network: str
    pid: int
    flare: int | None
    since: datetime
    said: datetime
    starts: int
    silent: float
    connected: bool
    jobs: tuple[str, ...] = ()
    last_line: str = ""
    lost_lines: int = 0

    @property
    def lives(self) -> bool:
        """Whether FLARE's process runs and gives signs of life."""
        return self.flare is not None and self.silent < SILENCE

    @property
    def serves(self) -> bool:
        """Whether the process does its part: a relay listens, a site is connected or tries to be."""
        return self.lives and (self.connected or self.kind == "site")

    @property
    def words(self) -> str:
        """The health, in words for people."""
        if self.flare is None:
            return "FLARE's process is being started"
        if not self.lives:
            return f"FLARE's process {self.flare} has given no sign of life for {self.silent:.0f} s"
        if self.kind == "relay":
            return "the relay listens" if self.connected else "the relay does not listen yet"
        return "connected to the relay" if self.connected else "not connected to the relay"


def say(kit: Kit, health: Health) -> None:
    """Write down how a site is; on a full disk the last report stays and grows old, which is noticed."""
    with suppress(OSError):
        write_bytes(status_file(kit.folder), msgspec.json.encode(health) + b"\n")


def found(kit: Kit, now: datetime | None = None) -> tuple[bool, str, Health | None]:
    """Return whether a site is well, how it is in words, and its last report."""
    pid = holder(kit.folder)
    health = _said(kit.folder)
    if pid is None:
        return False, f"does not run. Start it: 'assistlearn site start {kit.folder}'", health
    if health is None or health.pid != pid:
        return False, f"is being started, as process {pid}", None
    age = ((now or datetime.now(UTC)) - health.said).total_seconds()
    if age > OLD:
        words = f"process {pid} has not reported for {age:.0f} s: it hangs, or the disk of {kit.folder} is full"
        return False, words, health
    return health.lives and health.connected, health.words, health


def status_file(folder: Path) -> Path:
    """Return the file in which a site reports how it is."""
    return folder / "status.json"


def _said(folder: Path) -> Health | None:
    try:
        return msgspec.json.decode(status_file(folder).read_bytes(), type=Health)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
