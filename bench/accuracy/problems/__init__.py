"""The problems: a table, its labels, who knows which columns, and how it is cut into training and test samples."""

from bench.accuracy.problems.apart import APART
from bench.accuracy.problems.page import described
from bench.accuracy.problems.problem import Cut, Problem, Shape, cut, of
from bench.accuracy.problems.used import USED

PROBLEMS = (*USED, *APART)

__all__ = ["PROBLEMS", "Cut", "Problem", "Shape", "cut", "described", "of"]
