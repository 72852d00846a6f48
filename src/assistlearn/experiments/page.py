"""The page that compares our results with the paper's: written from the results, never by hand."""

from __future__ import annotations

import os
import platform
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from assistlearn import __version__
from assistlearn.experiments.claims import FEW_ROUNDS, NEAR, ClaimVerdict, checked_claims
from assistlearn.experiments.comparison import LEVEL
from assistlearn.experiments.drawing import save_picture
from assistlearn.experiments.figures import Blobs, Patients, Pictures, Shared
from assistlearn.experiments.reporting import transmission
from assistlearn.experiments.results import FigureResult

PICTURES = Path("_static") / "reproduction"
MARKS = {verdict: f"**{verdict.value}**" for verdict in ClaimVerdict}

COUNTED = {
    ClaimVerdict.HOLDS: "hold",
    ClaimVerdict.IN_PART: "hold in part",
    ClaimVerdict.NOT: "do not hold",
    ClaimVerdict.OPEN: "cannot be judged",
}
WIDTH = 100
"""The width of a line of prose."""
COMMAND = "assistlearn reproduce all --page paper/REPRODUCTION.md"
INTRODUCTION = "page_introduction.md"
DEMO = (
    "**This is not the paper's data.** The paper uses 15,000 patients of MIMIC-III. Only persons who have signed its "
    "agreement get these. What is shown is the open demo of 100 patients, of which 30 are tested on. It shows that the "
    "program works, and says nothing for or against the claims. With the files at hand, the same command uses them."
)


def write_page(results: Sequence[FigureResult], path: Path, data: str | None = None, made: str = "") -> None:
    """Write the page and its pictures.

    Parameters
    ----------
    results : sequence of FigureResult
        The figures, in the order of the page.
    path : Path
        The page, in Markdown. Pictures go to ``_static/reproduction`` beside it.
    data : str, optional
        The data folder, for figures that show samples.
    made : str, optional
        The day on which the page is written.
    """
    introduction = files(__package__).joinpath(INTRODUCTION).read_text(encoding="utf-8")
    numbers = {"level": LEVEL, "near": NEAR, "few": FEW_ROUNDS}
    parts = [introduction.format(summary=_summary(results), machine=_machine(results, made), **numbers), _all(results)]
    for result in results:
        picture = PICTURES / f"{result.settings.name}.png"
        save_picture(result, path.parent / picture, data=data)
        parts.append("\n".join(_section(result, picture)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(part.rstrip() + "\n" for part in parts), encoding="utf-8")


def _summary(results: Sequence[FigureResult]) -> str:
    """Return how many claims hold and which do not, in a few lines."""
    found = [(result.settings.figure, each) for result in results for each in checked_claims(result)]
    counts = Counter(each.verdict for _, each in found)
    listed = ", ".join(f"{counts[verdict]} {words}" for verdict, words in COUNTED.items() if counts[verdict])
    missed: dict[str, list[str]] = {}
    for figure, each in found:
        if each.verdict is ClaimVerdict.NOT:
            missed.setdefault(each.claim.removeprefix("(ours) "), []).append(figure)
    said = f"**Summary.** Of {len(found)} claims and checks, {listed}."
    if missed:
        listed = "; ".join(f"{claim} ({', '.join(where)})" for claim, where in missed.items())
        said += f" Those that do not hold: {listed}."
    return _wrapped(f"{said} [The table](#all-claims) has them all.")


def _machine(results: Sequence[FigureResult], made: str) -> str:
    minutes = {result.settings.figure: result.cpu_seconds / 60 for result in results}
    rest = sum(each for figure, each in minutes.items() if figure != "4b")
    spent = f"All figures but 4b took {rest:.1f} minutes of one processor core together"
    if "4b" in minutes:
        spent += f", Figure 4b {minutes['4b']:.1f} minutes"
    when = f" on {made}" if made else ""
    return _wrapped(
        f"Written by `{COMMAND}`{when}, with assistlearn {__version__}, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__} and NumPy {np.__version__} on a machine with {os.cpu_count()} cores. "
        f"{spent}."
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def _all(results: Sequence[FigureResult]) -> str:
    lines = ["## All claims", "", "| figure | claim | verdict |", "| --- | --- | --- |"]
    for result in results:
        name = _link(result) + (" (demo)" if result.demo else "")
        lines += [f"| {name} | {found.claim} | {MARKS[found.verdict]} |" for found in checked_claims(result)]
    return "\n".join(lines) + "\n"


def _link(result: FigureResult) -> str:
    title = f"Figure {result.settings.figure}"
    return f"[{title}](#{title.lower().replace(' ', '-')})"


def _section(result: FigureResult, picture: Path) -> Iterator[str]:
    settings = result.settings
    yield f"## Figure {settings.figure}"
    yield ""
    yield _wrapped(
        f"{settings.title}. {_data(result)} {len(result.replications)} replications, {settings.rounds} rounds."
    )
    yield ""
    if result.demo:
        yield _wrapped(DEMO)
        yield ""
    yield f"![Test accuracy against rounds, ours and published, Figure {settings.figure}]({picture.as_posix()})"
    yield ""
    yield from _table(result)
    yield ""
    yield from _claims(result)
    yield from _transmission(result)
    yield _wrapped(f"*Settings.* {_learner(result)}. {settings.choice}")
    yield ""
    if settings.remark:
        yield _wrapped(f"*Remark.* {settings.remark}")
        yield ""


def _data(result: FigureResult) -> str:
    match result.settings.data:
        case Blobs() as data:
            return f"Blobs of spread {data.spread:g}; trained on {data.n_train:,}, tested on {data.n_test:,} samples."
        case Shared() as data:
            return f"Trained on {data.train:.0%} of the samples, tested on the others."
        case Pictures() as data:
            return f"Trained on {data.n_train:,}, tested on {data.n_test:,} pictures; each replication has its own cut."
        case Patients() as data:
            return f"Trained on {data.train:.0%} of the patients, tested on the others."


def _learner(result: FigureResult) -> str:
    learner = result.settings.learner
    values = ", ".join(f"`{name} = {value}`" for name, value in learner.parameters.items())
    return f"Learner: {learner.kind} with {values}" + (", features standardised" if learner.standardise else "")


def _table(result: FigureResult) -> Iterator[str]:
    """Yield our accuracies and the published ones, after the first, middle and last published round."""
    curves = result.published
    rounds = _three(list(next(iter(curves.values()), range(1, result.settings.rounds + 1))))
    heads = [f"round {round}{whose}" for round in rounds for whose in ((", ours", ", published") if curves else ("",))]
    yield "| method | " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * len(heads)
    for method in result.settings.methods:
        mean, error = result.mean(method), result.standard_error(method)
        cells = []
        for round in rounds:
            cells.append(_number(mean[round - 1], error[round - 1]) if round <= len(mean) else "")
            if curves:
                value = result.theirs(method, round)
                cells.append("" if value is None else f"{value:.3f}")
        yield f"| {method} | " + " | ".join(cells) + " |"


def _number(mean: float, error: float) -> str:
    return f"{mean:.3f} ± {error:.3f}" if np.isfinite(error) else f"{mean:.3f}"


def _three(rounds: Sequence[int]) -> list[int]:
    """Return the first, the middle and the last.

    >>> _three([1, 3, 5, 7]), _three([1, 2])
    ([1, 5, 7], [1, 2])
    """
    return sorted({rounds[0], rounds[len(rounds) // 2], rounds[-1]})


def _claims(result: FigureResult) -> Iterator[str]:
    found = checked_claims(result)
    if not found:
        return
    yield "| claim | verdict | numbers |"
    yield "| --- | --- | --- |"
    yield from (f"| {each.claim} | {MARKS[each.verdict]} | {each.evidence} |" for each in found)
    yield ""


def _transmission(result: FigureResult) -> Iterator[str]:
    sent = transmission(result)
    if sent is None:
        return
    bits, n = sent["bits"], sent["n_samples"]
    yield f"What travels for {n:,} training samples, where the helper has {sent['n_columns']} columns:"
    yield ""
    yield "| what | bits | bits per sample |"
    yield "| --- | ---: | ---: |"
    turns = f"every turn's request and reply, up to round {sent['round']}"
    named = {
        "ids": "ids, as keyed hashes, both ways, once",
        "labels": "labels, once",
        "turns": turns,
        "end": "the end",
        "all": "**ASCII, all of it**",
        "columns": "the helper's columns instead (and the ids)",
        "columns_compressed": "the same, compressed by zlib",
    }
    for key, words in named.items():
        if key in bits:
            yield f"| {words} | {bits[key]:,.0f} | {bits[key] / n:,.2f} |"
    yield ""
    if sent["round"] is not None:
        yield _wrapped(_ratios(sent))
        yield ""


def _ratios(sent: dict[str, Any]) -> str:
    ratios = sent["ratios"]
    return (
        f"ASCII reaches {sent['target']:.0%} of the oracle's last test accuracy after round {sent['round']}. Sending "
        f"the helper's columns would take **{ratios['paper']:.0f} times** as much in the paper's way of counting (one "
        "number per sample and round against one number per sample and column, without labels and ids), and "
        f"**{ratios['bits']:.1f} times** in bits that really travel, ids included on both sides. Without the ids, "
        f"which must be matched in either case, it is {ratios['bits_without_ids']:.1f} times; if the columns were "
        f"compressed, {ratios['bits_compressed']:.1f} times. Prediction is not counted: there the helper sends its "
        "votes for each sample instead of its columns."
    )
