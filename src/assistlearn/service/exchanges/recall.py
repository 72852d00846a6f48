"""Going on from an earlier run: an agent copies those of its earlier turns that will be taken again."""

from __future__ import annotations

from typing import Any

from assistlearn.errors import AssistLearnError, CannotGoOnError, OutOfOrderError, ProtocolError
from assistlearn.learners.models_on_disk import packages_of
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import Encoded, decode
from assistlearn.service.earlier_run import check_earlier
from assistlearn.service.earlier_turns import EarlierTurns
from assistlearn.service.exchanges.exchange import Exchange
from assistlearn.service.problem_log import note_problem
from assistlearn.service.run_here import RunHere
from assistlearn.service.store import RunStore, run_folder
from assistlearn.service.taking_again import known_before


class Recalling(Exchange):
    """``Recall`` and ``Recalled``."""

    requests = (m.Recall,)
    replies = (m.Recalled,)

    def answer(self, run: RunHere, message: Any, request: bytes) -> m.Message | Encoded:
        """Copy the turns that can be taken again. The same request again gets the same answer."""
        packages = packages_of(run.own.estimator)
        kept = EarlierTurns(run.store, packages)
        before = kept.answered(request)
        if before is not None:
            return Encoded(decode(before), before)
        if kept.recall() is not None:
            raise OutOfOrderError(f"Run {message.run!r} already goes on from another run here, or with other turns.")
        task = run.part().task
        if task is None or run.part().n_turns:
            raise OutOfOrderError(f"Run {message.run!r} has not begun here, or its first turn has already been taken.")
        earlier = RunStore(run_folder(run.own.home, message.earlier), packages)
        try:
            check_earlier(run, earlier)
            kept.copy(earlier, message.turns)
            known_before(kept, task, message)
        except (CannotGoOnError, ProtocolError) as error:
            return m.Recalled(run=message.run, turns=[], why=str(error), table_changed=True)
        except AssistLearnError as error:  # the message may name files: only the owner may read it
            note_problem(run.own.home, f"Run {message.run!r} cannot go on from {message.earlier!r}: {error}")
            why = f"what it kept of run {message.earlier!r} was changed, damaged or lost; its owner finds which file "
            return m.Recalled(run=message.run, turns=[], why=why + "in problems.log", table_changed=True)
        changed = earlier.fingerprint() != run.own.fingerprint
        reply = Encoded.of(m.Recalled(run=message.run, turns=list(message.turns), why="", table_changed=changed))
        kept.close(request, reply.content)
        run.drop_part()
        return reply
