"""Write a figure's result to disk, and return it as one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assistlearn.experiments.claims import checked_claims, round_of_target
from assistlearn.experiments.drawing import save_picture
from assistlearn.experiments.results import FigureResult

CSV, JSON, PNG, SVG = "results.csv", "results.json", "figure.png", "figure.svg"


def facts(result: FigureResult) -> dict[str, Any]:
    """Return everything that is known about a figure's result, in plain types."""
    settings = result.settings
    return {
        "figure": settings.figure,
        "title": settings.title,
        "demo": result.demo,
        "replications": len(result.replications),
        "cpu_seconds": round(result.cpu_seconds, 1),
        "settings": msgspec.to_builtins(settings),
        "curves": {
            method: {
                "mean": _plain(result.mean(method)),
                "standard_error": _plain(result.standard_error(method)),
                "published": {str(round): value for round, value in _published(result, method)},
                "ended": [each.rounds[method] for each in result.replications],
            }
            for method in settings.methods
        },
        "transmission": transmission(result),
        "claims": [
            {"claim": found.claim, "verdict": found.verdict.value, "evidence": found.evidence}
            for found in checked_claims(result)
        ],
    }


def transmission(result: FigureResult) -> dict[str, Any] | None:
    """Return what is sent until the target is reached, in bits and as ratios, averaged over the replications."""
    if result.settings.transmission is None:
        return None
    costs = [each.cost for each in result.replications if each.cost is not None]
    round_ = round_of_target(result)
    first = costs[0]
    out: dict[str, Any] = {
        "target": result.settings.transmission.target,
        "round": round_,
        "n_samples": first.n_samples,
        "n_columns": first.n_columns,
        "bits": {
            "ids": _mean([cost.ids for cost in costs]),
            "labels": _mean([cost.labels for cost in costs]),
            "end": _mean([cost.end for cost in costs]),
            "columns": _mean([cost.columns for cost in costs]),
            "columns_compressed": _mean([cost.columns_compressed for cost in costs]),
        },
    }
    if round_ is None:
        return out
    out["bits"]["turns"] = _mean([sum(cost.turns[:round_]) for cost in costs])
    out["bits"]["all"] = _mean([cost.upto(round_) for cost in costs])
    out["ratios"] = {
        "paper": _mean([cost.papers_ratio(round_) for cost in costs]),
        "bits": _mean([cost.ratio(round_) for cost in costs]),
        "bits_without_ids": _mean([cost.ratio_without_ids(round_) for cost in costs]),
        "bits_compressed": _mean([cost.ratio_compressed(round_) for cost in costs]),
    }
    return out


def write(result: FigureResult, out: Path, data: str | None = None) -> Path:
    """Write a figure's numbers and pictures into its folder, and return the folder.

    Parameters
    ----------
    result : FigureResult
        The figure's result.
    out : Path
        The folder of all results.
    data : str, optional
        The data folder, for figures that show samples.
    """
    folder = out / result.settings.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CSV).write_text(result.csv(), encoding="utf-8")
    (folder / JSON).write_text(json.dumps(facts(result), indent=1) + "\n", encoding="utf-8")
    save_picture(result, folder / PNG, folder / SVG, data=data)
    return folder


def _published(result: FigureResult, method: str) -> list[tuple[int, float]]:
    return list(result.published[method].items()) if method in result.published else []


def _plain(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[float | None]:
    return [round(float(value), 6) if np.isfinite(value) else None for value in values]


def _mean(values: list[float] | list[int]) -> float:
    return round(float(np.mean(values)), 2)
