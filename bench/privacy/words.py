"""What the page says about its figures."""

from __future__ import annotations

from bench.privacy.measure import KNOWN, KNOWN_MEMBERS
from bench.privacy.ways import SHUFFLED

ABOUT = {
    "default credit": """Clients of a bank (two classes, 5,000 training samples). The initiator has 13 columns of bills
    and payments, the helper 10: who the clients are, and how late they paid. Six are attacked.""",
    "breast cancer": """Tumours (two classes, 398 training samples, so that the attacker knows a column for 20). The
    initiator has 10 columns of means, the helper 20 of errors and worst values. Five are attacked.""",
    "digits": """Written digits (ten classes, 1,257 training samples). The initiator has the left halves, the helper the
    right ones, 32 pixels each. Six are attacked.""",
}
INTRODUCTION = """How well somebody guesses what was *not* said from what was: by attacks on the releases of real
runs of `AssistedClassifier`, on public data. Both agents use trees of depth 3. Mean ± standard error over {n}
replications, the splits of seeds {first} to {last}. An AUC of 0.5 is a blind guess, 1 is certain. The attack is the
one of [`assistlearn privacy --attack`](command-line.md#privacy), with the initiator's columns in addition. It is one
attack: another may guess better, and none of these figures is a bound. Measure again with `python -m
bench.privacy.run`."""
ELSEWHERE = "What is proved, and what is not claimed, is in [What is private](privacy.md)."
ATTRIBUTES = f"""The attacker is the initiator: it has the true labels, its own columns, what the helper told about
every training sample, and the helper's column for {100 * KNOWN:g} % of them. It guesses whether a number lies above
the median (of two values: which it is) for the others. *Guess* is the mean AUC over the columns attacked. *Bits* are
those that were told about one sample, as sent. `no transcript` is the same attacker without any release; `shuffled
transcript` gives it those of `{SHUFFLED}` about other people. `votes` are the scores of all the helper's models
together, as they are sent for prediction, and nothing else. `recommended` is `method="soft", reward="auto",
combine="auto", models_per_turn=20`; it stops when a round does not pay, and what that round has told counts.
`label-private`, with `models_per_turn=20`, tells once, in 4 bits per score; at epsilon 0.01 the helper has learned from
noise, and tells nothing where it finds its model useless. *Test AUC* and *accuracy* are what the run is good for, on
test samples."""
LABELS = """Here the helper is the attacker. It has labels that chance has changed (randomised response), their epsilon,
and its own columns. *Guess of a label* is the AUC of its best guess (more than two classes: the mean over classes, each
against the rest); *right* is how often its most likely class is the true one. *From columns alone* leaves out what it
was told about the sample itself: that much follows from what the model says about the population, which epsilon does
not cover. *Test AUC* and *accuracy* are those of `label-private` at this epsilon. At epsilon 0.01 labels are noise:
what is above the initiator alone there is not the use of labels."""
MEMBERS = f"""The attacker has the helper's votes for training samples and for as many others, all true labels, and
knows of {100 * KNOWN_MEMBERS:g} % of them which is which. AUC of telling the rest apart: 0.5 is blind."""


def on_one_line(text: str) -> str:
    r"""Return a text without its line breaks.

    >>> on_one_line("one\n  thought")
    'one thought'
    """
    return " ".join(text.split())
