"""What the agents of a run have released to each other about samples, according to the initiator's folder."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from assistlearn.errors import RunError
from assistlearn.events import Answered, Asked, Predicted, RunFinished, SamplesSettled, TurnFinished, read
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.messages import type_of
from assistlearn.protocol.releases import ReleasedBits, added_up, releases_in, votes
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.settings import RunSettings


def releases_of_run(folder: RunFolder) -> dict[str, list[ReleasedBits]]:
    """Return what each agent has released, by kind.

    The initiator releases the labels and, where helpers hear of its models, its own rewards or scores.

    Parameters
    ----------
    folder : RunFolder
        The folder of the run, finished or not.
    """
    settings = folder.settings()
    n_classes = len(settings.classes)
    owner = {told.event.turn: told.event.agent for told in read(folder.events) if isinstance(told.event, TurnFinished)}
    released: dict[str, list[ReleasedBits]] = {name: [] for name in settings.agents}
    released[settings.initiator] += _labels(folder)
    for turn, agent in sorted(owner.items()):
        content = folder.turn(turn)
        reply = None if content is None else decode(content)
        if isinstance(reply, m.TurnTaken) and _leaves(agent, settings):
            answer = replace(reply, holdout=None) if agent == settings.initiator else reply
            released[agent] += releases_in(answer, n_classes)
    for agent in settings.helpers:
        released[agent] += _votes(folder, agent, n_classes)
    return {agent: added_up(releases) for agent, releases in released.items()}


def log_is_whole(folder: RunFolder) -> bool:
    """Return whether the log of a finished run has its end. A log that was removed or cut off does not have it."""
    return any(isinstance(recorded.event, RunFinished) for recorded in read(folder.events))


def refuse_incomplete(folder: RunFolder) -> None:
    """Raise ``RunError`` if a run has lost files without which its releases cannot all be counted."""
    if folder.result() is not None and not log_is_whole(folder):
        raise RunError(
            f"{folder.events} lacks the end of the run, so not all that was released can be counted. Restore it from a "
            "backup. Each helper can count what it has released itself: assistlearn privacy FILE"
        )
    made = (told.event for told in read(folder.events) if isinstance(told.event, TurnFinished))
    lost = [event.turn for event in made if event.contribution is not None and folder.turn(event.turn) is None]
    if lost:
        raise RunError(
            f"{folder.path / 'turns'}: the answer to turn {lost[0]} is missing ({len(lost)} in all), so not all that "
            "was released can be counted. Restore it from a backup."
        )


def _leaves(agent: str, settings: RunSettings) -> bool:
    """Return whether an agent's answer goes to others; the initiator's own does not where all agents boost alone."""
    return agent != settings.initiator or settings.plan.make_method().shares_state


def _labels(folder: RunFolder) -> Iterator[ReleasedBits]:
    """Yield the release of the labels, if they were told; every helper is told the same.

    As sent, these are the bits of the whole message that tells them, for each training sample. It also tells the
    weights of the samples, if there are any, and which samples are held out; labels of these are not told. The log has
    no length of the labels alone.
    """
    n_training, told = 0, 0
    for recorded in read(folder.events):
        match recorded.event:
            case SamplesSettled(n_samples=n_samples):
                n_training = n_samples
            case Asked(type=type_, bytes=n_bytes) if type_ == type_of(m.Begin):
                told = max(told, n_bytes)
    if told and n_training:
        said = (len(folder.settings().classes) - 1).bit_length()
        yield ReleasedBits("labels", "training", 1, float(said), 8 * told / n_training)


def _votes(folder: RunFolder, agent: str, n_classes: int) -> Iterator[ReleasedBits]:
    """Yield the votes that an agent has sent for prediction."""
    n_bytes = n_votes = times = 0
    for recorded in read(folder.events):
        match recorded.event:
            case Answered(agent=who, type=type_) as answer if who == agent and type_ == type_of(m.Scores):
                n_bytes, times = n_bytes + answer.bytes, times + 1
            case Predicted(known=known):
                n_votes += known.get(agent, 0)
    if times:
        bits = folder.settings().plan.make_method().vote_bits(n_classes)
        yield votes(bits, n_classes, times, n_bytes, n_votes)
