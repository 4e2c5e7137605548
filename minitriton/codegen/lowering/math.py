"""The `math` dialect and what Triton adds to it.

    math.exp %x : f32    ->   ex2.approx(x * log2(e))

What the hardware has an instruction for is one (`ex2`, `rsqrt`, `sqrt`, all but `ex2` of `exp` flushing denormals, as libdevice
does for Triton); logarithms, sine, cosine and the error function are polynomials (`device_math`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering import device_math
from minitriton.codegen.lowering.elementwise import Emit, apply, each_lane, operands_of, width
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers, lowers_all
from minitriton.codegen.op_making import string_attr
from minitriton.codegen.types import F16, F32, F64, lane_type, scalar_type, vector_type
from minitriton.dialects import nvvm
from minitriton.dialects.facts import DeviceFunction

LOG2_E = 1.4426950408889634


def _each(callee: str) -> Emit:
    return lambda b, v: each_lane(b, callee, v, lane_type(v[0].type))


def _overloaded(name: str) -> Emit:
    return lambda b, v: b.overloaded(name, v)


def _exp(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    scaled = b.fmul(v[0], b.constant(v[0].type, LOG2_E))
    return each_lane(b, "llvm.nvvm.ex2.approx.f", (scaled,), F32)


_F32: dict[str, Emit] = {
    "math.exp": _exp,
    "math.exp2": _each("llvm.nvvm.ex2.approx.ftz.f"),
    "math.sqrt": _each("llvm.nvvm.sqrt.approx.ftz.f"),
    "math.rsqrt": _each("llvm.nvvm.rsqrt.approx.ftz.f"),
    "math.log": device_math.log,
    "math.log2": device_math.log2,
    "math.sin": device_math.sin,
    "math.cos": device_math.cos,
    "math.erf": device_math.erf,
    "arith.divf": _each("llvm.nvvm.div.full"),
    "tt.precise_sqrt": _each("llvm.nvvm.sqrt.rn.f"),
    "tt.precise_divf": _each("llvm.nvvm.div.rn.f"),
}

_F64: dict[str, Emit] = {
    "math.sqrt": _overloaded("llvm.sqrt"),
    "arith.divf": _each("llvm.nvvm.div.rn.d"),
    "tt.precise_sqrt": _each("llvm.nvvm.sqrt.rn.d"),
    "tt.precise_divf": _each("llvm.nvvm.div.rn.d"),
    "math.exp": _each("__nv_exp"),
    "math.exp2": _each("__nv_exp2"),
    "math.log": _each("__nv_log"),
    "math.log2": _each("__nv_log2"),
    "math.sin": _each("__nv_sin"),
    "math.cos": _each("__nv_cos"),
    "math.erf": _each("__nv_erf"),
    "math.rsqrt": _each("__nv_rsqrt"),
}

_ANY: dict[str, Emit] = {
    "math.floor": _overloaded("llvm.floor"),
    "math.ceil": _overloaded("llvm.ceil"),
    "math.fma": _overloaded("llvm.fma"),
    "math.absf": _overloaded("llvm.fabs"),
}


@lowers(*{*_F32, *_F64, *_ANY})
def math(f: FunctionLowering, op: Operation) -> None:
    """By the width of the operands; 16-bit floats go through 32 bits."""
    result = op.results[0]
    element = scalar_type(result.type)
    reps = operands_of(f, op)
    emit = _ANY.get(op.name)
    if emit is not None and element.name.startswith(("f", "bf")):
        f.values[result] = apply(f, reps, emit)
    elif element is F64:
        f.values[result] = apply(f, reps, _F64[op.name])
    elif element is F32:
        f.values[result] = apply(f, reps, _F32[op.name])
    elif op.name == "math.absf":
        # An 8-bit float is a byte whose highest bit is its sign.
        f.values[result] = apply(f, reps, lambda b, v: b.and_(v[0], b.constant(v[0].type, 0x7F)))
    else:
        narrow = _F32[op.name]

        def through_f32(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
            wide = narrow(b, [b.cast(L.FPExtOp, x, F32) for x in v])
            return b.cast(L.FPTruncOp, wide, element)

        f.values[result] = apply(f, reps, through_f32)


@lowers_all(DeviceFunction)
def device_function(f: FunctionLowering, op: Operation) -> None:
    """A function of libdevice for every element; narrower floats go through f32."""
    names = DeviceFunction.of(op)
    assert names is not None
    result = op.results[0]
    element = scalar_type(result.type)

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        if element in (F32, F64):
            return each_lane(b, names.f64 if element is F64 else names.f32, v, element)
        wide = each_lane(b, names.f32, [b.cast(L.FPExtOp, x, F32) for x in v], F32)
        return b.cast(L.FPTruncOp, wide, element)

    f.values[result] = apply(f, operands_of(f, op), emit)


@lowers("math.absi")
def absi(f: FunctionLowering, op: Operation) -> None:
    """The absolute value; that of the smallest integer is itself."""

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        zero = b.constant(v[0].type, 0)
        return b.overloaded("llvm.smax", (v[0], b.sub(zero, v[0])))

    f.values[op.results[0]] = apply(f, operands_of(f, op), emit)


@lowers("tt.clampf")
def clampf(f: FunctionLowering, op: Operation) -> None:
    """`min(max(x, low), high)`; one instruction where the limits are opposite constants (sm_90)."""
    x, low, high = operands_of(f, op)
    nan = str(getattr(op.properties.get("propagateNan"), "data", "none")) == "all"
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
        owner = rep.owner if registers.is_splat(rep) else None  # pyright: ignore[reportAttributeAccessIssue]
        if not isinstance(owner, L.ConstantOp):
            return False
        values.append(owner.value.value.data)  # pyright: ignore[reportAttributeAccessIssue]
    return values[0] == -values[1] and values[1] >= 0


@lowers("tt.extern_elementwise")
def extern_elementwise(f: FunctionLowering, op: Operation) -> None:
    """A device function by its name, for every register."""
    symbol = op.properties["symbol"]
    assert isinstance(symbol, StringAttr)
    result = op.results[0]
    reps = operands_of(f, op)
    f.module.external_functions.add(symbol.data)
    element = scalar_type(result.type)
    if not reps:
        f.values[result] = f.b.value(nvvm.EachLaneOp, (), element, {"callee": string_attr(symbol.data)})
        return
    f.values[result] = apply(f, reps, lambda b, v: each_lane(b, symbol.data, v, element))


@lowers("tt.elementwise_inline_asm")
def elementwise_inline_asm(f: FunctionLowering, op: Operation) -> None:
    """Inline PTX, for as many registers at a time as it packs."""
    properties = op.properties
    reps = operands_of(f, op)
    count = max([width(reps), *(f.count(result) for result in op.results)])
    operands = [registers.vector(f.b, rep, count) for rep in reps]
    types = [vector_type(scalar_type(result.type), count) for result in op.results]
    given = {
        "asm_string": properties["asm_string"],
        "constraints": properties["constraints"],
        "packed": properties["packed_element"],
    }
    pure = properties.get("pure")
    if pure is not None and getattr(getattr(pure, "value", None), "data", 1):
        given["pure"] = UnitAttr()
    made = f.b.operation(nvvm.InlinePtxOp, operands, types, given)
    for result, value in zip(op.results, made.results, strict=True):
        f.values[result] = value
