"""The `math` dialect and what Triton adds to it.

    math.exp %x : f32    ->   ex2.approx(x * log2(e))

What the hardware has an instruction for is one (`ex2`, `rsqrt`, `sqrt`, all but `ex2` of `exp` flushing denormals, as libdevice
does for Triton); logarithms, sine, cosine and the error function are polynomials (`device_math`).
"""

import importlib
from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects import scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.codegen import registers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering import device_math
from minitriton.codegen.lowering.elementwise import apply, apply_lazily, each_lane, operands_of, refuse_fp8
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.math import Emit, by_width, clamped, each, inline_assembly, overloaded
from minitriton.codegen.nvidia import LOWERINGS, lowers
from minitriton.codegen.registers import Constants, Pointwise, Range, Registers
from minitriton.codegen.types import F16, F32, I32, scalar_type
from minitriton.dialects import arith, math, nvvm, tt
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import string_attr, word
from minitriton.dialects.facts import DeviceFunction
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.constants import constant_attr

LOG2_E = 1.4426950408889634


def _exp(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    scaled = b.fmul(v[0], b.constant(v[0].type, LOG2_E))
    return each_lane(b, "llvm.nvvm.ex2.approx.f", (scaled,), F32)


def _f64(name: str) -> Emit:
    """A function of `device_math_f64`, which few kernels ask for."""
    return lambda b, v: getattr(importlib.import_module("minitriton.codegen.lowering.device_math_f64"), name)(b, v)


LOWERINGS.update(
    {
        math.ExpOp: by_width(_exp, each("__nv_exp")),
        math.Exp2Op: by_width(each("llvm.nvvm.ex2.approx.ftz.f"), each("__nv_exp2")),
        math.SqrtOp: by_width(each("llvm.nvvm.sqrt.approx.ftz.f"), overloaded("llvm.sqrt")),
        math.RsqrtOp: by_width(each("llvm.nvvm.rsqrt.approx.ftz.f"), each("__nv_rsqrt")),
        math.LogOp: by_width(device_math.log, each("__nv_log")),
        math.Log2Op: by_width(device_math.log2, each("__nv_log2")),
        math.SinOp: by_width(device_math.sin, _f64("sin"), f64_branches=True),
        math.CosOp: by_width(device_math.cos, _f64("cos"), f64_branches=True),
        math.ErfOp: by_width(device_math.erf("llvm.nvvm.ex2.approx.ftz.f"), each("__nv_erf")),
        arith.DivfOp: by_width(each("llvm.nvvm.div.full"), each("llvm.nvvm.div.rn.d")),
        tt.PreciseSqrtOp: by_width(each("llvm.nvvm.sqrt.rn.f"), each("llvm.nvvm.sqrt.rn.d")),
        tt.PreciseDivFOp: by_width(each("llvm.nvvm.div.rn.f"), each("llvm.nvvm.div.rn.d")),
    }
)


@lowers(arith.MuliOp)
def multiply(f: FunctionLowering, op: arith.MuliOp) -> None:
    """Of a range by a stride, in a function without loops: multiples of the stride on top of the base times the stride.

        (base | 2) * stride, (base | 4) * stride, ...     ->     first = base * stride;  2 * stride + first, 4 * stride + first, ...

    One instruction each (`mad.lo`) where two were, and none waits for the one before. Of a copy of the stride, which LLVM would take out again. Loops would
    keep the multiples, a register each (a batched matmul took 139 registers for 127; 2026-11-28).
    """
    reps = operands_of(f, op)
    found = _range_and_stride(f, op, reps)
    if found is None:
        f.values[op.result] = apply_lazily(f, op.result, reps, _product)
        return
    rep, stride = found
    copy = f.b.inline_asm("mov.b32 $0, $1;", "=r,r", [stride], I32, pure=True)
    assert copy is not None
    multiples = Pointwise(_product, (Constants(rep.offsets, I32), copy), rep.count, I32, f.b.location)
    first = _product(f.b, (rep.base, stride))
    f.values[op.result] = apply_lazily(f, op.result, (first, multiples), lambda b, v: b.add(v[0], v[1]))


def _product(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    return b.binary(L.MulOp, v[0], v[1])


LEAST_ROWS = 8
"""Of a thread, for which the copy of the stride and another first row pay."""


def _range_and_stride(
    f: FunctionLowering, op: arith.MuliOp, reps: Sequence[Registers]
) -> tuple[Range, SSAValue] | None:
    for rep, stride, operand in ((*reps, op.lhs), (*reps[::-1], op.rhs)):
        if (
            isinstance(rep, Range)
            and registers.is_splat(stride)
            and stride.type is I32
            and len({*rep.offsets}) >= LEAST_ROWS
        ):
            is_only_multiplied = constant_attr(op.rhs) is None and _are_products_and_masks(f, operand)
            return (
                (rep, stride) if is_only_multiplied and _has_few_masks(f, op.parent_op(), len({*rep.offsets})) else None
            )
    return None


def _are_products_and_masks(f: FunctionLowering, value: SSAValue) -> bool:
    """Whether a range is for nothing else, or for addresses of vectors: its registers cost nothing where most are needed anyway."""
    for use in value.uses:
        op = use.operation
        if isinstance(op, tt.ExpandDimsOp | tt.BroadcastOp):
            if not _are_products_and_masks(f, op.results[0]):
                return False
        elif isinstance(op, tt.AddPtrOp):
            accesses = [other.operation for other in op.results[0].uses]
            if not all(
                isinstance(each, tt.LoadOp | tt.StoreOp) and access_width(f.module.axis, each).width > 1
                for each in accesses
            ):
                return False
        elif not isinstance(op, arith.MuliOp | arith.CmpiOp):
            return False
    return True


def _has_few_masks(f: FunctionLowering, function: Operation | None, count: int) -> bool:
    """Whether a function has no loop, and no comparison of most of `count` registers one by one."""
    if not isinstance(function, tt.FuncOp):
        return False
    for op in (op for block in function.body.blocks for op in block.ops):
        if isinstance(op, scf.ForOp | scf.WhileOp):
            return False
        if isinstance(op, arith.CmpiOp) and instance_of(op.result.type, TensorType):
            equal = f.equal_registers(op.result)
            if 2 * (f.count(op.result) if equal is None else len(equal[0])) > count:
                return False
    return True


@lowers(DeviceFunction)
def device_function(f: FunctionLowering, op: Operation) -> None:
    """A function of libdevice for every element."""
    names = DeviceFunction.of(op)
    assert names is not None
    by_width(each(names.f32), each(names.f64))(f, op)


@lowers(tt.ClampFOp)
def clampf(f: FunctionLowering, op: tt.ClampFOp) -> None:
    """`min(max(x, low), high)`; one instruction where the limits are opposite constants (sm_90)."""
    refuse_fp8(f, op)
    x, low, high = operands_of(f, op)
    nan = word(op.propagate_nan) == "all"
    element = scalar_type(op.results[0].type)
    if f.module.target.has_symmetric_clamp and element in (F16, F32) and _opposite(low, high):
        suffix = f"{'.nan' if nan else ''}.xorsign.abs.{'f' if element is F32 else 'f16'}"
        f.values[op.results[0]] = apply(f, [x, high], each(f"llvm.nvvm.fmin{suffix}"))
        return
    clamped(f, op)


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
    inline_assembly(f, op, nvvm.InlinePtxOp)
