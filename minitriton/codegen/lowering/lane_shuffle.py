"""`shfl.sync`: values of other lanes of the warp."""

from __future__ import annotations

from xdsl.dialects import llvm as L
from xdsl.ir import SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.op_making import string_attr
from minitriton.codegen.types import I1, I32, lane_type
from minitriton.dialects import nvvm


def shuffle_xor(f: FunctionLowering, value: SSAValue, mask: int) -> SSAValue:
    """The value of the lane whose number differs in the bits of `mask`."""
    return shuffle(f, value, f.b.i32(mask), "bfly")


def shuffle(f: FunctionLowering, value: SSAValue, offset: SSAValue, kind: str) -> SSAValue:
    """`shfl.sync` of all lanes of a vector. Booleans travel as words."""
    if lane_type(value.type) is I1:
        wide = f.b.cast(L.ZExtOp, value, I32)
        return f.b.cast(L.TruncOp, shuffle(f, wide, offset, kind), I1)
    return f.b.value(nvvm.ShflSyncOp, (value, offset), value.type, {"kind": string_attr(kind)})
