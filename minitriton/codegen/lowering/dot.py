"""`tt.dot`: chosen by the layout of the result; here, multiply-adds of registers.

With a blocked result every thread holds the whole rows and columns that it needs: for each k one multiply-add of vectors, whose
lanes are the thread's elements of the result. The order of additions is Triton's (FMA.cpp): k upwards, starting from c.
"""

from collections.abc import Callable

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.lowering.casts import resized
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.types import lane_type
from minitriton.dialects import tt
from minitriton.dialects.ttg import layout_of
from minitriton.layouts.encodings import Encoding, NvidiaMma

DOT_RULES: dict[type[Encoding], Callable[[FunctionLowering, Operation], None]] = {}
"""The rule for `tt.dot` by the encoding of its result; what is not listed is lowered to multiply-adds."""


@lowers(tt.DotOp)
def dot(f: FunctionLowering, op: tt.DotOp) -> None:
    encoding = layout_of(op.results[0].type)
    rule = multiply_add if encoding is None else DOT_RULES.get(type(encoding), multiply_add)
    if rule is multiply_add and isinstance(encoding, NvidiaMma):
        raise f.unsupported(op, "a dot on tensor cores of this kind", help="use a blocked layout for the result")
    rule(f, op)


def multiply_add(f: FunctionLowering, op: Operation) -> None:
    """One vector multiply-add for each k."""
    b = f.b
    first, second, third = op.operands[:3]
    result = op.results[0]
    total = f.vector(third)
    element = lane_type(total.type)
    left, right = (_as_element(f, f.vector(operand), element) for operand in (first, second))
    register_of_a, register_of_b = (f.facts(operand.type).layout.register_of for operand in (first, second))
    offsets = f.facts(result.type).layout.offsets
    depth = f.facts(first.type).shape[-1]
    floating = isinstance(element, AnyFloat)
    for k in range(depth):
        x = b.permute(left, [register_of_a[(*o[:-1], k)] for o in offsets])
        y = b.permute(right, [register_of_b[(*o[:-2], k, o[-1])] for o in offsets])
        total = b.overloaded("llvm.fma", (x, y, total)) if floating else b.add(b.mul(x, y), total)
    f.values[result] = total


def _as_element(f: FunctionLowering, value: SSAValue, element: Attribute) -> SSAValue:
    if isinstance(element, AnyFloat):
        return resized(f.b, value, element)
    return f.b.cast(L.SExtOp, value, element) if lane_type(value.type) is not element else value
