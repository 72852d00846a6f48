"""How well calibrated probabilities are, beside those of the formula and of scikit-learn's calibration."""
