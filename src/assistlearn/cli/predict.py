"""``assistlearn predict``: the agents' votes on samples, added up."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from assistlearn.alignment import Ids
from assistlearn.cli.output import Json, console, say_json
from assistlearn.core import votes
from assistlearn.deployment.leader import Prediction
from assistlearn.deployment.run_folder import RunFolder
from assistlearn.deployment.simulation import opened_run, rows_of
from assistlearn.errors import TableError
from assistlearn.tables import LoadedAgent


def predict(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    ids: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with the ids to predict [default: the initiator's rows without a label, or else all]."
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write.")] = Path("predictions.csv"),
    timeout: Annotated[float, typer.Option(min=1, help="Seconds to wait for an agent's answer.")] = 3600.0,
    json: Json = False,
) -> None:
    """Predict: ask every agent for its votes on samples, add them up, and write a CSV file."""
    folder = RunFolder(run)
    folder.settings()
    with opened_run(folder, training=False, timeout=timeout) as (leader, own):
        asked = _asked(own, ids)
        samples = Ids(asked, "The file of ids" if ids else f"Agent {own.description.name!r}")
        prediction = leader.predict(samples, rows_of(samples, own.table.ids))
    _write(out, own.description.id, asked, prediction)
    facts = _facts(out, prediction)
    if json:
        say_json(facts)
        return
    _show(facts)


def _asked(own: LoadedAgent, file: Path | None) -> pl.Series:
    if file is None:
        labels = own.table.labels
        unlabelled = own.table.ids if labels is None else own.table.ids.filter(labels.is_null())
        return unlabelled if len(unlabelled) else own.table.ids
    try:
        frame = pl.read_csv(file, infer_schema=False)
    except FileNotFoundError:
        raise TableError(f"{file}: there is no such file.") from None
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise TableError(f"{file} cannot be read as CSV: {error}") from None
    if own.description.id in frame.columns:
        return frame[own.description.id]
    if len(frame.columns) == 1:
        return frame.to_series(0)
    raise TableError(
        f"{file} has no column {own.description.id!r}, which holds the ids. Its columns are {frame.columns}."
    )


def _write(out: Path, id_name: str, asked: pl.Series, prediction: Prediction) -> None:
    columns: dict[str, Any] = {id_name: asked, "prediction": pl.Series(prediction.labels, strict=False)}
    shares = votes.probabilities(prediction.scores)
    for position, name in enumerate(prediction.classes):
        columns[f"probability of {name}"] = shares[:, position]
    agents = list(prediction.known)
    masks = np.column_stack([prediction.known[name] for name in agents]) if agents else np.zeros((len(asked), 0), bool)
    columns["agents"] = [" ".join(name for name, there in zip(agents, row, strict=True) if there) for row in masks]
    out.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_csv(out)


def _facts(out: Path, prediction: Prediction) -> dict[str, Any]:
    labels = prediction.labels
    return {
        "file": str(out),
        "samples": len(labels),
        "unknown_to_all": sum(label is None for label in labels),
        "known": {name: int(mask.sum()) for name, mask in prediction.known.items()},
        "absent": dict(prediction.absent),
    }


def _show(facts: dict[str, Any]) -> None:
    says = console()
    says.print(f"{facts['samples']:,} samples predicted, in {facts['file']}.")
    for name, count in facts["known"].items():
        says.print(f"  {name} knows {count:,} of them")
    if facts["unknown_to_all"]:
        says.print(f"[yellow]{facts['unknown_to_all']:,} samples are known to no agent[/]; their prediction is empty.")
    for name, why in facts["absent"].items():
        says.print(f"[yellow]{name} did not take part:[/] {why}")
