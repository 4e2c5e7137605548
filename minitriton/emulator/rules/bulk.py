"""Bulk and tensor copies and reductions.

cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4]
    →   load_tensor(x, 9, r1, rd1, [r2, r3], r4, None, m)
"""

from __future__ import annotations

from minitriton.emulator.operations import bulk_copies
from minitriton.emulator.operations import remote as remote_operations
from minitriton.emulator.operations import tensor_copy as tensor_copy_operations
from minitriton.emulator.ptx.program import Address, Immediate, Instruction
from minitriton.emulator.rules.memory import address_text, elements_of
from minitriton.emulator.translate import NAMES, BlockWriter, kind_of, rule

NAMES.update({
    "load_bulk": bulk_copies.load_bulk, "store_bulk": bulk_copies.store_bulk,
    "copy_to_cluster": bulk_copies.copy_to_cluster, "bulk_commit": bulk_copies.commit, "bulk_wait": bulk_copies.wait,
    "store_async": remote_operations.store_async, "reduce_into_cluster": remote_operations.reduce_into_cluster,
    "load_tensor": tensor_copy_operations.load_tensor, "store_tensor": tensor_copy_operations.store_tensor,
})  # fmt: skip


def _corner(w: BlockWriter, operand: Address) -> str:
    return "[" + ", ".join(w.read(c, "u32") for c in operand.coordinates) + "]"


@rule("cp.async.bulk.commit_group")
def _commit(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.emit(f"bulk_commit(x, {w.active()})")


@rule("cp.async.bulk.wait_group")
def _wait(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    allowed = i.operands[0]
    if not isinstance(allowed, Immediate):
        raise ValueError("the number of groups must be a constant")
    w.emit(f"bulk_wait(x, {allowed.value}, {'read' in parts}, {w.active()})")


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
