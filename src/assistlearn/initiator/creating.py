"""A new run: checked as far as it can be before anything is sent, and written into its folder."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Sequence
from typing import Any

from assistlearn.agent.file import AgentDescription, PrivacyRules
from assistlearn.agent.holdings import from_loaded
from assistlearn.agent.loading import load_agent
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.alignment.psi import require_library
from assistlearn.errors import AssistLearnWarning, RunError, SettingsError
from assistlearn.initiator.continuing import check_can_go_on, take_over
from assistlearn.initiator.folder import RunFolder, locked
from assistlearn.initiator.keys import own_key, secret_order, secret_words
from assistlearn.initiator.label_ledger import LabelLedger, check_ledger
from assistlearn.initiator.settings import RunSettings
from assistlearn.initiator.setup import classes_of
from assistlearn.plan import LARGEST_EPSILON, Plan
from assistlearn.storage import private_folder
from assistlearn.tables.labels import notes_on_labels


def write_run(
    folder: RunFolder,
    run: str,
    initiator: AgentDescription,
    helpers: Sequence[str],
    plan: Plan,
    *,
    reach: str,
    files: dict[str, str],
    goes_on: RunFolder | None = None,
    **places: Any,
) -> None:
    """Write the settings of a new run, and the secret order of its classes, once nothing speaks against the run.

    ``reach`` says how the agents are reached, ``files`` has those agents' files that are on this machine, and
    ``places`` are further facts for the settings. A run that ``goes_on`` from a finished one copies what it needs.
    """
    plan.check_for_runs()
    _check_labels(initiator, plan)
    loaded = load_agent(initiator)
    table, classes = loaded.table, classes_of(loaded.table)
    assert table.labels is not None
    for note in notes_on_labels(table.labels, table.features):
        warnings.warn(f"{table.source}: {note}", AssistLearnWarning, stacklevel=2)
    if goes_on is not None:
        classes = check_can_go_on(goes_on, initiator.name, classes, plan).classes
    settings = RunSettings(
        run=run,
        initiator=initiator.name,
        agents=[initiator.name, *helpers],
        classes=classes,
        fingerprint=table.fingerprint,
        files=files,
        plan=plan,
        reach=reach,
        places=places,
        label_only=initiator.is_label_only,
    )
    rules = initiator.privacy or PrivacyRules()
    if plan.make_method().keeps_labels:
        ledger = LabelLedger(initiator.models, rules.label_name or initiator.label or "", classes)
        check_ledger(ledger, folder, settings, initiator.models)
    # Where labels stay with the initiator, not even the order of their codes may follow from them.
    known_by = "" if plan.make_method().keeps_labels else table.fingerprint
    key = own_key(initiator.models)
    order, words = secret_order(key, known_by, plan.seed, len(classes)), secret_words(key, known_by, plan.seed)
    order = order if goes_on is None else goes_on.permutation()  # the order in which kept models answer
    private_folder(folder.path)
    with locked(folder.path, alone=True):
        if folder.exists:  # another command has begun one in the meantime
            raise RunError(f"{folder.path} holds a run already. Name another folder (--out).")
        if goes_on is not None:
            take_over(folder, goes_on, initiator.models, from_loaded(loaded).ids)
        folder.write_settings(settings, order, words)


def _check_labels(initiator: AgentDescription, plan: Plan) -> None:
    """Refuse a run that would tell helpers more about the labels than the initiator's own file lets it."""
    keeps = plan.make_method().keeps_labels
    if keeps and math.isinf(plan.epsilon):
        raise SettingsError(
            f"An infinite epsilon would tell helpers the true labels, which method {plan.method!r} is to keep. Set "
            f'epsilon to {LARGEST_EPSILON:g} or less, or use the method "soft".'
        )
    most = None if initiator.privacy is None else initiator.privacy.max_label_epsilon
    if most is None:
        return
    where = initiator.places("privacy", "max_label_epsilon")
    if not keeps:
        raise SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but method {plan.method!r} tells them "
            'the true labels. Use the method "label-private", or remove the key.'
        )
    if plan.epsilon > most:
        raise SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but the run asks for {plan.epsilon:g}. "
            "Ask for a smaller epsilon, or set max_label_epsilon in the agent file to a larger number."
        )


def check_new(run: str, descriptions: Sequence[AgentDescription]) -> None:
    for description in descriptions:
        if RunStore(run_folder(description.models, run)).exists:
            raise RunError(
                f"Agent {description.name!r} has a run {run!r} already. Choose another name (--run NAME), or let the "
                f"agent forget it: {shlex.join(['assistlearn', 'forget', run, '--agent', str(description.file)])}"
            )


def check_matching(alignment: str, descriptions: Sequence[AgentDescription]) -> None:
    if alignment == "psi":
        require_library()
        return
    for description in descriptions:
        if description.secret is None:
            raise SettingsError(
                f"{description.file}: agent {description.name!r} has no secret for matching ids by keyed hashes. Name "
                "one (secret = ...), the same for all agents, or match by private set intersection (--align "
                'psi; in a task: alignment = "psi").'
            )
