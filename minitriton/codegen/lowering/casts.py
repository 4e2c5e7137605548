"""Conversions between numbers, to nearest even. Those that each target makes differently (8-bit floats, towards zero) are rules of its own."""

from __future__ import annotations

from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.elementwise import apply, operands_of
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import LOWERINGS, Lowering, lowers
from minitriton.codegen.types import (
    F32,
    bit_width,
    element_type,
    lane_type,
    scalar_type,
)
from minitriton.dialects import arith, tt
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import word


def resized(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """A float as another kind of float, to nearest even."""
    source = lane_type(value.type)
    if source is element:
        return value
    before, after = bit_width(source), bit_width(element)
    if before == after:
        return b.cast(L.FPTruncOp, b.cast(L.FPExtOp, value, F32), element)
    return b.cast(L.FPExtOp if after > before else L.FPTruncOp, value, element)


@lowers(arith.ExtFOp, arith.TruncFOp)
def float_resize(f: FunctionLowering, op: arith.ExtFOp | arith.TruncFOp | tt.FpToFpOp) -> None:
    element = scalar_type(op.results[0].type)
    f.values[op.results[0]] = apply(f, operands_of(f, op), lambda b, v: resized(b, v[0], element))


def _number_cast(cls: type[Operation]) -> Lowering:
    def lower(f: FunctionLowering, op: Operation) -> None:
        element = scalar_type(op.results[0].type)
        f.values[op.results[0]] = apply(f, operands_of(f, op), lambda b, v: b.cast(cls, v[0], element))

    return lower


LOWERINGS.update(
    {
        arith.FPToSIOp: _number_cast(ours.FPToSIOp),
        arith.FPToUIOp: _number_cast(ours.FPToUIOp),
        arith.SIToFPOp: _number_cast(L.SIToFPOp),
        arith.UIToFPOp: _number_cast(ours.UIToFPOp),
    }
)


@lowers(tt.FpToFpOp)
def fp_to_fp(f: FunctionLowering, op: tt.FpToFpOp) -> None:
    """To nearest even, between floats of 16, 32 and 64 bits."""
    types = [element_type(value.type) for value in (op.operands[0], op.results[0])]
    if any(bit_width(type_) < 16 for type_ in types) or (op.rounding is not None and word(op.rounding) == "rtz"):
        raise f.unsupported(op, f"{types[0]} to {types[1]} so rounded is not a conversion of {f.module.backend}")
    float_resize(f, op)
