"""Histogram trees on XGBoost: a table is binned once, and trees are fitted to it with new weights in every turn."""

from assistlearn.learners.hist.binned import BinnedTable
from assistlearn.learners.hist.classifiers import HistBoostClassifier, HistTreeClassifier

__all__ = ["BinnedTable", "HistBoostClassifier", "HistTreeClassifier"]
