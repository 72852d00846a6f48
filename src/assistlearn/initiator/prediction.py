"""Predicting with a run: the votes of all agents that can be reached, checked, and combined."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias
from zipfile import BadZipFile

import numpy as np

from assistlearn import storage
from assistlearn.agent.loading import moved_columns
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows
from assistlearn.combination import Combination, from_bytes
from assistlearn.core import votes
from assistlearn.core.state import votes_of
from assistlearn.errors import AssistLearnError, ProtocolError, RefusedError, RunError, SettingsError
from assistlearn.evaluation.calibration import ScoreCalibration
from assistlearn.evaluation.constancy import LEAST, RATE, Changed, changed
from assistlearn.events import Predicted, SamplesDone, TroubleMet
from assistlearn.initiator.folder import RunFolder, RunSettings
from assistlearn.initiator.opening import Matching, in_order_of_ids, until_there
from assistlearn.initiator.run import OpenRun, own_numbers, people_of
from assistlearn.initiator.training import tell_end
from assistlearn.methods.method import TOLERANCE
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import unpack_bits, unpack_votes
from assistlearn.protocol.codec import decode
from assistlearn.session.judging import Deciding, Votes
from assistlearn.storage import REMEDY
from assistlearn.types import Bools, Floats

MOST_SAMPLES = 100_000
"""The most samples whose votes are asked for at a time."""

MOST_SCORES = 10_000_000
"""The most numbers in these votes: samples times classes."""

_MOVED = (
    "Your own table has changed since training, as if a unit had changed: {}. If that is an error, correct the table."
)


@dataclass(frozen=True)
class Prediction:
    """The votes on some samples, and who took part; ``scores`` and ``probabilities`` in the order of ``classes``."""

    scores: Floats
    probabilities: Floats
    known: Mapping[str, Bools]  # which of the samples each agent holds
    absent: Mapping[str, str]  # the agents that did not answer, and why
    classes: Sequence[Any]
    # Which samples are decided by the shares of the classes in training, because no agent says anything about them:
    # none that holds them has kept a model. Where the initiator has labels alone, no agent has to hold them.
    by_shares: Bools
    label_only: bool = False  # the initiator has labels alone, and so an answer for every sample
    warnings: Sequence[str] = ()  # what the initiator should look at in its own table
    # Helpers that vote otherwise than in training, and what is known of that. Their votes count all the same, unless
    # the run is asked without them.
    changed: Mapping[str, str] = field(default_factory=dict)

    @property
    def anyone(self) -> Bools:
        none = np.zeros(len(self.scores), bool)
        return np.logical_or.reduce(list(self.known.values())) if self.known else none

    @property
    def labels(self) -> list[Any]:
        """The class with the most votes; None for a sample of which nothing is known."""
        codes = votes.winners(self.scores)
        return [self.classes[code] if there else None for code, there in zip(codes, self.decided, strict=True)]

    @property
    def decided(self) -> Bools:
        """Which of the samples have an answer: those that an agent holds; or all, if shares of the classes decide."""
        return np.ones(len(self.scores), dtype=bool) if self.label_only else self.anyone


class AgentVotes(NamedTuple):
    """One agent's votes: which samples it holds, its scores, and the sum of its model weights."""

    known: Bools
    scores: Floats
    weight: float


Asking: TypeAlias = Callable[[OpenRun, str, Ids, Rows], AgentVotes]
"""A way to ask an agent for its votes; the rows are the initiator's. If there are none, its error says why."""


def predict(run: OpenRun, ids: Ids, rows: Rows, ask: Asking | None = None) -> Prediction:
    """Return the prediction for some samples, with the votes of all agents that can be reached.

    ``rows`` has the initiator's row of each sample, or -1 where it has none. By default agents are asked over their
    connections, at once.
    """
    if ask is None:
        try:
            said = _in_order(run, ids, rows, votes_from, LEAST)
        finally:
            run.ledger.settle()
        watch_of(run).save()
        return said
    return _in_order(run, ids, rows, ask, AT_ONCE)


def _in_order(run: OpenRun, ids: Ids, rows: Rows, ask: Asking, at_least: int) -> Prediction:
    """Ask about samples in an order that reveals nothing; votes are compared with training from so many people on."""
    order = order_of_asking(run, ids)
    if order is None:
        return _predict(run, ids, rows, ask, at_least)
    said, back = _predict(run, Ids(ids.take(order), ids.owner), rows[order], ask, at_least), np.argsort(order)
    known = {name: held[back] for name, held in said.known.items()}
    arranged = replace(said, scores=said.scores[back], probabilities=said.probabilities[back])
    return replace(arranged, by_shares=said.by_shares[back], known=known)


def order_of_asking(run: OpenRun, ids: Ids) -> Rows | None:
    """Return the order in which samples are asked about; None for the given order.

    The order of a table may reveal labels. Where these stay with the initiator, samples are asked about by their ids.
    """
    return in_order_of_ids(ids) if run.settings.plan.make_method().keeps_labels else None


def result_of(run: OpenRun) -> Mapping[str, Any]:
    """Return the result of a run, which must be finished; nothing that it rests on may have changed since."""
    result = run.folder.result()
    if result is None:
        lost = " It was finished once: its result.json is lost." if run.folder.lost_result else ""
        raise RunError(f"Run {run.name!r} is not finished.{lost} Finish it first, with --resume.")
    run.folder.check_whole()
    _check_task(run)
    return result


def _check_task(run: OpenRun) -> None:
    """Raise if the run's folder says something else of the task than what the initiator's own agent was told then."""
    store = run.own.run(run.name).store
    begin, rows = store.task() if store.exists else None, run.folder.samples()
    if begin is None:
        return  # this agent has forgotten the run: its votes are missing, and that is said
    task, settings = decode(begin), run.settings
    n_classes = len(settings.classes)
    said = {"n_samples": None if rows is None else len(rows), "n_classes": n_classes}
    for name, now in (said | settings.plan.at_home().told(n_classes)).items():
        if getattr(task, name) != now:
            raise RunError(
                f"{run.folder.path} says {name} = {now!r}, but agent {settings.initiator!r} was told "
                f"{getattr(task, name)!r} when run {run.name!r} began ({store.folder / 'begin.msg'}). It is not the "
                f"folder of this run, or was changed. {REMEDY}"
            )


def load_models(run: OpenRun) -> None:
    """Load the initiator's models and the combination, and decide about a row of its own table with them.

    The first prediction then takes no longer than later ones. No helper is asked, so nothing is counted or recorded.
    """
    row, initiator = np.zeros(1, dtype=np.int64), run.settings.initiator
    decided(run, row, {} if run.settings.label_only else {initiator: own_votes(run, row)})


def without(run: OpenRun, names: Sequence[str]) -> None:
    strangers = [name for name in names if name not in run.settings.helpers]
    if strangers:
        raise SettingsError(f"--without {strangers[0]}: the helpers of run {run.name!r} are {run.settings.helpers}.")
    run.without = tuple(names)


def _predict(run: OpenRun, ids: Ids, rows: Rows, ask: Asking, at_least: int) -> Prediction:
    result = result_of(run)
    _learned(run, result)  # before anybody votes: votes are counted, and should not be for nothing
    own = run.own.run(run.name)
    warnings: list[str] = []
    if own.store.exists and not run.settings.label_only:
        # the initiator's own table is refused if it no longer fits: this can be put right
        run.holdings.features_as(own.store.schema())
        warnings = [_MOVED.format(words) for words in moved_columns(run.holdings, own.store)]
        for words in warnings:
            run.log.append(TroubleMet(words))
    found: dict[str, AgentVotes] = {}
    absent: dict[str, str] = {}
    for name in asked_agents(run, result):
        try:
            found[name] = ask(run, name, ids, rows)
        except AssistLearnError as error:
            absent[name] = str(error)
    counting = {name: each for name, each in found.items() if name not in left_out_of(result)}
    changed = _changed(run, ids, counting, at_least)
    prediction = decided(run, rows, counting)
    prediction = replace(prediction, absent=absent, warnings=warnings, changed=changed)
    held = {name: int(mask.sum()) for name, mask in prediction.known.items()}
    run.log.append(Predicted(len(ids), int((~prediction.anyone).sum()), held, absent))
    return prediction


def _changed(run: OpenRun, ids: Ids, found: Mapping[str, AgentVotes], at_least: int) -> dict[str, str]:
    """Return which helpers vote otherwise than in training, with what is known; the first time it is recorded."""
    said = {name: each.scores / each.weight for name, each in found.items() if each.weight > 0.0}
    watch = watch_of(run)
    for each in watch.hear(ids, run.holdings.home, said, at_least):
        run.log.append(TroubleMet(str(each)))
    return {name: str(each) for name, each in watch.named.items() if name in found}


def left_out_of(result: Mapping[str, Any]) -> list[str]:
    """Return the helpers that were left out of a result, as they made it worse on the hold-out samples."""
    return list((result.get("evaluation") or {}).get("left_out", ()))


def asked_agents(run: OpenRun, result: Mapping[str, Any]) -> list[str]:
    """Return the agents whose votes are asked for.

    Helpers that were left out of the result are not asked, unless they would learn about the labels by that.
    """
    out = [] if run.settings.plan.make_method().keeps_labels else left_out_of(result)
    return [name for name in run.settings.turn_takers if name not in out and name not in run.without]


def decided(run: OpenRun, rows: Rows, found: Mapping[str, AgentVotes]) -> Prediction:
    result = run.folder.result()
    assert result is not None
    learned = _learned(run, result)
    settings = run.settings
    shares, order = np.asarray(result["class_shares"]), run.folder.permutation()
    calibration = ScoreCalibration.from_json(result["calibration"])
    deciding = Deciding(settings.plan.make_method(), shares, learned, calibration, np.asarray(order))
    said = {name: Votes(each.scores, each.weight) for name, each in found.items()}
    if settings.label_only:  # a combination has a share for the initiator
        said = {settings.initiator: Votes(np.zeros((len(rows), len(shares))), 0.0)} | said
    own = None if learned is None or settings.initiator not in said else own_numbers(run, rows)
    decision = deciding.about(said, len(rows), own)
    known = {name: each.known for name, each in found.items()}
    by_shares = ~decision.spoken
    if not settings.label_only:
        by_shares &= np.logical_or.reduce([np.zeros(len(rows), dtype=bool), *known.values()])
    found_out = decision.total, decision.probabilities
    return Prediction(*found_out, known, {}, settings.classes, by_shares, settings.label_only)


def _learned(run: OpenRun, result: Mapping[str, Any]) -> Combination | None:
    """Return the learned combination; None where votes are just added up."""
    content = run.folder.combination()
    if content is not None:
        return _combination_of(content, str(run.folder.path / "combination.bin"))
    if result.get("combination") is not None:
        raise RunError(
            f"{run.folder.path} has no combination.bin, which says how the votes are combined. Restore it from a "
            "backup, or start a new run."
        )
    return None


@lru_cache(maxsize=1)
def _combination_of(content: bytes, source: str) -> Combination:
    return from_bytes(content, source)


def votes_from(run: OpenRun, agent: str, ids: Ids, rows: Rows) -> AgentVotes:
    return until_there(lambda: _ask_votes(run, agent, ids, rows))


def _ask_votes(run: OpenRun, agent: str, ids: Ids, rows: Rows) -> AgentVotes:
    n, n_classes = len(ids), len(run.settings.classes)
    result = run.folder.result() or {}
    if agent in run.folder.left():
        tell_end(run, agent, result["n_rounds"])
    if agent == run.settings.initiator:
        return own_votes(run, rows)
    matching = Matching(run, agent, ids, "predict")
    held = matching.find()
    matching.settle_once(np.ones(n, dtype=bool))
    known, scores, weight = np.zeros(n, dtype=bool), np.zeros((n, n_classes)), 0.0
    most = max(min(MOST_SAMPLES, MOST_SCORES // n_classes), 1)
    for start in range(0, n, most):
        stop = min(start + most, n)
        known[start:stop], scores[start:stop], weight = ask_matched(run, agent, held, start, stop)
        run.log.append(SamplesDone(agent, stop, n))
    return AgentVotes(known, scores, weight)


def ask_matched(run: OpenRun, agent: str, held: Bools, start: int, stop: int) -> AgentVotes:
    """Ask a helper for its votes on matched samples, from ``start`` up to ``stop``; it holds those in ``held``.

    Votes that its kept models cannot have cast are refused.
    """
    n_classes, method = len(run.settings.classes), run.settings.plan.make_method()
    contributions = (run.folder.result() or {})["contributions"]
    weight = sum(each["model_weight"] for each in contributions if each["agent"] == agent)
    reply = run.agents[agent].ask(m.Predict(run=run.name, start=start, stop=stop), m.Scores)
    known = unpack_bits(reply.known, stop - start)
    n_others = int(np.count_nonzero(known != held[start:stop]))
    if n_others:
        raise ProtocolError(
            f"Agent {agent!r} holds other samples than it said when they were matched: {n_others:,} differ."
        )
    if not math.isclose(reply.total_weight, weight, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
        raise ProtocolError(
            f"Agent {agent!r} says that its models weigh {reply.total_weight:.6g} in all; in the result they weigh "
            f"{weight:.6g}. It has lost or changed models, or does not tell the truth."
        )
    levels, agreed = reply.scores, method.released_votes(np.zeros((0, n_classes)), reply.total_weight)
    if levels.bits != agreed.bits or not math.isclose(levels.scale, agreed.scale, rel_tol=10 * TOLERANCE):
        raise ProtocolError(
            f"Agent {agent!r} sends votes with {levels.bits} bits, in steps of {levels.scale:.6g}; the weight of its "
            f"models requires {agreed.bits} bits, in steps of {agreed.scale:.6g}."
        )
    there = np.flatnonzero(known)
    said = votes_of(unpack_votes(levels, len(there), n_classes))
    check_loudness(agent, said, weight, method.vote_range(n_classes), agreed.scale)
    scores = np.zeros((stop - start, n_classes))
    scores[there] = said
    return AgentVotes(known, scores, reply.total_weight)


def check_loudness(agent: str, said: Floats, weight: float, one: tuple[float, float], step: float = 0.0) -> None:
    """Refuse votes that are louder than all models together.

    ``one`` is the least and the most that a model of weight one can say for a class, and ``step`` allows for rounding.

    >>> check_loudness("lab", np.array([[1.1, -1.1], [-0.3, 0.3]]), weight=1.1, one=(-1.0, 1.0))
    >>> check_loudness("lab", np.array([[1e300, -1e300]]), weight=1.1, one=(-1.0, 1.0))
    Traceback (most recent call last):
        ...
    assistlearn.errors.ProtocolError: Agent 'lab' votes 1e+300 for a class; its models weigh 1.1 in all, ...
    """
    least, most = weight * one[0], weight * one[1]
    slack = TOLERANCE * max(weight, 1.0) + step
    low, high = float(said.min(initial=0.0)), float(said.max(initial=0.0))
    if high > most + slack or low < least - slack:
        raise ProtocolError(
            f"Agent {agent!r} votes {high if high > most + slack else low:.6g} for a class; its models weigh "
            f"{weight:.6g} in all, so a vote must lie between {least:.6g} and {most:.6g}."
        )


def own_votes(run: OpenRun, rows: Rows) -> AgentVotes:
    """Return the initiator's own votes, which do not travel, and so are not rounded."""
    own = run.own.run(run.name)
    if not own.store.exists or not own.loaded().finished:
        raise RunError(f"Agent {run.settings.initiator!r} knows no run {run.name!r} that is finished.")
    known = rows >= 0
    scores = np.zeros((len(rows), len(run.settings.classes)))
    scores[known] = own.votes(rows)
    run.log.append(SamplesDone(run.settings.initiator, len(rows), len(rows)))
    return AgentVotes(known, scores, own.agent.total_weight)


# -- votes on samples that are matched once, and asked for in parts, as in a pilot


def voters(run: OpenRun, rows: Rows) -> tuple[list[Matching], Bools]:
    """Match samples with every helper; settle on all, or, where the plan says so, on those that every helper holds."""
    agents = [Matching(run, helper, run.ids_at(rows), "predict") for helper in run.settings.helpers]
    held, kept = [each.find() for each in agents], np.ones(len(rows), dtype=bool)
    if run.settings.plan.overlap == "intersection":
        kept = np.logical_and.reduce(held)
    if not kept.any():
        raise RunError(
            f"None of the {len(rows):,} samples that may be opened is known to all helpers, so they cannot help. Use "
            "overlap 'abstain', or more samples."
        )
    for each in agents:
        each.settle(kept)
    return agents, kept


def votes_in_part(run: OpenRun, matching: Matching, kept: Bools, start: int, stop: int) -> AgentVotes:
    """Return a helper's votes on samples that are settled, from ``start`` up to ``stop``."""
    held = matching.held[kept]
    return until_there(
        lambda: ask_matched(run, matching.helper, held, start, stop), lambda: matching.settle_again(kept)
    )


# -- whether helpers vote otherwise than in training


AT_ONCE = 200
"""People of whom a service is asked before it looks. A prediction of a table looks at once."""


MOST_SEEN = 100_000
"""The last people that were counted are known again; one that is asked about again does not count again."""


class VoteWatch:
    """Compares helpers' votes for new people with those of training, from prediction to prediction.

    People are compared in blocks: everybody of whom votes were asked since the last look, each once, and nobody who
    took part in training. Each look has a share of the rate of false alarms, and all looks together have the whole. So
    it does not grow, however often a run is asked. What was heard since the last look is kept in the run's folder.

    ``named`` has the helpers that were found to vote otherwise, in this prediction or an earlier one.
    """

    def __init__(self, folder: RunFolder, settings: RunSettings) -> None:
        self._folder = folder
        self._agents, self._initiator = settings.agents, settings.initiator
        said = folder.votes_in_training()
        self._then = {} if said is None else dict(zip(settings.agents, said.astype(float), strict=True))
        trained_on = folder.people()
        self._known = set() if trained_on is None else {row.tobytes() for row in np.ascontiguousarray(trained_on)}
        self._load(settings)

    def _load(self, settings: RunSettings) -> None:
        path, shape = self._folder.votes_heard, (0, len(self._agents), len(settings.classes))
        self._heard: list[Floats] = []
        self._seen: dict[bytes, None] = {}
        self._n_looks = 0
        self.named: dict[str, Changed] = {}
        if not path.exists():
            return
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                heard, seen, facts = kept["heard"], kept["seen"], json.loads(bytes(kept["facts"]))
            if heard.shape[1:] != shape[1:]:
                raise ValueError(f"its votes have the shape {heard.shape}")
            self._heard = [row.astype(float) for row in heard]
            self._seen = dict.fromkeys(row.tobytes() for row in seen)
            self._n_looks = int(facts["looks"])
            self.named = {name: Changed(name, **known) for name, known in facts["named"].items()}
        except (ValueError, KeyError, TypeError, EOFError, OSError, BadZipFile) as error:
            raise RunError(
                f"{path} is damaged ({error}). It holds the votes that were heard since helpers were last compared "
                "with training. Remove it: the comparison then begins anew."
            ) from None

    def hear(self, ids: Ids, home: Any, said: Mapping[str, Floats], at_least: int) -> list[Changed]:
        """Hear each agent's votes for new people; return the helpers that are named for the first time.

        Votes are by one unit of model weight, zeros where an agent says nothing. A look needs ``at_least`` people.
        """
        if not self._then:
            return []
        rows = {}
        for place, digest in enumerate(np.ascontiguousarray(people_of(ids, home))):
            key = digest.tobytes()
            if key not in self._known and key not in self._seen:
                rows[key] = place
        self._seen |= dict.fromkeys(rows)
        while len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]
        nothing = np.zeros((len(ids), next(iter(self._then.values())).shape[1]))
        votes = np.stack([said.get(name, nothing) for name in self._agents], axis=1)
        self._heard += [votes[place] for place in rows.values()]
        return self._look() if len(self._heard) >= at_least else []

    def _look(self) -> list[Changed]:
        self._n_looks += 1
        heard = np.array(self._heard)
        self._heard = []
        there = {name: heard[:, place] for place, name in enumerate(self._agents) if name not in self.named}
        rate = RATE / (self._n_looks * (self._n_looks + 1))  # all looks together: at most RATE
        found = list(changed(self._then, there, self._initiator, rate))
        self.named |= {each.helper: each for each in found}
        self.save()
        return found

    def save(self) -> None:
        if not self._n_looks and not self._heard:
            return
        named = {name: {"n": each.n, "why": each.why} for name, each in self.named.items()}
        facts = json.dumps({"looks": self._n_looks, "named": named}).encode()
        n_classes = next(iter(self._then.values())).shape[1]
        heard = np.array(self._heard, dtype=np.float32).reshape(-1, len(self._agents), n_classes)
        seen = np.array([np.frombuffer(key, np.uint8) for key in self._seen], dtype=np.uint8)
        content = io.BytesIO()
        np.savez(content, heard=heard, seen=seen, facts=np.frombuffer(facts, np.uint8))
        storage.write_bytes(self._folder.votes_heard, content.getvalue())


def watch_of(run: OpenRun) -> VoteWatch:
    run.watch = run.watch or VoteWatch(run.folder, run.settings)
    return run.watch


# -- several predictions at once
#
# A helper is asked about all their samples together, and each prediction is decided by itself. Its result is the same
# as if it were made alone, to the bit: helpers' votes are in whole levels. The initiator's own votes and the decision
# are not, and so they are computed for each prediction by itself.


Outcome: TypeAlias = Callable[[Ids], AgentVotes] | AssistLearnError
"""A helper's votes on any of the samples that it was asked about, or why there are none."""


def votes_on_each(run: OpenRun, helper: str, asked: Sequence[Ids]) -> list[Outcome]:
    """Ask a helper for the votes on the samples of several predictions; return the outcome of each prediction.

    If the helper refuses them together, it is asked for each prediction alone: one that its owner does not allow must
    not stop the others.
    """
    try:
        return [_at_hand(run, helper, asked)] * len(asked)
    except RefusedError as error:
        return [error] if len(asked) == 1 else [votes_on_each(run, helper, [ids])[0] for ids in asked]


def votes_of_ours(run: OpenRun, ids: Ids, rows: Rows) -> AgentVotes:
    order = order_of_asking(run, ids)
    return own_votes(run, rows if order is None else rows[order])


def looked_up(said: Mapping[str, Outcome], ours: Callable[[], AgentVotes]) -> Asking:
    """Return a way of asking that looks up votes at hand; ``ours`` returns the initiator's own, or raises an error."""

    def ask(run: OpenRun, agent: str, ids: Ids, rows: Rows) -> AgentVotes:
        if agent == run.settings.initiator:
            return ours()
        outcome = said[agent]
        if isinstance(outcome, AssistLearnError):
            raise outcome
        return outcome(ids)

    return ask


def _at_hand(run: OpenRun, helper: str, asked: Sequence[Ids]) -> Callable[[Ids], AgentVotes]:
    texts = sorted({text for ids in asked for text in ids.texts.to_list()})  # so that nobody hears who asked first
    said = votes_from(run, helper, Ids.normalised(texts, asked[0].owner), np.full(len(texts), -1, dtype=np.int64))
    place = {text: position for position, text in enumerate(texts)}

    def on(ids: Ids) -> AgentVotes:
        chosen = np.array([place[text] for text in ids.texts.to_list()], dtype=np.int64)
        return AgentVotes(said.known[chosen], said.scores[chosen], said.weight)

    return on
