"""A demonstration on real data: three agents who each see a strip of the same handwritten digits.

``python -m paper.demo --out out`` prints a table of single, assisted and oracle, and writes the plots as one
picture. Nothing is downloaded and no window is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assistlearn import AssistanceDisplay, AssistedClassifier
from assistlearn.core.people import mean_and_error
from assistlearn.report.displays import SIZE
from assistlearn.types import Floats

MODELS = {
    "single": "the left strip alone",
    "assisted": "left, helped by middle and right",
    "oracle": "all pixels in one table",
}
TEST_SHARE = 0.4


@dataclass(frozen=True)
class DemoResult:
    """The test accuracies of single, assisted and oracle on every split, and the plots of the first split."""

    accuracies: Mapping[str, Floats]
    display: AssistanceDisplay

    def mean(self, model: str) -> float:
        return float(self.accuracies[model].mean())

    def standard_error(self, model: str) -> float:
        """Return that of a model's mean test accuracy; infinite if there is only one split."""
        return mean_and_error(self.accuracies[model])[1]


def digit_agents() -> list[tuple[str, Any, slice | list[int]]]:
    """Return the agents: each sees some of the eight pixel columns of an image, and each has a learner of its own.

    >>> [(name, type(learner).__name__, len(pixels)) for name, learner, pixels in digit_agents()]
    [('left', 'DecisionTreeClassifier', 24), ('middle', 'Pipeline', 16), ('right', 'KNeighborsClassifier', 24)]
    """
    column = np.arange(64) % 8
    return [
        ("left", DecisionTreeClassifier(max_depth=5), np.flatnonzero(column < 3).tolist()),
        (
            "middle",
            make_pipeline(StandardScaler(), LogisticRegression(C=0.01)),
            np.flatnonzero((column >= 3) & (column < 5)).tolist(),
        ),
        ("right", KNeighborsClassifier(25), np.flatnonzero(column >= 5).tolist()),
    ]


def run(n_splits: int, n_rounds: int, seed: int = 0, progress: bool = False) -> DemoResult:
    from matplotlib.figure import Figure

    X, y = load_digits(return_X_y=True)
    accuracies: dict[str, list[float]] = {name: [] for name in MODELS}
    display: AssistanceDisplay | None = None
    for split in track(range(n_splits), "splits", transient=True, disable=not progress):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=seed + split
        )
        clf = AssistedClassifier(digit_agents(), method="ascii", n_rounds=n_rounds, random_state=seed + split)
        fitted = {"single": clf.alone("left"), "assisted": clf, "oracle": clf.pooled()}
        for name, model in fitted.items():
            accuracies[name].append(float(model.fit(X_train, y_train).score(X_test, y_test)))
        if display is None:
            display = AssistanceDisplay.from_estimator(
                clf,
                X_test,
                y_test,
                single=fitted["single"],
                oracle=fitted["oracle"],
                # A figure without pyplot has no window, whatever the backend.
                ax=Figure(figsize=SIZE, layout="constrained").subplots(1, 3),
            )
    assert display is not None
    return DemoResult({name: np.array(found) for name, found in accuracies.items()}, display)


def as_table(result: DemoResult) -> Table:
    table = Table(title="Handwritten digits in three strips, ten classes")
    table.add_column("model")
    table.add_column("who sees what")
    table.add_column("test accuracy", justify="right")
    table.add_column("standard error", justify="right")
    for name, explained in MODELS.items():
        style = "bold" if name == "assisted" else ""
        error = result.standard_error(name)
        shown = f"{error:.3f}" if np.isfinite(error) else ""
        table.add_row(name, explained, f"{result.mean(name):.3f}", shown, style=style)
    return table


def as_json(result: DemoResult, picture: Path) -> str:
    found = {
        name: {
            "accuracy": result.mean(name),
            "standard_error": result.standard_error(name) if np.isfinite(result.standard_error(name)) else None,
            "accuracy_per_split": result.accuracies[name].tolist(),
        }
        for name in MODELS
    }
    return json.dumps({"data": "digits", "models": found, "picture": str(picture)}, indent=2)


def main(
    out: Annotated[Path, typer.Option(help="Folder for the picture.", file_okay=False, writable=True)] = Path("out"),
    splits: Annotated[int, typer.Option(help="How many seeded splits.", min=1)] = 5,
    rounds: Annotated[int, typer.Option(help="Rounds at the most.", min=1)] = 20,
    seed: Annotated[int, typer.Option(help="Where all chance comes from.", min=0)] = 0,
    as_json_: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Three agents on real data: a table of single, assisted and oracle, and a picture."""
    result = run(splits, rounds, seed, progress=not as_json_)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "demo.png"
    result.display.figure_.savefig(picture, dpi=110)
    if as_json_:
        typer.echo(as_json(result, picture))
        return
    console = Console(emoji=False)
    console.print(as_table(result))
    console.print(f"Mean over {splits} seeded splits, {rounds} rounds. The plots are in {picture}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
