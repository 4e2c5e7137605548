"""The `math` dialect: what the hardware computes is an intrinsic, the rest are the polynomials that serve every target.

    math.exp %x : f32    ->    llvm.amdgcn.exp2.f32(x * log2(e)), with denormals
    math.rsqrt %x        ->    llvm.amdgcn.rsq.f32

LLVM expands `llvm.log.f32`, `llvm.sqrt.f32` and `fdiv` to correctly rounded or accurate sequences (AMDGPUUsage, "Floating-point").
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from minitriton.codegen.amd import LOWERINGS, lowers
from minitriton.codegen.amd.device_library import PREFIX, function_of, ocml
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering import device_math, device_math_f64
from minitriton.codegen.lowering.elementwise import apply, on_vectors, operands_of
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.math import by_width, each, inline_assembly, overloaded
from minitriton.codegen.types import F32, F64, bit_width, scalar_type
from minitriton.dialects import arith, math, rocdl, tt
from minitriton.dialects.facts import DeviceFunction

_LOG2_E = 1.4426950408889634


_RAISED = 32
"""By how much a power below the least normal one is raised: to those of all denormals."""
_LEAST = -126
"""Of a normal f32."""
_STEPS = 2.0**17
"""Of f32 next to `_LEAST`, in a unit."""


def _exp(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    """2^y for y = x * log2(e); `v_exp_f32` flushes denormals.

    u = 1 where y < -126, else 0; 2^y = v_exp(y + 32 u) * r * r with r = 2^(-16 u), of which the last multiplication alone rounds. As LLVM expands
    `llvm.exp2`, with a comparison and two selects, it takes more instructions and a pair of SGPRs an element.
    """
    type_ = v[0].type

    def number(value: float) -> SSAValue:
        return b.constant(type_, value)

    power = b.fmul(v[0], number(_LOG2_E))
    below = b.overloaded("llvm.fma", (power, number(-_STEPS), number(_STEPS * _LEAST)))
    below = b.overloaded("llvm.minnum", (b.overloaded("llvm.maxnum", (below, number(0.0))), number(1.0)))
    raised = _exp2(b, (b.overloaded("llvm.fma", (below, number(float(_RAISED)), power)),))
    root = b.overloaded("llvm.fma", (below, number(2.0 ** (-_RAISED / 2) - 1), number(1.0)))
    return b.fmul(b.fmul(raised, root), root)


_exp2 = each("llvm.amdgcn.exp2.f32")


def _divided(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    return b.float_binary(L.FDivOp, v[0], v[1])


LOWERINGS.update(
    {
        math.ExpOp: by_width(_exp, ocml("exp_f64", F64)),
        math.Exp2Op: by_width(_exp2, ocml("exp2_f64", F64)),
        math.SqrtOp: by_width(each("llvm.amdgcn.sqrt.f32"), overloaded("llvm.sqrt")),
        math.RsqrtOp: by_width(each("llvm.amdgcn.rsq.f32"), ocml("rsqrt_f64", F64)),
        math.LogOp: by_width(overloaded("llvm.log"), ocml("log_f64", F64)),
        math.Log2Op: by_width(overloaded("llvm.log2"), ocml("log2_f64", F64)),
        math.SinOp: by_width(device_math.sin, device_math_f64.sin, f64_branches=True),
        math.CosOp: by_width(device_math.cos, device_math_f64.cos, f64_branches=True),
        math.ErfOp: by_width(device_math.erf("llvm.amdgcn.exp2.f32"), ocml("erf_f64", F64)),
        arith.DivfOp: on_vectors(_divided),
        tt.PreciseSqrtOp: on_vectors(overloaded("llvm.sqrt")),
        tt.PreciseDivFOp: on_vectors(_divided),
    }
)


@lowers(tt.ElementwiseInlineAsmOp)
def elementwise_inline_asm(f: FunctionLowering, op: tt.ElementwiseInlineAsmOp) -> None:
    """Inline AMDGCN, for as many registers at a time as it packs."""
    for value in (*op.operands, *op.results):
        bits = bit_width(scalar_type(value.type))
        if bits * op.packed_element.value.data < 16:
            raise f.unsupported(
                op, f"elements of {bits} bits in inline assembly", help="pack several into a register: pack=4"
            )
    inline_assembly(f, op, rocdl.InlineAsmOp)


@lowers(DeviceFunction)
def device_function(f: FunctionLowering, op: Operation) -> None:
    """A function that LLVM or ROCm's library has, for every element."""
    names = DeviceFunction.of(op)
    assert names is not None
    count = len(op.operands)
    by_width(function_of(names.f32, [F32] * count, F32), function_of(names.f64, [F64] * count, F64))(f, op)


@lowers(tt.ExternElementwiseOp)
def extern_elementwise(f: FunctionLowering, op: tt.ExternElementwiseOp) -> None:
    """A function by its name in NVIDIA's library, or of a library that the compile names."""
    assert isinstance(op.symbol, StringAttr)
    result, reps = op.results[0], operands_of(f, op)
    element = scalar_type(result.type)
    symbol = op.symbol.data.replace("__triton_hip_", "__nv_")  # Triton's own names on AMD's GPUs, of the same functions
    if symbol.startswith("__nv_"):
        kinds = [scalar_type(value.type) for value in op.operands]
        f.values[result] = apply(f, reps, function_of(symbol, kinds, element))
    elif symbol.startswith(PREFIX) and reps:
        f.values[result] = apply(f, reps, ocml(symbol.removeprefix(PREFIX), element))
    else:
        raise f.unsupported(
            op, f"the function {symbol}, which is not of libdevice", help="write it in Python, or with functions of tl"
        )
