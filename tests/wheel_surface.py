"""`python wheel_surface.py`: the names of every module of the `triton` package that is installed, as JSON.

{"triton.testing": {"do_bench": ["fn", "warmup", ...], "Benchmark": {...members}, ...}, ...}: a list is a function's parameters, an object
the members of a class (methods, attributes, what methods set on `self`), null anything else. Names with one underscore count, those with two on both
sides do not. A module counts what it defines, sets, and takes from other modules of Triton; what is in `_C.libtriton` counts as well. Modules that cannot
be imported are left out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import textwrap
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


def tree_of(value: Any) -> ast.Module | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError, SyntaxError):
        return None


def assigned_in(module: ModuleType) -> list[str]:
    """What statements of the module's body set."""
    tree = tree_of(module)
    targets: list[ast.expr] = []
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign):
            targets += node.targets
        elif isinstance(node, ast.AnnAssign):
            targets.append(node.target)
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def members_of(cls: type) -> list[str]:
    """Methods and attributes of the class itself, its annotations, and what its methods set on `self`."""
    members = {*vars(cls), *vars(cls).get("__annotations__", ())}
    tree = tree_of(cls)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
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
