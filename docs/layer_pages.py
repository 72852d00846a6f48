"""Write one API page for each layer that exists, from the top of the layers to the bottom."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import Any

import assistlearn

PUBLIC = {name: getattr(assistlearn, name).__module__ for name in assistlearn.__all__}  # on the API's first page


def write_layer_pages(pyproject: dict[str, Any], package: Path, out: Path) -> None:
    """Write the pages; the order of the layers is that of the import-linter contract, so that it is said once."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.md"):
        old.unlink()
    layers = [layer for layer in _layers(pyproject) if _modules(package, layer)]
    for layer in layers:
        (out / f"{layer}.md").write_text(_page(package.name, layer, _modules(package, layer)), encoding="utf-8")
    toctree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *layers, "```"])
    (out / "index.md").write_text(f"# Layers, from top to bottom\n\n{toctree}\n", encoding="utf-8")


def _layers(pyproject: dict[str, Any]) -> list[str]:
    [contract] = [c for c in pyproject["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    return [name.strip(" ()") for row in contract["layers"] for name in row.split("|")]


def _modules(package: Path, layer: str) -> list[str]:
    """Return the dotted names of a layer's modules, packages before what is in them; none where it does not exist."""
    if (package / f"{layer}.py").exists():
        return [layer]
    found = sorted((package / layer).rglob("*.py"), key=lambda path: path.relative_to(package).with_suffix("").parts)
    kept = [path for path in found if path.stem == "__init__" or not path.stem.startswith("_")]
    return [".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__") for path in kept]


def _page(root: str, layer: str, modules: list[str]) -> str:
    """Return the page: what the package says of itself, then every module in full."""
    first, *inner = modules
    parts = [f"# {layer}", _automodule(f"{root}.{first}")]
    parts += [f"## {name}\n\n{_automodule(f'{root}.{name}')}" for name in inner]
    return "\n\n".join(parts) + "\n"


def _automodule(name: str) -> str:
    """Return the directive: all members of a module, or those that a package defines itself and does not pass on."""
    public = [own for own, module in PUBLIC.items() if module == name]
    package = find_spec(name)
    if package is not None and package.submodule_search_locations is not None:
        members = ", ".join(_own_functions(name))
        options = [f":members: {members}"] if members else [":no-members:"]
    else:
        options = [":members:", ":show-inheritance:"]
    if public:
        options.append(f":exclude-members: {', '.join(public)}")
    lines = [f".. automodule:: {name}", *(f"   {option}" for option in options)]
    lines += [f"\n:obj:`assistlearn.{own}` is on the first page of the API." for own in public]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def _own_functions(package: str) -> list[str]:
    found = vars(import_module(package)).items()
    functions = {name: value for name, value in found if isinstance(value, FunctionType) and not name.startswith("_")}
    return [name for name, value in functions.items() if value.__module__ == package]
