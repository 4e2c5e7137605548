"""The op that writes a tensor map for a descriptor made in the kernel.

    tt.make_tensor_descriptor %p, [%m, %n], [%s, %1] : 64x128xf16     =>     ttng.tensormap_create %location, %p, [64, 64], [%n, %m],
                                                                             [%s * 2], [1, 1] {elem_type = 6, swizzle_mode = 3, ...}

Sizes run from the fastest dimension, strides count bytes. Counterpart of createTMADesc in
lib/Dialect/TritonNvidiaGPU/Transforms/TMAUtilities.cpp.
"""

from __future__ import annotations

from typing import Any, Protocol

from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.tensor_descriptors import box_shape, element_bytes, element_code, is_fp4_padded, swizzle_mode
from minitriton.dialects import arith, tt, ttng
from minitriton.dialects.locations import source_location
from minitriton.dialects.tt.enums import PaddingOption
from minitriton.dialects.tt.types import TensorDescType
from minitriton.errors import PassError
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.target.tensor_map import SIZE as TENSOR_MAP_BYTES

TENSOR_MAP_ALIGNMENT = 128


class Inserts(Protocol):
    """What puts ops somewhere: `Rewriter`, `Inserter`."""

    def insert(self, op: Any) -> Operation:
        """Puts a new op there."""
        ...


def write_tensor_map(at: Inserts, memory: SSAValue, op: tt.MakeTensorDescOp) -> None:
    """Writes the tensor map of `op` at `memory`. Raises `PassError` for fp4 pairs whose rows are too short to be spread out."""

    def value(op: Operation) -> SSAValue:
        return at.insert(op).results[0]

    def integer(number: int, type_: IntegerType = i32) -> SSAValue:
        return value(constant_op(int_attr(type_, number)))

    type_ = op.result.type
    assert isinstance(type_, TensorDescType)
    box = box_shape(type_)[::-1]
    padded = is_fp4_padded(type_)
    if padded and box[0] != TENSOR_MAP_BYTES:
        raise PassError("FP4 padded loads require 128 elements or more in the last dim", source_location(op.location))
    boxes = [integer(size) for size in box]
    width = integer(element_bytes(type_), i64)
    sizes = list(op.shape)[::-1]
    if padded:
        sizes[0] = value(arith.MuliOp(sizes[0], integer(2)))
    one = integer(1)
    strides = [value(arith.MuliOp(s, width)) for s in list(op.strides)[-2::-1]]
    at.insert(
        ttng.TensormapCreateOp(
            memory,
            op.base,
            boxes,
            sizes,
            strides,
            [one] * len(sizes),
            elem_type=element_code(type_),
            interleave_layout=0,
            swizzle_mode=swizzle_mode(type_),
            fill_mode=int(op.padding.data == PaddingOption.PAD_NAN),
        )
    )
