"""Keep models on disk without pickle (skops): check the types before a model is built, and its trees before it is used.

skops imports every estimator of scikit-learn, so it is imported where the first model is read or written.
"""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from assistlearn.errors import LearnerError, UntrustedFileError
from assistlearn.learners.model import Model
from assistlearn.learners.model_audit import AUDITED_TYPES, audit

MODEL_TYPES = (
    "assistlearn.learners.learner.Model",  # its name in files from before it had a module of its own
    "assistlearn.learners.model.Model",
    "assistlearn.learners.bagged.Bagged",
    "assistlearn.learners.best_of.BestOf",
    "assistlearn.learners.boosted.Boosted",
    "assistlearn.learners.correction.Correction",
    "assistlearn.learners.residual_trees.ResidualTrees",
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

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Types to trust beside numpy's and scikit-learn's, by their full names.
    packages : sequence of str, default=()
        Packages to trust: all of their classes, but none of their functions.
    """
    return loads_trusted(Path(path).read_bytes(), str(path), trusted, packages)


def loads_trusted(data: bytes, source: str, trusted: Sequence[str] = (), packages: Sequence[str] = ()) -> Any:
    """Return what the bytes of a skops file hold, as :func:`load_trusted` does; ``source`` is what errors call them."""
    from skops.io import get_untrusted_types, loads

    _check_size(data, source)
    try:
        found = set(get_untrusted_types(data=data))
        _refuse_unknown(found, trusted, packages, source)
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
    """Refuse a file that unpacks to much more than its bytes: we write files that are not packed.

    What is in it is not looked at: only the list that every ZIP file ends with.
    """
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


def _refuse_unknown(found: set[str], trusted: Sequence[str], packages: Sequence[str], source: str) -> None:
    unknown = _unknown(found, trusted, packages)
    if unknown:
        listed = "".join(f"\n  {name}" for name in unknown)
        raise UntrustedFileError(
            f"{source} holds types that are not trusted:{listed}\n"
            f"If you know where the file comes from and trust every one of them, pass trusted={unknown!r}."
        )


def _unknown(found: set[str], trusted: Sequence[str], packages: Sequence[str]) -> list[str]:
    """Return the types that are neither trusted by name nor classes of these packages."""
    named = {*trusted, *HARMLESS_TYPES, *AUDITED_TYPES}
    return sorted(name for name in found - named if not _is_class_of(name, packages))


def _is_class_of(name: str, packages: Sequence[str]) -> bool:
    """Whether a name is that of a class of one of these packages. Only these packages are imported to find out."""
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] not in packages:
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), attribute, None), type)
    except ImportError:
        return False


def packages_of(estimator: Any) -> tuple[str, ...]:
    """Return the packages that an estimator, the steps of a pipeline and the candidates of a ``BestOf`` come from.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> packages_of(DecisionTreeClassifier())
    ('sklearn',)
    """
    return tuple(sorted({type(part).__module__.partition(".")[0] for part in _learners_in(estimator)} - {"builtins"}))


def _learners_in(estimator: Any) -> Iterator[Any]:
    from sklearn.pipeline import Pipeline

    from assistlearn.learners.best_of import BestOf

    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            yield from _learners_in(step)
    else:
        yield estimator
        for one in estimator.estimators if isinstance(estimator, BestOf) else ():
            yield from _learners_in(one)
