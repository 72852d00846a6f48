"""Predict for many clients at the same time, with one run whose helpers stay open."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows
from assistlearn.errors import AssistLearnError, BusyError, RunError, UnreachableError
from assistlearn.events import Event, EventLog, JobStarted, Predicted, TroubleMet
from assistlearn.initiator.folder import RunFolder, locked
from assistlearn.initiator.opening import opening_of
from assistlearn.initiator.prediction import (
    AgentVotes,
    Outcome,
    Prediction,
    asked_agents,
    load_models,
    looked_up,
    predict,
    result_of,
    votes_of_ours,
    votes_on_each,
    watch_of,
)
from assistlearn.initiator.prediction import without as asked_without
from assistlearn.initiator.run import OpenRun
from assistlearn.initiator.training import tell_end
from assistlearn.protocol import messages as m
from assistlearn.reach.opening import with_own_table
from assistlearn.reach.standing_way import StandingWay
from assistlearn.reach.standing_ways import StandingWays

logger = logging.getLogger("assistlearn.web")

MOST_JOINT = 10_000

MOST_WAITING = 1_000

SECONDS_PER_ID = 0.01
"""Seconds to wait longer for a helper, for every id that it is asked about."""

STARTING = 90.0
"""Seconds from the start in which every helper should have been reached. Then the service is ready without the others.
"""

IDLE = 0.5
"""Seconds without a request after which the ledger is settled: all entries would outlast a power cut."""

ANSWER = 60.0


@contextmanager
def opened_predictor(path: Path, timeout: float = ANSWER, without: Sequence[str] = ()) -> Iterator[Predictor]:
    """Yield a predictor for a run, which begins to reach its helpers. At the end, answer waiting requests and close."""
    folder = RunFolder(path, finished=True)
    log = ServiceLog(folder.events)
    ways = StandingWays(folder.settings(), log, timeout)
    with locked(path, alone=False):
        run, _ = with_own_table(folder, ways, training=False, log=log)
        asked_without(run, without)
        predictor = Predictor(run, ways)
        ways.start(partial(_greet, run))
        try:
            predictor.start()
            yield predictor
        finally:
            predictor.stop()
            for name in ways.close():
                logger.warning("The way to %r did not close in time.", name)


def _greet(run: OpenRun, helper: str) -> None:
    """Tell a helper again that training has ended: it then reads its models before the first request comes."""
    run.agents[helper].ask(opening_of(run), m.Opened)
    tell_end(run, helper, result_of(run)["n_rounds"])


class ServiceLog(EventLog):
    """A run's log that takes predictions, started jobs and trouble, but not every message. Trouble is written once."""

    _last: Event | None = None

    def append(self, event: Event) -> None:
        if isinstance(event, TroubleMet):
            if event == self._last:
                return
            self._last = event
        if isinstance(event, Predicted | JobStarted | TroubleMet):
            super().append(event)


Waiting: TypeAlias = tuple[Ids, Rows, Future[Prediction]]
"""A request: its ids, their rows in the initiator's table, and where the answer goes."""


class Predictor:
    """Answers requests with a finished run, from any thread.

    Requests that wait are joined: all helpers are asked at the same time for votes on the samples of all these
    requests. Then each request is decided by itself, while the helpers are asked for the votes of the next ones.

    ``run`` must have ``ways`` as its transport. ``joined`` is called whenever helpers are asked, with the number of
    requests that were joined. ``started`` is done when the models are loaded, and each helper was reached or could not
    be; its result says which agents are missing, and why.
    """

    def __init__(
        self,
        run: OpenRun,
        ways: Mapping[str, StandingWay],
        joined: Callable[[int], object] = lambda n_requests: None,
    ) -> None:
        self.run = run
        self.ways = ways
        self.joined = joined
        self.voters = asked_agents(run, result_of(run))
        self._places = {text: row for row, text in enumerate(run.holdings.ids.texts.to_list())}
        self._waiting: deque[Waiting] = deque()
        self._change = threading.Condition()
        self._stopping = False
        self._settled = True
        self._deciding = ThreadPoolExecutor(1, "deciding")
        self._asking = threading.Thread(target=self._work, name="asking", daemon=True)
        self.started: Future[dict[str, str]] = Future()
        self._starting = threading.Thread(target=self._start, name="starting", daemon=True)
        self._began = time.monotonic()

    def start(self) -> None:
        """Begin to load the models and to answer, and return at once."""
        self._began = time.monotonic()
        self._asking.start()
        self._starting.start()

    @property
    def ready(self) -> bool:
        """Whether the models are loaded, and every helper that votes has been reached.

        A helper that is not there within ``STARTING`` seconds is no longer waited for. One that is gone later changes
        nothing: the others answer, and each answer names it.
        """
        if not self.started.done() or self.run.settings.initiator in self.started.result():
            return False
        late = time.monotonic() - self._began > STARTING
        return late or all(self.ways[name].reached for name in self.voters if name in self.ways)

    def submit(self, texts: Sequence[str]) -> Future[Prediction]:
        """Return a future for samples, whose ids must be normalised and all different."""
        rows = np.array([self._places.get(text, -1) for text in texts], dtype=np.int64)
        ids, answer = Ids.normalised(texts, f"Agent {self.run.settings.initiator!r}"), Future[Prediction]()
        with self._change:
            if self._stopping or len(self._waiting) >= MOST_WAITING:
                raise BusyError(f"{len(self._waiting):,} requests wait already. Ask again in a second.")
            self._waiting.append((ids, rows, answer))
            self._change.notify()
        return answer

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    def stop(self) -> None:
        with self._change:
            self._stopping = True
            self._change.notify()
        if self._asking.is_alive():
            self._asking.join()
        self._deciding.shutdown(wait=True)
        watch_of(self.run).save()

    def _start(self) -> None:
        """Load the models while the ways open, then wait until each is open or has failed once."""
        missing = {}
        try:
            load_models(self.run)
        except Exception as error:  # as in a prediction: it is told, and the others vote
            missing[self.run.settings.initiator] = str(error)
        until = self._began + STARTING
        for name, way in self.ways.items():
            if why := way.wait(max(until - time.monotonic(), 0.0)):
                missing[name] = why
        self.started.set_result(missing)

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            if not batch:
                self._settle()
                continue
            self.joined(len(batch))
            own = [self._own_votes(ids, rows) for ids, rows, _ in batch]
            found = self._votes([ids for ids, _, _ in batch])
            self._settled = False
            for place, request in enumerate(batch):
                votes = {name: outcomes[place] for name, outcomes in found.items()}
                self._deciding.submit(self._decide, request, votes, own[place])
        self._settle()

    def _next(self) -> list[Waiting] | None:
        """Return the next requests to join; an empty list when it is time to settle the ledger; None at the end."""
        with self._change:
            self._change.wait_for(lambda: self._waiting or self._stopping, None if self._settled else IDLE)
            batch: list[Waiting] = []
            n_ids = 0
            while self._waiting and (not batch or n_ids + len(self._waiting[0][0]) <= MOST_JOINT):
                batch.append(self._waiting.popleft())
                n_ids += len(batch[-1][0])
            return None if self._stopping and not batch else batch

    def _own_votes(self, ids: Ids, rows: Rows) -> Callable[[], AgentVotes]:
        """Begin to make the initiator's own votes, and return a function that waits for them.

        An initiator with labels alone has no votes, so nothing is begun.
        """
        if self.run.settings.label_only:
            return partial(votes_of_ours, self.run, ids, rows)
        return self._deciding.submit(votes_of_ours, self.run, ids, rows).result

    def _votes(self, asked: Sequence[Ids]) -> dict[str, list[Outcome]]:
        """Ask all helpers at the same time, and wait for each as long as its way advises."""
        begun = time.monotonic()
        under_way: dict[str, Future[list[Outcome]]] = {}
        found: dict[str, list[Outcome]] = {}
        for name in self.voters:
            if name in self.ways:
                try:
                    under_way[name] = self.ways[name].submit(partial(votes_on_each, self.run, name, asked))
                except UnreachableError as error:
                    found[name] = [error] * len(asked)
        more = SECONDS_PER_ID * sum(map(len, asked))
        for name, future in under_way.items():
            seconds = self.ways[name].waited_for + more
            found[name] = _outcomes(name, future, len(asked), begun + seconds - time.monotonic(), seconds)
        return found

    def _decide(self, request: Waiting, votes: Mapping[str, Outcome], own: Callable[[], AgentVotes]) -> None:
        ids, rows, answer = request
        try:
            answer.set_result(predict(self.run, ids, rows, looked_up(votes, own)))
        except BaseException as error:  # the client is told
            answer.set_exception(error)

    def _settle(self) -> None:
        if not self._settled:
            self._settled = True
            try:
                self.run.ledger.settle()
            except (OSError, AssistLearnError) as error:  # the ledger is whole; the next entry waits for the disk again
                logger.error("The ledger cannot be settled: %s", error)


def _outcomes(name: str, future: Future[list[Outcome]], n: int, left: float, seconds: float) -> list[Outcome]:
    try:
        return future.result(max(left, 0.0))
    except TimeoutError:
        return [UnreachableError(f"Agent {name!r} has not answered within {seconds:.1f} seconds.")] * n
    except AssistLearnError as error:
        return [error] * n
    except OSError as error:  # of our own ledger: only what it has recorded is asked
        return [RunError(f"Agent {name!r} was not asked: {error.filename or 'the ledger'}: {error.strerror}.")] * n
    except Exception as error:  # a fault of ours: the others' votes still count
        logger.exception("Asking agent %r", name)
        return [RunError(f"Agent {name!r} was not heard, by a fault of assistlearn: {type(error).__name__}.")] * n
