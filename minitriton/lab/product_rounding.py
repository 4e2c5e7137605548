"""How far numbers of a program may be from those of an interpreter, because its products round what they multiply.

    tl.dot of float32, input_precision="tf32"       tensor cores look at 10 bits of a float32's 23, multiply-adds and the interpreters at all
                       input_precision="bf16x3"     of two parts of 8 bits each, the product of the small ones is left out

Which of them a product becomes is the compiler's choice, so that neither is wrong.
"""

from __future__ import annotations

from xdsl.dialects.builtin import Float32Type, ModuleOp

from minitriton.analysis.operations import ops_of
from minitriton.dialects import tt, ttng
from minitriton.dialects.tt import InputPrecision
from minitriton.dialects.tt.types import element_type

_RELATIVE = {InputPrecision.TF32: 3e-2, InputPrecision.BF16x3: 1e-3}
"""Relative, and a tenth of it of the mean besides (`comparison.differing`). Either operand in tf32 is off by up to 2**-10 of itself: sums of
products of random signs are then off by 1e-3 of themselves and, in one of a million, by 2.5e-3 of the mean. What bf16x3 leaves out is up to
2**-16 of a product. The other precisions are as exact as float32's tolerance."""


def rounding_of_products(module: ModuleOp) -> float:
    """The relative tolerance that the dots of `module` ask for; 0.0 where none rounds its operands."""
    return max(map(_rounding, ops_of(module, tt.DotOp, ttng.WarpGroupDotOp)), default=0.0)


def _rounding(dot: tt.DotOp | ttng.WarpGroupDotOp) -> float:
    is_float32 = isinstance(element_type(getattr(dot.b.type, "element_type", dot.b.type)), Float32Type)
    return _RELATIVE.get(dot.input_precision.data, 0.0) if is_float32 else 0.0
