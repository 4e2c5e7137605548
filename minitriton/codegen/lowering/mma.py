"""`tt.dot` by `mma.sync`: tensor cores from Ampere on.

In: operands in `#ttg.dot_op` layouts of an `#ttg.nvidia_mma` (version 2) layout. Out: one `nvvm.mma.sync` for each tile of 16 x 8
elements of the result and each step along k.

A thread's part of an operand is read as 32-bit words along k: step i takes words 2i and 2i + 1 of rows m and m + 8 of a and of
column n of b. Which k these are does not matter as long as both operands agree, so every `kWidth` works alike. Where k is shorter
than a step, a's other words are zero.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.lowering.dot import DOT_RULES
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.mma_tiles import COLUMNS, ROWS, ResultTiles, steps_along_k
from minitriton.codegen.types import I32, bit_width, element_type, lane_type, lanes, vector_type
from minitriton.dialects import nvvm
from minitriton.dialects.attribute_values import string_attr
from minitriton.dialects.ttg import target_arch
from minitriton.layouts.encodings import NvidiaMma

_KINDS = {"f16": "f16", "bf16": "bf16", "f32": "tf32", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}


def _kind(type_: Attribute) -> str:
    """An element as `mma` names it."""
    element = element_type(type_)
    return _KINDS.get(element.name) or f"s{bit_width(element)}"


def _as_words(f: FunctionLowering, value: SSAValue) -> SSAValue:
    vector = f.vector(value)
    bits = bit_width(lane_type(vector.type))
    return f.b.bitcast(vector, vector_type(I32, lanes(vector.type) * bits // 32))


def mma_sync(f: FunctionLowering, op: Operation) -> None:
    """Step by step along k, all tiles in each: neighbouring instructions do not wait for each other."""
    b = f.b
    first, second = op.operands[:2]
    left, right = _as_words(f, first), _as_words(f, second)
    per_word = 32 // bit_width(f.element_type(first))
    steps, at_a, at_b = steps_along_k(f, op, per_word)
    if len(steps) > 1 and len(steps) % 2:
        raise f.unsupported(op, "operands whose k is spread differently", help="give both the same kWidth")
    tiles = ResultTiles(f, op)
    kind_a, kind_b, kind_c = _kind(first.type), _kind(second.type), lane_type(tiles.values[0].type).name
    out = "s32" if kind_a.startswith("s") else kind_c
    properties = {
        "shape": string_attr(f"m{ROWS}n{COLUMNS}k{8 * per_word}"),
        "types": string_attr(f"{out}.{kind_a}.{kind_b}.{out}"),
    }
    for k in range(0, len(steps), 2):
        here = steps[k : k + 2]
        for number, (*batch, m, n) in enumerate(tiles.corners):
            words_a = [at_a[(*batch, tiles.row(m + dm), at)] // per_word for at in here for dm in (0, 8)]
            words_b = [at_b[(*batch, at, n)] // per_word for at in here]
            rows, columns = b.permute(left, words_a), b.permute(right, words_b * (3 - len(here)))
            if len(here) == 1:
                rows = b.concat([rows, b.constant(rows.type, 0)])
            operands = (rows, columns, tiles.values[number])
            tiles.values[number] = b.value(nvvm.MmaSyncOp, operands, operands[2].type, properties)
    tiles.finish()


def tensor_cores(f: FunctionLowering, op: Operation) -> None:
    """By the version of the tensor cores."""
    encoding = f.facts(op.results[0].type).encoding
    assert isinstance(encoding, NvidiaMma)
    if encoding.version_major != 2:
        raise f.unsupported(
            op,
            f"tt.dot on tensor cores of version {encoding.version_major}",
            help="version 3 multiplies through ttng.warp_group_dot",
        )
    (mma_f64 if bit_width(f.element_type(op.operands[0])) == 64 else mma_sync)(f, op)


DOT_RULES[NvidiaMma] = tensor_cores

# `tt.dot` of f64 by `mma.sync`: on sm_80 in steps of m8n8k4, on sm_90 of m16n8k16.
#
# In: operands in `#ttg.dot_op` layouts of kWidth 1. Out: for each tile of 16 x 8 elements and four numbers of a thread along k, one
# instruction, or on sm_80 one for each number and half of the tile.
#
# PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64" and "mma.m16n8k16 with .f64": a has its rows m and m + 8 for each k, b its column.

_MOST_STEPS = 4
"""Numbers along k that a thread gives to one instruction of sm_90."""


def mma_f64(f: FunctionLowering, op: Operation) -> None:
    """Step by step along k, all tiles in each."""
    b = f.b
    left, right = f.vector(op.operands[0]), f.vector(op.operands[1])
    tiles = ResultTiles(f, op)
    steps, at_a, at_b = steps_along_k(f, op, per_word=1)
    whole = target_arch(op) >= 90
    length = min(_MOST_STEPS, len(steps)) if whole else 1

    def multiply(shape: str, rows: list[int], columns: list[int], total: SSAValue) -> SSAValue:
        properties = {"shape": string_attr(shape), "types": string_attr("f64.f64.f64.f64")}
        operands = (b.permute(left, rows), b.permute(right, columns), total)
        return b.value(nvvm.MmaSyncOp, operands, total.type, properties)

    for start in range(0, len(steps), length):
        here = steps[start : start + length]
        for number, (*batch, m, n) in enumerate(tiles.corners):
            columns = [at_b[(*batch, k, n)] for k in here]
            if whole:
                rows = [at_a[(*batch, tiles.row(m + dm), k)] for k in here for dm in (0, 8)]
                shape = f"m16n8k{4 * length}"
                tiles.values[number] = multiply(shape, rows, columns, tiles.values[number])
                continue
            halves = [b.permute(tiles.values[number], [2 * half, 2 * half + 1]) for half in (0, 1)]
            for half in (0, 1):
                rows = [at_a[(*batch, tiles.row(m + 8 * half), here[0])]]
                halves[half] = multiply("m8n8k4", rows, columns, halves[half])
            tiles.values[number] = b.concat(halves)
    tiles.finish()
