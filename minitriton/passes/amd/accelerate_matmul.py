"""`tritonamdgpu-accelerate-matmul`: dots go to the matrix cores of AMD's GPUs.

    %d = tt.dot %a, %b, %c                                     : -> tensor<128x128xf32, #blocked>
becomes on gfx942
    %a1 = ttg.convert_layout %a                                : -> #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 4}>
    %b1 = ttg.convert_layout %b                                : -> #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 4}>
    %d1 = tt.dot %a1, %b1, (ttg.convert_layout %c)             : -> tensor<128x128xf32, #mma>
    %d = ttg.convert_layout %d1

where #mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32, 8], isTransposed = true}>. Where no instruction fits,
multiply-adds remain. Scaled dots are in `scaled_dots`. Counterpart of `BlockedToMFMA` of AccelerateAMDMatmul.cpp. GPUs with WMMA have their part in `wmma.py`.
"""

from __future__ import annotations

from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    Float64Type,
    IntegerType,
    ModuleOp,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i8,
    i32,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from minitriton.analysis.slices.def_use import backward_ops, forward_ops
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.launch import features_of, num_warps
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.layouts.encodings import AmdMfma, Blocked, DotOperand, Encoding
from minitriton.passes.accelerate_matmul.scaled import decompose_scaled
from minitriton.passes.amd.scaled_dots import (
    UpcastOperand,
    scaled_rows,
    source_of_scales,
    tiles_for_scales,
    to_scaled_mfma,
    to_upcast_mfma,
)
from minitriton.passes.amd.wmma import to_wmma
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of, with_element, with_layout
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Inserter, Rewriter
from minitriton.target.amd import ARCHITECTURES, SCALED_MFMA, Mfma, mfma_of


@register_pass
class AccelerateMatmulOnAMD(Pass, stage="ttgir", origin="triton"):
    """Chooses matrix-core instructions for dots.

    `matrix_instruction_size`: rows and columns of the instruction, 16 or 32; 0: the most that fit. `kpack`: for how many instructions
    a lane loads neighbours along k at once.
    """

    name: ClassVar[str] = "tritonamdgpu-accelerate-matmul"
    acts_on = frozenset({tt.DotOp, tt.DotScaledOp})
    requires = frozenset({Property.ENCODINGS})
    arch_generation_name: str = ""
    """LLVM's name of the GPU; the module's target if it is empty."""
    matrix_instruction_size: int = 0
    kpack: int = 1
    legalize_fma: bool = True
    """Whether operands of dots that stay multiply-adds get one type, as Triton's lowering needs; this compiler's takes any, and adds integers exactly."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every dot of the module, on GPUs with matrix cores."""
        if not ops_of(op, tt.DotOp) and not ops_of(op, tt.DotScaledOp):
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

        widen = decompose_scaled(False, UpcastOperand if version == _SCALED_VERSION else None)

        @patterns.pattern(tt.DotScaledOp)
        def scaled_to_mfma(dot: tt.DotScaledOp, rewriter: Rewriter) -> bool:
            if not isinstance(layout_of_value(dot.result), Blocked):
                return False
            if version == _SCALED_VERSION:
                if to_scaled_mfma(dot, rewriter, size, _warps_of):
                    return True
            elif version and _to_upcast(dot, rewriter, version, size, kpack):
                return True
            remark(dot, "Decomposing scaled dot operation into regular dot operation with explicit scaling.")
            return widen(dot, rewriter)

        apply_patterns_greedily(op, patterns)
        for dot in ops_of(op, tt.DotOp):
            if isinstance(layout_of_value(dot.result), Blocked):
                remark(dot, "Attempting to map dot operation to FMA intrinsic.")
                if self.legalize_fma:
                    _legalize(dot, version)


_SCALED_VERSION = 4
"""Of matrix cores with scales."""
_BYTES_OF_SCALED = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
"""Operands that instructions with scales take, too, twice as many at once."""


def _to_upcast(dot: tt.DotScaledOp, rewriter: Rewriter, version: int, size: int, kpack: int) -> bool:
    element = "f16" if "fp16" in (dot.a_elem_type.data.value, dot.b_elem_type.data.value) else "bf16"
    tile = (size, size) if size else mfma_tile(shape_of(dot.result), 16)
    found = mfma_of(version, tile, element, element, shape_of(dot.a)[-1])
    return to_upcast_mfma(dot, rewriter, tile, found, version, kpack)


def _to_mfma(dot: tt.DotOp, rewriter: Rewriter, version: int, size: int, kpack: int) -> bool:
    if not isinstance(layout_of_value(dot.result), Blocked):
        return False
    shape, depth = shape_of(dot.result), shape_of(dot.a)[-1]
    types = [str(cast(TensorType, value.type).element_type) for value in (dot.a, dot.b)]
    is_scaled = version == _SCALED_VERSION and all(each in _BYTES_OF_SCALED for each in types) and len(shape) == 2
    if is_scaled and (rows := scaled_rows(shape, depth, size)):
        tile, found = (rows, rows), cast(Mfma | None, SCALED_MFMA[rows])
    else:
        is_scaled, tile = False, (size, size) if size else mfma_tile(shape, element_bits(cast(TensorType, dot.a.type)))
        found = _instruction(dot, version, tile, depth)
    through_halves = found is None and _are_foreign_bytes(dot)
    if through_halves:
        remark(
            dot, "missing native support for fp8 variant on current architecture; emulated with fp16 so low performance"
        )
        if version == 3:
            remark(dot, "for gfx942 please use native supported fp8 variants")
        found = mfma_of(version, tile, "f16", "f16", depth)
    if found is None or depth % found.depth:
        what = f"version {version} has none of {tile[0]}x{tile[1]} that divides k = {depth}"
        remark(dot, f"Unable to select MFMA intrinsic: {what}")
        return False
    result = cast(TensorType, dot.result.type)
    element = result.element_type
    accumulator = f64 if isinstance(element, Float64Type) else f32 if isinstance(element, AnyFloat) else i32
    warps = _warps(dot, shape, num_warps(dot), tile)
    rows, columns = tile
    tiles = (
        ()
        if len(shape) == 3 or rows != columns
        else tiles_for_scales([source_of_scales(each) for each in (dot.a, dot.b)], rows, shape, warps)
    )
    # The narrow operand is the one whose blocks can be broadcast, which is the first one.
    is_transposed = tile != (4, 64)
    halves = (
        version == _SCALED_VERSION and tile == (16, 16) and len(shape) == 2 and all(t in ("f16", "bf16") for t in types)
    )
    if halves and not (tiles and min(tiles) > 1):
        # The result becomes an operand of another dot within a wave.
        if feeds_dot(dot) and shape[0] >= 2 * rows * warps[0] and shape[1] == 16 and warps[1] == 1:
            tiles = (2, 1)
        elif feeds_dot(dot, 1) and shape[0] == 16 and shape[1] >= 2 * rows * warps[1] and warps[0] == 1:
            is_transposed, tiles = False, (1, 2)
    bits = element_bits(TensorType(accumulator, [1]))
    layout = AmdMfma(version, warps, (rows, columns, found.depth), is_transposed, (), tiles, bits)
    feeds = _comes_from_dot(dot)
    sixteen_bits = element_bits(cast(TensorType, dot.a.type)) == 16
    k_width = 4 if feeds and sixteen_bits else found.per_lane if feeds else found.per_lane * kpack
    k_width = k_width // 2 if is_scaled else k_width
    total = _converted(rewriter, dot.c, layout, accumulator)
    operands: list[SSAValue] = []
    for index, value in enumerate((dot.a, dot.b)):
        moved: SSAValue = rewriter.insert(
            ttg.ConvertLayoutOp(value, with_layout(value.type, DotOperand(index, layout, k_width)))
        ).result
        if through_halves:
            moved = rewriter.insert(tt.FpToFpOp(moved, with_element(moved, f16))).results[0]
        operands.append(moved)
    a, b = operands
    if is_scaled:
        a_form, b_form = (_BYTES_OF_SCALED[each] for each in types)
        scaled = tt.DotScaledOp(a, b, total, a_elem_type=a_form, b_elem_type=b_form, fast_math=False)
        new: tt.DotOp | tt.DotScaledOp = rewriter.insert(scaled)
    else:
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


def mfma_tile(shape: tuple[int, ...], bits: int) -> tuple[int, int]:
    """Rows and columns of the instruction: the most that fit; f64 has 16. (0, 0) if there is none."""
    m, n = shape[-2:]
    least = min(m, n)
    if least >= 16:
        rows = 32 if least >= 32 and bits != 64 else 16
        return rows, rows
    if least < 4 or max(m, n) < 64:
        return 0, 0
    return (64, 4) if m >= 64 else (4, 64)


def _instruction(dot: tt.DotOp, version: int, tile: tuple[int, int], depth: int) -> Mfma | None:
    a, b = (str(cast(TensorType, value.type).element_type) for value in (dot.a, dot.b))
    if a == b == "f32" and dot.input_precision.data == "tf32" and version == 3:
        a = b = "tf32"
    return mfma_of(version, tile, a, b, depth)


# Dots that stay multiply-adds ------------------------------------------------------------------------------------------


def _legalize(dot: tt.DotOp, version: int) -> None:
    """Operands and result in one type of at least 16 bits, where no instruction for a few elements of k takes them as they are."""
    types = [cast(TensorType, value.type).element_type for value in (dot.a, dot.b, dot.c, dot.result)]
    depth = shape_of(dot.a)[-1]
    short = [(f16, 2), (i8, 4), *(((bf16, 2),) if version == _SCALED_VERSION else ())]
    is_short = any(
        types == [each, each, i32 if each == i8 else f32, i32 if each == i8 else f32] and depth % step == 0
        for each, step in short
    )
    if is_short or (types[0] in (f16, f32, f64) and all(each == types[0] for each in types)):
        return
    bits = [element_bits(TensorType(each, [1])) for each in types]
    fits_halves = max(bits) <= 16 and bf16 not in types and not any(each == IntegerType(16) for each in types)
    common = f16 if fits_halves else f32
    at = Inserter.before(dot)
    a, b, c = (_in_type(at, value, common) for value in (dot.a, dot.b, dot.c))
    precision, imprecise = dot.input_precision.data, dot.max_num_imprecise_acc.value.data
    new = tt.DotOp(a, b, c, input_precision=precision, max_num_imprecise_acc=imprecise)
    dot.result.replace_all_uses_with(_in_type(at, at.value(new), types[3]))
    dot.detach()
    dot.erase()


def _in_type(at: Inserter, value: SSAValue, element: Attribute) -> SSAValue:
    """A tensor in another element type, rounded to nearest."""
    before = cast(TensorType, value.type).element_type
    if before == element:
        return value
    type_ = with_element(value, element)
    if isinstance(before, AnyFloat) and isinstance(element, AnyFloat):
        narrows = element_bits(cast(TensorType, value.type)) > element_bits(type_)
        return at.value(tt.FpToFpOp(value, type_, rounding="rtne" if narrows else None))
    return at.value(arith.SIToFPOp(value, type_) if isinstance(element, AnyFloat) else arith.FPToSIOp(value, type_))


# How warps share the result --------------------------------------------------------------------------------------------


def _in_same_region(dot: Operation, op: Operation) -> bool:
    return op.parent_region() is dot.parent_region()


_Dot = tt.DotOp | tt.DotScaledOp


def feeds_dot(dot: Operation, operand: int = 0) -> bool:
    """Whether an operand, A or B, of another dot of the same region is computed from the result."""
    found = forward_ops(dot.results[0], lambda op: _in_same_region(dot, op))
    return any(isinstance(op, _Dot) and op.operands[operand].owner in found for op in found)


def _comes_from_dot(dot: Operation) -> bool:
    """Whether operand A is computed from the result of another dot of the same region."""
    left = dot.operands[0]
    if isinstance(left, BlockArgument):
        return False
    found = backward_ops(left, lambda op: _in_same_region(dot, op), through_arguments=False)
    return any(isinstance(op, _Dot) for op in found)


def _warps_of(dot: Operation, shape: tuple[int, ...], rows: int) -> tuple[int, ...]:
    return _warps(dot, shape, num_warps(dot), (rows, rows))


def _warps(dot: Operation, shape: tuple[int, ...], warps: int, tile: tuple[int, int]) -> tuple[int, ...]:
    """How they share the result, by instructions of `tile` rows and columns: whole rows for a dot that feeds another, and rows first for that; else as square a part for each warp as there is."""
    if len(shape) == 3:
        return warps, 1, 1
    if feeds_dot(dot):
        return warps, 1
    if _comes_from_dot(dot):
        along = min(warps, -(-shape[0] // tile[0]))
        return along, warps // along
    return shared_by_warps(shape, warps, tile)


def shared_by_warps(shape: tuple[int, ...], warps: int, tile: tuple[int, int]) -> tuple[int, int]:
    """As square a part for each warp as there is."""
    m = n = 1
    while m * n < warps:
        if shape[0] // (2 * tile[0]) // m >= shape[1] // tile[1] // n and m < shape[0] // tile[0]:
            m *= 2
        else:
            n *= 2
    return (n, m) if n * tile[1] > shape[1] else (m, n)
