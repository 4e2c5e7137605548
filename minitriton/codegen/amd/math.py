"""The `math` dialect: what the hardware computes is an intrinsic, the rest are the polynomials that serve every target.

    math.exp %x : f32    ->    llvm.exp2.f32(x * log2(e)), which keeps denormals
    math.rsqrt %x        ->    llvm.amdgcn.rsq.f32

LLVM expands `llvm.log.f32`, `llvm.sqrt.f32` and `fdiv` to correctly rounded or accurate sequences (AMDGPUUsage, "Floating-point").
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.ir import Operation, SSAValue

from minitriton.codegen.amd import LOWERINGS, lowers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering import device_math, device_math_f64
from minitriton.codegen.lowering.elementwise import Emit, on_vectors
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.inline_assembly import inline_assembly
from minitriton.codegen.lowering.math import by_width, each, overloaded
from minitriton.codegen.types import bit_width, scalar_type
from minitriton.dialects import arith, math, rocdl, tt
from minitriton.dialects.facts import DeviceFunction
from minitriton.errors import LoweringError

_LOG2_E = 1.4426950408889634


def _exp(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    return b.overloaded("llvm.exp2", (b.fmul(v[0], b.constant(v[0].type, _LOG2_E)),))


def _missing(what: str) -> Emit:
    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        raise LoweringError(f"{what} of f64 is not lowered for AMD's GPUs yet", help="compute it in f32")

    return emit


def _divided(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
    return b.float_binary(L.FDivOp, v[0], v[1])


LOWERINGS.update(
    {
        math.ExpOp: by_width(_exp, _missing("exp")),
        math.Exp2Op: by_width(each("llvm.amdgcn.exp2.f32"), _missing("exp2")),
        math.SqrtOp: by_width(each("llvm.amdgcn.sqrt.f32"), overloaded("llvm.sqrt")),
        math.RsqrtOp: by_width(each("llvm.amdgcn.rsq.f32"), _missing("rsqrt")),
        math.LogOp: by_width(overloaded("llvm.log"), _missing("log")),
        math.Log2Op: by_width(overloaded("llvm.log2"), _missing("log2")),
        math.SinOp: by_width(device_math.sin, device_math_f64.sin, f64_branches=True),
        math.CosOp: by_width(device_math.cos, device_math_f64.cos, f64_branches=True),
        math.ErfOp: by_width(device_math.erf("llvm.amdgcn.exp2.f32"), _missing("erf")),
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
    """Raises `LoweringError`: the functions of a device library are not there yet."""
    raise f.unsupported(op, "this function is not lowered for AMD's GPUs yet", help="write it with exp, log, sin, cos")
