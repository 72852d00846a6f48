"""What each type of message says, in words."""

from __future__ import annotations

WORDS = {
    "open": "a question whether to work together: a name and a purpose",
    "opened": "the agent's name and the number of its samples",
    "align": "ids of samples, hashed or encrypted, to find the common ones",
    "aligned": "which samples are common, hashed or encrypted",
    "begin": "the labels as numbers, and how to train",
    "ready": "how many samples are held",
    "recall": "which earlier run this one goes on from, and who of it takes part again",
    "recalled": "which turns of that run can be taken again",
    "take-turn": "where others' models were right (soft: how sure they were, of every class), and their weights",
    "take-again": "the same, and which turn of the earlier run is taken again",
    "turn-taken": "where the new model is right (soft: how sure it is, of every class), its weight, its answers "
    "for hold-out samples",
    "end": "that training is over",
    "ended": "how many models are kept",
    "predict": "which samples to vote on",
    "scores": "votes: one score per class for each sample asked for",
    "forget": "a request to remove a run",
    "forgotten": "that it is removed",
    "propose": "a request for the owner's consent: a name, a purpose, and how much is wanted",
    "consent": "whether the owner has answered such a request, and how",
    "problem": "why a request was refused",
    "unreadable": "bytes that are no message",
}
"""What each type of message says, in the order in which they come in a run."""
