"""Matrix instructions.

ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, ...}, [%r9]   →   t1 = load_matrix(x, 7, 4, False, r9, m)
"""

from __future__ import annotations

from minitriton.emulator.operations import matrix as matrix_operations
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.rules.memory import address_text, elements_of
from minitriton.emulator.translate import NAMES, BlockWriter, rule

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
