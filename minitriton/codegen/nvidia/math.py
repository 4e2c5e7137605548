"""The `math` dialect and what Triton adds to it.

    math.exp %x : f32    ->   ex2.approx(x * log2(e))

What the hardware has an instruction for is one (`ex2`, `rsqrt`, `sqrt`, all but `ex2` of `exp` flushing denormals, as libdevice
does for Triton); logarithms, sine, cosine and the error function are polynomials (`device_math`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, StringAttr, UnitAttr
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
from minitriton.codegen.lowering.registry import Lowering
from minitriton.codegen.nvidia import LOWERINGS, device_math, device_math_f64, lowers
from minitriton.codegen.types import F16, F32, F64, lane_type, scalar_type, vector_type
from minitriton.dialects import arith, math, nvvm, tt
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import is_true, string_attr, word
from minitriton.dialects.facts import DeviceFunction
from minitriton.dialects.narrowing import instance_of

LOG2_E = 1.4426950408889634


def _each(callee: str) -> Emit:
    return lambda b, v: each_lane(b, callee, v, lane_type(v[0].type))


def _overloaded(name: str) -> Emit:
    return lambda b, v: b.overloaded(name, v)


def _exp(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    scaled = b.fmul(v[0], b.constant(v[0].type, LOG2_E))
    return each_lane(b, "llvm.nvvm.ex2.approx.f", (scaled,), F32)


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
        math.ExpOp: by_width(_exp, _each("__nv_exp")),
        math.Exp2Op: by_width(_each("llvm.nvvm.ex2.approx.ftz.f"), _each("__nv_exp2")),
        math.SqrtOp: by_width(_each("llvm.nvvm.sqrt.approx.ftz.f"), _overloaded("llvm.sqrt")),
        math.RsqrtOp: by_width(_each("llvm.nvvm.rsqrt.approx.ftz.f"), _each("__nv_rsqrt")),
        math.LogOp: by_width(device_math.log, _each("__nv_log")),
        math.Log2Op: by_width(device_math.log2, _each("__nv_log2")),
        math.SinOp: by_width(device_math.sin, device_math_f64.sin, f64_branches=True),
        math.CosOp: by_width(device_math.cos, device_math_f64.cos, f64_branches=True),
        math.ErfOp: by_width(device_math.erf, _each("__nv_erf")),
        arith.DivfOp: by_width(_each("llvm.nvvm.div.full"), _each("llvm.nvvm.div.rn.d")),
        tt.PreciseSqrtOp: by_width(_each("llvm.nvvm.sqrt.rn.f"), _each("llvm.nvvm.sqrt.rn.d")),
        tt.PreciseDivFOp: by_width(_each("llvm.nvvm.div.rn.f"), _each("llvm.nvvm.div.rn.d")),
        math.FloorOp: on_vectors(_overloaded("llvm.floor")),
        math.CeilOp: on_vectors(_overloaded("llvm.ceil")),
        math.FmaOp: on_vectors(_overloaded("llvm.fma")),
    }
)


def _without_highest_bit(b: Builder, values: Sequence[SSAValue]) -> SSAValue:
    return b.and_(values[0], b.constant(values[0].type, 0x7F))


@lowers(math.AbsFOp)
def absf(f: FunctionLowering, op: math.AbsFOp) -> None:
    """Without the sign. An 8-bit float is a byte whose highest bit is its sign."""
    if isinstance(scalar_type(op.result.type), AnyFloat):
        emit = _overloaded("llvm.fabs")
    else:
        emit = _without_highest_bit
    f.values[op.result] = apply(f, operands_of(f, op), emit)


@lowers(DeviceFunction)
def device_function(f: FunctionLowering, op: Operation) -> None:
    """A function of libdevice for every element."""
    names = DeviceFunction.of(op)
    assert names is not None
    by_width(_each(names.f32), _each(names.f64))(f, op)


@lowers(math.AbsIOp)
def absi(f: FunctionLowering, op: math.AbsIOp) -> None:
    """The absolute value; that of the smallest integer is itself."""

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        zero = b.constant(v[0].type, 0)
        return b.overloaded("llvm.smax", (v[0], b.sub(zero, v[0])))

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


@lowers(tt.ClampFOp)
def clampf(f: FunctionLowering, op: tt.ClampFOp) -> None:
    """`min(max(x, low), high)`; one instruction where the limits are opposite constants (sm_90)."""
    refuse_fp8(f, op)
    x, low, high = operands_of(f, op)
    nan = word(op.propagate_nan) == "all"
    element = scalar_type(op.results[0].type)
    if f.module.target.has_symmetric_clamp and element in (F16, F32) and _opposite(low, high):
        suffix = f"{'.nan' if nan else ''}.xorsign.abs.{'f' if element is F32 else 'f16'}"
        f.values[op.results[0]] = apply(f, [x, high], _each(f"llvm.nvvm.fmin{suffix}"))
        return
    upper, lower = ("llvm.maximum", "llvm.minimum") if nan else ("llvm.maxnum", "llvm.minnum")

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        return b.overloaded(lower, (b.overloaded(upper, (v[0], v[1])), v[2]))

    f.values[op.results[0]] = apply(f, [x, low, high], emit)


def _opposite(low: registers.Registers, high: registers.Registers) -> bool:
    values: list[float] = []
    for rep in (low, high):
        owner = rep.owner if registers.is_splat(rep) else None
        if not isinstance(owner, L.ConstantOp) or not instance_of(owner.value, (IntegerAttr, FloatAttr)):
            return False
        values.append(owner.value.value.data)
    return values[0] == -values[1] and values[1] >= 0


@lowers(tt.ExternElementwiseOp)
def extern_elementwise(f: FunctionLowering, op: tt.ExternElementwiseOp) -> None:
    """A device function by its name, for every register."""
    symbol = op.symbol
    assert isinstance(symbol, StringAttr)
    result = op.results[0]
    reps = operands_of(f, op)
    f.module.external_functions.add(symbol.data)
    element = scalar_type(result.type)
    if not reps:
        f.values[result] = f.b.value(ours.EachLaneOp, (), element, {"callee": string_attr(symbol.data)})
        return
    f.values[result] = apply(f, reps, lambda b, v: each_lane(b, symbol.data, v, element))


@lowers(tt.ElementwiseInlineAsmOp)
def elementwise_inline_asm(f: FunctionLowering, op: tt.ElementwiseInlineAsmOp) -> None:
    """Inline PTX, for as many registers at a time as it packs."""
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
    made = f.b.operation(nvvm.InlinePtxOp, operands, types, given)
    for result, value in zip(op.results, made.results, strict=True):
        f.values[result] = value
