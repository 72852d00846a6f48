"""A network whose members make their own keys: founded, joined and run by the commands that people use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assistlearn.reach.flare.carrying.flare_transport import FlareTransport
from assistlearn.reach.flare.local import LocalNetwork, free_port
from assistlearn.reach.flare.provisioning.kit import load_kit
from tests.cli.program import Said, assistlearn

PASSPHRASE = "correct horse battery"
FIRST = ("bank", "shop", "lab")
LATER = "phone-co"
INITIATORS = ("bank", "shop")
RELAY = "localhost"
STUMP = '[learner]\nkind = "sklearn.tree.DecisionTreeClassifier"\n[learner.parameters]\nmax_depth = 1\n'
ALLOW = '[allow]\ninitiators = ["bank", "shop"]\n'


class Authority:
    """The folder of an authority in ``folder``, and the commands that use it.

    Parameters
    ----------
    folder : path
        Where the authority, the requests and what comes back are; an authority that is there already is used again.
    """

    def __init__(self, folder: Path, name: str = "credit", port: int = 9) -> None:
        self.folder, self.place = folder, folder / "authority"
        self.secret = folder / "passphrase"
        if not self.place.exists():
            self._found(name, port)

    def _found(self, name: str, port: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.secret.write_text(PASSPHRASE + "\n")
        file = self.folder / "network.toml"
        organisations, initiators = json.dumps(FIRST), json.dumps(INITIATORS)
        file.write_text(
            f'name = "{name}"\nrelay = "{RELAY}"\nport = {port}\n'
            f"organisations = {organisations}\ninitiators = {initiators}\nvalid_days = 30\n"
        )
        self.do("found", file, "--out", self.place, of=None)

    def do(self, verb: str, *arguments: object, of: str | None = "") -> dict[str, Any]:
        """Run a command of the authority that succeeds."""
        said = self.tried(verb, *arguments, of=of)
        assert said.code == 0, said.err
        return said.json

    def tried(self, verb: str, *arguments: object, of: str | None = "") -> Said:
        """Run a command of the authority."""
        place = [] if of is None else [self.place]
        return assistlearn("network", verb, *place, *arguments, "--passphrase-file", self.secret, "--json")

    def admit(self, kit: Path, name: str, role: str = "member") -> Path:
        """Let a member make a key, sign its request, and return what it gets."""
        request = ok("site", "request", name, "--out", kit, "--role", role)
        out = self.folder / f"{name}.member"
        self.do("sign", request["request"], "--fingerprint", request["fingerprint"], "--out", out, "--force")
        return out

    @property
    def revoked(self) -> Path:
        """The list of revoked certificates."""
        return self.place / "revoked.crl"


def ok(*arguments: object) -> dict[str, Any]:
    """Run a command that succeeds, and return what it says."""
    said = assistlearn(*arguments, "--json")
    assert said.code == 0, said.err
    return said.json


def joined(authority: Authority, kit: Path, name: str) -> Path:
    """Let a member make a key and join; return its kit."""
    role = "relay" if name == RELAY else "initiator" if name in INITIATORS else "member"
    member = authority.admit(kit, name, role)
    ok("site", "join", kit, member, "--yes")
    return kit


class MemberNetwork:
    """A relay and three sites that run, each with a key of its own; a fourth may join.

    Parameters
    ----------
    folder : path
        A new folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder, port=free_port())
        names = (*FIRST, LATER)
        self.files = {name: folder / "agents" / f"{name}.toml" for name in names}
        self._write_tables(names)
        joined(self.authority, folder / "kits" / "relay", RELAY)
        for name in FIRST:
            joined(self.authority, folder / "kits" / name, name)
        self.network = LocalNetwork(folder, self.files)

    def kit(self, name: str) -> Path:
        """Return a member's kit."""
        return self.network.kit(name)

    def admin(self, name: str) -> Path:
        """Return an initiator's admin kit."""
        return self.network.kit(name) / "admin"

    def start(self, *names: str) -> None:
        """Start members, and wait until they are connected."""
        for name in names:
            self.network.start(name)
        self.network.wait(240.0)

    @property
    def pids(self) -> dict[str, int]:
        """The processes of the members that run."""
        assert all(process.poll() is None for process in self.network.processes.values())
        return {name: process.pid for name, process in self.network.processes.items()}

    def transport(self, initiator: str, *agents: str, give_up_after: float = 60.0) -> FlareTransport:
        """Return a transport of one of the initiators."""
        return FlareTransport(load_kit(self.kit(initiator)), load_kit(self.admin(initiator)), agents, give_up_after)

    def train(self, run: str, initiator: str, helpers: Sequence[str], give_up_after: int = 120) -> Said:
        """Train a run with a task whose kits are where it expects them."""
        home = self.folder / "homes" / initiator
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "kit").exists():
            (home / "kit").symlink_to(self.kit(initiator))
        task = home / f"{run}.toml"
        agent = json.dumps(str(self.files[initiator]))
        task.write_text(
            f'run = "{run}"\nagent = {agent}\nhelpers = {json.dumps(list(helpers))}\n'
            f'give_up_after = {give_up_after}\n[training]\nmethod = "ascii"\nholdout = 0\nrounds = 2\n'
        )
        return assistlearn("train", task, "--out", home / run, "--json")

    def install(self, *names: str) -> None:
        """Give members the authority's list of revoked certificates."""
        for name in names:
            ok("site", "revoked", self.kit(name), self.authority.revoked)

    def stop(self) -> None:
        """Stop everybody."""
        self.network.__exit__(None, None, None)

    def _write_tables(self, names: Sequence[str]) -> None:
        rng = np.random.default_rng(5)
        features = rng.normal(size=(200, len(names)))
        ids = [f"p-{i:04d}" for i in range(200)]
        good = np.where(features.sum(axis=1) > 0, "yes", "no")
        agents = self.folder / "agents"
        agents.mkdir()
        (agents / "shared.key").write_text("a secret that all agents share")
        for place, name in enumerate(names):
            table = pl.DataFrame({"id": ids, "x": features[:, place]})
            label = name in INITIATORS
            (table.with_columns(good=pl.Series(good)) if label else table).write_csv(agents / f"{name}.csv")
            lines = [f'name = "{name}"', f'table = "{name}.csv"', 'id = "id"', 'secret = "shared.key"']
            lines += [f'models = "{name}-models"'] + (['label = "good"'] if label else [])
            self.files[name].write_text("\n".join([*lines, STUMP, ALLOW]))


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of a kit or of an authority's folder, for a test to spoil."""
    shutil.copytree(folder, to)
    return to
