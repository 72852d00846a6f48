"""Forgetting a run: every agent is asked to remove what it keeps of it."""

from __future__ import annotations

from assistlearn.errors import AssistLearnError
from assistlearn.events import RunForgotten, TroubleMet
from assistlearn.protocol import messages as m
from assistlearn.runs.open_run import OpenRun


def forget(run: OpenRun) -> RunForgotten:
    """Ask every agent to remove what it keeps of the run; remove the run's folder when all have done so.

    Returns
    -------
    forgotten : RunForgotten
        How many models each agent has removed, 0 if it no longer knows the run; and which agents did not, and why.
    """
    removed: dict[str, int] = {}
    absent: dict[str, str] = {}
    for name, agent in run.agents.items():
        try:
            reply = agent.ask_any(m.Forget(run=run.name)).message
        except AssistLearnError as error:
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
