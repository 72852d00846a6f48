"""The benchmark runs from end to end in its small form."""

import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_small_form_of_the_benchmark_measures_everything(tmp_path):
    command = [sys.executable, "-m", "bench.scale", "--quick", "--out", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "scale.csv").open(encoding="utf-8") as file:
        figures = list(csv.DictReader(file))
    parts = {"rounds", "pooled", "growth", "memory", "overhead", "predicting"}
    assert {figure["part"] for figure in figures} == parts
    assert all(float(figure["value"]) > 0 for figure in figures if figure["quantity"].startswith("seconds"))
    aucs = {figure["quantity"]: float(figure["value"]) for figure in figures if figure["quantity"].startswith("AUC, ")}
    assert min(aucs.values()) > 0.6
    assert (tmp_path / "scale.png").stat().st_size > 10_000
