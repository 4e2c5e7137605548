"""`tritonamdgpu-accelerate-matmul`: dots go to the matrix cores of AMD's GPUs.

    %d = tt.dot %a, %b, %c                                     : -> tensor<128x128xf32, #blocked>
becomes on gfx942
    %a1 = ttg.convert_layout %a                                : -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
    %b1 = ttg.convert_layout %b                                : -> #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
    %d1 = tt.dot %a1, %b1, (ttg.convert_layout %c)             : -> tensor<128x128xf32, #mma>
    %d = ttg.convert_layout %d1

where #mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>. Where no instruction fits,
multiply-adds remain; GPUs with WMMA have their part in `wmma.py`. Counterpart of `BlockedToMFMA` of AccelerateAMDMatmul.cpp; instructions of 64x4 and 4x64 and scaled dots are not there yet.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, Float64Type, ModuleOp, TensorType, f16, f32, f64, i32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from minitriton.analysis.slices.def_use import backward_ops, forward_ops
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.launch import features_of, num_warps
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.layouts.encodings import AmdMfma, Blocked, DotOperand, Encoding
from minitriton.passes.amd.wmma import to_wmma
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of, with_element, with_layout
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter
from minitriton.target.amd import ARCHITECTURES, Mfma, mfma_of


@register_pass
class AccelerateMatmulOnAMD(Pass, stage="ttgir", origin="triton"):
    """Chooses matrix-core instructions for dots.

    `matrix_instruction_size`: rows and columns of the instruction, 16 or 32; 0: the most that fit. `kpack`: for how many instructions
    a lane loads neighbours along k at once.
    """

    name: ClassVar[str] = "tritonamdgpu-accelerate-matmul"
    acts_on = frozenset({tt.DotOp})
    requires = frozenset({Property.ENCODINGS})
    arch_generation_name: str = ""
    """LLVM's name of the GPU; the module's target if it is empty."""
    matrix_instruction_size: int = 0
    kpack: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every dot of the module, on GPUs with matrix cores."""
        if not ops_of(op, tt.DotOp):
            return
        name = self.arch_generation_name
        features = ARCHITECTURES[name] if name in ARCHITECTURES else features_of(op)
        version, wmma = features.mfma_version, features.wmma_version
        if not version and not wmma:
            return
        patterns = PatternSet()
        size, kpack = self.matrix_instruction_size, self.kpack

        @patterns.pattern(tt.DotOp)
        def blocked_to_mfma(dot: tt.DotOp, rewriter: Rewriter) -> bool:
            if wmma:
                return to_wmma(dot, rewriter, wmma, size, _warps_of)
            return _to_mfma(dot, rewriter, version, size, kpack)

        apply_patterns_greedily(op, patterns)


def _to_mfma(dot: tt.DotOp, rewriter: Rewriter, version: int, size: int, kpack: int) -> bool:
    if not isinstance(layout_of_value(dot.result), Blocked):
        return False
    shape, depth = shape_of(dot.result), shape_of(dot.a)[-1]
    rows = size or _rows(dot, shape)
    found = _instruction(dot, version, rows, depth)
    through_halves = found is None and _are_foreign_bytes(dot)
    if through_halves:
        remark(
            dot, "missing native support for fp8 variant on current architecture; emulated with fp16 so low performance"
        )
        if version == 3:
            remark(dot, "for gfx942 please use native supported fp8 variants")
        found = mfma_of(version, (rows, rows), "f16", "f16", depth)
    if found is None or depth % found.depth:
        what = f"version {version} has none of {rows} rows and columns that divides k = {depth}"
        remark(dot, f"Unable to select MFMA intrinsic: {what}")
        return False
    result = cast(TensorType, dot.result.type)
    element = result.element_type
    accumulator = f64 if isinstance(element, Float64Type) else f32 if isinstance(element, AnyFloat) else i32
    layout = AmdMfma(
        version,
        _warps(dot, shape, num_warps(dot), rows),
        (rows, rows, found.depth),
        True,
        (),
        (),
        element_bits(TensorType(accumulator, [1])),
    )
    feeds = _comes_from_dot(dot)
    sixteen_bits = element_bits(cast(TensorType, dot.a.type)) == 16
    k_width = 4 if feeds and sixteen_bits else found.per_lane if feeds else found.per_lane * kpack
    total = _converted(rewriter, dot.c, layout, accumulator)
    a, b = (
        rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, DotOperand(index, layout, k_width)))).result
        for index, value in enumerate((dot.a, dot.b))
    )
    if through_halves:
        a, b = (rewriter.insert(tt.FpToFpOp(value, with_element(value, f16))).results[0] for value in (a, b))
    precision, imprecise = dot.input_precision.data, dot.max_num_imprecise_acc.value.data
    new = rewriter.insert(tt.DotOp(a, b, total, input_precision=precision, max_num_imprecise_acc=imprecise))
    back = new.result if element == accumulator else _cast(rewriter, new.result, element)
    rewriter.replace_with(dot, ttg.ConvertLayoutOp(back, result))
    return True


def _are_foreign_bytes(dot: tt.DotOp) -> bool:
    """Whether both operands are 8-bit floats, which this GPU has no instruction for if none was found."""
    types = [cast(TensorType, value.type) for value in (dot.a, dot.b)]
    return all(str(type_.element_type).startswith("f8") for type_ in types)


def _converted(rewriter: Rewriter, value: SSAValue, layout: Encoding, element: Attribute) -> SSAValue:
    """`value` in `layout`, then as `element`."""
    moved = rewriter.insert(ttg.ConvertLayoutOp(value, with_layout(value.type, layout))).result
    return moved if cast(TensorType, value.type).element_type == element else _cast(rewriter, moved, element)


def _cast(rewriter: Rewriter, value: SSAValue, element: Attribute) -> SSAValue:
    before = element_bits(cast(TensorType, value.type))
    type_ = with_element(value, element)
    cast_class = arith.ExtFOp if before < element_bits(type_) else arith.TruncFOp
    return rewriter.insert(cast_class(value, type_)).results[0]


def _rows(dot: tt.DotOp, shape: tuple[int, ...]) -> int:
    """Rows and columns of the instruction: the most that fit; f64 has 16."""
    least = min(shape[-2:])
    is_f64 = element_bits(cast(TensorType, dot.a.type)) == 64
    return 32 if least >= 32 and not is_f64 else 16 if least >= 16 else 0


def _instruction(dot: tt.DotOp, version: int, rows: int, depth: int) -> Mfma | None:
    a, b = (str(cast(TensorType, value.type).element_type) for value in (dot.a, dot.b))
    if a == b == "f32" and dot.input_precision.data == "tf32" and version == 3:
        a = b = "tf32"
    return mfma_of(version, (rows, rows), a, b, depth)


# How warps share the result --------------------------------------------------------------------------------------------


def _in_same_region(dot: Operation, op: Operation) -> bool:
    return op.parent_region() is dot.parent_region()


def _feeds_dot(dot: tt.DotOp) -> bool:
    """Whether operand A of another dot of the same region is computed from the result."""
    found = forward_ops(dot.result, lambda op: _in_same_region(dot, op))
    return any(isinstance(op, tt.DotOp) and op.a.owner in found for op in found)


def _comes_from_dot(dot: tt.DotOp) -> bool:
    """Whether operand A is computed from the result of another dot of the same region."""
    if isinstance(dot.a, BlockArgument):
        return False
    found = backward_ops(dot.a, lambda op: _in_same_region(dot, op), through_arguments=False)
    return any(isinstance(op, tt.DotOp) for op in found)


def _warps_of(dot: tt.DotOp, shape: tuple[int, ...], rows: int) -> tuple[int, ...]:
    return _warps(dot, shape, num_warps(dot), rows)


def _warps(dot: tt.DotOp, shape: tuple[int, ...], warps: int, rows: int) -> tuple[int, ...]:
    """Whole rows for a dot that feeds another, and rows first for that; else as square a part for each warp as there is."""
    if len(shape) == 3:
        return warps, 1, 1
    if _feeds_dot(dot):
        return warps, 1
    if _comes_from_dot(dot):
        along = min(warps, -(-shape[0] // rows))
        return along, warps // along
    m = n = 1
    while m * n < warps:
        if shape[0] // (2 * rows) // m >= shape[1] // rows // n and m < shape[0] // rows:
            m *= 2
        else:
            n *= 2
    return (n, m) if n * rows > shape[1] else (m, n)
