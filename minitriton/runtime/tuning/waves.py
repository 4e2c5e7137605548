"""What a configuration takes of a compute unit of AMD's GPUs, before anything is compiled: the matrix instruction of each dot, bytes of LDS, VGPRs.

    128x128x64 f16, 4 waves, 2 stages    gfx942    v_mfma_f32_32x32x8f16    LDS 32768: loads wait in registers, one buffer for each operand

A result is stored in the layout of its instruction, without LDS. A wave's registers are those of its accumulators, of loads that are under way, and of
its operands along all of the tile's k, which LLVM reads from LDS at once. Rules are those of the passes in `passes.amd`; docs/tile-search.md compares them with compiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from minitriton.analysis.tile_roles import Dot, Operand, TileRoles, elements
from minitriton.passes.amd.accelerate_matmul import mfma_tile, shared_by_warps
from minitriton.runtime.tuning.taken import WORD_BITS, accumulator_registers, bytes_of
from minitriton.target.amd import SCALED_MFMA, WMMA_SIDE, mfma_of, wmma_of
from minitriton.target.architectures import Architecture

AROUND = 26
"""VGPRs of a lane next to what it holds of tensors: addresses, offsets and masks."""


class MatrixInstruction(NamedTuple):
    """Of a dot: what the assembly calls it (`fma` without one), and its rows, columns and k."""

    name: str
    tile: tuple[int, int]
    depth: int


def matrix_instruction(dot: Dot, values: Mapping[str, Any], architecture: Architecture) -> MatrixInstruction:
    """As `tritonamdgpu-accelerate-matmul` chooses."""
    m, n, k = (round(size.at(values)) for size in (dot.m, dot.n, dot.k))
    element = "tf32" if dot.element == "f32" and dot.precision == "tf32" else dot.element
    if architecture.mfma_version:
        tile = mfma_tile((m, n), dot.bits)
        scaled = (
            SCALED_MFMA.get(tile[0]) if architecture.mfma_version == 4 and element in ("f8E4M3FN", "f8E5M2") else None
        )
        found = (
            scaled
            if scaled and k % scaled.depth == 0
            else mfma_of(architecture.mfma_version, tile, element, element, k)
        )
        if found is None and element.startswith("f8"):
            found = mfma_of(architecture.mfma_version, tile, "f16", "f16", k)
        if found is not None and k % found.depth == 0:
            return MatrixInstruction(f"v_mfma_{found.intrinsic.replace('.', '_')}", tile, found.depth)
    elif architecture.wmma_version:
        wmma = wmma_of(architecture.wmma_version, element, element)
        if wmma is not None and min(m, n) >= WMMA_SIDE and k % wmma.depth == 0:
            return MatrixInstruction(f"v_wmma_{wmma.intrinsic.replace('.', '_')}", (WMMA_SIDE, WMMA_SIDE), wmma.depth)
    return MatrixInstruction("fma", (1, 1), 1)


def waves_of_dot(dot: Dot, values: Mapping[str, Any], num_warps: int, tile: tuple[int, int]) -> tuple[int, int]:
    """Along M and N."""
    shape = round(dot.m.at(values)), round(dot.n.at(values))
    return (num_warps, 1) if dot.is_chained else shared_by_warps(shape, num_warps, tile)


def wave_lds(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> int:
    """Bytes of LDS of a workgroup: the buffers of operands, in a loop one less than stages; partial results of reductions."""
    buffers: dict[Operand, int] = {}
    is_staged = num_stages > 1
    for dot in roles.dots:
        for operand in (dot.a, dot.b):
            if operand is not None and not operand.is_computed:
                count = num_stages - 1 if operand.loop is not None and is_staged else 1
                buffers[operand] = count * bytes_of(operand, values)
    reduced = [
        elements(work.shape, values) / max(work.shape[work.axis].at(values), 1) * num_warps * max(work.bits, 8) / 8
        for work in roles.work
        if work.kind in ("reduce", "shuffle") and work.shape and not roles.dots
    ]
    # Without stages operands go through LDS one after the other.
    of_dots = sum(buffers.values()) if is_staged else max(buffers.values(), default=0)
    return max(of_dots, round(max(reduced, default=0)))


def vector_registers(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> int:
    """VGPRs of a lane."""
    threads = num_warps * architecture.warp_size
    if not roles.dots:
        largest = max(
            (elements(w.shape, values) * max(w.bits, 8) / WORD_BITS for w in roles.work if w.shape), default=0
        )
        return round(AROUND + largest / threads)
    dot = roles.dots[-1]
    instruction = matrix_instruction(dot, values, architecture)
    waves = waves_of_dot(dot, values, num_warps, instruction.tile)
    m, n = (size.at(values) / along for size, along in zip((dot.m, dot.n), waves, strict=True))
    operands = (max(m, instruction.tile[0]) + max(n, instruction.tile[1])) * dot.k.at(values) * dot.bits
    waiting = sum(
        bytes_of(operand, values) * 8 / WORD_BITS / threads
        for operand in (dot.a, dot.b)
        if operand is not None and operand.loop is not None and num_stages > 1
    )
    held = operands / WORD_BITS / architecture.warp_size
    accumulators = accumulator_registers(roles, values, threads)
    least = round(AROUND + accumulators + waiting)
    # LLVM reads less at once where registers are short; what does not fit without operands is spilled.
    return max(least, min(round(least + held), architecture.registers_per_thread))


def lds_bytes_read(dot: Dot, values: Mapping[str, Any], num_warps: int, architecture: Architecture) -> float:
    """Bytes of LDS that the waves of a workgroup read and write for one run of a dot: each reads all of its rows and columns."""
    instruction = matrix_instruction(dot, values, architecture)
    waves = waves_of_dot(dot, values, num_warps, instruction.tile)
    m, n, k = (size.at(values) for size in (dot.m, dot.n, dot.k))
    written = sum(bytes_of(operand, values) for operand in (dot.a, dot.b) if operand is not None)
    return (
        (m * waves[1] + n * waves[0]) * k * dot.bits / 8 + written
        if instruction.name != "fma"
        else float((m + n) * k * dot.bits / 8 * prod((num_warps,)))
    )
