"""Which tensor-core instruction a dot is made of, and how warps share its result.

In: a `tt.dot` and the target. Out: an `NvidiaMma` layout for the result, or None where multiply-adds remain.

    128x256 f16 -> f32, 8 warps, sm_90    ->    version 3, instrShape [16, 256, 16], warpsPerCTA [8, 1]
    128x128 f16 -> f32, 4 warps, sm_80    ->    version 2, instrShape [16, 8], warpsPerCTA [2, 2]

Version 2 is `mma.sync`, version 3 `wgmma`. Counterpart of `getMMAVersionSafe`, `warpsPerTileV2`, `warpsPerTileV3` of
lib/Dialect/TritonGPU/Transforms/AccelerateMatmul.cpp, `supportMMA` of lib/Analysis/Utility.cpp and `mmaVersionToInstrShape` of
lib/Dialect/TritonGPU/Transforms/Utility.cpp.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from minitriton.analysis.slices.def_use import connected_ops, forward_ops
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import Contraction
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.cta_split import shape_per_cta
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.tensor_layouts import element_bits, layout_of_value
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.target.architectures import architecture_of, least_mma_depth

FP8 = (Float8E4M3FNType, Float8E5M2Type)
_ALL_FP8 = (*FP8, Float8E4M3FNUZType, Float8E5M2FNUZType)
"""Every fp8 can be widened to f16."""
LAST_IMPRECISE = 32
"""wgmma accumulates fp8 terms with fewer bits than f32: it is for dots that allow at least this many such accumulators
(Triton's number; a rule about accuracy on sm_90, not about speed)."""

_INTEGER_COLUMNS = (256, 240, 224, 208, 192, 176, 160, 144, 128, 112, 96, 80, 64, 48, 32, 24, 16, 8)
"""Columns of integer `wgmma` (PTX ISA, "wgmma.mma_async": not every multiple of 8 as for floats)."""
_TRITONS_INTEGER_COLUMNS = _INTEGER_COLUMNS[2:]
_FLOAT_COLUMNS = tuple(range(256, 0, -8))


def is_int8(element: Attribute) -> bool:
    return instance_of(element, IntegerType) and element.width.data == 8


INSTRUCTIONS = {"": 3, "wgmma": 3, "mma.sync": 2, "fma": 0}
"""The newest version of tensor cores that an option allows; 0: multiply-adds."""


def mma_layout(
    dot: tt.DotOp | tt.DotScaledOp, arch: int, wide_integers: bool = False, newest: str = "", warps_along_rows: int = 0
) -> NvidiaMma | None:
    """The layout of the result of a plain dot on tensor cores; None if it stays with multiply-adds. `wgmma` of integers has at most 224
    columns, as in Triton, without `wide_integers`. `newest`: an instruction of `INSTRUCTIONS`, and none newer. `warps_along_rows`: of the
    result, where such a split exists; 0: as the rule has it."""
    possible = _version(dot, arch)
    version = min(possible, INSTRUCTIONS[newest])
    note(dot, lambda: _instruction_choice(dot, possible, version))
    if version == 0:
        return None
    type_ = cast(TensorType, dot.result.type)
    blocked = layout_of_value(dot.result)
    assert blocked is not None
    shape = shape_per_cta(blocked, type_.get_shape())
    warps = ttg.num_warps(dot)
    if version == 2:
        instruction = (*(1,) * (len(shape) - 2), 16, 8)
        split = _warps_along(dot, shape, warps, warps_along_rows, 1, _warps_of_mma_sync(dot, shape, warps))
        return NvidiaMma(2, 0, split, instruction, blocked.cga)
    rule = _warps_of_wgmma(dot, shape, warps)
    split = _warps_along(dot, shape, warps, warps_along_rows, _WARP_GROUP, rule)
    most = max(shape[0] // 16, 1) if split == rule else split[0]
    instruction = _wgmma_shape(shape, cast(TensorType, dot.a.type), warps, most, wide_integers)
    return NvidiaMma(3, 0, split, instruction, blocked.cga)


_WARP_GROUP = 4
"""Warps that issue a `wgmma` together, below each other (PTX ISA, "wgmma")."""


def _warps_along(
    dot: Operation, shape: tuple[int, ...], warps: int, rows: int, least: int, rule: tuple[int, ...]
) -> tuple[int, ...]:
    """Warps along rows and columns of a result: as many along rows as `rows` says, where `least` or more give each warp a tile; else `rule`."""
    if len(shape) != 2:
        return rule
    possible = [
        (m, warps // m)
        for m in (1 << bit for bit in range(warps.bit_length()))
        if m >= least and m * 16 <= max(shape[0], 16 * least) and warps // m * 8 <= shape[1]
    ]
    taken = next((split for split in possible if split[0] == rows), rule)

    def choice() -> Choice:
        tiles = ((m, max(shape[0] // m, 16), max(shape[1] // n, 8)) for m, n in (*possible, rule))
        found = [Candidate(str(m), rows + columns, f"a warp has {rows}x{columns}") for m, rows, columns in tiles]
        option = "tritongpu-accelerate-matmul{warps-along-rows=@}"
        unit = "rows and columns that a warp reads"
        return Choice.of(f"warps along the rows of {dot.name}", unit, option, found, str(taken[0]))

    note(dot, choice)
    return taken


def _version(dot: tt.DotOp | tt.DotScaledOp, arch: int) -> int:
    """The newest tensor cores that can do `dot`; 0 for none."""
    target = architecture_of(arch)
    if not target.mma_version or (isinstance(dot, tt.DotOp) and not _is_deep_enough(dot)):
        return 0
    a, b = (cast(TensorType, operand.type).element_type for operand in (dot.a, dot.b))
    result = cast(TensorType, dot.result.type).element_type
    if any(isinstance(element, Float64Type) for element in (a, b, result)) and not target.has_f64_mma:
        return 0
    precise = isinstance(dot, tt.DotOp) and dot.input_precision.data is tt.InputPrecision.TF32
    if isinstance(a, Float32Type) and isinstance(b, Float32Type):
        if not precise:
            return 0
    elif not (_has_mma(a) and _has_mma(b)):
        return 0
    return 3 if target.has_wgmma and _fits_wgmma(dot) else 2


def _instruction_choice(dot: tt.DotOp | tt.DotScaledOp, possible: int, taken: int) -> Choice:
    """What a dot could be made of, by how many instructions a warp issues for it (PTX ISA, shapes of `wgmma` and `mma.sync`)."""
    a, b = (cast(TensorType, operand.type) for operand in (dot.a, dot.b))
    m, k = a.get_shape()[-2:]
    n = b.get_shape()[-1]
    warps, depth = ttg.num_warps(dot), 256 // max(element_bits(a), 1)
    whole = m * n * k / warps
    found = [Candidate("fma", whole / 32, "a multiply-add of each thread for each term")]
    if possible >= 2:
        found.append(Candidate("mma.sync", whole / (16 * 8 * depth), "operands in registers; a warp waits for each"))
    if possible >= 3:
        columns = min(n, _FLOAT_COLUMNS[0])
        found.append(Candidate("wgmma", whole / (16 * columns * depth), "operands from shared memory, asynchronous"))
    names = {0: "fma", 2: "mma.sync", 3: "wgmma"}
    option = "tritongpu-accelerate-matmul{instruction=@}"
    return Choice.of(f"instruction of {dot.name}", "instructions a warp", option, found, names[taken])


def _is_deep_enough(dot: tt.DotOp) -> bool:
    a, b = (cast(TensorType, operand.type) for operand in (dot.a, dot.b))
    return a.get_shape()[-1] >= least_mma_depth(min(element_bits(a), element_bits(b)))


def _has_mma(element: Attribute) -> bool:
    floats = (*_ALL_FP8, Float16Type, BFloat16Type, Float32Type, Float64Type)
    return isinstance(element, floats) or is_int8(element)


def _fits_wgmma(dot: tt.DotOp | tt.DotScaledOp) -> bool:
    a = cast(TensorType, dot.a.type)
    type_ = cast(TensorType, dot.result.type)
    blocked = layout_of_value(dot.result)
    assert blocked is not None
    element = a.element_type
    shape = shape_per_cta(blocked, type_.get_shape())
    if a.get_shape()[-1] < 256 // element_bits(a) or len(shape) == 3:
        return False
    if ttg.num_warps(dot) % 4 or shape[-2] % 64 or shape[-1] % 16:
        return False
    if not (isinstance(element, (*FP8, Float16Type, BFloat16Type, Float32Type)) or is_int8(element)):
        return False
    imprecise = dot.max_num_imprecise_acc.value.data if isinstance(dot, tt.DotOp) else 0
    return not (isinstance(element, FP8) and isinstance(type_.element_type, Float32Type) and imprecise < LAST_IMPRECISE)


def _wgmma_shape(
    shape: tuple[int, ...], a: TensorType, warps: int, warps_along_m: int, wide_integers: bool
) -> tuple[int, int, int]:
    """Rows of one warp, columns, and the elements of K that 256 bits hold."""
    is_integer = is_int8(a.element_type)
    return 16, wgmma_columns(shape[1], warps, warps_along_m, is_integer, wide_integers), 256 // element_bits(a)


def wgmma_columns(columns: int, warps: int, warps_along_m: int, is_integer: bool, wide_integers: bool = True) -> int:
    """The most columns of a `wgmma` that divide the result's and leave work for every warp."""
    most = max(columns // max(warps // warps_along_m, 1), 8)
    of_integers = _INTEGER_COLUMNS if wide_integers else _TRITONS_INTEGER_COLUMNS
    return next(n for n in (of_integers if is_integer else _FLOAT_COLUMNS) if columns % n == 0 and n <= most)


def _warps_of_wgmma(dot: Operation, shape: tuple[int, ...], warps: int) -> tuple[int, int]:
    """A warp group is four warps below each other. Whole rows for a dot that feeds another: what is between reduces rows."""
    if any(Contraction.of(op) for op in forward_ops(dot.results[0])):
        return warps, 1
    return warps_of_wgmma(shape[0], warps)


def warps_of_wgmma(rows: int, warps: int) -> tuple[int, int]:
    """Below each other as long as there are rows."""
    m, n = _WARP_GROUP, 1
    while m * n < warps:
        if rows > 16 * m:
            m *= 2
        else:
            n *= 2
    return m, n


def _warps_of_mma_sync(dot: Operation, shape: tuple[int, ...], warps: int) -> tuple[int, ...]:
    """As many rows of 16 as columns of 8 for each warp, so that operands take the fewest registers.

    Dots that hang together share one tiling, along the longer side.
    """
    if len(shape) == 3:
        return warps, 1, 1
    chained = False
    for op in connected_ops(dot, lambda op: not isinstance(op, tt.TransOp)):
        if op is dot or not isinstance(op, tt.DotOp | tt.DotScaledOp):
            continue
        layout = layout_of_value(op.results[0])
        if layout is None or layout.rank != len(shape):
            continue
        if isinstance(layout, NvidiaMma):
            return layout.warps_per_cta
        chained = True
    if chained:
        return (warps, 1) if shape[0] >= shape[1] else (1, warps)
    return warps_of_mma_sync((shape[0], shape[1]), warps)


def warps_of_mma_sync(shape: tuple[int, int], warps: int) -> tuple[int, int]:
    """As many rows of 16 as columns of 8 for each warp."""
    tiles_m, tiles_n = -(-shape[0] // 16), -(-shape[1] // 8)
    m = n = 1
    while m * n < warps:
        if tiles_m >= tiles_n:
            m *= 2
            tiles_m = max(tiles_m // 2, 1)
        else:
            n *= 2
            tiles_n //= 2
    return m, n
