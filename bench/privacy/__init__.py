"""What releases disclose, measured on public data: ``python -m bench.privacy.run``.

An initiator attacks a helper with what a real run has told it: the labels, its own columns, and every release about
every sample. What is measured: how well a helper's column is guessed where it is known for 5 % of the samples
(attribute inference), against rounds; how well a helper guesses labels that chance has changed, against epsilon (label
inference); how well training samples are told from others by votes (membership inference). Beside each: what the run is
good for (utility), and controls.
"""
