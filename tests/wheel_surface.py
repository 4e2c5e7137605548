"""`python wheel_surface.py`: the names of every module of the `triton` package that is installed, as JSON.

{"triton.testing": {"do_bench": ["fn", "warmup", ...], "Benchmark": {...members}, ...}, ...}: a list is a function's parameters, an object
the members of a class (methods, attributes, what methods set on `self`), null anything else. Names with one underscore count, those with two on both
sides do not. A module counts what it defines, sets, and takes from other modules of Triton; what is in `_C.libtriton` counts as well. Modules that cannot
be imported are left out.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import json
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

Names = dict[str, Any]

HIDDEN = {"_semantic", "_generator", "_builder"}
"""Parameters that only Triton's own frontend passes."""


def surface() -> dict[str, Names]:
    """Module → name → what it is."""
    triton = importlib.import_module("triton")
    found = [module.name for module in pkgutil.walk_packages(triton.__path__, "triton.", onerror=lambda name: None)]
    names: dict[str, Names] = {}
    for name in ["triton", "triton._C.libtriton", *found]:
        try:
            module = importlib.import_module(name)
        except Exception:
            continue
        is_extension = name == "triton._C.libtriton"
        names |= extension_of(module) if is_extension else {name: names_of(module)}
    return names


def extension_of(module: ModuleType) -> dict[str, Names]:
    """An extension module and its submodules."""
    own = {name: described(value) for name, value in vars(module).items() if is_counted(name, value)}
    found = {module.__name__: own}
    for value in vars(module).values():
        if isinstance(value, ModuleType):
            found |= extension_of(value)
    return found


def names_of(module: ModuleType) -> Names:
    assigned = set(assigned_in(module))
    names: Names = {}
    for name, value in list(vars(module).items()):
        origin = getattr(value, "__module__", None)
        is_ours = isinstance(origin, str) and origin.split(".")[0] == "triton"
        if is_counted(name, value) and (is_ours or name in assigned):
            names[name] = described(value)
    return names


def is_counted(name: str, value: Any) -> bool:
    return not (name.startswith("__") and name.endswith("__")) and not isinstance(value, ModuleType)


@functools.cache
def tree_of(file: str | None) -> ast.Module | None:
    """A Python file; None for an extension."""
    if file is None or not file.endswith(".py"):
        return None
    return ast.parse(Path(file).read_bytes())


@functools.cache
def classes_of(file: str | None) -> dict[str, ast.ClassDef]:
    """The classes of a Python file by `__qualname__`."""
    found: dict[str, ast.ClassDef] = {}

    def look(nodes: list[ast.stmt], around: str) -> None:
        for node in nodes:
            inside = around
            if isinstance(node, ast.ClassDef):
                found[around + node.name] = node
                inside = f"{around}{node.name}."
            elif isinstance(node, ast.FunctionDef):
                inside = f"{around}{node.name}.<locals>."
            for part in ("body", "orelse", "handlers", "finalbody"):
                look(getattr(node, part, []), inside)

    tree = tree_of(file)
    look(tree.body if tree else [], "")
    return found


def assigned_in(module: ModuleType) -> list[str]:
    """What statements of the module's body set."""
    tree = tree_of(getattr(module, "__file__", None))
    targets: list[ast.expr] = []
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def members_of(cls: type) -> list[str]:
    """Methods and attributes of the class itself, its annotations, and what its methods set on `self`."""
    members = {*vars(cls), *vars(cls).get("__annotations__", ())}
    tree = classes_of(getattr(sys.modules.get(cls.__module__), "__file__", None)).get(cls.__qualname__)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            members.add(node.attr)
    return sorted(m for m in members if not (m.startswith("__") and m.endswith("__")) and m != "_abc_impl")


def described(value: Any) -> Any:
    if isinstance(value, type):
        return dict.fromkeys(members_of(value))
    function = getattr(value, "fn", value)
    if callable(function):
        try:
            return [p for p in inspect.signature(function).parameters if p not in HIDDEN]
        except (TypeError, ValueError):
            return None
    return None


if __name__ == "__main__":
    print(json.dumps(surface()))
