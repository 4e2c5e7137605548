"""Warp-wide instructions.

shfl.sync.bfly.b32 %r2|%p1, %r1, 16, 31, -1   →   t1 = shuffle(x, 9, "bfly", r1, k0, k1, k2, m); r2 = t1[0]; p1 = t1[1]
"""

from __future__ import annotations

from minitriton.emulator.operations import warp as warp_operations
from minitriton.emulator.ptx.program import Instruction, Operand, Pair
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
