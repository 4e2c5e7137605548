"""The `nvvm` ops on the elements of vectors in global memory that a mask ends in: all but the last element, each if its mask says so.

%w = "nvvm.ld.global.partial"(%p0, %m0, %m1, %m2, %v) {vector_width = 4} : vector<4xf32>

@%m0 ld.global.b32 %w0, [%p0];  @%m1 ld.global.b32 %w1, [%p0+4];  @%m2 ld.global.b32 %w2, [%p0+8];      w3 = v3
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.irdl import (
    AnyAttr,
    operand_def,
    opt_prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.llvm import GLOBAL, lanes
from minitriton.dialects.nvvm.base import words_of
from minitriton.dialects.nvvm.memory import GlobalAccessOp


def _check_partial(op: LoadPartialOp | StorePartialOp, registers: int) -> None:
    width, pointers = op.vector_width.value.data, len(op.pointers)
    if width < 2 or width & (width - 1):
        raise VerifyException(f"{op.name}: vector_width must be a power of 2 above 1, got {width}")
    if pointers * width != registers:
        raise VerifyException(f"{op.name}: {pointers} pointers of {width} elements do not make {registers} registers")
    if len(op.masks) != pointers * (width - 1):
        raise VerifyException(f"{op.name}: needs {width - 1} masks for each pointer, got {len(op.masks)} in all")


class LoadPartialOp(GlobalAccessOp):
    """Loads elements of the vectors at `pointers` whose masks are true, of each vector all but the last; the others, and the last, are those of
    `other`. `cache`, `evict`, `prefetch` and `policy` are those of `nvvm.ld.global`."""

    name = "nvvm.ld.global.partial"
    CLOBBERS: ClassVar = ()

    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)
    other = operand_def(AnyAttr())
    res = result_def(AnyAttr())
    prefetch = opt_prop_def(IntegerAttr)

    def verify_(self) -> None:
        _check_partial(self, lanes(self.res.type))
        if self.other.type != self.res.type:
            raise VerifyException(f"{self.name}: `other` must have the type of the result")

    def ptx(self) -> str:
        """Of one vector."""
        words = words_of(self.res.type, 1)
        modifiers, hint = self.cache_modifiers(self.prefetch)
        return "\n\t".join(
            f"@$masks.{i} ld.global{modifiers}.b{words.bits} $res.{i}, [ $pointers + {i * words.bits // 8} ]{hint};"
            for i in range(self.vector_width.value.data - 1)
        )


class StorePartialOp(GlobalAccessOp):
    """Stores elements of `value` to the vectors at `pointers` where masks are true, of each vector all but the last."""

    name = "nvvm.st.global.partial"

    value = operand_def(AnyAttr())
    pointers = var_operand_def(GLOBAL)
    masks = var_operand_def(i1)

    def verify_(self) -> None:
        _check_partial(self, lanes(self.value.type))

    def ptx(self) -> str:
        """Of one vector."""
        words = words_of(self.value.type, 1)
        modifiers, hint = self.cache_modifiers()
        return "\n\t".join(
            f"@$masks.{i} st.global{modifiers}.b{words.bits} [ $pointers + {i * words.bits // 8} ], $value.{i}{hint};"
            for i in range(self.vector_width.value.data - 1)
        )
