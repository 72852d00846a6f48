"""What ``show`` says about a run of files is what ``predict`` answers for the people who were held out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assistlearn.initiator.folder import RunFolder
from assistlearn.plan import Plan
from assistlearn.session.setup import split_of
from tests.cli.program import assistlearn
from tests.cli.small_agents import LABEL, SECRET, STUMP, toml

pytestmark = pytest.mark.usefixtures("forked_agents")

N = 200
BAYES = '{ kind = "sklearn.naive_bayes.GaussianNB" }'


def written(folder: Path, seed: int, helps: float) -> tuple[list[Path], np.ndarray]:
    """Write agents: a clinic whose columns say ``helps`` about the label, and a lab that holds half of the people."""
    rng = np.random.default_rng(seed)
    y = (rng.random(N) > 0.13).astype(int)
    ids = [f"p-{i:03d}" for i in range(N)]
    own = rng.normal(size=(N, 2)) * helps + helps * y[:, None]
    lab = rng.normal(size=(N, 2)) + y[:, None]
    labels = np.where(y == 1, "well", "ill")
    clinic = pl.DataFrame({"patient": ids, "x0": own[:, 0], "x1": own[:, 1], "ill": labels.tolist()})
    rows = rng.permutation(N)[: N // 2]
    helper = pl.DataFrame({"patient": [ids[row] for row in rows], "x2": lab[rows, 0], "x3": lab[rows, 1]})
    for name, table, more, learner in (("clinic", clinic, SECRET + LABEL, STUMP), ("lab", helper, SECRET, BAYES)):
        table.write_csv(folder / f"{name}.csv")
        (folder / f"{name}.toml").write_text(toml(name, more, learner))
    (folder / "shared.key").write_text("0123456789abcdef0123456789abcdef\n")
    return [folder / "clinic.toml", folder / "lab.toml"], labels


@pytest.mark.parametrize(
    ("seed", "helps", "options"),
    [
        (0, 0.0, ["--class-weight", "balanced"]),
        (1, 1.0, ["--combine", "sum"]),
    ],
)
def test_the_figures_of_a_run_are_those_of_its_predictions(tmp_path, seed, helps, options):
    files, labels = written(tmp_path, seed, helps)
    trained = assistlearn("simulate", *files, "--holdout", 0.3, "--out", tmp_path / "run", *options, "--json")
    assert trained.code == 0, trained.err
    evaluation = assistlearn("show", tmp_path / "run", "--json").json["result"]["evaluation"]
    folder = RunFolder(tmp_path / "run")
    places = np.searchsorted(["ill", "well"], labels)
    _, aside = split_of(Plan(**{"holdout": 0.3}), places, folder.holdout_words())
    asked = tmp_path / "ids.csv"
    pl.DataFrame({"patient": [f"p-{row:03d}" for row in aside]}).write_csv(asked)
    said = assistlearn("predict", tmp_path / "run", "--ids", asked, "--out", tmp_path / "said.csv", "--json")
    assert said.code == 0, said.err
    table = pl.read_csv(tmp_path / "said.csv")
    right = table["prediction"].to_numpy() == labels[aside]
    assert evaluation["n_samples"] == len(aside)
    assert evaluation["assisted"]["accuracy"] == pytest.approx(right.mean())
    for place, name in enumerate(("ill", "well")):
        assert evaluation["recalls"][place] == pytest.approx(right[labels[aside] == name].mean())
    if not helps:  # its columns say nothing, so that alone it has learned nothing
        assert evaluation["alone"]["accuracy"] == pytest.approx(np.mean(labels[aside] == "well"))
