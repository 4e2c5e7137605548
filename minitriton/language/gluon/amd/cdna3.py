"""CDNA3 (gfx942): accesses to memory by a scalar pointer and int32 offsets (buffer instructions), and MFMA. Declarations, see `declare.py`.

Atomic operations give what was there before; where `mask` is false nothing is done. `sem`, `scope`: as of `tl.atomic_add`.
"""

# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.values import ConstStr, Operand, tensor

__all__ = [
    "buffer_atomic_add", "buffer_atomic_and", "buffer_atomic_max", "buffer_atomic_min", "buffer_atomic_or", "buffer_atomic_xchg",
    "buffer_atomic_xor", "buffer_load", "buffer_store", "mfma",
]  # fmt: skip


@builtin
def buffer_load(
    ptr: tensor, offsets: tensor, mask: Operand | None = None, other: Operand | None = None, cache: ConstStr | None = None
) -> tensor:  # fmt: skip
    """What is at `ptr + offsets`; `other` where `mask` is false."""


@builtin
def buffer_store(
    stored_value: tensor, ptr: tensor, offsets: tensor, mask: Operand | None = None, cache: ConstStr | None = None
) -> None:
    """Stores a tensor at `ptr + offsets`, where `mask` is true."""


@builtin
def mfma(a: tensor, b: tensor, acc: tensor) -> tensor:
    """`a @ b + acc` by `v_mfma`: `acc` has an `AMDMFMALayout`, `a` and `b` are dot operands of it."""


@builtin
def buffer_atomic_max(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """The greater of what is there and `value`, put at `ptr + offsets`."""


@builtin
def buffer_atomic_min(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """The lesser of what is there and `value`, put at `ptr + offsets`."""


@builtin
def buffer_atomic_add(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """The sum, put at `ptr + offsets`."""


@builtin
def buffer_atomic_and(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """Bitwise and, put at `ptr + offsets`."""


@builtin
def buffer_atomic_or(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """Bitwise or, put at `ptr + offsets`."""


@builtin
def buffer_atomic_xor(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """Bitwise exclusive or, put at `ptr + offsets`."""


@builtin
def buffer_atomic_xchg(
    ptr: tensor, offsets: tensor, value: Operand, mask: Operand | None = None, sem: ConstStr | None = None, scope: ConstStr | None = None
) -> tensor:  # fmt: skip
    """`value` itself, put at `ptr + offsets`."""
