"""Integer and logic instructions, as Python expressions.

mad.wide.s32 %rd3, %r1, 4, %rd2   →   (r1.astype(s64) * k4).view(u64) + rd2
"""

import itertools

import numpy as np

from minitriton.emulator.arithmetic import integers as integer_math
from minitriton.emulator.lanes import Flags, Lanes
from minitriton.emulator.ptx.program import Immediate, Instruction
from minitriton.emulator.translate import NAMES, BlockWriter, bits_of, kind_of, rule

for _name in (
    "multiply_high", "divide", "remainder", "add_saturated", "subtract_saturated", "shift_left", "shift_right", "funnel",
    "permute", "permute_constant", "logic3", "extract_bits", "insert_bits", "popcount", "leading_zeros", "find_top",
    "reverse_bits", "dot4", "shift_amount", "add_halves",
):  # fmt: skip
    NAMES[_name] = getattr(integer_math, _name)
NAMES["maximum"] = np.maximum


def unsigned(kind: str) -> str:
    """The unsigned kind of the same width: addition and low multiplications do not depend on the sign."""
    return kind if kind == "b1" else "u" + kind[1:]


def arithmetic(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """add, sub, and, or, xor on integers; add also on packed 16-bit pairs."""
    if parts[-1] in ("u16x2", "s16x2"):
        a, b = (w.read(o, "u32") for o in i.operands[1:3])
        w.write(i.operands[0], "u32", f"add_halves({a}, {b})")
        return
    kind = unsigned(kind_of(parts[-1]))
    if "sat" in parts:
        name = {"add": "add_saturated", "sub": "subtract_saturated"}[parts[0]]
        a, b = (w.read(o, "s32") for o in i.operands[1:3])
        w.write(i.operands[0], "s32", f"{name}({a}, {b})")
        return
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    sign = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}[parts[0]]
    w.write(i.operands[0], kind, f"{a} {sign} {b}")


rule("and", "or", "xor")(arithmetic)


def _formula(opcodes: str, text: str, *kinds: str, result: str = "") -> None:
    """An instruction that is one expression of its operands, which are read as `kinds` (as its own kind where that is ""). `text` also knows its
    `kind` and `parts`."""

    @rule(*opcodes.split())
    def write(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
        kind = kind_of(parts[-1])
        values = [w.read(o, read or kind) for o, read in zip(i.operands[1:], kinds, strict=False)]
        w.write(i.operands[0], result or kind, text.format(*values, kind=kind, parts=parts))


_formula("not", "~{0}", "")
_formula("cnot", "({0} == 0).astype(D_{kind})", "")
_formula("abs.s16 abs.s32 abs.s64", "where({0} < 0, -{0}, {0})", "")
_formula("sad", "where({0} < {1}, {1} - {0}, {0} - {1}) + {2}", "", "", "")
_formula("bfi", "insert_bits({0}, {1}, {2}, {3})", "", "", "u32", "u32")
_formula("brev", "reverse_bits({0})", "")
_formula("popc", "popcount({0})", "", result="u32")
_formula("clz", "leading_zeros({0})", "", result="u32")
_formula("bfind", "find_top({0})", "", result="u32")
_formula("bfind.shiftamt", "shift_amount({0})", "", result="u32")
_formula("shf.l.clamp", "funnel({0}, {1}, {2}, True, False)", "u32", "u32", "u32", result="u32")
_formula("shf.l.wrap", "funnel({0}, {1}, {2}, True, True)", "u32", "u32", "u32", result="u32")
_formula("shf.r.clamp", "funnel({0}, {1}, {2}, False, False)", "u32", "u32", "u32", result="u32")
_formula("shf.r.wrap", "funnel({0}, {1}, {2}, False, True)", "u32", "u32", "u32", result="u32")
for _a, _b in itertools.product(("u32", "s32"), repeat=2):
    _sum = "{2}.view(D_s32)" if "s32" in (_a, _b) else "{2}"
    _text = f"dot4({{0}}, {{1}}, {_sum}, {_a == 's32'}, {_b == 's32'})"
    _formula(f"dp4a.{_a}.{_b}", _text, "u32", "u32", "u32", result="u32")


@rule("neg.s16", "neg.s32", "neg.s64")
def _negate(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = unsigned(kind_of(parts[-1]))
    w.write(i.operands[0], kind, f"~{w.read(i.operands[1], kind)} + {w.constant(1, kind)}")


def multiply(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """mul and mad with `.lo`, `.hi` and `.wide`."""
    kind = kind_of(parts[-1])
    part = parts[1] if len(parts) > 2 else "lo"
    destination, extra = i.operands[0], next(iter(i.operands[3:]), None)
    if part == "wide":
        wide = f"{kind[0]}{2 * bits_of(kind)}"
        result = unsigned(wide)
        a, b = (
            w.constant(_signed(o.value, kind), wide)
            if isinstance(o, Immediate) and isinstance(o.value, int)
            else f"{w.read(o, kind)}.astype(D_{wide})"
            for o in i.operands[1:3]
        )
        expression = f"({a} * {b}).view(D_{result})"
        kind = result
    elif part == "hi":
        a, b = (w.read(o, kind) for o in i.operands[1:3])
        expression = f"multiply_high({a}, {b})"
    else:
        kind = unsigned(kind)
        a, b = (w.read(o, kind) for o in i.operands[1:3])
        expression = f"{a} * {b}"
    if extra is not None:
        expression = f"{expression} + {w.read(extra, kind)}"
    w.write(destination, kind, expression)


def _signed(value: int, kind: str) -> int:
    bits = bits_of(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


@rule("mul24", "mad24")
def _multiply24(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    shift = w.constant(8, kind)
    a, b = (f"(({w.read(o, kind)} << {shift}) >> {shift})" for o in i.operands[1:3])
    w.write(i.operands[0], kind, " + ".join([f"({a} * {b})", *(w.read(o, kind) for o in i.operands[3:])]))


def divide(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """div and rem of integers."""
    kind = kind_of(parts[-1])
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    w.write(i.operands[0], kind, f"{'divide' if parts[0] == 'div' else 'remainder'}({a}, {b})")


rule("rem")(divide)


@rule("shl", "shr")
def _shift(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    value = w.read(i.operands[1], kind)
    amount = i.operands[2]
    left = parts[0] == "shl"
    if isinstance(amount, Immediate) and isinstance(amount.value, int) and 0 <= amount.value < bits_of(kind):
        w.write(i.operands[0], kind, f"{value} {'<<' if left else '>>'} {w.constant(amount.value, kind)}")
    else:
        w.write(i.operands[0], kind, f"shift_{'left' if left else 'right'}({value}, {w.read(amount, 'u32')})")


@rule("prmt")
def _permute(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    a, b = (w.read(o, "u32") for o in i.operands[1:3])
    if parts[-1] != "b32":
        raise ValueError(f"mode .{parts[-1]}")
    selector = i.operands[3]
    if isinstance(selector, Immediate):
        w.write(i.operands[0], "u32", f"permute_constant({a}, {b}, {selector.value})")
    else:
        w.write(i.operands[0], "u32", f"permute({a}, {b}, {w.read(selector, 'u32')})")


@rule("lop3")
def _logic3(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    a, b, c = (w.read(o, "u32") for o in i.operands[1:4])
    table = i.operands[4]
    if not isinstance(table, Immediate) or len(parts) > 2:
        raise ValueError("only lop3.b32 with a constant table")
    w.write(i.operands[0], "u32", f"logic3({a}, {b}, {c}, {table.value})")


@rule("bfe")
def _extract(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    position, length = i.operands[2:4]
    value = w.read(i.operands[1], kind)
    if isinstance(position, Immediate) and isinstance(length, Immediate):
        low, size, bits = int(position.value), int(length.value), bits_of(kind)
        if size > 0 and low + size <= bits:
            left, right = w.constant(bits - low - size, kind), w.constant(bits - size, kind)
            w.write(i.operands[0], kind, f"({value} << {left}) >> {right}")
            return
    w.write(i.operands[0], kind, f"extract_bits({value}, {w.read(position, 'u32')}, {w.read(length, 'u32')})")


def minmax(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """min and max of integers, also of packed 16-bit pairs; with `relu`, a negative result becomes 0."""
    relu = "relu" in parts
    if parts[-1] in ("u16x2", "s16x2"):
        kind = parts[-1][:3]
        a, b = (w.read(o, "u32") for o in i.operands[1:3])
        sign = "<" if parts[0] == "min" else ">"
        halves: list[str] = []
        for half in ("low16", "high16"):
            p, q = (w.temporary(f"{half}({v}).view(D_{kind})") for v in (a, b))
            chosen = f"where({p} {sign} {q}, {p}, {q})"
            halves.append(f"{f'maximum({chosen}, 0)' if relu else chosen}.view(D_u16)")
        w.write(i.operands[0], "u32", f"pack16({halves[0]}, {halves[1]})")
        return
    kind = kind_of(parts[-1])
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    chosen = f"where({a} {'<' if parts[0] == 'min' else '>'} {b}, {a}, {b})"
    w.write(i.operands[0], kind, f"maximum({chosen}, 0)" if relu else chosen)


# Extended-precision arithmetic: the carry flag is the variable `carry` of a block.
#
# add.cc.u32 %r3, %r1, %r2; addc.u32 %r6, %r4, %r5   →   carry after the first feeds the second


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
    {"add_with_carry": add_with_carry, "subtract_with_borrow": subtract_with_borrow, "NO_CARRY": np.bool_(False)}
)


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
