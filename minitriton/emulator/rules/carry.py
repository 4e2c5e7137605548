"""Extended-precision arithmetic: the carry flag is the variable `carry` of a block.

add.cc.u32 %r3, %r1, %r2; addc.u32 %r6, %r4, %r5   →   carry after the first feeds the second
"""

from __future__ import annotations

import numpy as np

from minitriton.emulator.arithmetic.integers import multiply_high
from minitriton.emulator.lanes import Flags, Lanes
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.translate import NAMES, BlockWriter, bits_of, rule


def add_with_carry(a: Lanes, b: Lanes, carry: Flags) -> tuple[Lanes, Flags]:
    """Sum and carry out of unsigned words."""
    first = a + b
    total = first + carry.astype(a.dtype)
    return total, (first < a) | (total < first)


def subtract_with_borrow(a: Lanes, b: Lanes, borrow: Flags) -> tuple[Lanes, Flags]:
    """Difference and borrow out of unsigned words."""
    first = a - b
    total = first - borrow.astype(a.dtype)
    return total, (a < b) | (first < total)


NAMES.update(
    {
        "add_with_carry": add_with_carry,
        "subtract_with_borrow": subtract_with_borrow,
        "multiply_high": multiply_high,
    }
)
NAMES["NO_CARRY"] = np.bool_(False)


@rule("add.cc", "addc", "sub.cc", "subc", "mad.lo.cc", "mad.hi.cc", "madc")
def _extended(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if i.guard is not None:
        raise ValueError("under a guard")
    kind = f"u{bits_of(parts[-1])}"
    taken = "carry" if parts[0] in ("addc", "subc", "madc") else "NO_CARRY"
    if parts[0] in ("mad", "madc"):
        signed = f"s{bits_of(kind)}" if parts[-1][0] == "s" and "hi" in parts else kind
        a, b = (w.read(o, signed) for o in i.operands[1:3])
        product = f"multiply_high({a}, {b}).view(D_{kind})" if "hi" in parts else f"{a} * {b}"
        left, right = w.temporary(product), w.read(i.operands[3], kind)
    else:
        left, right = (w.read(o, kind) for o in i.operands[1:3])
    function = "subtract_with_borrow" if parts[0].startswith("sub") else "add_with_carry"
    found = w.temporary(f"{function}({left}, {right}, {taken})")
    if "cc" in parts:
        w.emit(f"carry = {found}[1]")
    w.write(i.operands[0], kind, f"{found}[0]")
