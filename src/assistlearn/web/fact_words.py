"""Say an event in words, for the list of the latest events. Texts of others stay out: they may name files or values."""

from __future__ import annotations

from assistlearn.evaluation.figures_in_words import TITLES
from assistlearn.events import (
    AgentLeft,
    AloneBegan,
    Answered,
    Asked,
    CombinationLearned,
    Event,
    JobStarted,
    LabelsTold,
    Predicted,
    ResultJudged,
    RoundFinished,
    RunFinished,
    RunForgotten,
    RunGoesOn,
    SamplesDone,
    SamplesMatched,
    SamplesOpened,
    SamplesSettled,
    TroubleMet,
    TurnFinished,
)
from assistlearn.pages.going_on_words import people_in_words


def fact_in_words(event: Event, metric: str) -> str:
    """Return what happened, in a few words; ``metric`` is the one that leads in this run.

    >>> fact_in_words(RoundFinished(round=3, holdout_accuracy=0.8125), "accuracy")
    'Round 3 is over: 81.2 % of the hold-out samples are right.'
    """
    match event:
        case Asked() | Answered() | JobStarted() | TroubleMet():
            return _on_the_way(event)
        case SamplesMatched() | SamplesSettled() | SamplesDone() | SamplesOpened():
            return _of_samples(event)
        case TurnFinished() | AgentLeft() | RoundFinished():
            return _in_a_round(event, metric)
        case _:
            return _of_the_run(event)


def _on_the_way(event: Asked | Answered | JobStarted | TroubleMet) -> str:
    match event:
        case Asked():
            return f"{event.agent} was sent {event.type} ({event.bytes:,} bytes)."
        case Answered():
            return f"{event.agent} answered {event.type} ({event.bytes:,} bytes) after {event.seconds:.1f} s."
        case JobStarted():
            return f"A job was started with {', '.join(event.sites)}."
    return "Something did not work, and is tried again."


def _of_samples(event: SamplesMatched | SamplesSettled | SamplesDone | SamplesOpened) -> str:
    match event:
        case SamplesMatched():
            return f"{event.agent} holds {event.n_held:,} of {event.n_asked:,} samples."
        case SamplesSettled():
            return f"The samples are settled: {event.n_samples:,} to train on, {event.n_holdout:,} held out."
        case SamplesDone():
            return f"{event.done:,} of {event.total:,} samples are done with {event.agent}."
    gain = f"gain {event.gain:.3f}, from {event.lower:.3f} to {event.upper:.3f}"
    return f"{event.n_opened:,} of {event.n_pool:,} samples are opened: {gain}."


def _in_a_round(event: TurnFinished | AgentLeft | RoundFinished, metric: str) -> str:
    match event:
        case TurnFinished(contribution=None):
            return f"Turn {event.turn}: {event.agent} sat out."
        case TurnFinished():
            return f"Turn {event.turn}: {event.agent} has made a model, with weight {event.model_weight:.3f}."
        case AgentLeft():
            return f"The run goes on without {event.agent} from turn {event.turn} on."
    if metric != "accuracy" and event.metric is not None:
        return f"Round {event.round} is over: on the hold-out samples, {TITLES[metric]} is {event.metric:.3f}."
    if event.holdout_accuracy is not None:
        return f"Round {event.round} is over: {100 * event.holdout_accuracy:.1f} % of the hold-out samples are right."
    loss = "" if event.loss is None else f": the loss of the combination is {event.loss:.3f}"
    return f"Round {event.round} is over{loss}."


def _of_the_run(event: Event) -> str:
    match event:
        case RunGoesOn():
            return people_in_words(event)
        case LabelsTold():
            return f"Helpers are told {event.n_samples:,} labels changed at random, epsilon {event.epsilon:g}."
        case CombinationLearned():
            return f"How to combine the scores of {event.n_rounds} rounds is learned: {event.kind}."
        case AloneBegan():
            return "The initiator trains alone, to compare."
        case ResultJudged():
            return f"The result is judged on {event.n_samples:,} hold-out samples."
        case RunFinished():
            return f"Training is over: {event.reason}."
        case Predicted():
            return f"{event.n_samples:,} samples were predicted."
        case RunForgotten():
            return "The agents were asked to forget the run."
    return f"Something that this release does not know: {type(event).__name__}."
