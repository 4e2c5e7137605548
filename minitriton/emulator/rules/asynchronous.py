"""mbarriers, tensor maps and warpgroup dots.

mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2   →   a block of its own; threads stay until the phase is over
"""

import re

from minitriton.emulator.operations import bulk_copies
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


@rule("wgmma.commit_group", "cp.async.bulk.commit_group")
def _commit(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"{_GROUPS[parts[0]]}_commit(x, {w.active()})")


@rule("wgmma.wait_group", "cp.async.bulk.wait_group")
def _wait_group(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    allowed = i.operands[0]
    if not isinstance(allowed, Immediate):
        raise ValueError("the number of groups must be a constant")
    reads = f", {'read' in parts}" if parts[0] == "cp" else ""
    w.emit(f"{_GROUPS[parts[0]]}_wait(x, {allowed.value}{reads}, {w.active()})")


_GROUPS = {"wgmma": "wgmma", "cp": "bulk"}
"""What the operations on groups of an instruction are called."""


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


# Bulk and tensor copies and reductions.
#
# cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4]
#     →   load_tensor(x, 9, r1, rd1, [r2, r3], r4, None, m)

NAMES.update({
    "load_bulk": bulk_copies.load_bulk, "store_bulk": bulk_copies.store_bulk,
    "copy_to_cluster": bulk_copies.copy_to_cluster, "bulk_commit": bulk_copies.commit, "bulk_wait": bulk_copies.wait,
    "store_async": bulk_copies.store_async, "reduce_into_cluster": bulk_copies.reduce_into_cluster,
    "load_tensor": tensor_copy_operations.load_tensor, "store_tensor": tensor_copy_operations.store_tensor,
})  # fmt: skip


def _corner(w: BlockWriter, operand: Address) -> str:
    return "[" + ", ".join(w.read(c, "u32") for c in operand.coordinates) + "]"


@rule("cp.async.bulk.prefetch")
def _prefetch(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """Brings nothing that a thread could see."""


def _spaces(parts: list[str]) -> tuple[str, str]:
    """Destination and source state space of a copy."""
    first, second, *_ = (p.partition(":")[0] for p in parts if p.partition(":")[0] in ("global", "shared"))
    return first, second


def _ranks(w: BlockWriter, i: Instruction, parts: list[str], position: int) -> str:
    if not any(p.startswith("multicast") for p in parts):
        return "None"
    return w.read(i.operands[position], "u16")


@rule("cp.async.bulk")
def _copy(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    to, of = _spaces(parts)
    target = address_text(w, i.operands[0], to)
    source, size = address_text(w, i.operands[1], of), w.read(i.operands[2], "u32")
    if to == "global":
        w.emit(f"store_bulk(x, {w.site()}, {target}, {source}, {size}, '', '', {w.active()})")
        return
    barrier = address_text(w, i.operands[3], "shared")
    if of == "shared":
        w.emit(f"copy_to_cluster(x, {w.site()}, {target}, {source}, {size}, {barrier}, {w.active()})")
    else:
        ranks = _ranks(w, i, parts, 4)
        w.emit(f"load_bulk(x, {w.site()}, {target}, {source}, {size}, {barrier}, {ranks}, {w.active()})")


@rule("cp.reduce.async.bulk")
def _reduce(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    to, _ = _spaces(parts)
    target, source = address_text(w, i.operands[0], to), address_text(w, i.operands[1], "shared")
    size = w.read(i.operands[2], "u32")
    what = f"{_operation(parts)!r}, {parts[-1]!r}"
    if to == "shared":
        barrier = address_text(w, i.operands[3], "shared")
        w.emit(f"reduce_into_cluster(x, {w.site()}, {target}, {source}, {size}, {barrier}, {what}, {w.active()})")
        return
    w.emit(f"store_bulk(x, {w.site()}, {target}, {source}, {size}, {what}, {w.active()})")


@rule("st.async", "red.async")
def _store_async(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if not any(p.startswith("mbarrier::") for p in parts):
        raise ValueError("only with an mbarrier")
    target, barrier = address_text(w, i.operands[0], "shared"), address_text(w, i.operands[2], "shared")
    kind = f"u{kind_of(parts[-1])[1:]}"
    values = ", ".join(w.read(v, kind) for v in elements_of(i.operands[1]))
    operation = _operation(parts) if parts[0] == "red" else ""
    what = f"{operation!r}, {parts[-1]!r}"
    w.emit(f"store_async(x, {w.site()}, {target}, [{values}], {what}, {barrier}, {w.active()})")


def _operation(parts: list[str]) -> str:
    return next(p for p in parts if p in ("add", "min", "max", "inc", "dec", "and", "or", "xor"))


@rule("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")
def _tensor(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if any(p.startswith(("im2col", "tile::")) for p in parts):
        raise ValueError("im2col, gather and scatter copies")
    to, _ = _spaces(parts)
    map = i.operands[0 if to == "global" else 1]
    if not isinstance(map, Address):
        raise ValueError("expected [map, {coordinates}]")
    corner, descriptor = _corner(w, map), address_text(w, map, "global")
    if to == "global":
        source = address_text(w, i.operands[1], "shared")
        operation = _operation(parts) if parts[1] == "reduce" else ""
        w.emit(f"store_tensor(x, {w.site()}, {descriptor}, {corner}, {source}, {operation!r}, {w.active()})")
    else:
        target, barrier = address_text(w, i.operands[0], "shared"), address_text(w, i.operands[2], "shared")
        ranks = _ranks(w, i, parts, 3)
        w.emit(f"load_tensor(x, {w.site()}, {target}, {descriptor}, {corner}, {barrier}, {ranks}, {w.active()})")
