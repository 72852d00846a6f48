"""Whatever a prediction depends on in a run's folder: changed, swapped or lost, it is refused in one error.

So it is with the file alone, and with the file and its digest together.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistlearn.alignment import Ids
from assistlearn.errors import AssistLearnError, RunError
from assistlearn.initiator.folder import RunFolder
from tests.agent.recording import three_agents
from tests.attacks.attack import attack
from tests.initiator.digests import rewrite, rewrite_settings

ROWS = np.arange(40)

FILES = (
    "settings.json",
    "secret.json",
    "samples.npy",
    "people.npy",
    "held.npy",
    "turns/000001.msg",
    "turns/000003.msg",
    "combination.bin",
    "result.json",
    "left.json",
    "digests.txt",
)

PLANS: dict[str, dict[str, Any]] = {
    "this": {"method": "soft", "combine": "learned", "reward": "out-of-fold", "seed": 7},
    "other": {"method": "soft", "combine": "learned", "reward": "out-of-fold", "seed": 8, "holdout": 0.2},
}


def of(folder: Path, which: str) -> Any:
    return three_agents(folder, n_rounds=2, **PLANS[which])


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> dict[str, Path]:
    """The same run twice, of other plans: all agents in a folder each."""
    folders = {}
    for which in PLANS:
        folder = folders[which] = tmp_path_factory.mktemp(which)
        leader = of(folder, which).leader()
        samples = iter(leader.train())
        next(samples)
        leader.folder.leave("lab", 4, "it was gone")  # as the run then says
        list(samples)
    return folders


@pytest.fixture
def copy(trained, tmp_path) -> Path:
    return shutil.copytree(trained["this"], tmp_path / "copy")


def predicted(folder: Path) -> Any:
    parties = of(folder, "this")
    return parties.leader().predict(Ids(parties.holdings("clinic").ids.take(ROWS), "new"), ROWS)


def outcome(folder: Path) -> Any:
    """Return the prediction, or the error in its place."""
    try:
        return predicted(folder)
    except RunError as error:
        return error


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def test_what_is_whole_predicts_and_has_every_file_of_this_page(trained):
    assert predicted(trained["this"]).scores.shape == (40, 3)
    found = {path.name for path in (trained["this"] / "run").iterdir() if path.is_file()}
    assert {name for name in FILES if "/" not in name} <= found


@pytest.mark.parametrize("name", FILES)
def test_a_changed_lost_or_swapped_file_stops_a_prediction(trained, copy, name):
    path, other = copy / "run" / name, trained["other"] / "run" / name
    whole = path.read_bytes()
    for content in {flipped(whole), whole[: len(whole) // 2], b"", other.read_bytes()} - {whole}:
        path.write_bytes(content)
        with pytest.raises(AssistLearnError, match=r"."):
            predicted(copy)
    path.unlink()
    asked = predicted if name != "settings.json" else lambda copy: RunFolder(copy / "run").settings()
    with pytest.raises(RunError, match=r"is missing|has no digest|is not finished"):
        asked(copy)  # with the agents of this test, predicting would write new settings
    path.write_bytes(whole)
    assert predicted(copy).scores.shape == (40, 3)


IN_THE_RESULT = tuple(name for name in FILES if name not in ("settings.json", "result.json", "digests.txt"))


@attack(
    "local process",
    "swaps a file of the initiator's run folder for that of another run, with its line in digests.txt",
    "no prediction: the result has the digests of all files that it rests on",
)
@pytest.mark.parametrize("name", IN_THE_RESULT)
def test_a_file_that_was_changed_with_its_digest_is_not_the_one_of_the_result(trained, copy, name):
    content = (trained["other"] / "run" / name).read_bytes()
    content = content if content != (copy / "run" / name).read_bytes() else flipped(content)
    for _ in range(2):  # the digest before the last counts, too: a crash may have come between
        rewrite(copy / "run", name, content)
        rewrite(copy / "run", name, content + b" ")
        rewrite(copy / "run", name, content)
    with pytest.raises(RunError, match=rf"{name} is not the one that result\.json was made with"):
        predicted(copy)


def test_a_file_that_the_result_was_made_without_is_not_used(copy):
    rewrite(copy / "run", "told.npy", b"")
    with pytest.raises(RunError, match=r"told\.npy was not there when result\.json was made"):
        predicted(copy)


SETTINGS: dict[str, Callable[[Any], Any]] = {
    "run": lambda run: f"{run}-2",
    "initiator": lambda name: "lab",
    "classes": lambda classes: classes[::-1],
    "agents": lambda agents: [agents[0], *agents[:0:-1]],
    "method": lambda method: "ascii",
    "score_bits": lambda bits: 8,
    "loss": lambda loss: "exponential",
    "shrinkage": lambda shrinkage: 0.25,
    "seed": lambda seed: 1,
    "n_rounds": lambda n_rounds: 1,
    "combine": lambda combine: "sum",
    "calibrate": lambda calibrate: "none",
    "overlap": lambda overlap: "intersection",
    "label_only": lambda label_only: True,
    "fingerprint": lambda fingerprint: "another",
}


@attack(
    "local process",
    "reverses the classes in a run's settings.json, or changes the method, bits or agents, to turn predictions round",
    "no prediction: settings have a digest, and are compared with those that the result was agreed with",
)
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_are_not_those_agreed_on_are_named(copy, name):
    settings = json.loads((copy / "run" / "settings.json").read_text())
    changed = settings | {name: SETTINGS[name](settings[name])}
    assert changed != settings
    (copy / "run" / "settings.json").write_text(json.dumps(changed))
    with pytest.raises(RunError, match=r"settings\.json is not what was written"):
        predicted(copy)
    rewrite_settings(copy / "run", changed)
    with pytest.raises(AssistLearnError) as caught:
        predicted(copy)
    assert name in str(caught.value)


@attack(
    "local process",
    "changes settings and result of a run together, with both digests",
    "no prediction: the initiator's own agent was told the task, and keeps it elsewhere",
)
def test_settings_and_result_that_were_changed_together_contradict_the_task(copy):
    settings = json.loads((copy / "run" / "settings.json").read_text()) | {"score_bits": 8, "loss": "exponential"}
    rewrite_settings(copy / "run", settings)
    folder = RunFolder(copy / "run")
    folder.write_result(folder.result())
    with pytest.raises(RunError, match=r"says loss = 'exponential', but agent 'clinic' was told 'logistic'"):
        predicted(copy)


@pytest.mark.parametrize("name", ["opened.json", "table.json", "rows.npy", "begin.msg", "ended.json"])
@pytest.mark.parametrize("damage", ["changed", "lost"])
def test_an_agent_whose_files_are_not_whole_does_not_vote_or_votes_the_same(copy, name, damage, caplog):
    before = predicted(copy).scores.tobytes()
    caplog.set_level("CRITICAL", "assistlearn.agent")
    for agent in ("clinic", "lab"):
        path = copy / agent / "runs" / "test-run" / name
        whole = path.read_bytes()
        if damage == "changed":
            path.write_bytes(flipped(whole))
        else:
            path.unlink()
        said = outcome(copy)
        if isinstance(said, RunError):  # about what is the initiator's own
            assert f"{path} is " in str(said)
        else:
            assert agent in said.absent or said.scores.tobytes() == before
        path.write_bytes(whole)


def test_a_run_that_has_moved_predicts_as_before(trained, copy):
    RunFolder(copy / "run").move({"lab": str(copy / "lab.toml")}, {})
    assert np.array_equal(predicted(copy).scores, predicted(trained["this"]).scores)
