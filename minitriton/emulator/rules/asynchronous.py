"""mbarriers, tensor maps and warpgroup dots.

mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2   →   a block of its own; threads stay until the phase is over
"""

from __future__ import annotations

import re

from minitriton.emulator.operations import mbarrier as mbarrier_operations
from minitriton.emulator.operations import tensor_copy as tensor_copy_operations
from minitriton.emulator.operations import wgmma as wgmma_operations
from minitriton.emulator.ptx.program import Address, Immediate, Instruction, Register, Vector
from minitriton.emulator.rules.memory import address_text, elements_of
from minitriton.emulator.translate import NAMES, BlockWriter, kind_of, rule

NAMES.update({
    "mbarrier_init": mbarrier_operations.initialise, "mbarrier_inval": mbarrier_operations.invalidate,
    "mbarrier_arrive": mbarrier_operations.arrive, "mbarrier_wait": mbarrier_operations.wait,
    "arrive_after_copies": mbarrier_operations.arrive_after_copies,
    "replace_field": tensor_copy_operations.replace_field,
    "publish_descriptor": tensor_copy_operations.publish_descriptor, "wgmma": wgmma_operations.multiply,
    "wgmma_commit": wgmma_operations.commit, "wgmma_wait": wgmma_operations.wait,
    "check_pending": wgmma_operations.check_pending, "check_running": wgmma_operations.check_running, "wgmma_fence": wgmma_operations.fence,
    "wgmma_touch": wgmma_operations.touch,
})  # fmt: skip


@rule("mbarrier.init", "mbarrier.inval")
def _create(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    address = address_text(w, i.operands[0], "shared")
    count = f", {w.read(i.operands[1], 'u32')}" if parts[1] == "init" else ""
    w.emit(f"mbarrier_{parts[1]}(x, {w.site()}, {address}{count}, {w.active()})")


@rule("mbarrier.arrive", "mbarrier.expect_tx")
def _arrive(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    token, *rest = i.operands if not isinstance(i.operands[0], Address) else (None, *i.operands)
    address = address_text(w, rest[0], "shared")
    value = w.read(rest[1], "u32") if len(rest) > 1 else w.constant(1, "u32")
    none, one = w.constant(0, "u32"), w.constant(1, "u32")
    count, expected = (value, none) if "expect_tx" not in parts else (one, value)
    if parts[1] == "expect_tx":
        count = none
    found = w.temporary(f"mbarrier_arrive(x, {w.site()}, {address}, {count}, {expected}, {w.active()})")
    if token is not None:
        w.write(token, "u64", found)


@rule("mbarrier.try_wait", "mbarrier.test_wait")
def _wait(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if i.guard is not None:
        raise ValueError("under a guard")
    address = address_text(w, i.operands[1], "shared")
    parity = w.read(i.operands[2], "u32" if "parity" in parts else "u64")
    w.write(i.operands[0], "b1", w.constant(1, "b1"))
    w.outcome = f"mbarrier_wait({w.site()}, {address}, {parity})"


@rule("cp.async.mbarrier.arrive")
def _arrive_after(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    address = address_text(w, i.operands[0], "shared")
    w.emit(f"arrive_after_copies(x, {w.site()}, {address}, {'noinc' in parts}, {w.active()})")


@rule("tensormap.replace")
def _replace(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    space = "shared" if parts[4].startswith("shared") else "global"
    address, *rest = i.operands
    index = rest[0].value if len(rest) > 1 and isinstance(rest[0], Immediate) else 0
    value = w.read(rest[-1], kind_of(parts[-1]))
    text = address_text(w, address, space)
    w.emit(f"replace_field(x, {w.site()}, {space!r}, {parts[3]!r}, {text}, {index}, {value}, {w.active()})")


@rule("tensormap.cp_fenceproxy")
def _publish(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    target, source = address_text(w, i.operands[0], "global"), address_text(w, i.operands[1], "shared")
    size = i.operands[2]
    if not isinstance(size, Immediate):
        raise ValueError("the size must be a constant")
    w.emit(f"publish_descriptor(x, {w.site()}, {target}, {source}, {size.value}, {w.active()})")


@rule("wgmma.fence")
def _fence(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if w.checked:
        w.touched.clear()
        w.emit(f"wgmma_fence(x, {w.active()})")


@rule("wgmma.commit_group")
def _commit(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"wgmma_commit(x, {w.active()})")


@rule("wgmma.wait_group")
def _wait_group(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    allowed = i.operands[0]
    if not isinstance(allowed, Immediate):
        raise ValueError("the number of groups must be a constant")
    w.emit(f"wgmma_wait(x, {allowed.value}, {w.active()})")


@rule("wgmma.mma_async")
def _multiply(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    shape = re.fullmatch(r"m64n(\d+)k(\d+)", parts[4])
    if shape is None or "sp" in parts:
        raise ValueError("only dense m64 shapes")
    of_d, of_a, of_b = (p for p in parts[5:] if p != "satfinite")
    d, a, b, keep, *flags = i.operands
    if not {of_a, of_b} <= {"f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8"}:
        raise ValueError(f"operands {of_a}, {of_b}")
    values = [int(f.value) for f in flags if isinstance(f, Immediate)]
    signs, turns = ([*values[:2], 1, 1])[:2], values[2:]
    in_registers = isinstance(a, Vector)
    transposed = (False, bool(turns[-1])) if in_registers and turns else tuple(bool(t) for t in turns) or (False, False)
    left = "[" + ", ".join(w.read(v, "u32") for v in a.elements) + "]" if isinstance(a, Vector) else w.read(a, "u64")
    elements = elements_of(d)
    old = ", ".join(w.read(v, "u32") for v in elements)
    numbers = [v.index for v in elements if isinstance(v, Register)]
    held = [v.index for v in elements_of(a) if isinstance(v, Register)] if in_registers else []
    if touched := sorted(w.touched.intersection((*numbers, *held))):
        w.emit(f"wgmma_touch(x, {touched}, {w.active()})")
    found = w.temporary(
        f"wgmma(x, {w.site()}, ({shape[1]}, {shape[2]}), {(of_d, of_a, of_b)!r}, {'satfinite' in parts}, {left}, "
        f"{w.read(b, 'u64')}, [{old}], {numbers}, {held}, {w.read(keep, 'b1')}, {(signs[0] < 0, signs[1] < 0)!r}, {transposed!r}, {w.active()})"
    )
    for position, element in enumerate(elements):
        w.write(element, "u32", f"{found}[{position}]")
