"""How a private estimator is fitted under an ignorance: prepare once, refit every round."""

from assistlearn.learners.learner import Learner, Model, Prepares

__all__ = ["Learner", "Model", "Prepares"]
