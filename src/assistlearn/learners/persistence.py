"""Models on disk without pickle: read, audit, only then construct (skops)."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from skops import io

from assistlearn.errors import UntrustedFileError
from assistlearn.learners.audit import AUDITED_TYPES, audit
from assistlearn.learners.learner import Model

OWN_TYPES = ("assistlearn.learners.learner.Model",)
HARMLESS_TYPES = (  # plain numbers and settings, which skops does not list
    "numpy.dtype",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)


def load_trusted(path: str | PathLike[str], trusted: Sequence[str], packages: Sequence[str] = ()) -> Any:
    """Return what a skops file holds, once every type in it is trusted, and its trees are looked into.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str
        Types to trust beside numpy's and scikit-learn's, by their full names.
    packages : sequence of str, default=()
        Packages all of whose types are trusted.
    """
    found = set(io.get_untrusted_types(file=path))
    named = {*trusted, *HARMLESS_TYPES, *AUDITED_TYPES}
    unknown = sorted(name for name in found - named if name.partition(".")[0] not in packages)
    if unknown:
        listed = "".join(f"\n  {name}" for name in unknown)
        raise UntrustedFileError(
            f"{path} holds types that are not trusted:{listed}\n"
            f"If you know where the file comes from and trust every one of them, pass trusted={unknown!r}."
        )
    model = io.load(path, trusted=sorted(found))
    audit(model, str(path))
    return model


def dump_model(model: Model) -> bytes:
    """Return a model as bytes."""
    content: bytes = io.dumps(model)
    return content


def load_model(path: Path, packages: Sequence[str] = ()) -> Model:
    """Return a model from a file that holds :func:`dump_model`'s bytes."""
    model = load_trusted(path, OWN_TYPES, packages)
    if not isinstance(model, Model):
        raise UntrustedFileError(f"{path} holds a {type(model).__name__}, not a model.")
    return model


def packages_of(estimator: Any) -> tuple[str, ...]:
    """Return the packages that an estimator and the steps of a pipeline come from.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> packages_of(DecisionTreeClassifier())
    ('sklearn',)
    """
    parts = [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    return tuple(sorted({type(part).__module__.partition(".")[0] for part in parts} - {"builtins"}))
