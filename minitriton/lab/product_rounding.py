"""How far numbers of a program may be from those of an interpreter, because its products round what they multiply.

    tl.dot of float32, input_precision="tf32"       tensor cores look at 10 bits of a float32's 23, multiply-adds and the interpreters at all
                       input_precision="bf16x3"     of two parts of 8 bits each, the product of the small ones is left out
    tl.dot of float8, a sum in float32              wgmma keeps 14 bits of what it adds up

Which of them a product becomes is the compiler's choice, so that neither is wrong.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float16Type, Float32Type, IntegerType, ModuleOp

from minitriton.analysis.operations import ops_of
from minitriton.dialects import tt, ttng
from minitriton.dialects.tt import InputPrecision
from minitriton.dialects.tt.types import element_type

_RELATIVE = {InputPrecision.TF32: 3e-2, InputPrecision.BF16x3: 1e-3}
"""Relative, and a tenth of it of the mean besides (`comparison.differing`). Either operand in tf32 is off by up to 2**-10 of itself: sums of
products of random signs are then off by 1e-3 of themselves and, in one of a million, by 2.5e-3 of the mean. What bf16x3 leaves out is up to
2**-16 of a product. The other precisions are as exact as float32's tolerance."""

_FLOAT8, _FLOAT8_IN_HALVES = 1e-2, 5e-2
"""Of products of float8: 2**-13 of the largest product, and of the sum, for each instruction. A sum in float16 is rounded after 16 or 32
elements of K, as the target has instructions for float8 or not."""


def rounding_of_products(module: ModuleOp) -> float:
    """The relative tolerance that the dots of `module` ask for; 0.0 where none rounds its operands."""
    return max(map(_rounding, ops_of(module, tt.DotOp, ttng.WarpGroupDotOp)), default=0.0)


def _rounding(dot: tt.DotOp | ttng.WarpGroupDotOp) -> float:
    element = element_type(getattr(dot.b.type, "element_type", dot.b.type))
    if isinstance(element, Float32Type):
        return _RELATIVE.get(dot.input_precision.data, 0.0)
    if getattr(element, "bitwidth", 0) != 8 or isinstance(element, IntegerType):
        return 0.0
    return _FLOAT8_IN_HALVES if isinstance(element_type(dot.c.type), Float16Type) else _FLOAT8
