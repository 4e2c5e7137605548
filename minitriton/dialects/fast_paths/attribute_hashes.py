"""Hashes of types and constants, computed once for each object.

xDSL's attributes are frozen dataclasses, whose hash goes through all that is in them at each look into a dictionary: 1 to 3 microseconds for a type of
tensors, 7 calls of `hash` for one; a tenth of the time from source to LLVM IR (2026-11-22). The classes that the compiler looks up most keep theirs. What is equal and which
hash it has stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute

_HASH = "_minitriton_hash"


def keep_hash(kind: type[Attribute]) -> None:
    """Has attributes of class `kind` keep their hash once it was asked for."""
    computed: Callable[[Attribute], int] = kind.__hash__

    def __hash__(self: Any) -> int:
        try:
            return self._minitriton_hash
        except AttributeError:
            value = computed(self)
            object.__setattr__(self, _HASH, value)
            return value

    def __getstate__(self: Attribute) -> dict[str, object]:
        """Without the hash, which another process would not agree with."""
        return {name: value for name, value in vars(self).items() if name != _HASH}

    kind.__hash__ = __hash__  # pyright: ignore[reportAttributeAccessIssue]
    kind.__getstate__ = __getstate__  # pyright: ignore[reportAttributeAccessIssue]


for each in (TensorType, DenseIntOrFPElementsAttr, IntegerType, IntegerAttr, FileLineColLoc):
    keep_hash(each)
