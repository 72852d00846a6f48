"""The initiator's side of a run: set up, aligned, trained, predicted with, forgotten."""
