"""What a dialect consists of: the ops, attributes and types that its front door names.

TT = Dialect("tt", *declared("tt", globals()))      every `tt.*` class that the module `tt` defines or imports
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Attribute, Operation


def declared(dialect: str, *namespaces: Mapping[str, Any]) -> tuple[list[type[Operation]], list[type[Attribute]]]:
    """The ops, and the attributes and types, called `dialect.*` among the values of `namespaces`."""
    operations: list[type[Operation]] = []
    attributes: list[type[Attribute]] = []
    for names in namespaces:
        for value in names.values():
            # `issubclass` would ask each of the hundred subclasses of these abstract classes.
            bases = value.__mro__ if isinstance(value, type) else ()
            if (Operation in bases or Attribute in bases) and getattr(value, "name", "").startswith(f"{dialect}."):
                (operations if Operation in bases else attributes).append(value)
    return operations, attributes
