"""The story of a run as its folder tells it, from the first event to the last."""

from __future__ import annotations

from pathlib import Path

from assistlearn.agent_files import load_description
from assistlearn.errors import AssistLearnError
from assistlearn.evaluation.score_calibration import ScoreCalibration, in_words
from assistlearn.events import read
from assistlearn.pages.chosen_settings import chosen
from assistlearn.pages.story import Story
from assistlearn.pages.thinned import MOST
from assistlearn.pages.view import Released, State, Subject, View
from assistlearn.protocol.ledger import verify
from assistlearn.protocol.ledger_of_run import entries_of
from assistlearn.runs.folder import RunFolder
from assistlearn.runs.folder_lock import somebody_works
from assistlearn.runs.pilot_terms import terms_of
from assistlearn.runs.releases_of_run import log_is_whole, releases_of_run
from assistlearn.runs.settings import RunSettings


def subject_of(settings: RunSettings) -> Subject:
    """Return what a run is about, without files, fingerprints and places."""
    return Subject(
        run=settings.run,
        initiator=settings.initiator,
        agents=tuple(settings.agents),
        classes=tuple(map(str, settings.classes)),
        reach=settings.reach,
        settings=chosen(settings.plan, settings.plan.of_runs()),
        n_rounds=settings.plan.most_rounds,
        keeps_labels=settings.plan.make_method().keeps_labels,
        metric=settings.plan.metric,
        is_pilot=terms_of(settings) is not None,
        label_only=settings.label_only,
        tells_of_others=len(settings.helpers) > 1 and settings.plan.make_method().shares_state,
    )


def story_of(folder: RunFolder, ledger: bool = True, most_rows: int = MOST) -> Story:
    """Return the story of a run so far: its events, its result, its ledger.

    Parameters
    ----------
    folder : RunFolder
        The folder of a run that has begun, goes on, was interrupted or is finished.
    ledger : bool, default=True
        Whether to read what the initiator's ledger says, too, and what was released.
    most_rows : int
        How many rounds are kept for tables, beside the last one.

    Raises
    ------
    LedgerError
        The initiator's ledger was changed, so it must not be counted.
    """
    at = _ledger(folder.settings()) if ledger else None
    if at is not None:
        verify(at)
    story = Story(subject_of(folder.settings()), most_rows)
    for recorded in read(folder.events):
        story.feed(recorded)
    take_result(story, folder)
    if ledger:
        take_ledger(story, folder)
    return story


def take_folder(story: Story, folder: RunFolder) -> None:
    """Add to a story what the folder holds besides the events: the result, and what the ledger says."""
    take_result(story, folder)
    take_ledger(story, folder)


def take_result(story: Story, folder: RunFolder) -> None:
    """Add to a story the result of its run, or what its pilot has found, if the run is finished."""
    settings, result, worth = folder.settings(), folder.result(), folder.worth()
    if result is not None:
        calibration = ScoreCalibration.from_json(result.get("calibration"))
        learned = result.get("combination") is not None
        story.take_result(result, in_words(calibration, wanted=settings.plan.calibrates, learned=learned))
    if worth is not None:
        story.take_worth(worth)


def take_ledger(story: Story, folder: RunFolder) -> None:
    """Add to a story what the initiator's ledger says, and what each agent has released about samples."""
    settings = folder.settings()
    ledger = _ledger(settings)
    entries = [] if ledger is None else entries_of(ledger, settings.run)
    if entries:
        story.take_ledger(entries)
    story.take_released(
        {
            agent: [Released(each.kind, each.about, each.times, each.said, each.sent) for each in released]
            for agent, released in releases_of_run(folder).items()
        }
    )


def lacking(folder: RunFolder) -> list[str]:
    """Return sentences about the files that a run lacks, and what its page lacks because of that."""
    found = []
    if folder.n_turns and not folder.events.exists():
        found.append(f"{folder.events} is missing: rounds, model weights, samples and times are not on the page.")
    elif folder.result() is not None and not log_is_whole(folder):
        found.append(f"{folder.events} lacks the end of the run: rounds, model weights and times may be missing.")
    if folder.lost_result:
        found.append("The run was finished once, but its result.json is lost. Resume the run to make it again.")
    if folder.n_turns and _ledger(folder.settings()) is None:
        found.append("The initiator's ledger is not where it was: messages are counted by the run's own events.")
    return found


def view_of(folder: RunFolder) -> View:
    """Return the view of a run, from its folder."""
    return story_of(folder).view(state_of(folder))


def state_of(folder: RunFolder) -> State:
    """Return whether a run is finished, goes on, or was stopped."""
    is_pilot = terms_of(folder.settings()) is not None
    if (folder.worth() if is_pilot else folder.result()) is not None:
        return "finished"
    return "going on" if somebody_works(folder.path) else "stopped"


def _ledger(settings: RunSettings) -> Path | None:
    """Return the path of the initiator's ledger; None where it is no longer there."""
    try:
        path = load_description(Path(settings.files[settings.initiator])).models / "ledger.jsonl"
    except (AssistLearnError, OSError, KeyError):
        return None
    return path if path.exists() else None
