"""A combination: how the initiator turns the agents' scores into a decision, whoever of them is absent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zipfile import ZIP_DEFLATED

import msgspec
import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from assistlearn.combination.linear import Linear, whole
from assistlearn.combination.trees import OwnTrees, TreeCombination
from assistlearn.core import votes
from assistlearn.errors import SettingsError, UntrustedFileError
from assistlearn.learners.boosting import ResidualTrees
from assistlearn.learners.model import columns, loads_trusted
from assistlearn.types import Floats


def number_columns(table: Any) -> tuple[int, ...]:
    """Return which of the initiator's columns hold numbers or truth values; none of a sparse matrix.

    Trees look at these beside the agents' scores.
    """
    return tuple(place for place, column in enumerate(columns(table)) if _is_number(column))


def as_numbers(table: Any, positions: tuple[int, ...]) -> Floats:
    out = np.empty((table.shape[0], len(positions)))
    for place, column in enumerate(column for at, column in enumerate(columns(table)) if at in positions):
        out[:, place] = _as_floats(column)
    return out


def _is_number(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return bool(column.dtype.is_numeric()) or str(column.dtype) == "Boolean"
    return getattr(column.dtype, "kind", "O") in "biuf"


def _as_floats(column: Any) -> Floats:
    if hasattr(column, "isna"):  # pandas marks missing values in its own way
        out: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return out
    values: NDArray[Any] = column if isinstance(column, np.ndarray) else column.to_numpy()
    return values.astype(np.float64)


@dataclass(frozen=True)
class Combination:
    """How the scores of some agents become a decision. It is learned, and used, by the initiator alone.

    Attributes
    ----------
    kind : str
        The way to combine: ``"sum"``, ``"linear"``, ``"boosted"``, ``"stack"``, ``"offset"``, or one of ``"alone"``,
        ``"linear alone"`` and ``"offset alone"``, which listen to the initiator only.
    loss, error : float
        Its mean log loss over samples that it was not fitted to, by cross-validation, and the standard error of that
        mean. It is infinite after a single sample.
    losses : mapping of str to float
        The losses by which the kind was chosen, in three folds. ``loss`` is measured anew, in more folds.
    skipped : str
        Why trees were not tried; empty where they were, or where nobody asked for them.
    agents : tuple of str
        All agents that gave scores, also those that it does not listen to.
    model : Linear or TreeCombination
        The model for samples that all agents speak about.
    absences, otherwise : tuple of Linear, Linear
        The models for samples where some agents are missing or abstain: each for one set, and one for any other set.
    trees_otherwise : TreeCombination or None
        Where the model is boosted: the trees that replace ``absences`` and ``otherwise`` if the initiator is there.
    own_trees : OwnTrees or None
        Trees over the initiator's own scores and columns. What they say is added to its share, with any set of helpers.
    """

    kind: str
    loss: float
    error: float
    losses: Mapping[str, float]
    skipped: str
    agents: tuple[str, ...]
    initiator: str
    n_classes: int
    model: Linear | TreeCombination
    absences: tuple[Linear, ...]
    otherwise: Linear
    trees_otherwise: TreeCombination | None
    own_trees: OwnTrees | None = None

    def decide(self, scores: Mapping[str, Floats], own: Floats | None = None) -> dict[str, Floats]:
        """Return each agent's share of the decision; the shares sum to the decision, and every row of them to zero.

        ``scores`` are each agent's model weights times its votes, summed over its kept models, ``n x K``. An agent may
        be missing. A row of zeros means that the agent abstains: it has no share there. A bias comes from no agent's
        scores. It is in the initiator's share, or in the first agent's where that is missing.
        """
        n = self._check(scores)
        own = self._own(own, n) if self.initiator in scores else None
        heard = [agent for agent in self.model.agents if agent in scores]
        there = np.array([scores[agent].any(axis=1) for agent in heard], dtype=np.bool_).reshape(len(heard), n)
        out = {agent: np.zeros((n, self.n_classes)) for agent in scores}
        patterns, which = np.unique(there, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            rows = np.flatnonzero(which == number)
            present = tuple(agent for agent, is_there in zip(heard, patterns[:, number], strict=True) if is_there)
            for agent, share in self._shares(present, rows, scores, own).items():
                out[agent][rows] = share
        if self.own_trees is not None and own is not None:
            out[self.initiator] += self.own_trees.share(scores[self.initiator], own)
        return out

    def _shares(
        self, present: tuple[str, ...], rows: NDArray[np.intp], scores: Mapping[str, Floats], own: Floats | None
    ) -> dict[str, Floats]:
        """Return the shares of the agents that are present for these samples, and of the agent that gets the bias."""
        model = self.model_for(present, with_trees=own is not None)
        said = {agent: scores[agent][rows] for agent in present}
        if isinstance(model, TreeCombination) and own is not None:
            return model.shares(said, own[rows])
        assert isinstance(model, Linear)
        out = model.shares(said)
        first = self.initiator if self.initiator in scores else next(iter(scores))
        out[first] = out.get(first, 0.0) + np.broadcast_to(whole(model.bias[None]), (len(rows), self.n_classes))
        return out

    def model_for(self, present: tuple[str, ...], with_trees: bool = True) -> Linear | TreeCombination:
        """Return the model for samples that these agents speak about; trees need the initiator's own columns."""
        if self.trees_otherwise is not None and with_trees:
            return self.model if {*self.model.agents} == {*present} else self.trees_otherwise
        models = [each for each in (self.model, *self.absences) if isinstance(each, Linear)]
        return next((each for each in models if {*each.agents} == {*present}), self.otherwise)

    def probabilities(self, total: Floats) -> Floats:
        return votes.probabilities(total)

    def _check(self, scores: Mapping[str, Floats]) -> int:
        if not scores:
            raise SettingsError("There are no scores of any agent to combine.")
        unknown = [agent for agent in scores if agent not in self.agents]
        if unknown:
            raise SettingsError(
                f"This combination does not know {', '.join(unknown)}; it knows only {', '.join(self.agents)}."
            )
        n = len(next(iter(scores.values())))
        for agent, said in scores.items():
            if said.shape != (n, self.n_classes):
                raise SettingsError(
                    f"The scores of agent {agent!r} have the shape {said.shape}, not {(n, self.n_classes)}."
                )
        return n

    def _own(self, own: Floats | None, n: int) -> Floats:
        trees = self.own_trees if isinstance(self.model, Linear) else self.model
        if trees is None:
            return np.empty((n, 0))
        due = (n, trees.n_own)
        own = np.empty(due) if own is None and trees.n_own == 0 else own
        if own is None or own.shape != due:
            found = "there are none" if own is None else f"they have {own.shape}"
            raise SettingsError(f"The initiator's own columns must have the shape {due}, as in training; {found}.")
        return np.asarray(own, dtype=np.float64)


# A combination as bytes, without pickle: it is built only after sizes, numbers and trees are checked.

FORMAT = 1
"""The number of the format. It is raised with every change of the structures below."""

N_DIGEST = 32
NUMBER = "<f8"

FACTS = ("kind", "loss", "error", "skipped", "initiator", "n_classes")
"""What is kept as it is."""


class KeptLinear(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="linear"):
    """A linear model. Its numbers are little-endian doubles."""

    agents: list[str]
    weights: bytes
    bias: bytes


class KeptTrees(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="boosted"):
    """A boosted model. Its trees are the bytes of a skops file, its levels little-endian doubles, agent by agent."""

    agents: list[str]
    n_own: int
    levels: list[bytes]
    trees: bytes


class KeptOwnTrees(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The initiator's own trees, as the bytes of a skops file."""

    n_own: int
    trees: bytes


class KeptCombination(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    kind: str
    loss: float
    error: float
    losses: dict[str, float]
    skipped: str
    agents: list[str]
    initiator: str
    n_classes: int
    model: KeptLinear | KeptTrees
    absences: list[KeptLinear]
    otherwise: KeptLinear
    trees_otherwise: KeptTrees | None
    own_trees: KeptOwnTrees | None = None


def to_bytes(combination: Combination) -> bytes:
    """Return a combination as bytes: first a digest, then the content that the digest was computed from."""
    model, trees, own_trees = combination.model, combination.trees_otherwise, combination.own_trees
    kept = KeptCombination(
        **{name: getattr(combination, name) for name in FACTS},
        format=FORMAT,
        losses=dict(combination.losses),
        agents=list(combination.agents),
        model=_kept_boosted(model) if isinstance(model, TreeCombination) else _kept_linear(model),
        absences=[_kept_linear(each) for each in combination.absences],
        otherwise=_kept_linear(combination.otherwise),
        trees_otherwise=None if trees is None else _kept_boosted(trees),
        own_trees=None if own_trees is None else _kept_own_trees(own_trees),
    )
    content = msgspec.msgpack.encode(kept)
    return hashlib.sha256(content).digest() + content


def from_bytes(data: bytes, source: str = "The combination") -> Combination:
    """Return a combination from :func:`to_bytes`' bytes; ``source`` is what errors call them.

    The digest only shows damage. Whoever can write the bytes can write a matching digest, too. So everything is checked
    even where the digest is right.
    """
    content = data[N_DIGEST:]
    if len(data) <= N_DIGEST or hashlib.sha256(content).digest() != data[:N_DIGEST]:
        raise UntrustedFileError(f"{source} was changed or damaged: its digest does not match. Train again.")
    try:
        kept = msgspec.msgpack.decode(content, type=KeptCombination)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UntrustedFileError(f"{source} is not a combination: {error}.") from error
    _check_facts(kept, source)
    _check_models(kept, source)
    model, trees = kept.model, kept.trees_otherwise
    return Combination(
        **{name: getattr(kept, name) for name in FACTS},
        losses=kept.losses,
        agents=tuple(kept.agents),
        model=_boosted(model, kept, source) if isinstance(model, KeptTrees) else _linear(model, kept, source),
        absences=tuple(_linear(each, kept, source) for each in kept.absences),
        otherwise=_linear(kept.otherwise, kept, source),
        trees_otherwise=None if trees is None else _boosted(trees, kept, source),
        own_trees=None if kept.own_trees is None else _own_trees(kept.own_trees, kept, source),
    )


def _check_facts(kept: KeptCombination, source: str) -> None:
    if kept.format != FORMAT:
        raise UntrustedFileError(f"{source} is of format {kept.format}; this release reads format {FORMAT}.")
    if kept.n_classes < 2:
        raise UntrustedFileError(f"{source} is for {kept.n_classes} classes; there must be at least two.")
    if len({*kept.agents}) != len(kept.agents) or kept.initiator not in kept.agents:
        raise UntrustedFileError(f"{source} names an agent twice, or an initiator that is not one of its agents.")
    if not np.isfinite([kept.loss, *kept.losses.values()]).all() or np.isnan(kept.error):
        raise UntrustedFileError(f"{source} has a loss that is not finite.")


def _check_models(kept: KeptCombination, source: str) -> None:
    trees = kept.trees_otherwise
    for each in (kept.model, *kept.absences, kept.otherwise, *([] if trees is None else [trees])):
        if len({*each.agents}) != len(each.agents) or not {*each.agents} <= {*kept.agents}:
            raise UntrustedFileError(f"{source} uses an agent twice, or one that is not one of its agents.")
    if not {*kept.model.agents} <= {*kept.otherwise.agents}:
        raise UntrustedFileError(f"{source} has no model for samples that some of its agents do not hold.")
    if isinstance(kept.model, KeptLinear) and trees is None:
        return
    if kept.own_trees is not None:
        raise UntrustedFileError(
            f"{source} has trees over all scores, and also trees over the initiator's own columns; it may have only "
            "one kind."
        )
    if trees is None or isinstance(kept.model, KeptLinear):
        raise UntrustedFileError(f"{source} has trees for some samples only.")
    if (trees.agents, trees.n_own) != (kept.model.agents, kept.model.n_own):
        raise UntrustedFileError(
            f"{source} has, for samples that some agents do not hold, trees with other inputs than its other trees."
        )


def _kept_boosted(model: TreeCombination) -> KeptTrees:
    from skops import io  # slow to import, and needed for trees alone

    levels = [each.astype(NUMBER).tobytes() for each in model.levels]
    return KeptTrees(list(model.agents), model.n_own, levels, io.dumps(model.trees, compression=ZIP_DEFLATED))


def _kept_own_trees(model: OwnTrees) -> KeptOwnTrees:
    from skops import io

    return KeptOwnTrees(model.n_own, io.dumps(model.trees, compression=ZIP_DEFLATED))


def _kept_linear(model: Linear) -> KeptLinear:
    return KeptLinear(list(model.agents), model.weights.astype(NUMBER).tobytes(), model.bias.astype(NUMBER).tobytes())


def _linear(kept: KeptLinear, whole: KeptCombination, source: str) -> Linear:
    n_outputs = whole.n_classes if whole.n_classes > 2 else 1
    weights = _numbers(kept.weights, (len(kept.agents), n_outputs, n_outputs), source)
    return Linear(tuple(kept.agents), weights, _numbers(kept.bias, (n_outputs,), source))


def _numbers(data: bytes, shape: tuple[int, ...], source: str) -> Floats:
    expected = int(np.prod(shape, dtype=object)) * np.dtype(NUMBER).itemsize
    if len(data) != expected:
        raise UntrustedFileError(f"{source} has {len(data)} bytes instead of {expected} ({shape} numbers).")
    out: Floats = np.frombuffer(data, dtype=NUMBER).reshape(shape).astype(np.float64)
    if not np.isfinite(out).all():
        raise UntrustedFileError(f"{source} has a number that is not finite.")
    return out


def _boosted(kept: KeptTrees, whole: KeptCombination, source: str) -> TreeCombination:
    trees = loads_trusted(kept.trees, source)
    if type(trees) is not HistGradientBoostingClassifier:
        raise UntrustedFileError(f"{source} contains a {type(trees).__name__} instead of boosted trees.")
    n_outputs = whole.n_classes if whole.n_classes > 2 else 1
    n_inputs = len(kept.agents) * n_outputs + kept.n_own
    _check_trees(vars(trees), n_inputs, whole.n_classes, source)
    if len(kept.levels) != len(kept.agents):
        raise UntrustedFileError(
            f"{source} has levels for {len(kept.levels)} of the {len(kept.agents)} agents of trees."
        )
    size = whole.n_classes * np.dtype(NUMBER).itemsize
    levels = tuple(_numbers(each, (len(each) // size, whole.n_classes), source) for each in kept.levels)
    return TreeCombination(tuple(kept.agents), whole.initiator, whole.n_classes, kept.n_own, trees, levels)


def _own_trees(kept: KeptOwnTrees, whole: KeptCombination, source: str) -> OwnTrees:
    trees = loads_trusted(kept.trees, source)
    ResidualTrees(trees, 1.0, whole.n_classes).check_kept(source)
    n_inputs = (whole.n_classes if whole.n_classes > 2 else 1) + kept.n_own
    for tree in trees:
        if getattr(tree, "n_features_in_", None) != n_inputs:
            raise UntrustedFileError(
                f"{source}: a tree over the initiator's own columns does not have {n_inputs} inputs."
            )
    return OwnTrees(whole.n_classes, kept.n_own, trees)


def _check_trees(facts: Mapping[str, Any], n_inputs: int, n_classes: int, source: str) -> None:
    """Refuse trees of other inputs or classes than the combination's, or with leaves that are not finite."""
    if facts.get("n_features_in_") != n_inputs:
        raise UntrustedFileError(f"{source}: its trees have {facts.get('n_features_in_')} inputs, not {n_inputs}.")
    classes: Any = facts.get("classes_")
    if not _are_codes(classes, n_classes):
        raise UntrustedFileError(f"{source}: its trees predict other classes than 0 to {n_classes - 1}.")
    n_grown = len(classes) if len(classes) > 2 else 1
    rows: Any = facts.get("_predictors")
    baseline = facts.get("_baseline_prediction")
    if not _are_rows(rows, n_grown) or not _is_finite(baseline, n_grown):
        raise UntrustedFileError(f"{source}: every iteration must have {n_grown} trees, and start from finite numbers.")
    if not all(np.isfinite(tree.nodes["value"]).all() for row in rows for tree in row):
        raise UntrustedFileError(f"{source}: a leaf of its trees is not finite.")


def _are_codes(classes: Any, n_classes: int) -> bool:
    if not isinstance(classes, np.ndarray) or classes.ndim != 1 or classes.dtype.kind not in "iu" or len(classes) < 2:
        return False
    found: NDArray[Any] = classes
    return bool((found >= 0).all() and (found < n_classes).all() and (np.diff(found) > 0).all())


def _are_rows(rows: Any, n_grown: int) -> bool:
    return isinstance(rows, list) and all(isinstance(row, Sequence) and len(row) == n_grown for row in rows)


def _is_finite(numbers: Any, n_grown: int) -> bool:
    return isinstance(numbers, np.ndarray) and numbers.size == n_grown and bool(np.isfinite(numbers).all())
