"""Whether a dotted name means something: the module it begins with is imported, the rest are attributes.

exists("triton.language.math.exp")    →    True
"""

from __future__ import annotations

import importlib
from typing import Any

_INSTEAD = {"triton.runtime.driver.active.": "triton.backends.nvidia.driver.CudaDriver."}
"""What stands for objects that exist with a GPU only."""


def exists(name: str) -> bool:
    """Whether `name` resolves, where there is no GPU too."""
    if _resolves(name):
        return True
    return any(name.startswith(key) and _resolves(value + name.removeprefix(key)) for key, value in _INSTEAD.items())


def _resolves(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        try:
            for part in parts[count:]:
                found = getattr(found, part)
        except Exception:
            continue
        return True
    return False
