"""How a run begins: written into its folder, opened at all agents or at none, samples matched. And how it ends."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from assistlearn import errors
from assistlearn.agent.file import AgentDescription, PrivacyRules
from assistlearn.agent.loading import from_loaded, load_agent
from assistlearn.agent.store import RunStore, run_folder
from assistlearn.alignment import HashInitiator, Ids, Initiator, Minimum, PsiInitiator, samples_of_run
from assistlearn.alignment.ids import Rows
from assistlearn.alignment.psi import require_library
from assistlearn.core.people import at
from assistlearn.events import RunForgotten, SamplesDone, SamplesMatched, TroubleMet
from assistlearn.initiator.continuing import EarlierPeople, check_can_go_on, take_over
from assistlearn.initiator.folder import RunFolder, RunSettings, locked
from assistlearn.initiator.label_ledger import LabelLedger, check_ledger
from assistlearn.initiator.run import OpenRun, classes_of, own_key, people_of, secret_order, secret_words
from assistlearn.plan import LARGEST_EPSILON, Plan
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import shown
from assistlearn.session.setup import check_holdout
from assistlearn.storage import private_folder
from assistlearn.tables.schema import notes_on_labels
from assistlearn.types import Bools

# -- a new run: checked as far as it can be before anything is sent, and written into its folder


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
        warnings.warn(f"{table.source}: {note}", errors.AssistLearnWarning, stacklevel=2)
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
            raise errors.RunError(f"{folder.path} holds a run already. Name another folder (--out).")
        if goes_on is not None:
            take_over(folder, goes_on, initiator.models, from_loaded(loaded).ids)
        folder.write_settings(settings, order, words)


def _check_labels(initiator: AgentDescription, plan: Plan) -> None:
    """Refuse a run that would tell helpers more about the labels than the initiator's own file lets it."""
    keeps = plan.make_method().keeps_labels
    if keeps and math.isinf(plan.epsilon):
        raise errors.SettingsError(
            f"An infinite epsilon would tell helpers the true labels, which method {plan.method!r} is to keep. Set "
            f'epsilon to {LARGEST_EPSILON:g} or less, or use the method "soft".'
        )
    most = None if initiator.privacy is None else initiator.privacy.max_label_epsilon
    if most is None:
        return
    where = initiator.places("privacy", "max_label_epsilon")
    if not keeps:
        raise errors.SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but method {plan.method!r} tells them "
            'the true labels. Use the method "label-private", or remove the key.'
        )
    if plan.epsilon > most:
        raise errors.SettingsError(
            f"{where}: helpers may be told labels at epsilon {most:g} at most, but the run asks for {plan.epsilon:g}. "
            "Ask for a smaller epsilon, or set max_label_epsilon in the agent file to a larger number."
        )


def check_new(run: str, descriptions: Sequence[AgentDescription]) -> None:
    for description in descriptions:
        if RunStore(run_folder(description.models, run)).exists:
            raise errors.RunError(
                f"Agent {description.name!r} has a run {run!r} already. Choose another name (--run NAME), or let the "
                f"agent forget it: {shlex.join(['assistlearn', 'forget', run, '--agent', str(description.file)])}"
            )


def check_matching(alignment: str, descriptions: Sequence[AgentDescription]) -> None:
    if alignment == "psi":
        require_library()
        return
    for description in descriptions:
        if description.secret is None:
            raise errors.SettingsError(
                f"{description.file}: agent {description.name!r} has no secret for matching ids by keyed hashes. Name "
                "one (secret = ...), the same for all agents, or match by private set intersection (--align "
                'psi; in a task: alignment = "psi").'
            )


# -- opening a run at all agents, or at none


def open_everywhere(run: OpenRun) -> None:
    """Open a run at every agent.

    If an owner must consent first, the other helpers are asked, too, whether they allow the run, so that the error
    names everybody who does not. A run that somebody does not allow is opened at no further agent, because opening a
    run is counted there.
    """
    missing: dict[str, m.Consent] = {}
    later = []
    for name in run.agents:
        answer = None
        if missing or (run.asks_first and name != run.settings.initiator):
            answer = _propose(run, name)
        else:
            try:
                run.reach(name, opening_of(run), m.Opened)
                continue
            except errors.FailedThereError:  # no consent mends that
                raise
            except errors.RefusedError:
                answer = None if name == run.settings.initiator else _propose(run, name)
                if answer is None:
                    raise
        if answer is None or answer.state == "allowed":  # it may be refused once more
            later.append(name)
        else:
            missing[name] = answer
    _check_all_allow(missing)
    for name in later:
        run.reach(name, opening_of(run), m.Opened)


def withdraw(run: OpenRun) -> dict[str, m.Consent | None]:
    """Withdraw the request at every helper; return the answers, None for helpers that have no inbox."""
    return {name: _propose(run, name, withdrawn=True) for name in run.settings.helpers}


def opening_of(run: OpenRun) -> m.Open:
    plan = run.settings.plan
    return m.Open(
        run=run.name,
        initiator=run.settings.initiator,
        purpose=plan.purpose,
        alignment=plan.alignment,
        overlap=plan.overlap,
    )


def _propose(run: OpenRun, helper: str, withdrawn: bool = False) -> m.Consent | None:
    """Ask a helper's owner for consent; return None for a helper that has no inbox, or is no longer in the run."""
    if helper in run.folder.left():
        return None
    plan = run.settings.plan
    request = m.Propose(
        run=run.name,
        initiator=run.settings.initiator,
        purpose=plan.purpose,
        method=plan.method,
        n_samples=int(np.count_nonzero(run.table.labels >= 0)),
        n_rounds=plan.n_rounds,
        withdrawn=withdrawn,
    )
    reply = run.agents[helper].ask_any(request).message
    return reply if isinstance(reply, m.Consent) else None


def _check_all_allow(missing: dict[str, m.Consent]) -> None:
    if not missing:
        return
    words = " ".join(_in_words(helper, answer) for helper, answer in missing.items())
    waits = all(answer.state == "waiting" for answer in missing.values())
    raise (errors.ConsentAwaitedError if waits else errors.RefusedError)(words)


def _in_words(helper: str, answer: m.Consent) -> str:
    since = f"since {shown(answer.since, 16).removesuffix('...').replace('T', ' ')} UTC"
    request = f"request {shown(answer.request, 12)}"
    text = shown(answer.text, 500)
    if answer.state == "waiting":
        return f"The run waits for the consent of the owner of {helper!r}, {since} ({request})."
    if answer.state == "expired":
        return (
            f"The owner of {helper!r} has not answered within {text}, and the request has expired ({request}, "
            f"{since}). Ask again."
        )
    if answer.state == "rejected":
        return f"The owner of {helper!r} does not consent ({request}, {since})" + (f": {text}" if text else ".")
    return f"{helper!r} answers that the {request} was withdrawn."


# -- matching samples with the helpers, for training and for prediction


def to_train_on(run: OpenRun, by_ids: bool = False) -> Rows:
    """Return the initiator's rows that have labels, in the order in which helpers are asked about them.

    A table may be sorted by its labels. Where all labels, or those of hold-out samples, stay with the initiator, the
    order must not reveal them: rows are then in the order of their ids, as they always are with ``by_ids``.
    """
    rows, plan = np.flatnonzero(run.table.labels >= 0), run.settings.plan
    by_ids = by_ids or plan.make_method().keeps_labels or plan.holdout is not None
    return rows[in_order_of_ids(run.ids_at(rows))] if by_ids else rows


def in_order_of_ids(ids: Ids) -> Rows:
    """Return the positions of ids in the order of their texts."""
    return ids.take(np.arange(len(ids))).arg_sort().to_numpy().astype(np.int64)


def align(run: OpenRun) -> Rows:
    """Open the run, settle with every helper which samples take part, and return the initiator's rows of them."""
    open_everywhere(run)
    settled: Rows | None = run.folder.samples()
    if settled is not None:
        return settled
    rows, plan = to_train_on(run), run.settings.plan
    before = EarlierPeople.of(run, rows)
    rows = rows if before is None else before.rows
    ids = run.ids_at(rows)
    matchings = {name: Matching(run, name, ids, "train") for name in run.settings.helpers}
    held = {name: matching.find() for name, matching in matchings.items()}
    kept = samples_of_run(held, plan.overlap) if held else np.ones(len(rows), dtype=bool)
    for matching in matchings.values():
        matching.settle(kept)
    rows = rows[kept]
    _check_classes(run, rows)
    before = None if before is None else before.kept(kept)
    roles = None if before is None else before.roles
    check_holdout(plan, run.table.labels[rows], roles, at(run.table.groups, rows))
    if before is not None:
        before.write()
    run.folder.write_people(people_of(run.ids_at(rows), run.holdings.home))
    run.own.run(run.name).place(rows, "train")
    masks = np.array([held[name][kept] for name in run.settings.helpers], dtype=bool)
    run.folder.write_samples(rows, masks.reshape(len(held), len(rows)))
    return rows


STARTS_ANEW = 3
"""How often a helper may start anew while samples are matched or votes are asked for."""

Result = TypeVar("Result")


def until_there(ask: Callable[[], Result], anew: Callable[[], object] = lambda: None) -> Result:
    """Return what ``ask`` returns. Whenever the helper was started anew, do what makes it know the samples again."""
    for _ in range(STARTS_ANEW):
        try:
            return ask()
        except errors.StartedAnewError:
            anew()
    return ask()


class Matching:
    """The matching of some of the initiator's samples with one helper's; ``held`` says which of them it holds.

    For training, the helper must hold enough of them.
    """

    def __init__(self, run: OpenRun, helper: str, ids: Ids, purpose: Literal["train", "predict"]) -> None:
        self.helper = helper
        self.held: Bools = np.zeros(0, dtype=bool)
        self._run = run
        self._ids = ids
        self._purpose = purpose
        self._side: Initiator = self._new_side()

    def find(self) -> Bools:
        self.held = self._side.finish(self._ask(1, self._side.start()))
        self._run.log.append(SamplesMatched(self.helper, len(self._ids), int(np.count_nonzero(self.held))))
        return self.held

    def settle_once(self, kept: Bools) -> None:
        """Settle with the helper which samples are in the run, and in which order."""
        self._side.confirm(self._ask(2, self._side.settle(kept)))

    def settle(self, kept: Bools) -> None:
        """Settle the samples; if the helper was started anew since the first step, repeat that step."""
        until_there(lambda: self.settle_once(kept), self._find_again)

    def settle_again(self, kept: Bools) -> None:
        """Repeat both steps with a helper that was started anew."""
        self._find_again()
        self.settle_once(kept)

    def _find_again(self) -> None:
        before, self._side = self.held, self._new_side()
        if not np.array_equal(self.find(), before):
            what = "the run" if self._purpose == "train" else "the pilot"
            raise errors.RunError(
                f"Agent {self.helper!r} restarted in between, and now has another table. Start {what} again."
            )

    def _ask(self, step: Literal[1, 2], data: bytes) -> bytes:
        request = m.Align(run=self._run.name, purpose=self._purpose, step=step, data=data)
        return self._run.agents[self.helper].ask(request, m.Aligned).data

    def _progress(self, done: int, total: int) -> None:
        self._run.log.append(SamplesDone(self.helper, done, total))

    def _new_side(self) -> Initiator:
        settings, secret = self._run.settings, self._run.holdings.secret
        minimum = None if self._purpose == "train" else Minimum(0, 0.0)
        if settings.plan.alignment == "psi":
            return PsiInitiator(self._ids, helper=self.helper, minimum=minimum, progress=self._progress)
        if secret is None:
            raise errors.SettingsError(
                f"Agent {settings.initiator!r} has no secret for alignment by keyed hashes. Name one in its file "
                "(secret = ...), the same for all agents, or align by psi."
            )
        return HashInitiator(self._ids, secret, self.helper, minimum)


def _check_classes(run: OpenRun, rows: Rows) -> None:
    classes = run.settings.classes
    present = np.unique(run.table.labels[rows])
    if len(present) < len(classes):
        lost = [classes[i] for i in range(len(classes)) if i not in present]
        raise errors.RunError(
            f"None of the {len(rows):,} common samples is of class {lost[0]!r} ({len(lost)} classes are lost). Use "
            "overlap 'abstain', or more samples."
        )


# -- forgetting


def forget(run: OpenRun) -> RunForgotten:
    """Ask every agent to remove what it keeps of the run; remove the run's folder when all have done so."""
    removed: dict[str, int] = {}
    absent: dict[str, str] = {}
    for name, agent in run.agents.items():
        try:
            reply = agent.ask_any(m.Forget(run=run.name)).message
        except errors.AssistLearnError as error:
            absent[name] = str(error)
            continue
        if isinstance(reply, m.Forgotten):
            removed[name] = reply.n_models
        elif isinstance(reply, m.Problem) and reply.kind == "unknown-run":
            removed[name] = 0
        else:
            absent[name] = reply.text if isinstance(reply, m.Problem) else f"It answered {type(reply).__name__}."
    forgotten = RunForgotten(removed, absent)
    run.log.append(forgotten)
    if not absent:
        for words in run.folder.remove():
            run.log.tell(TroubleMet(words))
    return forgotten
