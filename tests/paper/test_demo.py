"""The demonstration, as a new user runs it."""

import json
import os
import statistics
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from paper import demo


def start_demo(*arguments, **environment):
    command = [sys.executable, "-m", "paper.demo", "--splits", "2", "--rounds", "2", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False, env=os.environ | environment
    )


def demo_here(*arguments):
    """Run the same in this process."""
    app = typer.Typer()
    app.command()(demo.main)
    return CliRunner().invoke(app, ["--splits", "2", "--rounds", "2", *map(str, arguments)])


@pytest.fixture(scope="module")
def result():
    return demo.run(n_splits=2, n_rounds=8)


def test_helpers_help(result):
    single, assisted, oracle = (result.accuracies[name] for name in ("single", "assisted", "oracle"))
    assert np.all(assisted > single + 0.15)
    assert np.all(assisted > oracle - 0.05)


def test_the_same_seed_gives_the_same_figures(result):
    again = demo.run(n_splits=1, n_rounds=8)
    for name, found in result.accuracies.items():
        assert again.accuracies[name][0] == found[0]


def test_the_agents_share_all_pixels_and_no_pixel_twice():
    pixels = [pixel for _, _, columns in demo.digit_agents() for pixel in columns]
    assert sorted(pixels) == list(range(64))


def test_json_holds_means_and_standard_errors_of_the_splits(tmp_path):
    done = demo_here("--json", "--out", tmp_path)
    assert done.exit_code == 0, done.output
    for found in json.loads(done.stdout)["models"].values():
        splits = found["accuracy_per_split"]
        assert len(splits) == 2
        assert found["accuracy"] == pytest.approx(statistics.mean(splits))
        assert found["standard_error"] == pytest.approx(statistics.stdev(splits) / 2**0.5)


def test_one_split_has_no_standard_error():
    found = demo.DemoResult({name: np.array([0.5]) for name in demo.MODELS}, display=None)
    assert json.loads(demo.as_json(found, picture="p"))["models"]["single"]["standard_error"] is None


def test_a_table_is_printed_and_one_picture_written_and_no_window_opened(tmp_path):
    # Whoever makes a window with this backend fails for want of a screen.
    done = start_demo("--out", tmp_path / "new" / "folder", MPLBACKEND="TkAgg", DISPLAY="")
    assert done.returncode == 0, done.stderr
    for word in ("single", "assisted", "oracle", "demo.png"):
        assert word in done.stdout
    [picture] = (tmp_path / "new" / "folder").iterdir()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_file_in_place_of_the_folder_is_refused_before_any_work(tmp_path):
    (tmp_path / "out").write_text("not a folder")
    done = demo_here("--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "Invalid value for '--out'" in done.stderr
