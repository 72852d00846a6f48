"""All messages. What is not a field here cannot leave an agent: this file is the privacy statement.

The initiator asks, a helper answers; nobody else speaks. Below, "I" is the initiator and "H" the helper asked; K is the
number of classes. The forms of arrays are in :mod:`assistlearn.protocol.arrays`.

+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Message   | Goes     | Field                     | What it is, and its size                                          |
+===========+==========+===========================+===================================================================+
| *all*     | both     | run                       | which run the message belongs to: up to 80 characters             |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Open      | I to H   | initiator, purpose        | who asks and what for, in words: some bytes                       |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | alignment, overlap        | how samples will be matched: some bytes                           |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Opened    | H to I   | agent, n_rows             | the helper's name and how many samples its table has              |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Align     | I to H   | purpose, step             | for which samples (to train on, or to predict), and which step:   |
|           |          |                           | some bytes                                                        |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | data                      | hashed or encrypted ids, 16 to 37 bytes each; then which of them  |
|           |          |                           | are in the run                                                    |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Aligned   | H to I   | step, data                | the helper's part of the same step: which of the ids it holds (1  |
|           |          |                           | bit each, or 33 bytes and 33 for each of its own)                 |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Begin     | I to H   | method, loss, shrinkage,  | how to train: some bytes                                          |
|           |          | models_per_turn,          |                                                                   |
|           |          | first_round,              |                                                                   |
|           |          | score_bits, reward, cv,   |                                                                   |
|           |          | seed, turn_seeds          |                                                                   |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | epsilon                   | where chance has changed labels, how much they may reveal: 9      |
|           |          |                           | bytes                                                             |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | n_samples, n_classes      | how many samples and classes there are                            |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | labels                    | class codes of the training samples under a secret permutation,   |
|           |          |                           | entropy-coded (2 bytes per sample at the most): numbers, not      |
|           |          |                           | names of classes. With label-private, chance has changed some of  |
|           |          |                           | them. Those of hold-out samples stay with the initiator           |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | weights                   | initial weights of the training samples, if not uniform: 8 bytes  |
|           |          |                           | each                                                              |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | holdout                   | which samples are held out: at most 1 bit each                    |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | folds                     | where the initiator's table has several samples of a person: in   |
|           |          |                           | which of the cv folds each training sample is, at most 1 byte     |
|           |          |                           | each. Those of a person share a fold                              |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Ready     | H to I   | n_held                    | how many of the samples the helper holds                          |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| TakeTurn  | I to H   | turn, round, since        | which turn it is, and the last turn that the helper should know:  |
|           |          |                           | some bytes                                                        |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | news                      | a list of News: the models kept since the helper's last turn      |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| News      | in news  | turn, round, model_weight | in which turn and round an agent, which is not named, kept a      |
|           |          |                           | model, and the weight of that model: some 12 bytes                |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | reward                    | that model's reward: at most 1 bit per sample (soft: a quantised  |
|           |          |                           | score, at most 8 bits by default; with K > 2 one per class, at    |
|           |          |                           | most 4 bits by default); nothing if it was the receiver's own     |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Recall    | I to H   | earlier, turns            | the earlier run of the same initiator from which this run goes    |
|           |          |                           | on, and its turns that are to be taken again: some bytes          |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | still                     | which of its samples the new run begins with: at most 1 bit each  |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Recalled  | H to I   | turns, why                | which turns can be taken again, and why the others cannot, in     |
|           |          |                           | words of the program: some bytes                                  |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | table_changed             | whether the table has changed since: one bit                      |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| TakeAgain | I to H   | turn, round, since, news  | as in TakeTurn                                                    |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | earlier                   | which turn of the earlier run is taken again, without fitting:    |
|           |          |                           | some bytes. The TurnTaken that answers it is only about samples   |
|           |          |                           | about which that turn said nothing                                |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| TurnTaken | H to I   | turn                      | which turn was taken                                              |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | reward                    | where the new model is right: at most 1 bit per sample (soft: a   |
|           |          |                           | quantised score, at most 8 bits by default; with K > 2 one per    |
|           |          |                           | class, at most 4 bits by default)                                 |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | model_weight, mean_reward | two numbers: 16 bytes                                             |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | perfect                   | one bit                                                           |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | holdout                   | what the model answers for the hold-out samples: 1 or 2 bytes     |
|           |          |                           | each (soft: K quantised scores)                                   |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| End       | I to H   | n_rounds, last_turn       | how many rounds the result is made of, and the last turn that     |
|           |          |                           | counts                                                            |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Ended     | H to I   | n_models                  | how many models the helper keeps                                  |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Predict   | I to H   | start, stop               | which of the samples that were aligned for prediction             |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Scores    | H to I   | known                     | which of them the helper holds: at most 1 bit each                |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | scores                    | its votes for those it holds, in whole levels whose worth follows |
|           |          |                           | from total_weight: 2 bytes each with two classes, else 2 K (soft: |
|           |          |                           | 1 or K by default, at the most)                                   |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
|           |          | total_weight              | the sum of its model weights: 8 bytes                             |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Forget    | I to H   |                           | nothing but the run: remove its models and records                |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Forgotten | H to I   | n_models                  | how many models were removed                                      |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Propose   | I to H   | initiator, purpose,       | where the helper's owner has not said yes to such runs: who asks, |
|           |          | method, n_samples,        | what for, how, about how many samples and in how many rounds at   |
|           |          | n_rounds, withdrawn       | the most; or that the request is withdrawn: some bytes            |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Consent   | H to I   | state, request, since,    | whether the owner has answered, and how; the request's number and |
|           |          | text                      | time, and the owner's reason: some bytes                          |
+-----------+----------+---------------------------+-------------------------------------------------------------------+
| Problem   | H to I   | kind, text, known         | why a request was refused, in words of the program, and the last  |
|           |          |                           | turn that the helper knows                                        |
+-----------+----------+---------------------------+-------------------------------------------------------------------+

Raise ``VERSION`` when a field is added, removed or changes its meaning, here or in an array. A message of another
version is refused; one that comes from outside is answered by a ``Problem`` that names both versions.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from assistlearn.protocol.arrays import Bits, ClassCodes, Levels, Numbers

VERSION = 1


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", kw_only=True, array_like=True):
    """The base of all messages. Fields travel without their names: the type comes first, and the run last."""

    run: str


class Open(Message, frozen=True, tag="open"):
    initiator: str
    purpose: str
    alignment: Literal["hash", "psi"]
    overlap: Literal["abstain", "intersection"]


class Opened(Message, frozen=True, tag="opened"):
    agent: str
    n_rows: int


class Align(Message, frozen=True, tag="align"):
    """Ask for a step of the alignment: of the samples to train on, or of those to predict."""

    purpose: Literal["train", "predict"]
    step: Literal[1, 2]
    data: bytes


class Aligned(Message, frozen=True, tag="aligned"):
    step: int
    data: bytes


class Begin(Message, frozen=True, tag="begin"):
    """The task: samples, labels and weights, and the settings that helpers are told."""

    method: str
    n_samples: int
    n_classes: int
    labels: ClassCodes
    seed: int
    turn_seeds: int
    weights: Numbers | None
    holdout: Bits | None
    reward: str
    cv: int
    loss: str
    shrinkage: float
    models_per_turn: int
    score_bits: int
    first_round: Literal["in turn", "apart"]
    epsilon: float | None
    folds: ClassCodes | None = None


class Ready(Message, frozen=True, tag="ready"):
    n_held: int


class News(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A model that some agent kept; ``reward`` is None if it is the receiver's own model."""

    turn: int
    round: int
    model_weight: float
    reward: Bits | Levels | None


class TakeTurn(Message, frozen=True, tag="take-turn"):
    turn: int
    round: int
    since: int
    news: Annotated[list[News], msgspec.Meta(max_length=100_000)]


class Recall(Message, frozen=True, tag="recall"):
    """Ask an agent to keep its turns of an earlier run that are to be taken again: the run goes on from that one."""

    earlier: str
    still: Bits
    turns: Annotated[list[int], msgspec.Meta(max_length=100_000)]


class Recalled(Message, frozen=True, tag="recalled"):
    """The turns that can be taken again; ``why`` says why the others cannot."""

    turns: list[int]
    why: str
    table_changed: bool


class TakeAgain(TakeTurn, frozen=True, tag="take-again"):
    """Ask an agent to take a turn of an earlier run again: with the model that it kept, without fitting."""

    earlier: int


class TurnTaken(Message, frozen=True, tag="turn-taken"):
    """The turn is done: how good the new model is, and where."""

    turn: int
    reward: Bits | Levels
    model_weight: float
    mean_reward: float
    perfect: bool
    holdout: ClassCodes | Levels | None = None


class End(Message, frozen=True, tag="end"):
    """Training is over. Only models of the first ``n_rounds`` rounds count, up to ``last_turn`` if that is given."""

    n_rounds: int
    last_turn: int | None = None


class Ended(Message, frozen=True, tag="ended"):
    n_models: int


class Predict(Message, frozen=True, tag="predict"):
    """Ask for the votes on the samples that were aligned for prediction, from ``start`` up to ``stop``."""

    start: int
    stop: int


class Scores(Message, frozen=True, tag="scores"):
    known: Bits
    scores: Levels
    total_weight: float


class Forget(Message, frozen=True, tag="forget"):
    """Ask an agent to remove what it keeps of the run."""


class Forgotten(Message, frozen=True, tag="forgotten"):
    n_models: int


ConsentState = Literal["allowed", "waiting", "rejected", "expired", "withdrawn"]
"""The state of a request for consent, in this order: the run may be opened; nobody has answered yet; the owner has said
no, or no longer says yes; nobody has answered in time; the initiator has withdrawn the request."""


class Propose(Message, frozen=True, tag="propose"):
    """Ask the helper's owner for consent to runs of one initiator for one purpose, or withdraw that request."""

    initiator: str
    purpose: str
    method: str
    n_samples: int
    n_rounds: int
    withdrawn: bool = False


class Consent(Message, frozen=True, tag="consent"):
    """The state of a request, its number, since when it waits, and the owner's reason if there is one."""

    state: ConsentState
    request: str = ""
    since: str = ""
    text: str = ""


ProblemKind = Literal[
    "malformed", "version", "refused", "sits-out", "unknown-run", "out-of-order", "behind", "data", "failed"
]


class Problem(Message, frozen=True, tag="problem"):
    """A request was refused and nothing has changed.

    ``behind`` says that the helper knows less than the request assumes; ``known`` is the last turn it knows.
    ``sits-out`` says that the helper's owner does not let it take this turn. The run goes on without that turn.
    """

    kind: ProblemKind
    text: str
    known: int = 0


REQUESTS: tuple[type[Message], ...] = (
    *(Open, Align, Begin, Recall, TakeTurn, TakeAgain, End, Predict, Forget, Propose),
)
REPLIES: tuple[type[Message], ...] = (
    *(Opened, Aligned, Ready, Recalled, TurnTaken, Ended, Scores, Forgotten, Consent, Problem),
)
