"""Settings, their defaults and the names of methods are known in one place."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from assistlearn import AssistedClassifier, methods
from assistlearn.core.ignorance import LOSSES
from assistlearn.core.state import DTYPES
from assistlearn.plan import SETTINGS, TOLD, Plan
from assistlearn.protocol import messages as m

SOURCE = Path(inspect.getfile(AssistedClassifier)).parents[1]
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
TREES = {name: ast.parse(text) for name, text in FILES.items()}


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name}: {node.name}", node


def test_only_the_registry_of_methods_compares_their_names():
    known = {*methods.names()}
    assert len(known) >= 4
    compared = []
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare | ast.match_case):
                texts = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                if texts & known and not name.startswith("methods/"):
                    compared.append((name, node.lineno if isinstance(node, ast.Compare) else 0))
    assert compared == []


@pytest.mark.parametrize("name", [name for name, known in SETTINGS.items() if known.estimator])
def test_the_estimator_has_the_default_of_the_plan_and_its_explanation(name):
    parameter = inspect.signature(AssistedClassifier).parameters[name]
    assert parameter.default is getattr(Plan, name)
    assert " ".join(SETTINGS[name].explanation.split()) in " ".join((AssistedClassifier.__doc__ or "").split())


def test_no_other_place_names_the_default_of_a_setting():
    """A parameter or a field that is called like a setting, with a default of its own, would be a second place."""
    own = []
    for where, node in functions():
        arguments = [*node.args.args, *node.args.kwonlyargs]
        defaults = [*[None] * (len(node.args.args) - len(node.args.defaults)), *node.args.defaults]
        named = zip(arguments, [*defaults, *node.args.kw_defaults], strict=True)
        own += [f"{where}({each.arg})" for each, default in named if _is_default(each.arg, default)]
    for name, tree in TREES.items():
        fields = (
            node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        )
        own += [f"{name}: {node.target.id}" for node in fields if _is_default(node.target.id, node.value)]
    assert [each for each in own if not each.endswith("(seed)")] == []  # other chance has seeds of its own


def _is_default(name: str, said: ast.expr | None) -> bool:
    known = name in SETTINGS and getattr(Plan, name) is not None
    return known and isinstance(said, ast.Constant) and said.value == getattr(Plan, name)


def test_no_default_is_the_environment():
    """The reference shows defaults as they are where it is built: all that is in an environment."""
    defaults = ((where, each) for where, node in functions() for each in [*node.args.defaults, *node.args.kw_defaults])
    assert [where for where, each in defaults if each is not None and ast.unparse(each) == "os.environ"] == []


def test_the_plan_and_the_arithmetic_know_the_same_losses_and_numbers_of_bits():
    assert set(SETTINGS["loss"].choices()) == set(LOSSES)
    for bits in (*DTYPES, 5):
        assert (SETTINGS["score_bits"].check(bits) is None) == (bits in DTYPES)


def test_every_benchmark_finds_what_it_imports():
    """Most are run by name alone, long after what they measure has been changed."""
    for path in sorted((SOURCE.parents[1] / "bench").rglob("*.py")):
        if path.name != "hist_lightgbm.py":  # LightGBM is for comparison alone, and nothing else needs it
            import_module(".".join(path.relative_to(SOURCE.parents[1]).with_suffix("").parts))


def test_helpers_are_told_what_the_message_has_room_for():
    assert set(TOLD) <= set(m.Begin.__struct_fields__)
