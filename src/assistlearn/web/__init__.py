"""Servers on this machine: a run in a browser while it goes on, and predictions for other programs."""
