"""A helper that is honest as long as it is checked, and lies to those who predict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assistlearn.initiator.folder import RunFolder
from assistlearn.reach.processes import process_transport
from tests.attacks.attack import attack
from tests.attacks.lying_agent import KINDS, be_a_liar, be_a_turncoat
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, know_the_key, toml
from tests.forked_agents import ForkedAgent
from tests.web.served_run import served

pytestmark = pytest.mark.usefixtures("forked_agents")

TREE = '{ kind = "sklearn.tree.DecisionTreeClassifier", parameters = { max_depth = 3 } }'
N_KNOWN, N_NEW = 500, 450


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run in which everybody was honest, and people who are still to be predicted."""
    folder = tmp_path_factory.mktemp("agents")
    rng = np.random.default_rng(0)
    n = N_KNOWN + N_NEW
    truth = rng.choice([-1, 1], n)
    ids = [f"p-{i:04d}" for i in range(n)]
    for name in ("clinic", "lab", "scans"):
        table: dict[str, Any] = {"patient": ids}
        table |= {f"x{i}": 0.7 * truth + rng.normal(size=n) for i in range(2)}
        if name == "clinic":
            table["ill"] = [*np.where(truth > 0, "yes", "no")[:N_KNOWN].tolist(), *[None] * N_NEW]
        pl.DataFrame(table).write_csv(folder / f"{name}.csv")
        (folder / f"{name}.toml").write_text(toml(name, SECRET + (LABEL if name == "clinic" else ""), TREE))
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    files = [folder / f"{name}.toml" for name in ("clinic", "lab", "scans")]
    know_the_key(files[0])
    return trained(files, folder / "run", ForkedAgent)


def trained(files: list[Path], out: Path, start: Any) -> Path:
    """Train without hold-out samples; return the run's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_transport, "start", start)
        options = ("--seed", 1, "--models-per-turn", 1, "--rounds", 1, "--holdout", "none", "--run", out.name)
        done = assistlearn("simulate", *files, "--out", out, *options)
        assert done.code == 0, done.err
    return out


@pytest.fixture
def fresh(run) -> Path:
    """The run, as if nobody had predicted with it."""
    RunFolder(run).votes_heard.unlink(missing_ok=True)
    return run


@contextmanager
def turncoat(who: str = "lab") -> Iterator[None]:
    """Let a helper turn its votes around while this is open."""

    def start(file: Path, *more: Any) -> ForkedAgent:
        return ForkedAgent(file, *more, be=be_a_turncoat if file.stem == who else None)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_transport, "start", start)
        yield


def ids_file(path: Path, first: int, n: int) -> Path:
    pl.DataFrame({"patient": [f"p-{i:04d}" for i in range(N_KNOWN + first, N_KNOWN + first + n)]}).write_csv(path)
    return path


def predict(run: Path, tmp_path: Path, first: int, n: int, *more: Any) -> Any:
    ids = ids_file(tmp_path / "ids.csv", first, n)
    done = assistlearn("predict", run, "--ids", ids, "--out", tmp_path / "new.csv", "--force", *more)
    assert done.code == 0, done.err
    return done


@attack(
    "helper",
    "is honest in training, and turns its votes for new people around",
    "it is named by `predict` and `serve` within 200 people; for predictions without it: `--without`",
)
def test_who_turns_its_votes_around_is_named_and_can_be_left_out(fresh, tmp_path):
    with turncoat():
        said = predict(fresh, tmp_path, 0, 200, "--json").json
        again = predict(fresh, tmp_path, 200, 1)
        without = predict(fresh, tmp_path, 200, 5, "--without", "lab", "--json").json
    assert list(said["changed"]) == ["lab"]
    assert "its agreement with" in said["changed"]["lab"]
    assert "For predictions without it: --without lab" in again.out
    assert (without["without"], without["changed"]) == (["lab"], {})
    assert list(without["known"]) == ["clinic", "scans"]


def test_honest_helpers_are_not_named_and_people_of_the_training_do_not_count(fresh, tmp_path):
    assert predict(fresh, tmp_path, 0, N_NEW, "--json").json["changed"] == {}
    before = RunFolder(fresh).votes_heard.stat().st_mtime_ns
    predict(fresh, tmp_path, -N_KNOWN, N_KNOWN, "--json")
    with np.load(RunFolder(fresh).votes_heard) as kept:
        assert len(kept["heard"]) == 0
        assert len(kept["seen"]) == N_NEW
    assert RunFolder(fresh).votes_heard.stat().st_mtime_ns >= before


def test_predictions_of_a_few_people_add_up_and_nobody_counts_twice(fresh, tmp_path):
    with turncoat():
        said = [predict(fresh, tmp_path, 30 * (turn // 2), 30, "--json").json["changed"] for turn in range(4)]
    assert [list(each) for each in said[:2]] == [[], []]
    assert list(said[2]) == list(said[3]) == ["lab"]
    assert " 60 new people" in said[2]["lab"]


def test_a_service_names_it_within_200_people_and_answers_without_it_where_it_is_told_to(fresh):
    with turncoat():
        with served(fresh) as service:
            answers = [service.predict(*[f"p-{N_KNOWN + 50 * i + j:04d}" for j in range(50)]) for i in range(5)]
        with served(fresh) as service:
            later = service.predict(f"p-{N_KNOWN:04d}")
    assert [list(each["changed"]) for each in answers] == [[], [], [], ["lab"], ["lab"]]
    assert list(later["changed"]) == ["lab"]


@pytest.mark.parametrize("spoiled", [b"", b"nonsense", b"PK cut off"])
def test_a_damaged_file_of_what_was_heard_is_named_with_what_to_do(fresh, tmp_path, spoiled):
    RunFolder(fresh).votes_heard.write_bytes(spoiled)
    done = assistlearn("predict", fresh, "--out", tmp_path / "new.csv")
    assert done.code != 0
    assert "votes_heard.npz is damaged" in done.err
    assert "Remove it: the comparison then begins anew." in done.err


def test_without_a_stranger_nothing_is_predicted(fresh, tmp_path):
    done = assistlearn("predict", fresh, "--out", tmp_path / "new.csv", "--without", "labb")
    assert done.code != 0
    assert "the helpers of run" in done.err
    assert "['lab', 'scans']" in done.err


@attack(
    "helper",
    "repeats the labels that it was told, where nothing is held out that would contradict it",
    "not found in training, and every view of the result says that nothing was checked; in prediction it is named "
    "within 200 people, as it votes otherwise than it said",
)
def test_who_repeats_labels_where_nothing_is_held_out_is_named_in_prediction(run, tmp_path):
    files = [run.parent / f"{name}.toml" for name in ("clinic", "lab", "scans")]

    def start(file: Path, *more: Any) -> ForkedAgent:
        return ForkedAgent(file, *more, be=partial(be_a_liar, KINDS[0]) if file.stem == "lab" else None)

    lied_to = trained(files, tmp_path / "lied-to", start)
    assert "So nothing that lab and scans said was checked" in " ".join(assistlearn("show", lied_to).out.split())
    assert list(predict(lied_to, tmp_path, 0, 200, "--json").json["changed"]) == ["lab"]
