"""The functions of `math` that LLVM has on every target, and how functions of elements are lowered by the width of these.

math.floor %x : tensor<f32>    ->    llvm.floor on the whole vector

`tt.elementwise_inline_asm`: one op of the target's dialect for all registers of a thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import AnyFloat, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.elementwise import (
    Emit,
    apply,
    apply_to_registers,
    each_lane,
    on_vectors,
    operands_of,
    refuse_fp8,
    width,
)
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import LOWERINGS, Lowering, lowers
from minitriton.codegen.types import F32, F64, lane_type, scalar_type, vector_type
from minitriton.dialects import math, tt
from minitriton.dialects.attribute_values import is_true, word


def inline_assembly(f: FunctionLowering, op: tt.ElementwiseInlineAsmOp, made_by: type[Operation]) -> None:
    """`made_by` takes text, constraints, and for how many elements the text is."""
    reps = operands_of(f, op)
    count = max([width(reps), *(f.count(result) for result in op.results)])
    operands = [registers.vector(f.b, rep, count) for rep in reps]
    types = [vector_type(scalar_type(result.type), count) for result in op.results]
    given: dict[str, Attribute] = {
        "asm_string": op.asm_string,
        "constraints": op.constraints,
        "packed": op.packed_element,
    }
    if is_true(op.pure):
        given["pure"] = UnitAttr()
    made = f.b.operation(made_by, operands, types, given)
    for result, value in zip(op.results, made.results, strict=True):
        f.values[result] = value


def each(callee: str) -> Emit:
    """A scalar function for every lane."""
    return lambda b, v: each_lane(b, callee, v, lane_type(v[0].type))


def overloaded(name: str) -> Emit:
    """An intrinsic of LLVM's on the whole vector."""
    return lambda b, v: b.overloaded(name, v)


def by_width(f32: Emit, f64: Emit, *, f64_branches: bool = False) -> Lowering:
    """By the width of the operands; narrower floats go through 32 bits. `f64_branches`: better once for all registers than for each."""

    def lower(f: FunctionLowering, op: Operation) -> None:
        result = op.results[0]
        element = scalar_type(result.type)
        if element is F64 and f64_branches:
            f.values[result] = apply(f, operands_of(f, op), f64)
            return
        emit = f64 if element is F64 else f32 if element is F32 else _through_f32(f32, element)
        f.values[result] = apply_to_registers(f, result, operands_of(f, op), emit)

    return lower


def _through_f32(emit: Emit, element: Attribute) -> Emit:
    def narrow(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        return b.cast(L.FPTruncOp, emit(b, [b.cast(L.FPExtOp, x, F32) for x in v]), element)

    return narrow


LOWERINGS.update(
    {
        math.FloorOp: on_vectors(overloaded("llvm.floor")),
        math.CeilOp: on_vectors(overloaded("llvm.ceil")),
        math.FmaOp: on_vectors(overloaded("llvm.fma")),
    }
)


def _without_highest_bit(b: Builder, values: Sequence[SSAValue]) -> SSAValue:
    return b.and_(values[0], b.constant(values[0].type, 0x7F))


@lowers(math.AbsFOp)
def absf(f: FunctionLowering, op: math.AbsFOp) -> None:
    """Without the sign. An 8-bit float is a byte whose highest bit is its sign."""
    emit = overloaded("llvm.fabs") if isinstance(scalar_type(op.result.type), AnyFloat) else _without_highest_bit
    f.values[op.result] = apply(f, operands_of(f, op), emit)


@lowers(math.AbsIOp)
def absi(f: FunctionLowering, op: math.AbsIOp) -> None:
    """The absolute value; that of the smallest integer is itself."""

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        zero = b.constant(v[0].type, 0)
        return b.overloaded("llvm.smax", (v[0], b.sub(zero, v[0])))

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


@lowers(tt.ClampFOp)
def clamped(f: FunctionLowering, op: tt.ClampFOp) -> None:
    """`min(max(x, low), high)`."""
    refuse_fp8(f, op)
    nan = word(op.propagate_nan) == "all"
    upper, lower = ("llvm.maximum", "llvm.minimum") if nan else ("llvm.maxnum", "llvm.minnum")

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        return b.overloaded(lower, (b.overloaded(upper, (v[0], v[1])), v[2]))

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)
