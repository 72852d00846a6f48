"""How a private estimator is fitted under an ignorance: prepare once, refit every round."""

from assistlearn.learners.best_of import BestOf
from assistlearn.learners.hist import HistBoostClassifier, HistTreeClassifier
from assistlearn.learners.honest import Honesty
from assistlearn.learners.learner import Learner, Prepares
from assistlearn.learners.model import Model
from assistlearn.learners.together import AnswersTogether, Panel

__all__ = [
    "AnswersTogether",
    "BestOf",
    "HistBoostClassifier",
    "HistTreeClassifier",
    "Honesty",
    "Learner",
    "Model",
    "Panel",
    "Prepares",
]
