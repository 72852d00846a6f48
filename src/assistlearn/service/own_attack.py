"""An agent attacks its own transcript on its own machine, to see how well its columns can be guessed from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from assistlearn.disclosure.attribute_inference import SHARES, Inferred, attribute_inference
from assistlearn.disclosure.target import target_of
from assistlearn.service.own_transcript import OwnTranscript

SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class AttackedColumn:
    """A column, and how well it is guessed.

    Attributes
    ----------
    column : str
        Its name.
    what : str
        What is guessed of it; empty where all its values are the same.
    inferred : tuple of Inferred
        One for each share of the samples for which the attacker knows the column. Shares of too few samples are left
        out.
    """

    column: str
    what: str
    inferred: tuple[Inferred, ...]


def attack(
    features: pl.DataFrame,
    transcript: OwnTranscript,
    shares: Sequence[float] = SHARES,
    seeds: Sequence[int] = SEEDS,
) -> Iterator[AttackedColumn]:
    """Yield how well an attacker with the labels and the transcript guesses each column.

    Parameters
    ----------
    features : DataFrame
        The agent's columns, all its rows.
    transcript : OwnTranscript
        What was told.
    shares : sequence of float
        The shares of the samples for which the attacker knows the column.
    seeds : sequence of int
        One for each repeat.
    """
    for column in features[transcript.rows].iter_columns():
        target = target_of(column.to_numpy())
        if target is None:
            yield AttackedColumn(column.name, "", ())
            continue
        found = (attribute_inference(target, transcript.labels, transcript.told, share, seeds) for share in shares)
        yield AttackedColumn(column.name, target.what, tuple(one for one in found if one is not None))
