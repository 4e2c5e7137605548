"""Barriers and asynchronous copies.

bar.sync 0            →   ends its block; the machine holds the threads until all of the CTA have arrived
cp.async.wait_group 1 →   wait_group(x, 1, m)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitriton.emulator import async_operations
from minitriton.emulator.control_flow import Block
from minitriton.emulator.machine import Machine, Mask
from minitriton.emulator.program import Immediate, Instruction
from minitriton.emulator.rules_memory import address_text
from minitriton.emulator.translate import NAMES, BlockWriter, rule


def barrier(number: Any, count: Any, wait: bool, site: int, guard: Any) -> Any:
    """What the machine does with the threads at the end of a block that a barrier ends."""

    def act(x: Machine, ready: dict[int, Mask], block: Block, mask: Mask) -> None:
        if guard is not None:
            mask, rest = x.part(guard, mask)
            if rest is not False:
                x.go(ready, block.next, rest)
            if mask is False:
                return
        expected = x.threads if count is None else int(np.max(count))
        if number.ndim == 0 or (number == number[0]).all():
            chosen = int(number if number.ndim == 0 else number[0])
            x.arrive(ready, chosen, expected, block.next, mask, wait, site)
            return
        for chosen in np.unique(number if mask is None else number[mask]).tolist():
            here = number == chosen
            x.arrive(ready, chosen, expected, block.next, here if mask is None else here & mask, wait, site)

    return act


def warp_barrier(x: Machine, members: Any, mask: Any) -> None:
    """`bar.warp.sync`."""
    mask = x.mask(mask)
    x.shared.synchronize_warps(np.arange(x.count // 32) if mask is None else np.unique(x.warp[mask]))


NAMES |= {
    "barrier": barrier, "warp_barrier": warp_barrier, "copy_async": async_operations.copy_async,
    "commit_group": async_operations.commit_group, "wait_group": async_operations.wait_group,
}  # fmt: skip


@rule("bar", "barrier")
def _barrier(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "red" in parts or "cluster" in parts:
        raise ValueError("barrier reductions and cluster barriers")
    number = w.read(i.operands[0], "u32")
    count = w.read(i.operands[1], "u32") if len(i.operands) > 1 else "None"
    guard = w.guard() or "None"
    w.outcome = f"barrier({number}, {count}, {'arrive' not in parts}, {w.site()}, {guard})"


@rule("bar.warp.sync")
def _warp_barrier(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"warp_barrier(x, {w.read(i.operands[0], 'u32')}, {w.active()})")


@rule("cp.async.ca", "cp.async.cg")
def _copy(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    target = address_text(w, i.operands[0], "shared")
    source = address_text(w, i.operands[1], "global")
    size = i.operands[2]
    if not isinstance(size, Immediate):
        raise ValueError("the size must be a constant")
    extra = list(i.operands[3:])
    if "cache_hint" in i.opcode:
        extra.pop()
    valid = w.read(extra[0] if extra else size, "u32")
    w.emit(f"copy_async(x, {w.site()}, {target}, {source}, {size.value}, {valid}, {w.active()})")


@rule("cp.async.commit_group")
def _commit(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"commit_group(x, {w.active()})")


@rule("cp.async.wait_group", "cp.async.wait_all")
def _wait(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    allowed = i.operands[0].value if i.operands and isinstance(i.operands[0], Immediate) else None
    w.emit(f"wait_group(x, {allowed}, {w.active()})")
