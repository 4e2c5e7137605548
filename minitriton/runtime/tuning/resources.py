"""What a configuration takes of an SM, before anything is compiled: the instruction of each dot, bytes of shared memory, registers.

    128x128x64 f16, 8 warps, 3 stages    sm_90   wgmma       3 rings of 32768 bytes
                                         sm_80   mma.sync    2 rings: operands go through registers, which are one more stage

Buffers of a pipelined loop are dead when its result is converted to the layout of the store, so both share memory; where all together take
little, each has its own (`codegen.place_shared_memory`). Registers are a linear model of what a thread holds (`registers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from minitriton.analysis.tile_roles import Dot, Operand, Shape, TileRoles, Work, elements
from minitriton.codegen.place_shared_memory import FREE_BYTES
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import Blocked, NvidiaMma
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.passes.accelerate_matmul.instruction import wgmma_columns
from minitriton.target.architectures import WIDEST_ACCESS_BITS, Architecture, architecture_of, least_mma_depth

SMALLEST_COPY = 4
"""Bytes that `cp.async` copies at least (PTX ISA, "cp.async")."""
ALIGNMENT = 128
"""Of small buffers, in bytes."""
WARP_GROUP = 4
ROWS, COLUMNS = 16, 8
"""Of a warp's part of `mma.sync`, and rows of a warp's part of `wgmma`."""
WORD_BITS = 32
"""Of a register."""
STEP_BITS = 256
"""Bits of an operand's row that one instruction takes."""


@dataclass(frozen=True)
class Resources:
    """Of one CTA."""

    shared_bytes: int
    registers: int
    """Of a thread; more than there are where values are spilled."""
    accumulators: int
    """Registers of a thread that hold results of dots."""
    threads: int
    instruction: str = ""
    """`wgmma`, `mma.sync` or `fma`, of the first dot; empty without one."""


def resources(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, capability: int
) -> Resources:
    """What a CTA takes with constants `values` on the architecture of `capability` (times ten)."""
    architecture = architecture_of(capability)
    threads = num_warps * architecture.warp_size
    instruction = instruction_of(roles.dots[0], values, num_warps, architecture) if roles.dots else ""
    held = sum(elements((dot.m, dot.n), values) * dot.result_bits for dot in _held(roles.dots))
    accumulators = round(held / WORD_BITS / threads)
    return Resources(
        shared_bytes(roles, values, num_warps, num_stages, capability),
        registers(roles, values, num_warps, num_stages, architecture, instruction),
        accumulators,
        threads,
        instruction,
    )


def _held(dots: tuple[Dot, ...]) -> Iterator[Dot]:
    """The dots whose results are alive together: one for each different shape."""
    seen: set[tuple[object, ...]] = set()
    for dot in dots:
        if (dot.m, dot.n) not in seen:
            seen.add((dot.m, dot.n))
            yield dot


def instruction_of(dot: Dot, values: Mapping[str, Any], num_warps: int, architecture: Architecture) -> str:
    """What a dot is made of: the rules of `passes.accelerate_matmul.instruction`, of sizes alone."""
    m, n, k = (round(size.at(values)) for size in (dot.m, dot.n, dot.k))
    if not architecture.mma_version or k < least_mma_depth(dot.bits) or (dot.bits == 32 and dot.precision != "tf32"):
        return "fma"
    fits = num_warps % WARP_GROUP == 0 and m % 64 == 0 and n % 16 == 0 and k >= STEP_BITS // dot.bits
    return "wgmma" if architecture.has_wgmma and fits and dot.bits <= 32 else "mma.sync"


def is_swapped(dot: Dot, values: Mapping[str, Any], num_warps: int, architecture: Architecture) -> bool:
    """Whether the sides of a tf32 dot are swapped: B alone is MN-major in memory, and comes through registers as the left operand."""
    if dot.bits != 32 or dot.a is None or dot.b is None or dot.a.is_computed or dot.b.is_computed:
        return False
    m, n = (round(size.at(values)) for size in (dot.m, dot.n))
    wgmma = instruction_of(dot, values, num_warps, architecture) == "wgmma"
    return wgmma and is_k_major(dot.a, "a") and not is_k_major(dot.b, "b") and n % 64 == 0 and m % 16 == 0


def is_k_major(operand: Operand, side: str) -> bool:
    """Whether memory is contiguous along K."""
    along_k = (operand.axis == 1) == (side == "a")
    return along_k != operand.is_transposed


def mma_layout(shape: tuple[int, int], num_warps: int, bits: int, is_integer: bool, instruction: str) -> NvidiaMma:
    """How warps share the result of a dot (`passes.accelerate_matmul.instruction`)."""
    rows, columns = shape
    if instruction == "wgmma":
        m, n = WARP_GROUP, 1
        while m * n < num_warps:
            if rows > ROWS * m:
                m *= 2
            else:
                n *= 2
        width = wgmma_columns(columns, num_warps, max(rows // ROWS, 1), is_integer)
        return NvidiaMma(3, 0, (m, n), (ROWS, width, STEP_BITS // bits), ())
    m = n = 1
    rows, columns = -(-rows // ROWS), -(-columns // COLUMNS)
    while m * n < num_warps:
        if rows >= columns:
            m, rows = 2 * m, max(rows // 2, 1)
        else:
            n, columns = 2 * n, columns // 2
    return NvidiaMma(2, 0, (m, n), (ROWS, COLUMNS), ())


def ring_slots(
    operand: Operand, values: Mapping[str, Any], threads: int, num_stages: int, through_registers: bool
) -> int:
    """Buffers of a pipelined load: a stage each, without the one whose values are in registers; one where no copy is asynchronous."""
    size = max(operand.bits // 8, 1)
    held = min(operand.width, max(elements(operand.shape, values) // threads, 1))
    if num_stages == 1 or operand.loop is None or (held * size < SMALLEST_COPY and not operand.by_descriptor):
        return 1
    return max(num_stages - through_registers, 1)


def bytes_of(operand: Operand, values: Mapping[str, Any]) -> int:
    return round(elements(operand.shape, values)) * max(operand.bits // 8, 1)


def shared_bytes(roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, capability: int) -> int:
    """Shared memory of a CTA."""
    architecture = architecture_of(capability)
    threads = num_warps * architecture.warp_size
    rings: dict[Operand, int] = {}
    alone = False
    for dot in roles.dots:
        instruction = instruction_of(dot, values, num_warps, architecture)
        swapped = is_swapped(dot, values, num_warps, architecture)
        alone |= (
            num_stages == 1
            and instruction == "mma.sync"
            and dot.element.startswith("f8")
            and not architecture.has_fp8_mma
        )
        for side, operand in (("a", dot.a), ("b", dot.b)):
            if operand is not None:
                through = instruction != "wgmma" or (side == "b" and swapped) or (side == "a" and operand.is_computed)
                size = ring_slots(operand, values, threads, num_stages, through) * bytes_of(operand, values)
                rings[operand] = max(rings.get(operand, 0), size)
    buffers = list(rings.values())
    loop = max(buffers, default=0) if alone else sum(buffers)
    buffers += [size for size in _scratch(roles, values, num_warps, capability, loop) if size]
    together = sum(-(-size // ALIGNMENT) * ALIGNMENT for size in buffers)
    if len(buffers) > 1 and together <= FREE_BYTES:
        return together
    return max([loop, *buffers[len(rings) :]])


def _scratch(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, capability: int, loop_bytes: int
) -> Iterator[int]:
    """Scratch of what comes after the loops: a dot's result that is converted to the layout of the store, reductions across warps."""
    architecture = architecture_of(capability)
    for work in roles.work:
        if work.kind == "reduce" and num_warps > 1 and not roles.dots:
            yield num_warps * max(work.bits // 8, 4)
    for dot in roles.dots[-1:]:
        store = next((w for w in roles.work if w.kind in ("store", "atomic") and w.shape == (dot.m, dot.n)), None)
        if store is None or instruction_of(dot, values, num_warps, architecture) == "fma":
            continue
        shape = round(dot.m.at(values)), round(dot.n.at(values))
        yield _result_scratch(
            shape, num_warps, dot.bits, dot.element.startswith("i"), instruction_of(dot, values, num_warps, architecture),
            is_swapped(dot, values, num_warps, architecture), store.axis, store.width, store.bits, capability, loop_bytes,
        )  # fmt: skip


@lru_cache(maxsize=8192)
def _result_scratch(
    shape: tuple[int, int],
    num_warps: int,
    bits: int,
    is_integer: bool,
    instruction: str,
    swapped: bool,
    axis: int,
    width: int,
    store_bits: int,
    capability: int,
    loop_bytes: int,
) -> int:
    """Bytes in which a dot's result is converted to the layout of its store, in as many as are free anyway."""
    architecture = architecture_of(capability)
    if swapped:
        shape, axis = (shape[1], shape[0]), 1 - axis
    source = mma_layout(shape, num_warps, bits, is_integer, instruction)
    held = max(prod(shape) // (num_warps * architecture.warp_size), 1)
    target = _store_layout(shape, axis, min(width, held, shape[axis], WIDEST_ACCESS_BITS // store_bits), num_warps)
    plan = plan_conversion(source, target, shape, store_bits, architecture)
    if not isinstance(plan, SharedMemoryRoundTrip):
        return 0
    if plan.rounds > 1:
        tile = min(plan.rounds * plan.scratch_bytes, architecture.register_file_bytes)
        share = tile * architecture.max_shared_memory // architecture.register_file_bytes
        limit = max(loop_bytes, plan.scratch_bytes, share)
        plan = plan_conversion(source, target, shape, store_bits, architecture, limit)
        assert isinstance(plan, SharedMemoryRoundTrip)
    return plan.scratch_bytes


def _store_layout(shape: Shape | tuple[int, int], axis: int, width: int, num_warps: int) -> Blocked:
    per_thread, order = ((1, width), (1, 0)) if axis else ((width, 1), (0, 1))
    return blocked_for_cga(shape, per_thread, order, num_warps)  # pyright: ignore[reportArgumentType]


def registers(
    roles: TileRoles,
    values: Mapping[str, Any],
    num_warps: int,
    num_stages: int,
    architecture: Architecture,
    instruction: str,
) -> int:
    """Registers of a thread, as ptxas is expected to need them."""
    threads = num_warps * architecture.warp_size
    if not roles.dots:
        return _registers_of_elements(roles.work, values, threads)
    dot = roles.dots[-1]
    features = _features(dot, values, num_warps, num_stages, architecture, instruction)
    kind = instruction if instruction != "mma.sync" else f"mma.sync {architecture.mma_version}"
    weights = REGISTERS.get(kind, REGISTERS["mma.sync 2"])
    others = sum(elements((d.m, d.n), values) / threads for d in _held(roles.dots[:-1]) if (d.m, d.n) != (dot.m, dot.n))
    return round(max(sum(w * f for w, f in zip(weights, features, strict=True)), 16) + others)


def _features(
    dot: Dot, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture, instruction: str
) -> tuple[float, ...]:
    """What the registers of a dot in a loop depend on."""
    threads = num_warps * architecture.warp_size
    m, n, k = (size.at(values) for size in (dot.m, dot.n, dot.k))
    swapped = is_swapped(dot, values, num_warps, architecture)
    copies = [
        max(bytes_of(operand, values) / threads / 16, 1) if operand is not None else 0.0 for operand in (dot.a, dot.b)
    ]
    waits = 4.0 * sum(copies) if num_stages == 1 else 0.0
    steps = k * dot.bits / STEP_BITS
    common = (1.0, m * n * dot.result_bits / 32 / threads, *copies, waits)
    if instruction == "wgmma":
        return (*common, swapped * n * k / threads, float(swapped), steps)
    split = mma_layout((round(m), round(n)), num_warps, dot.bits, False, "mma.sync").warps_per_cta
    a, b = max(m / split[0] / ROWS, 1) * 4, max(n / split[1] / COLUMNS, 1) * 2
    return (*common, a + b, (a + b) * steps, a * steps)


REGISTERS = {
    "wgmma": (25.46, 1.03, 2.78, 2.06, 0.2, 1.35, -3.39, 1.8),
    "mma.sync 3": (32.5, 0.99, 3.09, -0.05, 0.49, 0.0, 0.2, 0.0),
    "mma.sync 2": (25.87, 1.22, 3.13, 1.62, 0.1, 0.0, 0.2, 0.0),
    "fma": (32.0, 1.2, 4.0, 4.0, 1.0, 0.5, 0.0, 0.0),
}
"""Weights of `_features`, fitted to what ptxas took of matmuls."""


def _registers_of_elements(work: tuple[Work, ...], values: Mapping[str, Any], threads: int) -> int:
    """Registers of a kernel without dots: what its loads fill, and their addresses."""
    filled = sum(
        elements(w.shape, values) / threads * max(w.bits, 32) / 32 for w in work if w.kind == "load" and w.shape
    )
    return round(16 + 1.2 * filled)
