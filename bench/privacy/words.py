"""What the page and the README say about their figures."""

from __future__ import annotations

from bench.privacy.measure import KNOWN, KNOWN_MEMBERS, NOTHING, WRONG_PEOPLE
from bench.privacy.ways import SHUFFLED

ABOUT = {
    "default credit": """Clients of a bank (two classes, 5,000 training samples). The initiator has 13 columns of bills
    and payments. The helper has 10: who the clients are, and how late they paid. Six are attacked.""",
    "breast cancer": """Tumours (two classes, 398 training samples, so that the attacker knows a column for 20). The
    initiator has 10 columns of means, the helper 20 of errors and worst values. Five are attacked.""",
    "digits": """Written digits (ten classes, 1,257 training samples). The initiator has the left halves, the helper the
    right ones, 32 pixels each. Six are attacked.""",
}
SUMMARY = """**Summary.** A helper's answers reveal something of its columns, the more, the more rounds there are. How
well a column is guessed (AUC) without answers, with those of the recommended way, and with 20 rounds of `soft` in 8
bits: {guesses}. Who was trained on is guessed with an AUC of {most} at the most. No figure here is a bound."""
SHORT_ATTRIBUTES = f"""The attacker is the initiator. It has its own columns, all that the helper told about the
training samples, and the helper's column for {100 * KNOWN:g} % of them. The figure is the AUC of guessing the others,
the mean over columns; 0.5 is a blind guess. `{NOTHING}` is the same attacker without answers, `{WRONG_PEOPLE}` has
answers about other people. The attack is that of [`assistlearn privacy --attack`](../reference/commands/privacy.md).
Another one may guess better."""
SHORT_LABELS = """Here the helper is the attacker, with `label-private`. The figure is how often its likeliest class for
a person is the true one. At epsilon 0.01 it has next to nothing but its columns."""
ELSEWHERE = (
    """**Rebuilding columns.** A hostile initiator comes no nearer to its best column than an ordinary run of 20 rounds
    by more than .05 (rank correlation, where that run already reaches .9). Of a column that has nothing to do with the
    label it learns .44 to .54 more. With `proof = true` no column gained more than .13 on average; that costs up to
    .055 accuracy with `ascii`, and at most .009 with `soft` (`bench/reconstruction/README.md`).""",
    """**What label-private keeps.** At epsilon 1 it keeps nine tenths of what true labels gain on default credit (AUC
    .779, against .733 alone and .783), and raises digits from .781 to .902. On red wine nothing is left of the help
    (`bench/label_private/README.md`).""",
    """`bench/privacy/README.md` has every round, column, epsilon and control.
    [What is private](../explanation/privacy.md) says what is proved, and what is not claimed.""",
)
INTRODUCTION = """This measures how well somebody can guess what was *not* said from what was said. It attacks the
answers of real runs of `AssistedClassifier` on public data. Both agents use trees of depth 3. Figures are the mean ±
standard error over {n} replications, the splits of seeds {first} to {last}. An AUC of 0.5 is a blind guess, 1 is
certain. The attack is that of `assistlearn privacy --attack`, and has the initiator's columns in addition. It is one
attack; another one may guess better."""
ATTRIBUTES = f"""The attacker is the initiator. It has the true labels, its own columns, everything that the helper told
about the training samples, and the helper's column for {100 * KNOWN:g} % of them. For the others it guesses whether a
number lies above the median (of two values: which it is)."""
ATTRIBUTE_NAMES = f"""| name | meaning |
| --- | --- |
| *guess* | the mean AUC over the columns that are attacked |
| *bits* | what was told about one sample, as it was sent |
| *test AUC*, *accuracy* | what the run is good for, on test samples |
| `no transcript` | the same attacker without any answer of the helper |
| `shuffled transcript` | it gets the answers of `{SHUFFLED}` about other people |
| `votes` | the scores of all the helper's models together, as sent for prediction, and nothing else |
| `recommended` | `method="soft", reward="auto", combine="auto", models_per_turn=20`. It stops when a round does not \
pay; what that round has told counts |
| `label-private` | with `models_per_turn=20`. It tells once, in 4 bits per score. At epsilon 0.01 the helper has \
learned from noise, and tells nothing where it finds its model useless |"""
LABELS = """Here the helper is the attacker. It has labels that chance has changed (randomised response), their epsilon,
and its own columns. *Guess of a label* is the AUC of its best guess; with more than two classes, the mean over classes,
each against the rest. *Right* is how often its most likely class is the true one. *From columns alone* leaves out what
it was told about the sample itself. That much follows from what the model says about the population, which epsilon does
not cover. *Test AUC* and *accuracy* are those of `label-private` at this epsilon. At epsilon 0.01 labels are noise: a
gain over the initiator alone there does not come from labels."""
MEMBERS = f"""The attacker has the helper's votes for training samples and for as many others, and all true labels. For
{100 * KNOWN_MEMBERS:g} % of them it knows which is which. The figure is the AUC of telling the others apart; 0.5 is
blind."""
