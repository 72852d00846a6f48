"""A model: what an agent's learner fitted in one turn, how it answers, and how it is kept without pickle."""

from __future__ import annotations

import importlib
import io
import math
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import has_fit_parameter

from assistlearn.errors import LearnerError, UntrustedFileError
from assistlearn.types import Codes, Floats, Said

ROUNDING = 1e-3
"""How far probabilities may be from summing to one: a learner may work in single precision."""


@dataclass(frozen=True)
class Model:
    """One fitted model of an agent, which answers with class codes, or with class probabilities.

    ``front`` are the fitted transformers of a pipeline, shared by all models of the agent. ``n_classes`` is None if it
    answers with class codes. ``classes`` are the codes that are 0, 1, ... to the estimator itself; None where they are
    no others (:func:`without_gaps`).
    """

    front: Any
    estimator: Any
    n_classes: int | None = None
    classes: Codes | None = None

    def answer(self, X: Any) -> Said:
        """Return its answers for rows that are not transformed yet. Where there are none, no learner is asked."""
        from sklearn.utils.validation import _num_samples  # slow to import, and whoever only shows a run needs it not

        return self.say(self.transform(X)) if _num_samples(X) else self.no_answers()

    def no_answers(self) -> Said:
        return np.zeros(0, dtype=np.int64) if self.n_classes is None else np.zeros((0, self.n_classes))

    def predict(self, X: Any) -> Codes:
        return self._codes(self.estimator.predict(self.transform(X)))

    def transform(self, X: Any) -> Any:
        return X if self.front is None else self.front.transform(X)

    def say(self, rows: Any, **options: Any) -> Said:
        """Return its answers for rows that are transformed already: class codes, or probabilities (n x K)."""
        if self.n_classes is None:
            return self._codes(self.estimator.predict(rows, **options))
        return _probabilities(self.estimator.predict_proba(rows, **options), self.columns(), self.n_classes)

    def columns(self) -> Codes:
        codes: Codes = np.asarray(self.estimator.classes_, dtype=np.intp)
        return codes if self.classes is None else self.classes[codes]

    def check_kept(self, source: str) -> None:
        found = self.classes
        if found is not None and not (isinstance(found, np.ndarray) and found.dtype.kind == "i" and found.ndim == 1):
            raise UntrustedFileError(f"{source}: the classes that a model was fitted to are no list of class codes.")

    def _codes(self, answers: Any) -> Codes:
        answers = np.asarray(answers)
        if answers.dtype.kind not in "iu":
            answers = answers.astype(np.int64)
        codes: Codes = answers.reshape(len(answers))
        return codes if self.classes is None else self.classes[codes]


def without_gaps(codes: Codes) -> tuple[Codes, Codes | None]:
    """Return class codes renumbered as 0, 1, ... in their order, and the class code of each number.

    Some learners refuse labels with gaps, which a fold without a rare class has. Where there are no gaps, the codes are
    returned as they are, and None.

    >>> without_gaps(np.array([2, 0, 2]))
    (array([1, 0, 1]), array([0, 2]))
    >>> without_gaps(np.array([1, 0]))
    (array([1, 0]), None)
    """
    there = np.bincount(codes) > 0
    if there.all():
        return codes, None
    classes: Codes = np.flatnonzero(there)
    return (np.cumsum(there) - 1)[codes].astype(codes.dtype), classes


def _probabilities(answers: Any, columns: Codes, n_classes: int) -> Floats:
    """Return probabilities with a column for every class: zero for one that the learner has not seen.

    A network may have more outputs than it has seen classes; outputs that no class belongs to are left out.
    """
    answers = np.asarray(answers, dtype=np.float64)
    if answers.shape[1:] and len(columns) < answers.shape[1] <= n_classes:
        answers = answers[:, : len(columns)]
        answers = answers / answers.sum(axis=1, keepdims=True)
    out = np.zeros((len(answers), n_classes))
    out[:, columns] = answers
    if not np.all(np.isfinite(out)):
        raise ValueError("its probabilities are not all finite.")
    total = out.sum(axis=1)
    if out.min(initial=0.0) < -ROUNDING or np.abs(total - 1.0).max(initial=0.0) > ROUNDING:
        row = int(np.abs(total - 1.0).argmax())
        raise ValueError(
            f"its answers are not probabilities: the smallest is {out.min():g}, and those of row {row} sum to "
            f"{total[row]:g}."
        )
    return out


WORTHWHILE = 4_096
"""The number of rows from which joining models saves more time than it takes."""
MOST_ANSWERS = 2**26
"""The most answers that are held at a time."""
MOST_MODELS = 64
"""The most models that are joined into one."""


class Panel:
    """The models of one agent, behind the same transformers, and fitted to the same columns and classes.

    They answer in the order in which they are given. An estimator with a method ``join``, such as
    :class:`~assistlearn.learners.hist.HistTreeClassifier`, joins its fitted copies into one that answers for all of
    them in a single pass.
    """

    def __init__(self, models: Sequence[Model]) -> None:
        self._models = models
        self._joints: dict[tuple[int, int], Any] = {}

    def answers(self, rows: Any) -> Iterator[Said]:
        from sklearn.utils.validation import _num_samples

        n_rows = _num_samples(rows)
        size = min(MOST_MODELS, max(1, MOST_ANSWERS // max(n_rows, 1)))
        for start in range(0, len(self._models), size):
            group = self._models[start : start + size]
            joint = self._joint(start, group) if n_rows >= WORTHWHILE else None
            if joint is None:
                yield from (model.say(rows) for model in group)
            else:
                yield from joint.predict(rows)

    def _joint(self, start: int, group: Sequence[Model]) -> Any:
        first = group[0].estimator
        alike = all(model.n_classes is None and model.classes is None for model in group)
        if len(group) < 2 or not alike or not hasattr(first, "join"):
            return None
        key = start, len(group)
        if key not in self._joints:
            self._joints[key] = first.join([model.estimator for model in group])
        return self._joints[key]


# -- check the trees of a model that was read from a file before anyone predicts with it -------------------------------
# Prediction follows a tree's numbers without checking them: a crafted tree could send it outside its arrays, or in
# circles. skops checks the shapes and types of the arrays when a tree is read; their values are checked here.


AUDITED_TYPES = (
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
"""Types that may be read because :func:`audit` checks their values."""


def audit(model: Any, source: str) -> None:
    """Refuse a model with a tree that leads anywhere but to its own leaves and columns, or with a folder of pickles."""
    from sklearn.ensemble import BaggingClassifier

    for part in _parts(model):
        n_columns = getattr(part, "n_features_in_", None)
        if getattr(part, "memory", None) is not None and hasattr(part, "get_params"):
            raise UntrustedFileError(
                f"{source}: {type(part).__name__} has a memory, a folder whose pickles it would run."
            )
        if hasattr(part, "check_kept"):  # a model whose trees are not scikit-learn's checks them itself
            part.check_kept(source)
        if hasattr(part, "tree_"):
            tree = part.tree_
            if tree.n_features != n_columns:
                raise UntrustedFileError(
                    f"{source}: a tree has {tree.n_features} columns, but its model has {n_columns}."
                )
            inner = tree.children_left != -1
            _check_nodes(tree.children_left, tree.children_right, tree.feature, inner, n_columns, source)
        # A bag gives each of its models some of the columns, and the model checks them. A forest checks only once.
        together = () if type(part) is BaggingClassifier else getattr(part, "estimators_", ())
        for one in _flat(together):
            if hasattr(one, "tree_") and getattr(one, "n_features_in_", None) != n_columns:
                raise UntrustedFileError(
                    f"{source}: a forest of {n_columns} columns contains a tree with another number of columns."
                )
        for predictor in _flat(getattr(part, "_predictors", ())):
            _check_predictor(predictor, n_columns, source)


def _check_predictor(predictor: Any, n_columns: int | None, source: str) -> None:
    nodes = predictor.nodes
    inner = nodes["is_leaf"] == 0
    _check_nodes(nodes["left"], nodes["right"], nodes["feature_idx"], inner, n_columns, source)
    by_category = inner & (nodes["is_categorical"] != 0)
    n_sets = min(len(predictor.raw_left_cat_bitsets), len(predictor.binned_left_cat_bitsets))
    if by_category.any() and int(nodes["bitset_idx"][by_category].max()) >= n_sets:
        raise UntrustedFileError(f"{source}: a tree splits by categories that it does not list.")


def _check_nodes(
    left: NDArray[Any],
    right: NDArray[Any],
    column: NDArray[Any],
    inner: NDArray[np.bool_],
    n_columns: int | None,
    source: str,
) -> None:
    """Refuse nodes whose children do not come after them, or that ask for columns that are not there."""
    here = np.flatnonzero(inner)
    for children in (left, right):
        after = children[inner].astype(np.int64)
        if not ((after > here) & (after < len(inner))).all():
            raise UntrustedFileError(f"{source}: a tree has a node whose child does not come after it.")
    asked = column[inner].astype(np.int64)
    if n_columns is None or not ((asked >= 0) & (asked < n_columns)).all():
        raise UntrustedFileError(f"{source}: a tree uses a column that its model does not have.")


def _parts(model: Any) -> Iterator[Any]:
    seen: set[int] = set()
    waiting = [model]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type(None)):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple | set) or (isinstance(part, np.ndarray) and part.dtype == object):
            waiting.extend(_flat(part))
        else:
            waiting.extend(vars(part).values() if hasattr(part, "__dict__") else ())


def _flat(items: Any) -> Iterable[Any]:
    if isinstance(items, np.ndarray):
        return list(items.ravel())
    return [inner for item in items for inner in (item if isinstance(item, list | tuple) else [item])]


# -- keep models on disk without pickle (skops) ------------------------------------------------------------------------
# The types are checked before a model is built, and its trees before it is used. skops imports every estimator of
# scikit-learn, so it is imported where the first model is read or written.


MODEL_TYPES = (
    "assistlearn.learners.model.Model",
    "assistlearn.learners.learner.BestOf",
    "assistlearn.learners.boosting.ResidualTrees",
    "assistlearn.learners.boosting.Several",
)
HARMLESS_TYPES = (  # plain numbers and settings, which skops does not list
    "numpy.dtype",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)


UNPACKED, UNPACKED_TEXT, TIMES = 100_000_000, 20_000_000, 5
"""To how many bytes any model may unpack, how many of them may be text, and to how many times its own bytes."""


def load_trusted(path: str | PathLike[str], trusted: Sequence[str], packages: Sequence[str] = ()) -> Any:
    """Return what a skops file holds, after checking that every type in it is trusted and that its trees are sound.

    ``trusted`` are types to trust beside numpy's and scikit-learn's, by their full names. Of ``packages`` all classes
    are trusted, but no functions.
    """
    return loads_trusted(Path(path).read_bytes(), str(path), trusted, packages)


def loads_trusted(data: bytes, source: str, trusted: Sequence[str] = (), packages: Sequence[str] = ()) -> Any:
    """Do as :func:`load_trusted` with the bytes of a file; ``source`` is what errors call them."""
    from skops.io import get_untrusted_types, loads

    _check_size(data, source)
    try:
        found = set(get_untrusted_types(data=data))
        unknown = _unknown(found, trusted, packages)
        if unknown:
            listed = "".join(f"\n  {name}" for name in unknown)
            raise UntrustedFileError(
                f"{source} holds types that are not trusted:{listed}\n"
                f"If you know where the file comes from and trust every one of them, pass trusted={unknown!r}."
            )
        model = loads(data, trusted=sorted(found))
    except UntrustedFileError:
        raise
    except Exception as error:  # a crafted file can raise any error in the libraries that read it
        raise UntrustedFileError(
            f"{source} cannot be read as a model: it was damaged, or it never was one ({error!r}). Save it again, or "
            "take it from a backup."
        ) from error
    audit(model, source)
    return model


def _check_size(data: bytes, source: str) -> None:
    """Refuse a file that unpacks to much more than its bytes, by the list that every ZIP file ends with."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            sizes = {each.filename: each.file_size for each in file.infolist()}
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError):
        return  # no ZIP file: whoever reads it says so
    text, all_ = sizes.get("schema.json", 0), sum(sizes.values())
    if all_ > max(UNPACKED, TIMES * len(data)) or text > max(UNPACKED_TEXT, TIMES * len(data)):
        raise UntrustedFileError(
            f"{source} has {len(data):,} bytes and unpacks to {all_:,} ({text:,} of them text): it is not a model that "
            "was written here, and is not read. Save it again without compression, or take it from a backup."
        )


def dump_model(model: Model, packages: Sequence[str] = ()) -> bytes:
    """Return a model as bytes, after checking that :func:`load_model` with these packages will accept them."""
    from skops.io import dumps, get_untrusted_types

    content: bytes = dumps(model)
    unknown = _unknown(set(get_untrusted_types(data=content)), MODEL_TYPES, packages)
    if unknown:
        raise LearnerError(
            f"The model {type(model.estimator).__name__} cannot be kept safely: it holds {', '.join(unknown)}, which "
            f"{'is' if len(unknown) == 1 else 'are'} neither numpy's, scikit-learn's nor of the learner's own package."
        )
    return content


def load_model(path: Path, packages: Sequence[str] = ()) -> Model:
    """Return a model from a file that holds :func:`dump_model`'s bytes."""
    model = load_trusted(path, MODEL_TYPES, packages)
    if not isinstance(model, Model):
        raise UntrustedFileError(f"{path} holds a {type(model).__name__}, not a model.")
    return model


def _unknown(found: set[str], trusted: Sequence[str], packages: Sequence[str]) -> list[str]:
    named = {*trusted, *HARMLESS_TYPES, *AUDITED_TYPES}
    return sorted(name for name in found - named if not _is_class_of(name, packages))


def _is_class_of(name: str, packages: Sequence[str]) -> bool:
    """Whether a class of these packages has this name; only these packages are imported to find out."""
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] not in packages:
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), attribute, None), type)
    except ImportError:
        return False


def packages_of(estimator: Any) -> tuple[str, ...]:
    """Return the packages that an estimator, the steps of a pipeline and the candidates of a ``BestOf`` come from."""
    return tuple(sorted({type(part).__module__.partition(".")[0] for part in _learners_in(estimator)} - {"builtins"}))


def _learners_in(estimator: Any) -> Iterator[Any]:
    from sklearn.pipeline import Pipeline

    from assistlearn.learners.learner import BestOf

    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            yield from _learners_in(step)
    else:
        yield estimator
        for one in estimator.estimators if isinstance(estimator, BestOf) else ():
            yield from _learners_in(one)


# How a learner is given weights, seeds and tables.

TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
_Floats: TypeAlias = NDArray[np.floating[Any]]

# -- the ignorance: as sample weights if a learner's ``fit`` takes them, and by resampling otherwise -------------------


def fit_weighted(
    estimator: Any, table: Any, codes: Codes, ignorance: Floats, seed: int, options: dict[str, Any]
) -> Codes | None:
    """Fit ``estimator`` in place; return the class codes where those drawn have gaps (:func:`~.model.without_gaps`)."""
    if takes_weights(estimator):
        any_scale = getattr(estimator, "any_scale", False)  # then there is no need for a copy
        weights = ignorance if any_scale else ignorance * weight_scale(len(ignorance))
        estimator.fit(table, codes, sample_weight=weights, **options)
        return None
    rows = resample(codes, ignorance, seed)
    drawn, classes = without_gaps(codes[rows])
    estimator.fit(take_rows(table, rows), drawn)
    return classes


def weight_scale(n_samples: int) -> float:
    """Return the factor that turns the ignorance into a learner's weights: the power of two nearest to ``n_samples``.

    The weights then average about one, as scikit-learn's users expect: the penalty of a logistic regression or the step
    of a network keeps its meaning. A power of two rounds nothing.

    >>> weight_scale(1000)
    1024.0
    """
    return 2.0 ** round(math.log2(n_samples))


def takes_weights(estimator: Any) -> bool:
    if has_fit_parameter(estimator, "sample_weight"):
        return True
    if get_config()["enable_metadata_routing"]:
        routing = estimator.get_metadata_routing()
        return "sample_weight" in routing.consumes("fit", ["sample_weight"])
    searches = isinstance(estimator, GridSearchCV | RandomizedSearchCV)
    return searches and takes_weights(estimator.estimator)


def draws_samples(estimator: Any) -> bool:
    return isinstance(estimator, FORESTS) and bool(estimator.bootstrap)


def resample(codes: Codes, ignorance: Floats, seed: int) -> NDArray[np.intp]:
    """Draw as many rows as there are, in proportion to their ignorance, keeping every class.

    Where the draw has missed a class, the sample of this class with the highest ignorance is added, unless the class
    has no ignorance at all.
    """
    rng = np.random.RandomState(seed)
    upto = np.cumsum(ignorance)
    rows = np.searchsorted(upto, rng.random_sample(len(codes)) * upto[-1], side="right")
    counting = np.flatnonzero(ignorance > 0.0)
    missed = np.setdiff1d(codes[counting], codes[rows])
    kept = [counting[codes[counting] == code] for code in missed]
    extra = [rows_of[np.argmax(ignorance[rows_of])] for rows_of in kept]
    return np.concatenate([rows, np.asarray(extra, dtype=rows.dtype)])


def take_rows(table: Any, rows: NDArray[Any] | slice) -> Any:
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table[rows]


# -- seeds for chance in a learner, all drawn from the run's seed ------------------------------------------------------


MAX_SEED = int(np.iinfo(np.int32).max)

MAX_RUN_SEED = 2**32 - 1


def seed_all(estimator: Any, seed: int) -> None:
    """Set every ``random_state`` of an estimator, nested ones too, from one seed.

    A single one gets the seed itself; several get numbers drawn from it, in the order of their names.
    """
    names = sorted(
        name for name in estimator.get_params(deep=True) if name == "random_state" or name.endswith("__random_state")
    )
    if len(names) == 1:
        estimator.set_params(**{names[0]: seed})
    elif names:
        drawn = np.random.RandomState(seed).randint(MAX_SEED, size=len(names))
        estimator.set_params(**dict(zip(names, map(int, drawn), strict=True)))


class TurnSeeds:
    """The seeds of the turns of a run, all drawn from one number. Whoever knows this number draws the same seeds."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.RandomState(seed)
        self._drawn: list[int] = []

    def of(self, turn: int) -> int:
        missing = turn - len(self._drawn)
        if missing > 0:
            self._drawn += self._rng.randint(MAX_SEED, size=missing).tolist()
        return self._drawn[turn - 1]


# -- tables: what scikit-learn's trees and histogram boosting would do to them in every fit is done once ---------------


def as_trees_see_it(estimator: Any, table: Any) -> tuple[Any, dict[str, Any]]:
    """Return a table as a tree or forest of scikit-learn wants it, and options for its ``fit`` and ``predict``.

    A dense numeric table becomes float32. A single tree need not check it again if nothing in it is missing or
    infinite.
    """
    # Exactly these types: a subclass may want to see the table as it is, or have no check_input.
    if type(estimator) not in TREES + FORESTS or not isinstance(table, np.ndarray) or table.dtype.kind not in "fiub":
        return table, {}
    if table.dtype != np.float32:
        with np.errstate(over="ignore"):  # the tree itself refuses what is too large for float32
            table = table.astype(np.float32, order="F")  # a tree looks at one column at a time
    with np.errstate(over="ignore", invalid="ignore"):  # if the sum is not finite, no value need be checked
        unchecked = type(estimator) in TREES and bool(np.isfinite(table.sum())) and bool(np.isfinite(table).all())
    return table, {"check_input": False} if unchecked else {}


def coarsened(estimator: Any, table: Any) -> Any:
    """Return an array or a data frame as coarse as histogram boosting would see it; anything else unchanged.

    With weights, finding the bins of a column takes hundreds of passes over it, far longer than growing the trees. A
    column with no more different values than there are bins takes no time. So the values of a column are divided
    beforehand into that many bins of equal counts, and the middle of its bin replaces each value.
    """
    if type(estimator) is not HistGradientBoostingClassifier:
        return table
    if not isinstance(estimator.categorical_features, str | None):
        return table
    found = {place: _coarse(values, estimator.max_bins) for place, values in _columns_of_floats(table)}
    return _with_columns(table, {place: values for place, values in found.items() if values is not None})


def columns(table: Any) -> Iterator[Any]:
    """Yield the columns of an array or of a data frame of pandas or polars; none of anything else."""
    if hasattr(table, "iloc"):
        yield from (table.iloc[:, place] for place in range(table.shape[1]))
    elif hasattr(table, "get_columns"):
        yield from table.get_columns()
    elif isinstance(table, np.ndarray):
        yield from table.T


def _columns_of_floats(table: Any) -> Iterator[tuple[int, _Floats]]:
    for place, column in enumerate(columns(table)):
        kind = column.dtype
        if kind.is_float() if hasattr(kind, "is_float") else isinstance(kind, np.dtype) and kind.kind == "f":
            yield place, column if isinstance(column, np.ndarray) else column.to_numpy()


def _with_columns(table: Any, coarse: dict[int, _Floats]) -> Any:
    if not coarse:
        return table
    if hasattr(table, "with_columns"):  # polars
        return table.with_columns(
            table.to_series(place).__class__(table.columns[place], values) for place, values in coarse.items()
        )
    out = table.copy()
    for place, values in coarse.items():
        if isinstance(out, np.ndarray):
            out[:, place] = values
        else:
            out.isetitem(place, values)
    return out


def _coarse(column: _Floats, n_bins: int) -> _Floats | None:
    there = np.isfinite(column)
    if len(np.unique(column[there])) <= n_bins:
        return None
    out = column.copy()
    out[there] = _middles(column[there], n_bins)
    return out


def _middles(values: _Floats, n_bins: int) -> _Floats:
    """Return, for every value, the middle of its bin: halfway between the least and the largest in it."""
    edges = np.unique(np.quantile(values, np.linspace(0.0, 1.0, n_bins + 1)[1:-1], method="averaged_inverted_cdf"))
    bins = np.searchsorted(edges, values, side="left")
    least, largest = np.full(len(edges) + 1, np.inf), np.full(len(edges) + 1, -np.inf)
    np.minimum.at(least, bins, values)
    np.maximum.at(largest, bins, values)
    middles: _Floats = ((least[bins] + largest[bins]) / 2).astype(values.dtype)
    return middles
