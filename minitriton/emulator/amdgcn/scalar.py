"""The scalar unit: one number a wave, SCC (ISA, sections 5 "Scalar ALU Operations" and 12.1 to 12.5: SOP2, SOPK, SOP1, SOPC, SOPP).

s_add_u32 s0, s1, s2      →   s0 = s1 + s2, SCC = carry
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

import numpy as np

from minitriton.emulator.amdgcn.program import EXEC, SCALAR, VCC, Constant, Instruction, Isa, registers_of
from minitriton.emulator.amdgcn.values import (
    DTYPES,
    Compute,
    Fetch,
    Step,
    Two,
    bits,
    register_of,
    result_of,
    source,
    with_flags,
    words,
)
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.arithmetic import integers

Rule = tuple[str, str, Compute]
"""Type of the result, types of the operands, and a function to the result or, where SCC is set, to it and SCC.

The result's type has `+` where the function gives SCC itself, and `?` where SCC is whether the result is not 0."""


def _add(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = a + b
    return total, total < a


def _add_signed(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def _subtract_signed(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rest = a - b
    return rest, ((a ^ b) & (a ^ rest)) < 0


def left(size: int) -> Two:
    """A shift by the low bits of the amount."""
    return lambda a, n: a << (n & np.uint32(size - 1)).astype(a.dtype)


def right(size: int) -> Two:
    """A shift by the low bits of the amount, arithmetic for signed types."""
    return lambda a, n: a >> (n & np.uint32(size - 1)).astype(a.dtype)


def field_of(value: np.ndarray, where: np.ndarray) -> np.ndarray:
    """`bfe`: the offset is in bits 4:0 (5:0 of 64), the width in bits 22:16."""
    size = value.dtype.itemsize * 8
    return integers.extract_bits(value, where & np.uint32(size - 1), (where >> np.uint32(16)) & np.uint32(0x7F))


def _bit_mask(count: np.ndarray, shift: np.ndarray) -> np.ndarray:
    one = np.uint32(1)
    return ((one << (count & np.uint32(31))) - one) << (shift & np.uint32(31))


def first_one(value: np.ndarray) -> np.ndarray:
    """The lowest bit that is 1; -1 if there is none."""
    lowest = value & (~value + value.dtype.type(1))
    return np.where(value == 0, 0xFFFFFFFF, integers.find_top(lowest)).astype(np.uint32)


def leading(value: np.ndarray) -> np.ndarray:
    """Zeros above the highest bit that is 1; -1 if there is none."""
    return np.where(value == 0, 0xFFFFFFFF, integers.leading_zeros(value)).astype(np.uint32)


def same_as_sign(value: np.ndarray) -> np.ndarray:
    """Bits from the highest on that are as it is, which is the sign; -1 if all are."""
    sign = value >> value.dtype.type(8 * value.itemsize - 1)
    return leading((value ^ sign).view(f"u{value.itemsize}"))


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {
        "s_add_u32": ("u32+", "u32 u32", _add),
        "s_sub_u32": ("u32+", "u32 u32", lambda a, b: (a - b, b > a)),
        "s_add_i32": ("i32+", "i32 i32", _add_signed),
        "s_sub_i32": ("i32+", "i32 i32", _subtract_signed),
        "s_add_u64": ("u64", "u64 u64", operator.add),
        "s_sub_u64": ("u64", "u64 u64", operator.sub),
        "s_mul_u64": ("u64", "u64 u64", operator.mul),
        "s_mul_i32": ("u32", "u32 u32", operator.mul),
        "s_mul_hi_u32": ("u32", "u32 u32", integers.multiply_high),
        "s_mul_hi_i32": ("i32", "i32 i32", integers.multiply_high),
        "s_mov_b32": ("u32", "u32", lambda a: a.copy()),
        "s_mov_b64": ("u64", "u64", lambda a: a),
        "s_cmov_b32": ("u32", "u32", lambda a: a),
        "s_abs_i32": ("i32?", "i32", np.abs),
        "s_brev_b32": ("u32", "u32", integers.reverse_bits),
        "s_brev_b64": ("u64", "u64", integers.reverse_bits),
        "s_sext_i32_i8": ("i32", "i32", lambda a: a.astype(np.int8)),
        "s_sext_i32_i16": ("i32", "i32", lambda a: a.astype(np.int16)),
        "s_bfm_b32": ("u32", "u32 u32", _bit_mask),
        "s_bfe_u32": ("u32?", "u32 u32", field_of),
        "s_bfe_i32": ("i32?", "i32 u32", field_of),
        "s_bfe_u64": ("u64?", "u64 u32", field_of),
        "s_bfe_i64": ("i64?", "i64 u32", field_of),
        "s_flbit_i32_b32": ("u32", "u32", leading),
        "s_flbit_i32_b64": ("u32", "u64", leading),
        "s_flbit_i32": ("u32", "i32", same_as_sign),
        "s_flbit_i32_i64": ("u32", "i64", same_as_sign),
        "s_ff1_i32_b32": ("u32", "u32", first_one),
        "s_ff1_i32_b64": ("u32", "u64", first_one),
        "s_bcnt1_i32_b32": ("u32?", "u32", integers.popcount),
        "s_bcnt1_i32_b64": ("u32?", "u64", integers.popcount),
        "s_pack_ll_b32_b16": ("u32", "u32 u32", lambda a, b: (a & 0xFFFF) | (b << np.uint32(16))),
        "s_pack_lh_b32_b16": ("u32", "u32 u32", lambda a, b: (a & 0xFFFF) | (b & 0xFFFF0000)),
        "s_pack_hh_b32_b16": ("u32", "u32 u32", lambda a, b: (a >> np.uint32(16)) | (b & 0xFFFF0000)),
        "s_absdiff_i32": ("i32?", "i32 i32", lambda a, b: np.abs(a - b)),
    }
    logic: dict[str, Compute] = {
        "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "andn2": lambda a, b: a & ~b, "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
    }  # fmt: skip
    for size in (32, 64):
        u, i = f"u{size}", f"i{size}"
        for name, function in logic.items():
            rules[f"s_{name}_b{size}"] = (u + "?", f"{u} {u}", function)
        rules[f"s_not_b{size}"] = (u + "?", u, operator.invert)
        rules[f"s_lshl_b{size}"] = (u + "?", f"{u} u32", left(size))
        rules[f"s_lshr_b{size}"] = (u + "?", f"{u} u32", right(size))
        rules[f"s_ashr_i{size}"] = (i + "?", f"{i} u32", right(size))
    for n in (1, 2, 3, 4):
        rules[f"s_lshl{n}_add_u32"] = ("u32+", "u32 u32", _shift_add(n))
    for sign in "iu":
        t = f"{sign}32"
        rules[f"s_min_{t}"] = (t + "+", f"{t} {t}", lambda a, b: (np.minimum(a, b), a < b))
        rules[f"s_max_{t}"] = (t + "+", f"{t} {t}", lambda a, b: (np.maximum(a, b), a > b))
    return rules


def _shift_add(n: int) -> Compute:
    def act(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = (a.astype(np.uint64) << np.uint64(n)) + b
        return wide.astype(np.uint32), wide >> np.uint64(32) != 0

    return act


RULES = _rules()
COMPARE: dict[str, Compute] = {
    "eq": operator.eq, "lg": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip
_COMPARE = re.compile(r"s_cmp(k?)_(\w\w)_([iu])(32|64)$")
_SAVE = re.compile(r"s_(and|or|xor|andn2|orn2|nand|nor|xnor|andn1|orn1)_(saveexec|wrexec)_b(32|64)$")
NOTHING = (
    "s_nop", "s_setprio", "s_sleep", "s_icache_inv", "s_dcache_wb", "s_sethalt", "s_inst_prefetch",
    "s_waitcnt_depctr", "s_wait_alu", "s_wait_idle", "s_clause", "s_delay_alu", "s_sendmsg",
    "s_set_inst_prefetch_distance",
)  # fmt: skip
"""Of `s_sendmsg` the message that registers are free is known only (RDNA3 ISA, section 5.3), which LLVM writes before the end."""


def _destination(i: Instruction, type: str) -> tuple[list[int], frozenset[int]]:
    base = register_of(i, 0, bits(type) // 32)
    if not base.is_scalar:
        raise i.error(f"{i.name} writes scalar registers")
    return [n - SCALAR for n in base.all], frozenset(base.all)


def _store(x: Waves, numbers: list[int], value: np.ndarray, type: str) -> None:
    for number, word in zip(numbers, words(value, type), strict=True):
        x.set_scalar(number, word)


def rule_of(i: Instruction, isa: Isa) -> Step | None:
    """What a scalar instruction without memory or branches does; None for others."""
    name = i.name
    if name.startswith("s_wait") and (wait := _WAITS.get(name)) is not None:
        return _wait(i, wait, isa)
    if name in NOTHING:
        return Step(i, lambda x: None)
    if name in RULES:
        return plain(i, *RULES[name])
    if name.startswith(("s_movk", "s_addk", "s_mulk", "s_cmovk")):
        return _constant_operand(i)
    if match := _COMPARE.match(name):
        type = match[3] + match[4]
        a, b = (source(i, o, type, scalar=True) for o in i.operands)
        compare = COMPARE[match[2]]
        return Step(i, lambda x: x.set_scc(result_of(compare, [a(x), b(x)])), registers_of(i.operands))
    if name.startswith("s_bitcmp"):
        a, b, wanted = (
            source(i, i.operands[0], "u" + name[-2:], scalar=True),
            source(i, i.operands[1], "u32", scalar=True),
            int(name[8]),
        )
        test = right(int(name[-2:]))
        return Step(i, lambda x: x.set_scc((test(a(x), b(x)) & 1) == wanted), registers_of(i.operands))
    if match := _SAVE.match(name):
        return _save(i, match[1], int(match[3]), is_write=match[2] == "wrexec")
    special = _SPECIAL.get(name)
    return special(i) if special else None


def plain(i: Instruction, type: str, types: str, function: Compute) -> Step:
    """The step of a rule: operands and result once a wave."""
    kinds = types.split()
    if len(i.operands) != len(kinds) + 1:
        raise i.error(f"{i.name} has {len(kinds) + 1} operands, not {len(i.operands)}")
    result, how = type[:3], type[3:]
    fetch = [source(i, o, t, scalar=True) for o, t in zip(i.operands[1:], kinds, strict=True)]
    numbers, written = _destination(i, result)
    dtype = DTYPES[result]

    def act(x: Waves) -> None:
        operands = [f(x) for f in fetch]
        if how == "+":
            found, scc = with_flags(function, operands)
            x.set_scc(scc)
        else:
            found = result_of(function, operands)
        found = np.asarray(found, dtype)
        _store(x, numbers, found, result)
        if how == "?":
            x.set_scc(found != 0)

    return Step(i, act, registers_of(i.operands[1:]), written)


def _constant_operand(i: Instruction) -> Step:
    """SOPK: a constant of 16 bits, sign-extended."""
    numbers, written = _destination(i, "i32")
    base = i.operands[1].base
    if not isinstance(base, Constant):
        raise i.error(f"{i.name} takes a constant")
    value = np.array(int(base.value) & 0xFFFF, np.uint16).view(np.int16).astype(np.int32)
    number = numbers[0]

    def act(x: Waves) -> None:
        old = x.s[number].view(np.int32)
        if i.name == "s_movk_i32":
            new = np.broadcast_to(value, old.shape)
        elif i.name == "s_cmovk_i32":
            new = np.where(x.scc, value, old)
        elif i.name == "s_mulk_i32":
            new = old * value
        else:
            new, over = _add_signed(old, value)
            x.set_scc(over)
        x.set_scalar(number, new.view(np.uint32))

    return Step(i, act, frozenset() if i.name == "s_movk_i32" else written, written)


def _save(i: Instruction, what: str, size: int, *, is_write: bool) -> Step:
    """EXEC is kept in the destination and then combined with the source (or, of `wrexec`, the destination gets the new EXEC)."""
    type = f"u{size}"
    numbers, written = _destination(i, type)
    fetch = source(i, i.operands[1], type, scalar=True)
    swapped = what[-1] == "1"
    function = RULES[f"s_{what[:-1] + '2' if swapped else what}_b{size}"][2]
    execute = [EXEC, EXEC + 1][: size // 32]

    def act(x: Waves) -> None:
        a = fetch(x)
        old = x.s[EXEC].copy()
        if size == 64:
            old = old.astype(np.uint64) | (x.s[EXEC + 1].astype(np.uint64) << np.uint64(32))
        new = result_of(function, [old, a] if swapped else [a, old])
        _store(x, numbers, new if is_write else old, type)
        _store(x, execute, new, type)
        x.set_scc(new != 0)

    return Step(i, act, registers_of(i.operands[1:]), written)


def _with_carry(i: Instruction) -> Step:
    a, b = (source(i, o, "u32", scalar=True) for o in i.operands[1:])
    numbers, written = _destination(i, "u32")
    subtracts = i.name == "s_subb_u32"

    def act(x: Waves) -> None:
        first, second, carry = a(x).astype(np.int64), b(x).astype(np.int64), x.scc.astype(np.int64)
        wide = first - second - carry if subtracts else first + second + carry
        x.set_scalar(numbers[0], wide.astype(np.uint32))
        x.set_scc((wide < 0) | (wide > 0xFFFFFFFF))

    return Step(i, act, registers_of(i.operands[1:]), written)


def _select(i: Instruction) -> Step:
    type = "u" + i.name[-2:]
    a, b = (source(i, o, type, scalar=True) for o in i.operands[1:])
    numbers, written = _destination(i, type)
    return Step(
        i, lambda x: _store(x, numbers, np.where(x.scc, a(x), b(x)), type), registers_of(i.operands[1:]), written
    )


def _set_bit(i: Instruction) -> Step:
    numbers, written = _destination(i, "u32")
    fetch, is_set = source(i, i.operands[1], "u32", scalar=True), i.name == "s_bitset1_b32"

    def act(x: Waves) -> None:
        bit = np.uint32(1) << (fetch(x) & np.uint32(31))
        old = x.s[numbers[0]]
        x.set_scalar(numbers[0], old | bit if is_set else old & ~bit)

    return Step(i, act, registers_of(i.operands), written)


def _mode(i: Instruction) -> Step:
    """Of the MODE register only the rounding and denormal fields matter to results: they stay as the descriptor has them."""
    text = i.text
    match = re.search(r"hwreg\((?:HW_REG_(?:WAVE_)?MODE|1), *(\d+), *(\d+)\)", text)
    if match is None or int(match[1]) < 8:
        raise i.error("the emulator does not do this use of hardware registers")
    return Step(i, lambda x: None, registers_of(i.operands))


_COUNTED = {
    "vmcnt": ("loads",), "vscnt": ("stores",), "lgkmcnt": ("lds", "scalar_memory"), "expcnt": (), "loadcnt": ("loads",), "storecnt": ("stores",),
    "dscnt": ("lds",), "kmcnt": ("scalar_memory",), "samplecnt": (), "bvhcnt": (),
}  # fmt: skip
"""By the name of a counter: what it counts. Scalar loads come back in any order, so that only 0 covers them."""
_WAITS: dict[str, tuple[str, ...]] = {
    "s_waitcnt": (),
    "s_waitcnt_vscnt": ("vscnt",),
    **{
        f"s_wait_{name}": (name,) for name in ("loadcnt", "storecnt", "dscnt", "kmcnt", "expcnt", "samplecnt", "bvhcnt")
    },
    **{f"s_wait_{name}_dscnt": (name, "dscnt") for name in ("loadcnt", "storecnt")},
}
"""Waits, with the counters whose numbers their last operand has, from the upper byte on."""


def _wait(i: Instruction, names: tuple[str, ...], isa: Isa) -> Step:
    """CDNA3 ISA, section 4.4: `vmcnt` counts vector memory, `lgkmcnt` LDS, scalar memory and messages; RDNA3 ISA, section 5.5: `vmcnt` loads, `vscnt`
    stores; RDNA4 ISA, section 5.7: a counter, and a wait, for each."""
    counts = {name: int(value) for name, value in i.modifiers.items()}
    if i.operands and isinstance(base := i.operands[-1].base, Constant):
        word = int(base.value)
        if names:
            counts = {name: word >> 8 * (len(names) - 1 - n) & 0x3F for n, name in enumerate(names)}
        elif isa.is_rdna:
            counts = {"vmcnt": word >> 10 & 63, "lgkmcnt": word >> 4 & 63}
        else:
            counts = {"vmcnt": word & 15 | word >> 10 & 0x30, "lgkmcnt": word >> 8 & 15}
    limits = {"vmcnt": 63, "lgkmcnt": 63 if isa.is_rdna else 15}
    if not names and not counts.keys() <= {*limits, "expcnt"}:
        raise i.error("the counters of this target are vmcnt, lgkmcnt and expcnt")
    if i.name.startswith("s_wait_") and not isa.has_split_waits:
        raise i.error(f"{isa.target} lacks {i.name}", help="write s_waitcnt")
    if not i.name.startswith("s_wait_") and isa.has_split_waits:
        return Step(i, lambda x: None)  # LLVM assembles it; RDNA4's document does not say what it waits for
    found = [
        (counter, most) for name, most in counts.items() if most < limits.get(name, 63) for counter in _COUNTED[name]
    ]

    def act(x: Waves) -> None:
        if not x.check:
            return
        for counter, most in found:
            if counter != "scalar_memory" or not most:
                x.wait(getattr(x, counter), most)
        if x.pending:
            x.arrived()

    return Step(i, act)


def _time(i: Instruction) -> Step:
    numbers, written = _destination(i, "u64")
    return Step(i, lambda x: _store(x, numbers, np.zeros(x.waves, np.uint64), "u64"), frozenset(), written)


_SPECIAL: dict[str, Callable[[Instruction], Step]] = {
    "s_addc_u32": _with_carry, "s_subb_u32": _with_carry, "s_cselect_b32": _select, "s_cselect_b64": _select,
    "s_bitset0_b32": _set_bit, "s_bitset1_b32": _set_bit, "s_setreg_imm32_b32": _mode, "s_setreg_b32": _mode,
    "s_memtime": _time, "s_memrealtime": _time,
}  # fmt: skip


def condition(name: str, isa: Isa) -> Fetch | None:
    """Which waves take a conditional branch."""
    if name == "s_branch":
        return None
    what = name.removeprefix("s_cbranch_")
    if what in ("scc0", "scc1"):
        return (lambda x: x.scc.copy()) if what == "scc1" else (lambda x: ~x.scc)
    number = VCC if what.startswith("vcc") else EXEC
    zero = what.endswith("z") and not what.endswith("nz")
    end = number + isa.mask_words
    return lambda x: (x.s[number:end] == 0).all(0) == zero
