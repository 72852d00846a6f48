"""Opening a run at all agents, or at none: helpers whose owners have not said yes are asked for their consent."""

from __future__ import annotations

import numpy as np

from assistlearn.errors import ConsentAwaitedError, FailedThereError, RefusedError
from assistlearn.protocol import messages as m
from assistlearn.protocol.words import shown
from assistlearn.runs.open_run import OpenRun


def open_everywhere(run: OpenRun) -> None:
    """Open a run at every agent.

    If an owner must consent first, the other helpers are asked, too, whether they allow the run, so that the error
    names everybody who does not. A run that somebody does not allow is opened at no further agent, because opening a
    run is counted there.

    Raises
    ------
    ConsentAwaitedError
        Owners have not answered yet.
    RefusedError
        Somebody does not allow the run, and that will not change by itself.
    """
    missing: dict[str, m.Consent] = {}
    later = []
    for name in run.agents:
        if missing or (run.asks_first and name != run.settings.initiator):
            answer = _asked(run, name)
            if answer is None or answer.state == "allowed":
                later.append(name)
            else:
                missing[name] = answer
            continue
        try:
            run.reach(name, opening_of(run), m.Opened)
        except FailedThereError:  # no consent mends that
            raise
        except RefusedError:
            answer = None if name == run.settings.initiator else _asked(run, name)
            if answer is None:
                raise
            if answer.state == "allowed":
                later.append(name)  # the answer may have come in between; if not, it is refused once more
            else:
                missing[name] = answer
    _check_all_allow(missing)
    for name in later:
        run.reach(name, opening_of(run), m.Opened)


def withdraw(run: OpenRun) -> dict[str, m.Consent | None]:
    """Withdraw the request at every helper; return the answers, None for helpers that have no inbox."""
    return {name: _asked(run, name, withdrawn=True) for name in run.settings.helpers}


def opening_of(run: OpenRun) -> m.Open:
    """Return the message that opens a run."""
    plan = run.settings.plan
    return m.Open(
        run=run.name,
        initiator=run.settings.initiator,
        purpose=plan.purpose,
        alignment=plan.alignment,
        overlap=plan.overlap,
    )


def _asked(run: OpenRun, helper: str, withdrawn: bool = False) -> m.Consent | None:
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
    """Raise an error that names every helper whose owner's consent is missing."""
    if not missing:
        return
    words = " ".join(_in_words(helper, answer) for helper, answer in missing.items())
    waits = all(answer.state == "waiting" for answer in missing.values())
    raise (ConsentAwaitedError if waits else RefusedError)(words)


def _in_words(helper: str, answer: m.Consent) -> str:
    """Return the state of a request, in words; long texts of the helper are cut."""
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
