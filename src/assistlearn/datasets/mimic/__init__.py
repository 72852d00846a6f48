"""MIMIC-III: predict who stays long, from the first 24 hours in intensive care."""

from assistlearn.datasets.mimic.long_stay import mimic_long_stay
from assistlearn.datasets.mimic.variables import VARIABLES, Unit, Variable

__all__ = ["VARIABLES", "Unit", "Variable", "mimic_long_stay"]
