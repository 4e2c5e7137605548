"""`python wheel_surface.py`: the public names of every module of the `triton` package that is installed, as JSON.

{"triton.testing": {"do_bench": ["fn", "warmup", ...], "Benchmark": {...members}, ...}, ...}: a list is a function's parameters, an object
the public members of a class, null anything else. A module counts the names that it defines, a package (an `__init__`) also those
that it takes from its modules. Modules that cannot be imported are left out.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from types import ModuleType
from typing import Any

Names = dict[str, Any]

HIDDEN = {"_semantic", "_generator", "_builder"}
"""Parameters that only Triton's own frontend passes."""


def surface() -> dict[str, Names]:
    """Module → name → what it is."""
    triton = importlib.import_module("triton")
    found = [module.name for module in pkgutil.walk_packages(triton.__path__, "triton.", onerror=lambda name: None)]
    described: dict[str, Names] = {}
    for name in ["triton", *found]:
        try:
            described[name] = names_of(importlib.import_module(name))
        except Exception:
            continue
    return described


def names_of(module: ModuleType) -> Names:
    is_package = hasattr(module, "__path__")
    names: Names = {}
    for name, value in vars(module).items():
        if name.startswith("_") or isinstance(value, ModuleType):
            continue
        origin = getattr(value, "__module__", None)
        if origin != module.__name__ and not (is_package and isinstance(origin, str) and origin.startswith("triton")):
            continue
        names[name] = described(value)
    return names


def described(value: Any) -> Any:
    if isinstance(value, type):
        return sorted(m for m in vars(value) if not m.startswith("_")) and {
            m: None for m in vars(value) if not m.startswith("_")
        }
    function = getattr(value, "fn", value)
    if callable(function):
        try:
            return [p for p in inspect.signature(function).parameters if p not in HIDDEN]
        except (TypeError, ValueError):
            return None
    return None


if __name__ == "__main__":
    print(json.dumps(surface()))
