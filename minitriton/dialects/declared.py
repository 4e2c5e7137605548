"""What a dialect consists of: the ops, attributes and types that its front door names.

TT = Dialect("tt", *declared("tt", globals()))      every `tt.*` class that the module `tt` defines or imports
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Attribute, Operation


def declared(dialect: str, *namespaces: Mapping[str, Any]) -> tuple[list[type[Operation]], list[type[Attribute]]]:
    """The ops, and the attributes and types, called `dialect.*` among the values of `namespaces`."""
    classes = [value for names in namespaces for value in names.values() if isinstance(value, type)]
    named = [cls for cls in classes if str(getattr(cls, "name", "")).startswith(f"{dialect}.")]
    operations = [cls for cls in named if issubclass(cls, Operation)]
    return operations, [cls for cls in named if issubclass(cls, Attribute)]
