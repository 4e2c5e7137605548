"""Warp-wide instructions.

shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1   →   t1 = shuffle(x, 9, "bfly", r1, k0, k1, k2, m); r2 = t1[0]; p1 = t1[1]
"""

from __future__ import annotations

from minitriton.emulator.operations import matrix as matrix_operations
from minitriton.emulator.operations import warp as warp_operations
from minitriton.emulator.ptx.program import Instruction, Operand, Pair
from minitriton.emulator.rules.memory import address_text, elements_of
from minitriton.emulator.translate import NAMES, BlockWriter, kind_of, rule

for _name in ("shuffle", "vote", "active_mask", "elect", "match", "reduce"):
    NAMES[_name] = getattr(warp_operations, _name)


def _both_results(w: BlockWriter, destination: Operand, kind: str, call: str) -> None:
    found = w.temporary(call)
    if isinstance(destination, Pair):
        w.write(destination.first, kind, f"{found}[0]")
        w.write(destination.second, "b1", f"{found}[1]")
    else:
        w.write(destination, kind, f"{found}[0]")


@rule("shfl.sync")
def _shuffle(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    value, source, control, members = (w.read(o, "u32") for o in i.operands[1:5])
    call = f"shuffle(x, {w.site()}, {parts[2]!r}, {value}, {source}, {control}, {members}, {w.active()})"
    _both_results(w, i.operands[0], "u32", call)


@rule("vote.sync")
def _vote(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    predicate, members = w.read(i.operands[1], "b1"), w.read(i.operands[2], "u32")
    kind = "u32" if parts[2] == "ballot" else "b1"
    w.write(i.operands[0], kind, f"vote(x, {w.site()}, {parts[2]!r}, {predicate}, {members}, {w.active()})")


@rule("match")
def _match(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    value, members = w.read(i.operands[1], kind_of(parts[-1])), w.read(i.operands[2], "u32")
    call = f"match(x, {w.site()}, {parts[1]!r}, {value}, {members}, {w.active()})"
    _both_results(w, i.operands[0], "u32", call)


@rule("redux.sync")
def _reduce(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    value, members = w.read(i.operands[1], kind), w.read(i.operands[2], "u32")
    w.write(i.operands[0], kind, f"reduce(x, {w.site()}, {parts[2]!r}, {value}, {members}, {w.active()})")


@rule("activemask")
def _active(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.write(i.operands[0], "u32", f"active_mask(x, {w.active()})")


@rule("elect.sync")
def _elect(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    _both_results(w, i.operands[0], "u32", f"elect(x, {w.read(i.operands[1], 'u32')}, {w.active()})")


# Matrix instructions.
#
# ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, ...}, [%r9]   →   t1 = load_matrix(x, 7, 4, False, r9, m)

for _name in ("load_matrix", "store_matrix", "multiply_add"):
    NAMES[_name] = getattr(matrix_operations, _name)


@rule("ldmatrix")
def _load(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "m8n8" not in parts or parts[-1] != "b16":
        raise ValueError("only .m8n8 with .b16")
    elements = elements_of(i.operands[0])
    address = address_text(w, i.operands[1], "shared")
    call = f"load_matrix(x, {w.site()}, {len(elements)}, {'trans' in parts}, {address}, {w.active()})"
    found = w.temporary(call)
    for position, element in enumerate(elements):
        w.write(element, "u32", f"{found}[{position}]")


@rule("stmatrix")
def _store(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if "m8n8" not in parts or parts[-1] != "b16":
        raise ValueError("only .m8n8 with .b16")
    values = ", ".join(w.read(v, "u32") for v in elements_of(i.operands[1]))
    address = address_text(w, i.operands[0], "shared")
    w.emit(f"store_matrix(x, {w.site()}, {'trans' in parts}, {address}, [{values}], {w.active()})")


@rule("mma")
def _multiply(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    bits = parts[-1] == "popc"
    types = tuple(parts[-6:-2] if bits else parts[-4:])
    if "row" not in parts or "col" not in parts or "sp" in parts:
        raise ValueError("only dense row.col dots")
    known = ("b1",) if bits else ("f16", "bf16", "tf32", "e4m3", "e5m2", "f64", "s8", "u8", "s4", "u4")
    if not {types[1], types[2]} <= set(known) or (parts[3] == "m8n8k4" and types[1] == "f16"):
        raise ValueError(f"operands {types[1]} of shape {parts[3]}")
    kinds = ["u64" if t == "f64" else "u32" for t in types]
    operands = [
        "[" + ", ".join(w.read(v, kind) for v in elements_of(o)) + "]"
        for o, kind in zip(i.operands[1:4], kinds[1:], strict=True)
    ]
    found = w.temporary(f"multiply_add(x, {types!r}, {'satfinite' in parts}, {', '.join(operands)}, {'xor' in parts})")
    for position, element in enumerate(elements_of(i.operands[0])):
        w.write(element, kinds[0], f"{found}[{position}]")
