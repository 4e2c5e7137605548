"""Moves, comparisons, selections, predicates and control flow.

setp.lt.and.f32 %p2, %r1, %r2, %p1   →   p2 = (r1_f32 < r2_f32) & p1
"""

import numpy as np

from minitriton.emulator.arithmetic.small_floats import bf16_to, f16_to, high16, low16, pack16
from minitriton.emulator.ptx.program import Instruction, Pair, Vector
from minitriton.emulator.translate import NAMES, BlockWriter, bits_of, kind_of, rule

NAMES.update({"low16": low16, "high16": high16, "pack16": pack16, "bf16_to": bf16_to, "f16_to": f16_to})

_ORDERED = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_JOIN = {"and": "&", "or": "|", "xor": "^"}


def _compare(w: BlockWriter, i: Instruction, comparison: str, type: str, a: str, b: str) -> str:
    if type[0] in "fb" and type in ("f16", "f32", "f64", "bf16"):
        if comparison == "num":
            return f"(({a} == {a}) & ({b} == {b}))"
        if comparison == "nan":
            return f"(({a} != {a}) | ({b} != {b}))"
        if comparison == "ne":
            return f"(({a} < {b}) | ({a} > {b}))"
        if comparison == "neu":
            return f"({a} != {b})"
        if comparison in ("equ", "ltu", "leu", "gtu", "geu"):
            opposite = {"equ": "!=", "ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<"}[comparison]
            if comparison == "equ":
                return f"~(({a} < {b}) | ({a} > {b}))"
            return f"~({a} {opposite} {b})"
    return f"({a} {_ORDERED[comparison]} {b})"


def _values(w: BlockWriter, i: Instruction, type: str, ftz: bool) -> tuple[str, str]:
    if type == "bf16":
        a, b = (f"bf16_to({w.read(o, 'u16')})" for o in i.operands[1:3])
        return w.temporary(a), w.temporary(b)
    kind = kind_of(type)
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    return (w.temporary(f"flush32({a})"), w.temporary(f"flush32({b})")) if ftz else (a, b)


@rule("setp")
def _setp(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    type = parts[-1]
    if type in ("f16x2", "bf16x2"):
        _setp_pairs(w, i, parts)
        return
    a, b = _values(w, i, type, "ftz" in parts)
    result = _compare(w, i, parts[1], type, a, b)
    destination = i.operands[0]
    join = next((p for p in parts[2:-1] if p in _JOIN), None)
    other = w.read(i.operands[3], "b1") if join else ""
    combined = f"({result} {_JOIN[join]} {other})" if join else result
    if isinstance(destination, Pair):
        opposite = f"(~{result} {_JOIN[join]} {other})" if join else f"~{result}"
        first, second = w.temporary(combined), w.temporary(opposite)
        w.write(destination.first, "b1", first)
        w.write(destination.second, "b1", second)
    else:
        w.write(destination, "b1", combined)


def _setp_pairs(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    format = parts[-1][:-2]
    a, b = (w.read(o, "u32") for o in i.operands[1:3])
    halves: list[str] = []
    for half in ("low16", "high16"):
        p, q = (w.temporary(f"{format}_to({half}({v}))") for v in (a, b))
        halves.append(w.temporary(_compare(w, i, parts[1], "f32", p, q)))
    destination = i.operands[0]
    if not isinstance(destination, Pair):
        raise ValueError("expected p|q")
    w.write(destination.first, "b1", halves[0])
    w.write(destination.second, "b1", halves[1])


@rule("set")
def _set(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    result, type = parts[-2], parts[-1]
    a, b = _values(w, i, type, "ftz" in parts)
    test = _compare(w, i, parts[1], type, a, b)
    kind = kind_of(result)
    yes, no = (
        (w.constant(1.0, "f32"), w.constant(0.0, "f32"))
        if kind == "f32"
        else (w.constant(-1, kind), w.constant(0, kind))
    )
    w.write(i.operands[0], kind, f"where({test}, {yes}, {no})")


@rule("selp")
def _select(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = "u" + kind_of(parts[-1])[1:]
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    w.write(i.operands[0], kind, f"where({w.read(i.operands[3], 'b1')}, {a}, {b})")


@rule("slct")
def _select_sign(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = "u" + kind_of(parts[-2])[1:]
    a, b = (w.read(o, kind) for o in i.operands[1:3])
    w.write(i.operands[0], kind, f"where({w.read(i.operands[3], kind_of(parts[-1]))} >= 0, {a}, {b})")


@rule("mov")
def _move(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    destination, source = i.operands
    kind = kind_of(parts[-1])
    if isinstance(destination, Vector):
        count = len(destination.elements)
        width = bits_of(kind) // count
        value = w.read(source, kind)
        moved = [w.temporary(f"({value} >> {w.constant(n * width, kind)}).astype(D_u{width})") for n in range(count)]
        for element, one in zip(destination.elements, moved, strict=True):
            w.write(element, f"u{width}", one)
    elif isinstance(source, Vector):
        width = bits_of(kind) // len(source.elements)
        moved = [
            f"({w.read(e, f'u{width}')}.astype(D_{kind}) << {w.constant(n * width, kind)})"
            for n, e in enumerate(source.elements)
        ]
        w.write(destination, kind, " | ".join(moved))
    else:
        w.copy(destination, source, "u" + kind[1:] if kind != "b1" else kind)


@rule("cvta")
def _to_generic(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    kind = kind_of(parts[-1])
    value = w.read(i.operands[1], kind)
    space = next((p for p in parts if p.partition(":")[0] in ("shared", "local")), None)
    if space:
        base = f"x.generic_base({space.partition(':')[0]!r})"
        value = f"{value} {'-' if 'to' in parts else '+'} {base}"
    w.write(i.operands[0], kind, value)


@rule("isspacep")
def _is_space(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.write(i.operands[0], "b1", f"x.in_space({w.read(i.operands[1], 'u64')}, {parts[1].partition(':')[0]!r})")


@rule("bra")
def _branch(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    w.outcome = w.guard() or "None"


@rule("ret", "exit", "trap")
def _leave(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    if parts[0] == "trap":
        w.emit(f"x.trap({w.site()}, {w.active()})")
    w.outcome = w.guard() or "None"


@rule(
    "nanosleep", "prefetch", "prefetchu", "pmevent", "griddepcontrol", "setmaxnreg", "discard",
    "applypriority", "createpolicy",
)  # fmt: skip
def _no_effect(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    """Instructions that change no value here; a cache policy is an opaque word."""
    if parts[0] == "createpolicy":
        w.write(i.operands[0], "u64", w.constant(0, "u64"))


def merge_masks(m: np.ndarray | None, p: np.ndarray | np.bool_) -> np.ndarray | np.bool_ | None:
    """Threads of `m` (None: all) whose guard holds."""
    return p if m is None else m & p


NAMES["both"] = merge_masks
