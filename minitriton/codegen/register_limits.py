"""Under which limits of registers it is worth assembling a kernel again: told from its PTX, and from what it takes when left alone.

    candidate_register_limits(ptx, KernelResources(80, 0), threads=256, shared_bytes=0)     [64]: an SM holds four blocks in place of three

`occupancy` knows which limits let an SM hold more blocks; here those are left out under which the kernel would spill or wait more often.
"""

from __future__ import annotations

import re

from minitriton.codegen.cubin_resources import KernelResources
from minitriton.codegen.occupancy import FULL_OCCUPANCY_REGISTERS, WARPS, blocks_on_sm, register_limits, registers_for
from minitriton.codegen.reading_loops import IterationNeed, iteration_need, reading_loops
from minitriton.codegen.register_need import register_need, registers_loaded

ALL_REGISTERS = 250
"""A kernel that takes as many, of the 255 that an instruction can name, and spills would like more."""

LEAST_LIMIT_RATIO = 0.75
"""A limit of so many of its registers only has such a kernel spill more (a tile of 256x256, scanned: 1,056 bytes with 255 registers,
1,400 with 168); one that is nearer may have it spill less (a product of two warps: 200 bytes with 255, 16 with 200; 2026-11-23)."""


def candidate_register_limits(ptx: str, taken: KernelResources, threads: int, shared_bytes: int) -> list[int]:
    """The limits under which a kernel that takes `taken` when left alone may be faster, the best first. None for one that prints: nobody waits for
    its speed, and what it passes to `vprintf` counts as local memory."""
    if "vprintf" in ptx:
        return []
    blocks = blocks_on_sm(taken.registers, threads, shared_bytes)
    if "wgmma.mma_async" in ptx and blocks > 1:
        return [] if taken.local_bytes else _limits_of_dots(ptx, blocks, taken.registers, threads, shared_bytes)
    limits = register_limits(taken.registers, threads, shared_bytes, reads_in_turns=reading_loops(ptx) > 1)
    need = iteration_need(ptx)
    if not taken.local_bytes and need.loaded and not _has_products(ptx):
        limits = _with_room_for_loads(limits, need, taken.registers, threads, shared_bytes)
    if taken.local_bytes and taken.registers >= ALL_REGISTERS:
        limits = [limit for limit in limits if limit > LEAST_LIMIT_RATIO * taken.registers or _holds_little(limit, ptx)]
    elif not taken.local_bytes:
        limits = [limit for limit in limits if not _holds_more_than(limit, ptx)]
    if blocks * threads < HALF_OF_SM:
        limits = [limit for limit in limits if not _parts_loads(limit, need)]
    return limits


def _with_room_for_loads(
    limits: list[int], need: IterationNeed, registers: int, threads: int, shared_bytes: int
) -> list[int]:
    """`limits`, and in front of them the one for the most blocks that holds twice what an iteration sums and loads: more warps then cost nothing.

    Sums of rows and parts of 8 sums and 8 loaded registers a thread, and layer norms of 8 and 4, run 1.08 to 1.22 times as fast with 32 registers
    as with 40 to 64; many of 16 and 8, or 16 and 16, lose by fewer, 0.83 to 0.95 (H200, 2026-11-24). A limit of much less than half of the registers would spill.
    """
    now, most = (blocks_on_sm(n, threads, shared_bytes) for n in (registers, FULL_OCCUPANCY_REGISTERS))
    for blocks in range(most, now, -1):
        limit = max(registers_for(blocks, threads), FULL_OCCUPANCY_REGISTERS)
        if 2 * need.held <= limit and 2 * (limit + ADDRESS) >= registers:
            return list(dict.fromkeys([limit, *limits]))[:2]
    return limits


def _limits_of_dots(ptx: str, blocks: int, registers: int, threads: int, shared_bytes: int) -> list[int]:
    """The limit with which an SM holds one block of products more than `blocks`, where that is near.

    Sums take their registers whatever the limit, so that one far below what the kernel takes spills, and so does one that does not hold those
    of all products (attention, whose scores are the sums of other products). Of 315 products drawn at random, 34 of one tile a warp group take
    fewer registers by this: 0.97 to 1.65 times as fast, 1.080 in the geometric mean (H200, 2026-11-24). Of more tiles an fp8 product is the
    slowest, 0.81 to 0.86: its last round of blocks is emptier with five blocks than with four.
    """
    limit = registers_for(blocks + 1, threads)
    near = blocks_on_sm(limit, threads, shared_bytes) > blocks and limit >= LEAST_LIMIT_RATIO * registers
    return [limit] if near and _registers_of_sums(ptx) <= limit else []


def _registers_of_sums(ptx: str) -> int:
    """Registers of a thread for the sums of all products in `ptx` whose sums have names of their own."""
    return sum(sums.count(",") + 1 for sums in {product[1] for product in _WGMMA.finditer(ptx)})


MANY_SUMS = 64
"""Registers of a thread for the sums of a product."""

MANY_COPIES = 16
"""Copies of 4 or 8 bytes before the first product, each with an address of its own."""

_WGMMA = re.compile(r"wgmma\.mma_async[^{]*\{([^}]*)\}, *(\{)?")


def expected_limit(ptx: str, threads: int, shared_bytes: int) -> int | None:
    """The limit that would be chosen, if `ptx` looks as though it would be taken: then it is assembled first, and without a limit only when
    something asks for that. Whether it is right shows in what comes out; a wrong guess costs an assembly.

    Of kernels without products it is those that could start more loads at once than they have registers for, and get by with half of these
    when each load comes right before its use: sums of tiles, which an assembler that is left alone gives all registers. Left alone, under a
    nearer limit and under this one: the sum of a tile of 256x256 was assembled three times (2026-11-23).
    """
    if _has_products(ptx):
        limit = registers_for(2, threads)
        return limit if _has_many_sums(ptx) and _is_next_limit(limit, threads, shared_bytes) else None
    limit = next(iter(register_limits(ALL_REGISTERS, threads, shared_bytes)), ALL_REGISTERS)
    if registers_loaded(ptx) < limit or not _is_next_limit(limit, threads, shared_bytes):
        return None
    need = register_need(ptx)
    fits = need is not None and need.filled >= limit and 2 * need.needed <= limit
    return limit if fits else None


def _has_products(ptx: str) -> bool:
    return "mma" in ptx


def _is_next_limit(limit: int, threads: int, shared_bytes: int) -> bool:
    """Whether `limit` is the one limit to try for a kernel that takes a register more."""
    return limit < ALL_REGISTERS and register_limits(limit + 1, threads, shared_bytes) == [limit]


def _has_many_sums(ptx: str) -> bool:
    """Whether many sums of products meet operands in registers or many copies: left alone, 128x128 tiles at 8 warps take 142 registers for
    int8 by bf16 and 158 for tf32, where fp16 from descriptors takes 90 (2026-11-23)."""
    product = _WGMMA.search(ptx)
    if product is None or product[1].count(",") + 1 < MANY_SUMS:
        return False
    return bool(product[2]) or ptx.count("cp.async.ca.", 0, product.start()) >= MANY_COPIES


def _holds_more_than(limit: int, ptx: str) -> bool:
    """Whether what `ptx` loads at once fills `limit`, and what becomes of it does so too, beside an address: it would spill (prefix sums keep
    each sum until the last is there: a scan of 128x128 was assembled twice for that; 2026-11-23)."""
    if registers_loaded(ptx) < limit:
        return False
    need = register_need(ptx)
    return need is not None and need.filled >= limit and need.held + ADDRESS > limit


ADDRESS = 2
"""Registers of an address."""


def _holds_little(limit: int, ptx: str) -> bool:
    """Whether what `ptx` loads leaves half of `limit` to the rest, so that a kernel which spills when it starts everything at once need not:
    64 single bytes behind as many masks spill with 254 registers, not with 168, and are copied in 0.72 of the time (2026-11-24)."""
    need = register_need(ptx)
    return need is not None and need.filled > 0 and 2 * (need.held + ADDRESS) <= limit


HALF_OF_SM = 32 * WARPS // 2
"""Threads; with less than that the limits are those that bring an SM to half of its warps, or nearer to it."""

BESIDE_SUMS = 1.25
"""Registers of an iteration to those for its sums and loads alone: addresses, conditions, the counter."""


def _parts_loads(limit: int, need: IterationNeed) -> bool:
    """Whether sums that a loop carries fill two fifths of `limit` and what it loads does not fit beside them: then the loads of an iteration
    could not start at once, and each part would wait for memory anew. Sums of rows, of 32 and 64 sums a thread: 20 shapes, 0.52 to 0.99 as
    fast with such limits as without (H200, 2026-11-24). With few sums other warps fill the waits: sums of columns, of 6 sums beside 64
    loaded, 1.00 to 1.03."""
    return 5 * need.sums >= 2 * limit and BESIDE_SUMS * need.held >= limit
