"""Histogram trees on XGBoost: the table is binned once, and refitted with new weights every turn."""

from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.boost import HistBoostClassifier
from assistlearn.learners.hist.tree import HistTreeClassifier

__all__ = ["BinnedTable", "HistBoostClassifier", "HistTreeClassifier"]
