"""From the name of a learner in an agent's file to the learner itself.

A module that the file names is imported, and so its code runs. An agent's file is like a script of its owner. It is
never accepted from the network or from another agent.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from assistlearn.agent.file import AgentDescription, LearnerDescription
from assistlearn.errors import LearnerError, did_you_mean
from assistlearn.extras import install_line


def make_learner(description: AgentDescription) -> Any:
    """Return the unfitted learner that an agent's file names; None where it names none.

    A module is looked for among the installed ones, then beside the file. Several learners become one that uses the
    best of them (:class:`~assistlearn.learners.BestOf`).

    >>> from assistlearn.agent.file import parse_description
    >>> learner = {"kind": "sklearn.tree.DecisionTreeClassifier", "parameters": {"max_depth": 3}}
    >>> make_learner(parse_description({"name": "a", "table": "a.csv", "id": "id", "learner": learner}, Path("a.toml")))
    DecisionTreeClassifier(max_depth=3)
    """
    made = [_make(description, learner) for learner in description.learners]
    if len(made) < 2:
        return made[0] if made else None
    from assistlearn.learners.learner import BestOf  # imports scikit-learn, which is slow

    return BestOf(made)


def _make(description: AgentDescription, named: LearnerDescription) -> Any:
    def error(message: str, parameter: str | None = None) -> LearnerError:
        inside = ("kind",) if parameter is None else ("parameters", parameter)
        return LearnerError(f"{description.places('learner', *inside)}: {message}")

    kind, parameters = named.kind, dict(named.parameters)
    maker = _find(kind, description.file.parent, error)
    taken = _parameters_of(maker)
    for name in parameters:
        if taken is not None and name not in taken:
            raise error(f"learner {kind!r} has no parameter {name!r}.{did_you_mean(name, taken)} Correct it.", name)
    try:
        learner = maker(**parameters)
    except Exception as problem:
        raise error(
            f"learner {kind!r} refuses its parameters {parameters!r}: {type(problem).__name__}: {problem}. "
            "Correct them under [learner.parameters]."
        ) from problem
    what = _what_is(learner)
    if what != "a classifier":
        raise error(
            f"learner {kind!r} gives {learner!r}, which is {what}. Name a scikit-learn classifier, or a function that "
            "returns one."
        )
    if hasattr(learner, "_parameter_constraints"):  # scikit-learn would check the values only when it is fitted
        try:
            learner._validate_params()
        except ValueError as problem:
            refused = [name for name in parameters if f"{name!r} parameter" in str(problem)]
            raise error(f"learner {kind!r} refuses a parameter: {problem}", *refused[:1]) from problem
    # a learner that keeps what it has computed in a folder would read pickles from there
    for name, value in learner.get_params(deep=True).items() if hasattr(learner, "get_params") else ():
        if name.rpartition("__")[2] == "memory" and value is not None:
            raise error(
                f"learner {kind!r} has {name} = {value!r}: it would keep what it learns from the table in that folder, "
                "as pickles, and run whatever somebody puts there. Leave it out."
            )
    return learner


def _find(kind: str, folder: Path, error: Callable[[str], LearnerError]) -> Callable[..., Any]:
    module_name, separator, name = kind.partition(":")
    if not separator:
        module_name, _, name = kind.rpartition(".")
    if not module_name or not name:
        raise error(
            f"learner {kind!r} does not say where it is. Write a class with its module, "
            '"sklearn.tree.DecisionTreeClassifier", or "module:function".'
        )
    try:
        module = _import_named(module_name, folder / f"{module_name}.py")
    except ModuleNotFoundError as problem:
        missing = problem.name or module_name
        top = missing.partition(".")[0]
        install = (
            f"install it: {install_line(top)}"
            if top == "xgboost"
            else f"install the package that has it, or put {module_name}.py beside the agent's file"
        )
        raise error(f"learner {kind!r}: there is no module {missing!r}. Correct the name, or {install}.") from problem
    except Exception as problem:
        raise error(
            f"learner {kind!r}: importing {module_name!r} failed with {type(problem).__name__}: {problem}. "
            "Correct the module."
        ) from problem
    found: Callable[..., Any] | None = getattr(module, name, None)
    if found is None:
        raise error(
            f"module {module_name!r} has no {name!r}.{did_you_mean(name, dir(module))} Correct the learner's name."
        )
    if not separator and not isinstance(found, type):
        raise error(f'{kind!r} is not a class. If it is a function that makes a learner, write "{module_name}:{name}".')
    if not callable(found):
        raise error(f"{kind!r} cannot be called. Name a function that returns a classifier.")
    return found


def _what_is(learner: Any) -> str:
    from sklearn.base import is_classifier, is_regressor

    if isinstance(learner, type):
        return "a class and not an instance of it"
    try:
        return "a classifier" if is_classifier(learner) else "a regressor" if is_regressor(learner) else "no classifier"
    except (AttributeError, TypeError):  # not even an estimator
        return "no classifier"


def _parameters_of(maker: Callable[..., Any]) -> list[str] | None:
    """Return the names of parameters; None where any name is accepted, or there is no signature."""
    try:
        taken = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # written in C
        return None
    return None if any(each.kind is each.VAR_KEYWORD for each in taken.values()) else list(taken)


_LOADED: dict[str, Path] = {}
"""Modules loaded from beside an agent's file."""


def _import_named(name: str, beside: Path) -> ModuleType:
    if name in _LOADED:
        if beside.is_file() and _LOADED[name] != beside.resolve():
            raise ImportError(
                f"another file of that name is loaded already, {_LOADED[name]}; rename one of the two, or give each "
                "agent a process of its own"
            )
        return sys.modules[name]
    if beside.is_file() and importlib.util.find_spec(name) is None:
        return _import_file(name, beside.resolve())
    return importlib.import_module(name)


def _import_file(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a saved model names its class by module, and is loaded through this entry
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    _LOADED[name] = file
    return module
