"""Whether two runs of a program gave the same numbers.

compare([1.0, 2.0], [1.0, 2.0])  →  BIT_EQUAL         compare([1.0], [1.0000001])  →  CLOSE
compare([1.0], [1.5])            →  WRONG             integers and booleans are never merely close

`rounding_tolerance`: how far they may be from those of an interpreter, because of what is rounded on the way.

    tl.dot of float32, input_precision="tf32"       tensor cores look at 10 bits of a float32's 23, multiply-adds and the interpreters at all
                       input_precision="bf16x3"     of two parts of 8 bits each, small times small is left out
    tl.dot of float8, a sum in float32              wgmma keeps 14 bits of what it adds up
    p.to(tl.float16), p of an exp or a sum          another last bit of p may round the other way: as far as float16's numbers are apart

Which instruction a multiplication or an exp becomes is the compiler's choice, so that neither number is wrong.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import arith, tt, ttng
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.tt import InputPrecision
from minitriton.dialects.tt.types import element_type
from minitriton.lab.arguments import as_numbers

_RELATIVE = {"fp64": 1e-9, "fp32": 1e-4, "fp16": 4e-3, "bf16": 3e-2}
"""By element type: what a different order of the operations of a sum, or an approximate `ex2`, may change."""
_RELATIVE_FP8 = 0.25


class Verdict(StrEnum):
    """How the numbers after a pass compare."""

    BIT_EQUAL = "bit-equal"
    CLOSE = "within tolerance"
    WRONG = "wrong"
    NOT_RUN = "not executable"


def relative_tolerance(element: str) -> float:
    """Of an element type by its name: `fp32`, `bf16`, `fp8e5`."""
    return _RELATIVE.get(element, _RELATIVE_FP8)


def compare(
    ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray], elements: Sequence[str], tolerance: float = 0.0
) -> Verdict:
    """The worst verdict over the arrays, whose element types are `elements`. `tolerance`: relative, where the type's is less."""
    verdict = Verdict.BIT_EQUAL
    for a, b, element in zip(ours, theirs, elements, strict=True):
        if a.tobytes() == b.tobytes():
            continue
        if differing(a, b, element, tolerance).any():
            return Verdict.WRONG
        verdict = Verdict.CLOSE
    return verdict


def differing(a: np.ndarray, b: np.ndarray, element: str, tolerance: float = 0.0) -> np.ndarray:
    """Which elements differ by more than the type's tolerance, and by more than `tolerance`."""
    return numbers_differ(as_numbers(a, element), as_numbers(b, element), element, tolerance)


def numbers_differ(a: np.ndarray, b: np.ndarray, element: str, tolerance: float = 0.0) -> np.ndarray:
    """The same of arrays with bf16 and fp8 bits decoded."""
    if a.dtype.kind != "f":
        return a != b
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(b[np.isfinite(b)])
    relative = max(relative_tolerance(element), tolerance)
    absolute = relative * 0.1 * float(finite.mean()) if finite.size else 0.0
    return ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)


_RELATIVE_OF_DOTS = {InputPrecision.TF32: 3e-2, InputPrecision.BF16x3: 1e-3}
"""Relative, and a tenth of it of the mean besides (`comparison.differing`). Either operand in tf32 is off by up to 2**-10 of itself: dots of
random signs are then off by 1e-3 of themselves and, in one of a million, by 2.5e-3 of the mean. What bf16x3 leaves out is up to
2**-16 of each term. The other precisions are as exact as float32's tolerance."""

_FLOAT8, _FLOAT8_IN_HALVES = 1e-2, 5e-2
"""Of dots of float8: 2**-13 of the largest term, and of the accumulator, for each instruction. An accumulator in float16 is rounded after 16 or 32
elements of K, as the target has instructions for float8 or not."""

_NARROW = ((Float16Type, "fp16"), (BFloat16Type, "bf16"), ((Float8E5M2Type, Float8E4M3FNType), "fp8"))
_STORES = (tt.StoreOp, tt.DescriptorStoreOp)
_LOADS = (tt.LoadOp, tt.DescriptorLoadOp)
_MOVES = (tt.ExpandDimsOp, tt.BroadcastOp, tt.SplatOp, tt.TransOp, tt.ReshapeOp, arith.ExtFOp)


def rounding_tolerance(module: ModuleOp) -> float:
    """The relative tolerance that the dots and casts of `module` ask for; 0.0 where none rounds."""
    dots = max(map(_rounding, ops_of(module, tt.DotOp, ttng.WarpGroupDotOp)), default=0.0)
    return max(dots, max(map(_narrowing, ops_of(module, arith.TruncFOp, tt.FpToFpOp)), default=0.0))


def less_exact_dot(module: ModuleOp, tolerance: float) -> tt.DotOp | None:
    """A dot of `module` that rounds more than `tolerance` allows, which is what the kernel as written asks for.

    The interpreter does not round, so its numbers do not show a pass that makes a sum of float32 products a dot in tf32.
    """
    return next((dot for dot in ops_of(module, tt.DotOp) if _rounding(dot) > tolerance), None)


def _narrowing(cast: Operation) -> float:
    """Of what was computed; what is rounded for a store alone is compared as what it is."""
    if _is_loaded(cast.operands[0]) or all(isinstance(use.operation, _STORES) for use in cast.results[0].uses):
        return 0.0
    element = element_type(cast.results[0].type)
    return next((relative_tolerance(name) for kind, name in _NARROW if isinstance(element, kind)), 0.0)


def _is_loaded(value: SSAValue) -> bool:
    """The same bits in every run."""
    while isinstance(value.owner, _MOVES):
        value = value.owner.operands[0]
    return isinstance(value.owner, _LOADS)


def _rounding(dot: tt.DotOp | ttng.WarpGroupDotOp) -> float:
    element = element_type(getattr(dot.b.type, "element_type", dot.b.type))
    if isinstance(element, Float32Type):
        return _RELATIVE_OF_DOTS.get(dot.input_precision.data, 0.0)
    if getattr(element, "bitwidth", 0) != 8 or isinstance(element, IntegerType):
        return 0.0
    return _FLOAT8_IN_HALVES if isinstance(element_type(dot.c.type), Float16Type) else _FLOAT8
