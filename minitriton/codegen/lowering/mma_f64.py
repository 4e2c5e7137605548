"""`tt.dot` of f64 by `mma.sync`: on sm_80 in steps of m8n8k4, on sm_90 of m16n8k16.

In: operands in `#ttg.dot_op` layouts of kWidth 1. Out: for each tile of 16 x 8 elements and four numbers of a thread along k, one
instruction, or on sm_80 one for each number and half of the tile.

PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64" and "mma.m16n8k16 with .f64": a has its rows m and m + 8 for each k, b its column.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.mma_tiles import ResultTiles, steps_along_k
from minitriton.codegen.op_making import string_attr
from minitriton.dialects import nvvm
from minitriton.dialects.ttg import target_arch

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
