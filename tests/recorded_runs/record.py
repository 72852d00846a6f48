"""Run a case and write down its outcome: contributions, predictions, and every message's type, size and digest.

    python -m tests.recorded_runs.record [--flare] > tests/recorded_runs/outcomes.json
    python -m tests.recorded_runs.record --against FILE      # compares instead, to the bit

It uses what users use, the estimator and the command line, so that it runs on the project before and after a change.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import platform
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tests.cli.program import assistlearn
from tests.papers_settings import PAPERS, PAPERS_OF_RUNS, PAPERS_OPTIONS
from tests.recorded_runs.cases import DATA, ESTIMATORS, FLARE, LATER, LEARNERS, NAMES, SIMULATIONS, write_agents

MANY = 500
"""Whoever draws more bytes than this at once draws labels that helpers are told."""


def machine() -> str:
    """Return what the last bits of a result depend on: the processor's instructions, BLAS's kernels, the libraries."""
    import scipy.linalg  # noqa: F401  (has a BLAS of its own)
    from numpy._core._multiarray_umath import __cpu_features__
    from threadpoolctl import threadpool_info

    kernels = sorted({str(pool["architecture"]) for pool in threadpool_info() if pool["user_api"] == "blas"})
    features = sorted(name for name, there in __cpu_features__.items() if there)
    versions = [f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn", "polars")]
    return _digest(json.dumps([platform.machine(), features, kernels, versions]).encode())


def of_estimator(name: str) -> dict[str, Any]:
    """Fit an estimator and return what it has learned and answers."""
    from assistlearn import AssistedClassifier

    data, learners, options = ESTIMATORS[name]
    X, y = DATA[data](return_X_y=True)
    options = PAPERS | {"n_rounds": 5, "random_state": 7, "calibrate": None} | options
    weights = np.random.default_rng(5).integers(0, 4, len(y)).astype(float) if options.pop("weights", False) else None
    thirds = np.array_split(np.arange(X.shape[1]), 3)
    agents = [
        (n, learner, list(map(int, part))) for n, learner, part in zip(NAMES, LEARNERS[learners], thirds, strict=True)
    ]
    if options.get("missing_agent") == "abstain":
        rng = np.random.default_rng(3)
        for part in thirds[1:]:
            X[np.ix_(rng.random(len(X)) < 0.2, part)] = np.nan
    clf = AssistedClassifier(agents, **options).fit(X, y, sample_weight=weights)
    return {
        "contributions": [_contribution(vars(made)) for made in clf.contributions_],
        "stop": clf.stop_reason_.name,
        "rounds": clf.n_rounds_,
        "holdout": [score.hex() for score in clf.holdout_scores_],
        "labels": clf.predict(X).tolist(),
        "digests": {
            "ignorance": _digest(clf.ignorance_.tobytes()),
            "scores": _digest(clf.decision_function(X).tobytes()),
            "probabilities": _digest(clf.predict_proba(X).tobytes()),
            "staged": _digest(b"".join(p.tobytes() for p in clf.staged_predict_proba(X))),
        },
    }


def of_simulation(name: str, folder: Path) -> dict[str, Any]:
    """Train and predict with every agent in its own process; return the result and all messages."""
    options = ["--rounds", 4, "--seed", 3, *PAPERS_OPTIONS, "--calibrate", "none", *SIMULATIONS[name]]
    last = ["--run", "recorded", "--out", folder / "run", "--json"]
    with without_chance():
        if name in LATER:
            files, earlier = write_agents(folder, name, n_people=140), folder / "earlier"
            said = assistlearn("simulate", *files[:2], *options, "--run", "earlier", "--out", earlier)
            assert said.code == 0, said.err
            files = write_agents(folder, name)
            said = assistlearn("train", "--from", earlier, files[2], *last, *LATER[name])
        else:
            said = assistlearn("simulate", *write_agents(folder, name), *options, *last)
        assert said.code == 0, said.err
        return _of_run(folder, psi="psi" in SIMULATIONS[name])


def of_flare(name: str, folder: Path, network: Any) -> dict[str, Any]:
    """Do the same over a network, whose sites run, and whose ledgers may hold earlier runs."""
    before = {agent: len(_lines(folder, agent)) for agent in NAMES}
    kits = {"site": str(network.kit("clinic")), "admin": str(network.kit("admin"))}
    values = {"run": "recorded", "agent": str(folder / "clinic.toml"), "helpers": ["lab", "scans"]} | kits
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    settings = PAPERS_OF_RUNS | {"calibrate": "none"} | FLARE[name]
    lines += ["[training]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    (folder / "task.toml").write_text("\n".join(lines) + "\n")
    with without_chance():
        said = assistlearn("train", folder / "task.toml", "--out", folder / "run", "--json")
        assert said.code == 0, said.err
        return _of_run(folder, before)


def _of_run(folder: Path, before: Mapping[str, int] | None = None, psi: bool = False) -> dict[str, Any]:
    said = assistlearn("predict", folder / "run", "--out", folder / "predictions.csv", "--force", "--json")
    assert said.code == 0, said.err
    result = json.loads((folder / "run" / "result.json").read_text())
    shown = assistlearn("show", folder / "run", "--json").json
    assert assistlearn("forget", "--yes", folder / "run", "--json").code == 0
    entries = {name: _ledger(_lines(folder, name)[(before or {}).get(name, 0) :], psi) for name in NAMES}
    predictions = (folder / "predictions.csv").read_text().splitlines()
    return {
        "contributions": [_contribution(made) for made in result["contributions"]],
        "stop": result["stop_reason"],
        "rounds": result["n_rounds"],
        "holdout": [score.hex() for score in shown["holdout_accuracy"]],
        "traffic": result["traffic"],
        "labels": [line.split(",")[1] for line in predictions],
        "messages": {name: [entry[:4] for entry in mine] for name, mine in entries.items()},
        "digests": {name: [entry[4] for entry in mine] for name, mine in entries.items()}
        | {"predictions": _digest("\n".join(predictions).encode())},
    }


def _lines(folder: Path, agent: str) -> list[str]:
    path = folder / f"{agent}-models" / "ledger.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def _ledger(lines: Sequence[str], psi: bool) -> list[list[Any]]:
    """Return direction, peer, type, bytes and digest of every message; matching by psi has chance in its bytes."""
    entries = [json.loads(line) for line in lines]
    by_chance = ("align", "aligned") if psi else ()
    digests = ["by chance" if e["type"] in by_chance else e["digest"][:24] for e in entries]
    return [[e["direction"], e["peer"], e["type"], e["bytes"], d] for e, d in zip(entries, digests, strict=True)]


@contextlib.contextmanager
def without_chance() -> Iterator[None]:
    """Take secret chance away from the initiator: the order of the class codes, tokens of matching, told labels."""
    fixed, draws, urandom = random.Random(1), random.Random(2).randbytes, os.urandom

    def reverse(key: bytes, fingerprint: str, seed: int, n_classes: int) -> list[int]:
        return list(reversed(range(n_classes)))

    with (
        mock.patch("assistlearn.initiator.opening.secret_order", reverse),
        mock.patch("assistlearn.initiator.opening.own_key", return_value=b""),
        mock.patch("secrets.token_bytes", lambda n=32: fixed.randbytes(n)),
        mock.patch("assistlearn.initiator.label_ledger.os.urandom", lambda n: draws(n) if n > MANY else urandom(n)),
    ):
        yield


def _contribution(made: dict[str, Any]) -> list[Any]:
    floats = (made["model_weight"], made["mean_reward"], made["accuracy"])
    return [made["turn"], made["round"], made["agent"], *(float(x).hex() for x in floats), made["perfect"]]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:24]


def everything(flare: bool) -> dict[str, Any]:
    """Run all cases."""
    outcomes: dict[str, Any] = {"machine": machine()}
    outcomes["estimators"] = {name: of_estimator(name) for name in ESTIMATORS}
    outcomes["simulations"] = {}
    for name in SIMULATIONS:
        with tempfile.TemporaryDirectory() as place:
            outcomes["simulations"][name] = of_simulation(name, Path(place))
    if flare:
        outcomes["flare"] = _all_over_flare()
    return outcomes


def _all_over_flare() -> dict[str, Any]:
    from assistlearn.reach.flare.local import LocalNetwork

    found = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        files = write_agents(folder)
        with LocalNetwork(folder, dict(zip(NAMES, files, strict=True))) as network:
            for name in FLARE:
                found[name] = of_flare(name, folder, network)
    return found


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Yield every place where two outcomes differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            if key not in old or key not in new:
                yield f"{where}/{key}: only in one of them"
            else:
                yield from differences(old[key], new[key], f"{where}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True)):
            yield from differences(a, b, f"{where}[{place}]")
    elif old != new:
        yield f"{where}: {str(old)[:200]} is now {str(new)[:200]}"


def main() -> int:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flare", action="store_true", help="run those over a network, too (a minute)")
    parser.add_argument("--against", type=Path, help="compare with the outcomes in this file")
    arguments = parser.parse_args()
    new = json.loads(json.dumps(everything(arguments.flare)))
    if arguments.against is None:
        sys.stdout.write(json.dumps(new, indent=None, separators=(",", ":")) + "\n")
        return 0
    old = json.loads(arguments.against.read_text())
    for part in [] if arguments.flare else ["flare"]:
        old.pop(part, None)
    found = list(differences(old, new))
    sys.stdout.write("".join(f"{line}\n" for line in found[:50]) + f"{len(found)} differences\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
