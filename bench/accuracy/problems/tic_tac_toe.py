"""Tic-tac-toe: every board on which a game can end, and whether x has won. It is found by playing all games."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from bench.accuracy.problems.problem import Cut, Problem, Shape, cut

FURTHER_ROUNDS = "rounds after the first (0 to 9)"
"""The choice that looked at these boards, and the seeds of the splits."""

LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])
"""The cells of each line, counted row by row."""


@cache
def boards() -> tuple[np.ndarray, np.ndarray]:
    """Return the boards, n x 9 (1 for x, which begins, -1 for o, 0 for an empty cell), and whether x has won.

    >>> found, won = boards()
    >>> len(found), int(won.sum())
    (958, 626)
    """
    open_boards, ended = {(0,) * 9}, set()
    for move in range(9):
        after = set()
        for board in open_boards:
            for cell in range(9):
                if board[cell] == 0:
                    after.add((*board[:cell], 1 if move % 2 == 0 else -1, *board[cell + 1 :]))
        over = {board for board in after if move == 8 or _line(board) != 0}
        ended |= over
        open_boards = after - over
    found = np.array(sorted(ended))
    return found, np.array([_line(board) == 1 for board in found], dtype=np.int64)


def one_hot() -> tuple[np.ndarray, np.ndarray]:
    """Return three columns for each cell (x, o, empty), one of which is 1, and whether x has won."""
    found, won = boards()
    return (found[:, :, np.newaxis] == np.array([1, -1, 0])).reshape(len(found), 27).astype(np.float64), won


def in_cells(*cells: list[int]) -> Callable[[int], Cut]:
    """Return the replications where each agent sees these cells."""
    columns = {chr(ord("A") + m): [3 * cell + k for cell in seen for k in range(3)] for m, seen in enumerate(cells)}
    return lambda seed: cut(*one_hot(), columns, seed, 0.7, 4_000)


def _line(board: tuple[int, ...]) -> int:
    """Return whose three in a row there are: 1, -1, or 0 for nobody's."""
    sums = np.array(board)[LINES].sum(axis=1)
    return 1 if (sums == 3).any() else -1 if (sums == -3).any() else 0


SPLITS = {
    "tic-tac-toe": [[0, 1, 2, 3, 4], [5, 6, 7, 8]],
    "tic-tac-toe, every other cell": [[0, 2, 4, 6, 8], [1, 3, 5, 7]],
    "tic-tac-toe x 3": [[0, 1, 2], [3, 4, 5], [6, 7, 8]],
}
"""Who sees which cells: the first five and the rest, every other cell, or a row each."""

TIC_TAC_TOE = tuple(
    Problem(
        name,
        in_cells(*cells),
        ("logistic",),
        shape=Shape(670, 288, 2, tuple(3 * len(seen) for seen in cells)),
        choices=(FURTHER_ROUNDS,),
        interacts=True,
    )
    for name, cells in SPLITS.items()
)
