"""``assistlearn network demo``: a relay and three sites on this machine, from kits to predictions."""

from __future__ import annotations

import json as json_format
import time
from pathlib import Path

from assistlearn.cli.example import write_example
from assistlearn.cli.output import command, plain, say, say_json
from assistlearn.cli.predict import predicted, show_predicted
from assistlearn.cli.show import outcome, show_result
from assistlearn.cli.train import new_run
from assistlearn.cli.training_run import train_run
from assistlearn.errors import SettingsError

PURPOSE = "try assistlearn on one machine"
HELPERS = ("lab", "scans")

_ALLOW = f"""
[allow]
initiators = ["clinic"]
purpose = "{PURPOSE}"
max_runs = 100
"""

_TASK = """\
# What to train, with whom. Paths are relative to this file.
run = "demo"
purpose = {purpose}
site = "kits/clinic"
agent = "data/clinic.toml"
helpers = {helpers}

[training]
method = "ascii"
rounds = {rounds}
"""


def run_demo(out: Path, rounds: int, as_json: bool) -> None:
    """Try a whole network on this machine, in a new folder: start the relay and the sites, train and predict."""
    from assistlearn.reach import TIMEOUT
    from assistlearn.reach.flare.installed import require_flare
    from assistlearn.reach.flare.local import LocalNetwork

    require_flare()
    if out.exists():
        raise SettingsError(f"{out} is there already. Remove it, or name another folder with --out.")
    begun = time.monotonic()

    def tell(words: str) -> None:
        if not as_json:
            say(f"[dim]{time.monotonic() - begun:5.1f} s[/]  {words}")

    task = write_demo(out, rounds)
    tell("Three organisations' tables and agent files are in " + plain(out / "data"))
    agent_files = {name: out / "data" / f"{name}.toml" for name in ("clinic", *HELPERS)}
    network = LocalNetwork(out, agent_files)
    tell(f"Kits with certificates for a relay, three organisations and an admin: {plain(out / 'kits')}")
    with network:
        tell("The relay and three sites run, each in its own processes: " + _pids(network))
        tell("Training: " + command("train", task))
        run = new_run([task], None, out / "run")
        train_run(run, quiet=as_json, timeout=TIMEOUT)
        if not as_json:
            show_result(run)
        tell("Predicting patients without a diagnosis: " + command("predict", out / "run"))
        facts = predicted(run.path, out / "data" / "new-patients.csv", out / "predictions.csv", TIMEOUT, quiet=as_json)
        if not as_json:
            show_predicted(facts)
    tell("Everything is stopped. Look around: " + command("show", out / "run"))
    if as_json:
        seconds = round(time.monotonic() - begun, 1)
        say_json({"folder": str(out), "seconds": seconds, "predictions": facts} | outcome(run))


def write_demo(out: Path, rounds: int) -> Path:
    """Write tables, agent files and a task into a folder; return the task."""
    write_example(out / "data")
    for name in HELPERS:
        with (out / "data" / f"{name}.toml").open("a", encoding="utf-8") as file:
            file.write(_ALLOW)
    task = out / "task.toml"
    helpers, purpose = json_format.dumps(list(HELPERS)), json_format.dumps(PURPOSE)
    task.write_text(_TASK.format(purpose=purpose, helpers=helpers, rounds=rounds), encoding="utf-8")
    return task


def _pids(network: object) -> str:
    processes = network.processes  # type: ignore[attr-defined]
    return ", ".join(f"{name} {process.pid}" for name, process in processes.items())
