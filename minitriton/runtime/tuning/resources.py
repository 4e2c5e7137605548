"""What a configuration takes of an SM, before anything is compiled: the instruction of each dot, bytes of shared memory, registers.

    128x128x64 f16, 8 warps, 3 stages    sm_90   wgmma       3 rings of 32768 bytes
                                         sm_80   mma.sync    2 rings: operands go through registers, which are one more stage

Buffers of a pipelined loop are dead when its result is converted to the layout of the store, so both share memory; where all together take
little, each has its own (`codegen.place_shared_memory`). Registers are a linear model of what a thread holds (`registers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import log2, prod
from typing import Any

from minitriton.analysis.tile_roles import Dot, Operand, TileRoles, Work, elements
from minitriton.codegen.place_shared_memory import FREE_BYTES
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import Blocked, DistributedEncoding, NvidiaMma
from minitriton.layouts.inference import reduce_dst
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.layouts.properties import warps_per_cta
from minitriton.passes.accelerate_matmul.instruction import warps_of_mma_sync, warps_of_wgmma, wgmma_columns
from minitriton.passes.describe_tiles import MOST_RESULTS, SWIZZLED_ROW
from minitriton.passes.pipelining.overlap_dots import OTHER_REGISTERS
from minitriton.passes.pipelining.overlap_dots import REGISTERS as REGISTERS_OF_OVERLAPPED
from minitriton.runtime.tuning.taken import WORD_BITS, Resources, accumulator_registers, bytes_of
from minitriton.target.architectures import WIDEST_ACCESS_BITS, Architecture, least_mma_depth

SMALLEST_COPY = 4
"""Bytes that `cp.async` copies at least (PTX ISA, "cp.async")."""
ALIGNMENT = 128
"""Of small buffers, in bytes."""
BARRIER_BYTES = 8
"""Of an mbarrier (PTX ISA, "mbarrier")."""
SMALLEST_SCRATCH = 16
"""Bytes that an op which needs any has at least."""
WARP_GROUP = 4
ROWS, COLUMNS = 16, 8
"""Of a warp's part of `mma.sync`, and rows of a warp's part of `wgmma`."""
AROUND_COPIES = 26
"""Registers of a thread next to the accumulators of a loop whose operands come by tensor copies: exact for 8,681 of 9,030 matmuls (H200, 2026-11-28)."""
STEP_BITS = 256
"""Bits of an operand's row that one instruction takes."""


def resources(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> Resources:
    """What a CTA takes with constants `values` on an architecture."""
    if architecture.sm.startswith("gfx"):
        return of_waves(roles, values, num_warps, num_stages, architecture)
    threads = num_warps * architecture.warp_size
    instruction = instruction_of(roles.dots[0], values, num_warps, architecture) if roles.dots else ""
    return Resources(
        shared_bytes(roles, values, num_warps, num_stages, architecture),
        registers(roles, values, num_warps, num_stages, architecture, instruction),
        accumulator_registers(roles, values, threads),
        threads,
        instruction,
        _are_described(roles, values, num_warps, num_stages, architecture),
    )


def of_waves(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> Resources:
    """The same on AMD's GPUs: LDS and VGPRs, those for accumulation included."""
    from minitriton.runtime.tuning.waves import matrix_instruction, vector_registers, wave_lds

    return Resources(
        wave_lds(roles, values, num_warps, num_stages, architecture),
        vector_registers(roles, values, num_warps, num_stages, architecture),
        accumulator_registers(roles, values, num_warps * architecture.warp_size),
        num_warps * architecture.warp_size,
        matrix_instruction(roles.dots[0], values, architecture).name if roles.dots else "",
    )


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
    if instruction != "wgmma":
        return NvidiaMma(2, 0, warps_of_mma_sync(shape, num_warps), (ROWS, COLUMNS), ())
    width = wgmma_columns(columns, num_warps, max(rows // ROWS, 1), is_integer)
    return NvidiaMma(3, 0, warps_of_wgmma(rows, num_warps), (ROWS, width, STEP_BITS // bits), ())


def ring_slots(
    operand: Operand, values: Mapping[str, Any], threads: int, num_stages: int, through_registers: bool
) -> int:
    """Buffers of a pipelined load: a stage each, without the one whose values are in registers; one where no copy is asynchronous."""
    size = max(operand.bits // 8, 1)
    held = min(operand.width, max(elements(operand.shape, values) // threads, 1))
    if num_stages == 1 or operand.loop is None or (held * size < SMALLEST_COPY and not operand.by_descriptor):
        return 1
    return max(num_stages - through_registers, 1)


def shared_bytes(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> int:
    """Shared memory of a CTA."""
    rings: dict[Operand, int] = {}
    for dot in roles.dots:
        for operand, size in _rings(roles, dot, values, num_warps, num_stages, architecture):
            rings[operand] = max(rings.get(operand, 0), size)
    loop = _at_once(roles, rings, values, num_warps, num_stages, architecture)
    barriers = [size // bytes_of(operand, values) for operand, size in rings.items() if operand.by_descriptor]
    apart = SMALLEST_SCRATCH * (len(barriers) - 1) if num_stages == 1 and barriers else 0
    loop += BARRIER_BYTES * max(barriers, default=0) + apart
    if _are_described(roles, values, num_warps, num_stages, architecture):
        loop += _barriers(roles, rings, values)
    if num_stages > 1:
        loop += sum(_stored_in_loop(roles, values))
    exchanged = sum(_exchanged(dot, values, num_warps, architecture) for dot in roles.dots)
    loop += exchanged
    buffers = [size for size in (*rings.values(), exchanged) if size]
    count = len(buffers)
    buffers += [size for size in _scratch(roles, values, num_warps, num_stages, architecture, loop) if size]
    aligned = [-(-size // ALIGNMENT) * ALIGNMENT for size in buffers]
    if len(buffers) > 1 and sum(aligned) <= FREE_BYTES:
        return sum(aligned[:-1]) + buffers[-1]
    return max([loop, *buffers[count:]])


def _barriers(roles: TileRoles, rings: Mapping[Operand, int], values: Mapping[str, Any]) -> int:
    """Bytes of the barriers of described tiles: an array for each dot, a barrier for each buffer of a ring; the longest array first."""
    arrays: list[int] = []
    for dot in roles.dots:
        read = (
            rings[o] // bytes_of(o, values)
            for o in (dot.a, dot.b)
            if o is not None and o.loop is not None and o in rings
        )
        arrays.append(BARRIER_BYTES * max(read, default=0))
    *first, last = sorted(arrays, reverse=True)
    return sum(-(-size // SMALLEST_SCRATCH) * SMALLEST_SCRATCH for size in first) + last


def _are_described(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> bool:
    """Whether a launch describes the operands of dots: of `wgmma`, but where one fills registers and has short rows next to a tile across K
    (`passes.describe_tiles`)."""
    kinds = {instruction_of(dot, values, num_warps, architecture) for dot in roles.dots}
    if not roles.is_described or num_stages == 1 or kinds != {"wgmma"}:
        return False
    for dot in roles.dots:
        if (
            elements((dot.m, dot.n), values) < MOST_RESULTS * num_warps * architecture.warp_size
            or not dot.a
            or not dot.b
        ):
            continue
        along = [is_k_major(dot.a, "a"), is_k_major(dot.b, "b")]
        row = dot.k.at(values) * dot.bits // 8
        if any(along) and not all(along) and row < SWIZZLED_ROW:
            return False
    return True


def _rings(
    roles: TileRoles, dot: Dot, values: Mapping[str, Any], num_warps: int, num_stages: int, architecture: Architecture
) -> Iterator[tuple[Operand, int]]:
    """The buffers of the loads that a dot reads, in bytes."""
    threads = num_warps * architecture.warp_size
    instruction = instruction_of(dot, values, num_warps, architecture)
    swapped = is_swapped(dot, values, num_warps, architecture)
    over_early = num_warps <= WARP_GROUP and _are_overlapped(roles, dot, values, threads)
    for side, operand in (("a", dot.a), ("b", dot.b)):
        if operand is None or (num_stages == 1 and operand.is_computed):
            continue
        through = (
            instruction != "wgmma" or over_early or (side == "b" and swapped) or (side == "a" and operand.is_computed)
        )
        yield operand, ring_slots(operand, values, threads, num_stages, through) * bytes_of(operand, values)
    for operand in dot.others if num_stages > 1 else ():
        if elements(operand.shape, values) >= threads:
            yield operand, ring_slots(operand, values, threads, num_stages, True) * bytes_of(operand, values)


def _are_overlapped(roles: TileRoles, dot: Dot, values: Mapping[str, Any], threads: int) -> bool:
    """Whether dots that use the result of `dot` run with it for the next iteration: where registers suffice (`passes.pipelining.overlap_dots`)."""
    late = [other for other in roles.dots if other.is_chained and other.loop == dot.loop]
    if dot.is_chained or not late:
        return False
    held = sum(elements((each.m, each.n), values) * each.result_bits for each in (dot, *late))
    held += 2 * sum(elements((each.m, each.k), values) * each.bits for each in late)
    return held / WORD_BITS / threads <= REGISTERS_OF_OVERLAPPED - OTHER_REGISTERS


def _at_once(
    roles: TileRoles,
    rings: Mapping[Operand, int],
    values: Mapping[str, Any],
    num_warps: int,
    num_stages: int,
    architecture: Architecture,
) -> int:
    """Bytes of the buffers that are alive together: all of a pipelined loop; without stages those of one dot, of fp8 widened one by one."""
    if num_stages > 1:
        return sum(rings.values())
    outside = sum(size for operand, size in rings.items() if operand.loop is None)
    most = 0
    for dot in roles.dots:
        own = [
            rings[operand] for operand in (dot.a, dot.b) if operand and operand in rings and operand.loop is not None
        ]
        widened = dot.element.startswith("f8") and not architecture.has_fp8_mma
        one_by_one = widened and instruction_of(dot, values, num_warps, architecture) == "mma.sync"
        most = max(most, max(own, default=0) if one_by_one else sum(own))
    return outside + most


def _exchanged(dot: Dot, values: Mapping[str, Any], num_warps: int, architecture: Architecture) -> int:
    """Bytes in which warps exchange the result of one dot that is the operand of another: where warps share rows of it."""
    if not dot.is_chained or instruction_of(dot, values, num_warps, architecture) != "mma.sync":
        return 0
    m, n, k = (round(size.at(values)) for size in (dot.m, dot.n, dot.k))
    return m * k * dot.bits // 8 if m < max(ROWS * num_warps, n) else 0


def _scratch(
    roles: TileRoles,
    values: Mapping[str, Any],
    num_warps: int,
    num_stages: int,
    architecture: Architecture,
    loop_bytes: int,
) -> Iterator[int]:
    """Scratch of what comes after the loops: a dot's result that is converted to the layout of the store, reductions across warps."""
    for work in roles.work:
        if work.kind in ("reduce", "shuffle") and not roles.dots:
            yield from _reduction_scratch(roles, work, values, num_warps, architecture)
    if not roles.dots:
        yield from _transpose_scratch(roles, values, num_warps, architecture)
    for dot in roles.dots[-1:]:
        store = next((w for w in roles.work if w.kind in ("store", "atomic") and w.shape == (dot.m, dot.n)), None)
        if store is not None and store.by_descriptor and (store.loop is None or num_stages == 1):
            yield round(elements(store.shape, values)) * store.bits // 8
            continue
        if store is None or instruction_of(dot, values, num_warps, architecture) == "fma":
            continue
        shape = round(dot.m.at(values)), round(dot.n.at(values))
        yield _result_scratch(
            shape, num_warps, dot.bits, dot.element.startswith("i"), instruction_of(dot, values, num_warps, architecture),
            is_swapped(dot, values, num_warps, architecture), store.axis, store.width, store.bits, architecture, loop_bytes,
        )  # fmt: skip


def _stored_in_loop(roles: TileRoles, values: Mapping[str, Any]) -> Iterator[int]:
    """Buffers of tensor copies to memory in a loop whose iterations are pipelined: alive next to the rings."""
    for work in roles.work:
        if work.kind == "store" and work.by_descriptor and work.loop is not None:
            yield round(elements(work.shape, values)) * work.bits // 8


def _reduction_scratch(
    roles: TileRoles, work: Work, values: Mapping[str, Any], num_warps: int, architecture: Architecture
) -> Iterator[int]:
    """Bytes in which warps exchange partial results along an axis, and in which the result is converted to the layout of its store."""
    shape = tuple(round(size.at(values)) for size in work.shape)
    load = next((w for w in roles.work if w.kind == "load" and w.shape == work.shape), None)
    fastest, width, bits = (load.axis, load.width, load.bits) if load else (len(shape) - 1, 1, work.bits)
    layout = _access_layout(shape, fastest, width, bits, num_warps, architecture)
    warps = warps_per_cta(layout, shape)[work.axis]
    size = max(work.bits, 8) // 8
    if warps > 1:
        yield max(size * warps * prod(shape) // shape[work.axis], SMALLEST_SCRATCH)
    rest = (*work.shape[: work.axis], *work.shape[work.axis + 1 :])
    store = next((w for w in roles.work if w.kind in ("store", "atomic") and w.shape == rest and rest), None)
    if work.kind == "reduce" and store is not None and len(rest) == 1:
        result = (shape[1 - work.axis],)
        target = _access_layout(result, 0, store.width, store.bits, num_warps, architecture)
        source = reduce_dst(layout, work.axis)
        yield _conversion_scratch(source, target, result, work.bits, architecture)


def _access_layout(
    shape: tuple[int, ...], axis: int, width: int, bits: int, num_warps: int, architecture: Architecture
) -> Blocked:
    """The layout of an access that is contiguous along `axis`: as many neighbours a thread as 16 bytes and its part of the tile have."""
    held = max(prod(shape) // (num_warps * architecture.warp_size), 1)
    per_thread = [1] * len(shape)
    per_thread[axis] = min(width, held, shape[axis], max(WIDEST_ACCESS_BITS // max(bits, 8), 1))
    order = (axis, *(dim for dim in reversed(range(len(shape))) if dim != axis))
    return blocked_for_cga(shape, per_thread, order, num_warps, architecture.warp_size)


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
    architecture: Architecture,
    loop_bytes: int,
) -> int:
    """Bytes in which a dot's result is converted to the layout of its store, in as many as are free anyway."""
    if swapped:
        shape, axis = (shape[1], shape[0]), 1 - axis
    source = mma_layout(shape, num_warps, bits, is_integer, instruction)
    target = _access_layout(shape, axis, width, store_bits, num_warps, architecture)
    return _conversion_scratch(source, target, shape, store_bits, architecture, loop_bytes)


def _conversion_scratch(
    source: DistributedEncoding,
    target: DistributedEncoding,
    shape: tuple[int, ...],
    bits: int,
    architecture: Architecture,
    free: int = 0,
) -> int:
    """Bytes of a conversion, in as few rounds as `free` bytes and the tile's share of shared memory allow."""
    plan = plan_conversion(source, target, shape, bits, architecture)
    if isinstance(plan, SharedMemoryRoundTrip) and plan.rounds > 1:
        tile = min(plan.rounds * plan.scratch_bytes, architecture.register_file_bytes)
        share = tile * architecture.max_shared_memory // architecture.register_file_bytes
        plan = plan_conversion(source, target, shape, bits, architecture, max(free, plan.scratch_bytes, share))
    return plan.scratch_bytes if isinstance(plan, SharedMemoryRoundTrip) else 0


def _transpose_scratch(
    roles: TileRoles, values: Mapping[str, Any], num_warps: int, architecture: Architecture
) -> Iterator[int]:
    """Bytes in which a tile that is stored with its axes swapped is converted from the layout of its load."""
    loads = [w for w in roles.work if w.kind == "load" and len(w.shape) == 2]
    for store in (w for w in roles.work if w.kind in ("store", "atomic") and len(w.shape) == 2):
        load = next((w for w in loads if w.shape == store.shape[::-1] != store.shape), None)
        if load is not None and load.axis == store.axis:
            shape = tuple(round(size.at(values)) for size in load.shape)
            source = _access_layout(shape, load.axis, load.width, load.bits, num_warps, architecture)
            target = _access_layout(shape, 1 - store.axis, store.width, store.bits, num_warps, architecture)
            yield _conversion_scratch(source, target, shape, store.bits, architecture)


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
        return _registers_of_elements(roles, values, threads)
    if len(roles.dots) == 1 and _are_described(roles, values, num_warps, num_stages, architecture):
        dot = roles.dots[0]
        held = elements((dot.m, dot.n), values) * dot.result_bits / WORD_BITS / threads
        return min(round(held) + AROUND_COPIES, architecture.registers_per_thread)
    kind = instruction if instruction != "mma.sync" else f"mma.sync {architecture.mma_version}"
    features = _features(roles, values, num_warps, num_stages, architecture, instruction)
    return round(
        max(sum(w * f for w, f in zip(REGISTERS.get(kind, REGISTERS["mma.sync 2"]), features, strict=True)), 16)
    )


def _features(
    roles: TileRoles,
    values: Mapping[str, Any],
    num_warps: int,
    num_stages: int,
    architecture: Architecture,
    instruction: str,
) -> tuple[float, ...]:
    """What the registers of the last dot in a loop depend on, in numbers a thread."""
    dot = roles.dots[-1]
    threads = num_warps * architecture.warp_size
    m, n, k = (size.at(values) for size in (dot.m, dot.n, dot.k))
    swapped = is_swapped(dot, values, num_warps, architecture)
    sides = (("a", dot.a), ("b", dot.b))
    copies, narrow, moved, computed = [0.0, 0.0], [0.0, 0.0], 0.0, 0.0
    for number, (side, operand) in enumerate(sides):
        if operand is None:
            continue
        held, size = elements(operand.shape, values) / threads, max(operand.bits // 8, 1)
        at_once = min(operand.width, max(held, 1.0))
        if at_once * size < SMALLEST_COPY:
            narrow[number] = held
        else:
            copies[number] = max(held / min(at_once, WIDEST_ACCESS_BITS // 8 / size), 1.0)
        moved += held * (
            operand.bits == WORD_BITS and instruction == "wgmma" and not is_k_major(operand, side) and not swapped
        )
        computed += held * operand.is_computed
    waited = sum(bytes_of(operand, values) for _, operand in sides if operand is not None) / WORD_BITS * 8 / threads
    accumulators, steps = m * n / threads, k * dot.bits / STEP_BITS
    k_major = float(dot.b is not None and is_k_major(dot.b, "b"))
    common = (
        1.0, accumulators, *copies, *narrow, float(sum(narrow) > 0), moved, computed, float(computed > 0), waited * (num_stages == 1),
        float(num_stages == 1), k_major, k_major * copies[1], log2(1 + sum(copies)), min(accumulators, 32.0), max(accumulators - 100, 0.0),
        float(num_warps == 8),
    )  # fmt: skip
    more = _further_features(roles, values, threads)
    several, many = float(num_stages >= 3), float(num_stages >= 4)
    if instruction == "wgmma":
        more = (*more, several, many, many * sum(copies))
        return (*common, swapped * n * k / threads, float(swapped), steps, *more)
    split = mma_layout((round(m), round(n)), num_warps, dot.bits, False, "mma.sync").warps_per_cta
    a, b = max(m / split[0] / ROWS, 1) * 4, max(n / split[1] / COLUMNS, 1) * 2
    widened = float(dot.element.startswith("f8"))
    more = (*more, several, many, many * sum(copies), several * (a + b))
    return (
        *common,
        a,
        b,
        a * steps,
        b * steps,
        widened,
        widened * (a + b) * steps,
        log2(a + b),
        log2(max(steps, 1)),
        *more,
    )


def _further_features(roles: TileRoles, values: Mapping[str, Any], threads: int) -> tuple[float, ...]:
    """What further dots, loops around that of the last dot, and operands that are computed add."""
    dot = roles.dots[-1]
    of_a, of_b = (elements((size, dot.k), values) / threads for size in (dot.m, dot.n))
    others = sum(elements((d.m, d.n), values) / threads for d in roles.dots[:-1] if (d.m, d.n) != (dot.m, dot.n))
    computed = of_a * bool(dot.a and dot.a.is_computed) + of_b * bool(dot.b and dot.b.is_computed)
    return (
        others, float(dot.is_chained), of_a * dot.is_chained, float(dot.loop is not None and roles.loops[dot.loop].parent is not None),
        sum(elements(operand.shape, values) / threads for operand in dot.others), computed,
    )  # fmt: skip


REGISTERS = {
    "wgmma": (
        16.8, 1.05, 2.01, 0.46, 2.31, 3.39, 1.87, 1.37, -0.3, 1.41, 0.46, -5.53, -7.45, 0.99, 3.91, 0.19, -0.12, 0.94, 0.97, -1.14, 1.61, 0.9,
        1.87, 0.9, 15.19, 0.04, 1.06, 3.65, 0.85, 0.32,
    ),
    "mma.sync 3": (
        33.8, 1.38, 1.64, 1.45, 2.11, 2.35, 0.94, 0.0, -1.53, 3.0, 0.0, 11.91, -7.38, 0.48, -0.58, -0.13, 0.0, -4.21, 0.0, -0.59, 0.0, 0.36,
        7.95, -0.07, 0.7, 1.31, 0.55, 17.4, 0.55, 4.95, 0.09, 1.28, 0.74, -1.11, 0.93, 0.4,
    ),
    "mma.sync 2": (
        -2.46, 0.83, 3.28, 2.28, 2.5, 2.5, 0.0, 0.0, -0.24, 1.87, -0.56, 16.54, -3.8, 0.55, 4.46, -0.02, 0.72, -0.34, 0.98, -0.19, -0.18,
        0.38, 0.0, 0.0, 5.85, 6.88, 0.74, 14.75, 0.74, 10.98, 84.84, 0.11, 0.0, 0.0, 0.0, 0.0,
    ),
}  # fmt: skip
"""Weights of `_features`, fitted to what nvJitLink took for 1,940 kernels with dots (matmuls of five types, int4, grouped, attention) on 2026-11-28:
within 10 % for 81 % of `wgmma`, 58 % of `mma.sync` on sm_90 and 73 % on sm_80."""


def _registers_of_elements(roles: TileRoles, values: Mapping[str, Any], threads: int) -> int:
    """Registers of a kernel without dots: what the loads of its busiest loop fill, the elements of its largest tile, reductions.

    Fitted to 178 configurations of nine kernels on 2026-11-28: within 10 % for 35 %, within 25 % for 78 %.
    """
    filled: dict[int | None, float] = {}
    largest = 1.0
    for work in roles.work:
        held = max(elements(work.shape, values) / threads, 1.0) if work.shape else 0.0
        largest = max(largest, held)
        if work.kind == "load":
            filled[work.loop] = filled.get(work.loop, 0.0) + held * max(work.bits, 8) / WORD_BITS
    reductions = sum(work.kind == "reduce" for work in roles.work)
    return round(
        14.3 + 0.43 * max(filled.values(), default=0.0) + (0.68 if roles.loops else 0.47) * largest + 6.5 * reductions
    )
