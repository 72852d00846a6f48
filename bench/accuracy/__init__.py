"""Accuracy of every way to learn, on every problem."""
