"""Whether a dotted name means something: the module it begins with is imported, the rest are attributes.

exists("triton.language.math.exp")    →    True
"""

from __future__ import annotations

import importlib
from typing import Any

_INSTEAD = {
    "triton.runtime.driver.active.utils": "triton.backends.nvidia.driver.CudaUtils",
    "triton.runtime.driver.active": "triton.backends.nvidia.driver.CudaDriver",
}
"""What stands for objects that exist with a GPU only."""


def exists(name: str) -> bool:
    """Whether `name` resolves, where there is no GPU too."""
    if _resolves(name):
        return True
    instead = next(
        (value + name.removeprefix(key) for key, value in _INSTEAD.items() if (name + ".").startswith(key + ".")), None
    )
    return instead is not None and _resolves(instead)


def _resolves(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        if _has(found, parts[count:]):
            return True
    return False


def _has(found: Any, attributes: list[str]) -> bool:
    for attribute in attributes:
        try:
            found = getattr(found, attribute)
        except AttributeError:
            # What a class sets on its instances is known by its name alone.
            made = getattr(getattr(found, "__init__", None), "__code__", None)
            return isinstance(found, type) and made is not None and attribute in made.co_names
        except Exception:
            return True  # A setting that names a program which this machine has not.
    return True
