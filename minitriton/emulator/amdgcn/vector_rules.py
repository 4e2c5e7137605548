"""Vector instructions as steps: operands by encoding (VOP1, VOP2, VOP3, SDWA, DPP, VOP3P), results to registers or flags.

v_cmp_gt_i32_e32 vcc, s8, v0      →   a step that writes one bit a lane to VCC
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import numpy as np

from minitriton.emulator.amdgcn import lanes as crossing
from minitriton.emulator.amdgcn.program import (
    EXEC,
    SCALAR,
    VCC,
    Constant,
    Instruction,
    Isa,
    Operand,
    Register,
    registers_of,
)
from minitriton.emulator.amdgcn.values import (
    U16,
    U32,
    Array,
    Compute,
    Fetch,
    Step,
    always,
    bits,
    constant,
    modified,
    raw,
    register_of,
    result_of,
    source,
    typed,
    with_flags,
    words,
)
from minitriton.emulator.amdgcn.vector import (
    RULES,
    below,
    comparison,
    dot_of_bytes,
    fma16,
    largest,
    smallest,
)
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.arithmetic import floats, integers
from minitriton.emulator.arithmetic import small_floats as small
from minitriton.interpreter.numbers.formats import decode_small, encode_bf16, encode_small
from minitriton.target.amd import FNUZ, OCP

_COMPARE = re.compile(r"v_cmp(x?)_([a-z]+)_([fiu]\d\d)$")
_KNOWN = frozenset({
    "clamp", "mul", "div", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror",
    "row_half_mirror", "row_bcast", "row_newbcast", "wave_shl", "wave_shr", "wave_rol", "wave_ror", "row_mask", "bank_mask", "bound_ctrl",
    "dst_sel", "dst_unused", "src0_sel", "src1_sel", "bitop3", "row_share", "row_xmask", "dpp8", "fi",
})  # fmt: skip


def rule_of(i: Instruction, isa: Isa) -> Step | None:
    """What a vector instruction does; None for others."""
    if not i.name.startswith("v_"):
        return None
    if unknown := i.modifiers.keys() - _KNOWN:
        raise i.error(f"the emulator does not know {min(unknown)} of {i.name}")
    if i.name in RULES:
        return _plain(i, isa, *RULES[i.name])
    if i.name.startswith("v_mbcnt_"):
        return _plain(i, isa, "u32", "u32 u32", below(32 if "_hi_" in i.name else 0, isa.lanes))
    if match := _COMPARE.match(i.name):
        return _compare(i, isa, match[2], match[3], writes_exec=bool(match[1]))
    if i.name == "v_dot4_i32_iu8" and "clamp" not in i.modifiers:
        signed = _bits_of(i, "neg_lo", 3)
        return _plain(i, isa, "u32", "u32 u32 u32", lambda a, b, c: dot_of_bytes(a, b, c, (signed[0], signed[1])))
    if i.name.startswith("v_permlane") and isa.is_rdna:
        return crossing.permute_rows(i, isa) if "16_b32" in i.name else None
    if i.name.startswith("v_pk_"):
        return _packed(i)
    if i.name.startswith("v_fma_mix"):
        return _mixed(i)
    if i.name.startswith("v_bitop3_b"):
        size, table = i.name[-2:], int(i.modifiers.get("bitop3", "0"), 0)
        type = f"u{size}"
        return _plain(i, isa, type, f"{type} {type} {type}", lambda a, b, c: integers.logic3(a, b, c, table))
    if "_fp8" in i.name or "_bf8" in i.name or i.name.endswith("_fp4"):
        return _scaled_halves(i) or _small_floats(i, isa.target)
    special = _SPECIAL.get(i.name)
    return special(i) if special else None


def _sources(
    i: Instruction, operands: list[Operand], kinds: list[str], across: crossing.Crossing | None
) -> list[Fetch]:
    """Operands by the instruction's encoding."""
    selected = _bits_of(i, "op_sel", len(operands) + 1)
    found: list[Fetch] = []
    for number, (operand, kind) in enumerate(zip(operands, kinds, strict=True)):
        which = i.modifiers.get(f"src{number}_sel", "DWORD") if i.encoding == "sdwa" and kind != "mask" else "DWORD"
        is_register = isinstance(operand.base, Register)
        if across is not None and number == 0:
            crossed = across.source(raw(i, operand))
            found.append(modified(typed(crossed, kind), operand, kind))
        elif which != "DWORD" and is_register:
            fetch = crossing.part(i, which, raw(i, operand), kind, extends=operand.extended)
            found.append(modified(fetch, operand, kind))
        elif selected[number] and bits(kind) == 16 and is_register:
            found.append(modified(_half(raw(i, operand), 1, kind), operand, kind))
        else:
            found.append(source(i, operand, kind))
    return found


def _bits_of(i: Instruction, name: str, count: int, otherwise: int = 0) -> list[int]:
    text = i.modifiers.get(name)
    given = [int(n) for n in text.strip("[]").split(",")] if text else []
    return given + [otherwise] * (count - len(given))


def _half(fetch: Fetch, high: int, kind: str) -> Fetch:
    return typed(lambda x: fetch(x) >> U32(16), kind) if high else typed(fetch, kind)


def _clamped(i: Instruction, type: str, function: Compute) -> Compute:
    """With output modifiers: `mul` and `div` of floats, `clamp` to 0 to 1 of floats and to the type's range of integers."""
    scale = float(i.modifiers.get("mul", "1")) / float(i.modifiers.get("div", "1"))
    is_clamped, plain = "clamp" in i.modifiers, cast(Callable[..., Array], function)
    if scale == 1 and not is_clamped:
        return function
    if type[0] == "f":
        factor = np.dtype(f"f{bits(type) // 8}").type(scale)

        def scaled(*operands: Array) -> Array:
            value = plain(*operands) * factor
            zero, one = value.dtype.type(0), value.dtype.type(1)
            return np.nan_to_num(np.clip(value, zero, one), nan=0.0) if is_clamped else value

        return scaled
    limits = np.iinfo(np.dtype(f"{type[0]}{bits(type) // 8}"))
    if bits(type) > 32 or not i.name.startswith(("v_add", "v_sub", "v_mad")):
        raise i.error(f"the emulator does not do clamp of {i.name}")

    def clamped(*operands: Array) -> Array:
        return np.clip(plain(*(o.astype(np.int64) for o in operands)), limits.min, limits.max)

    return clamped


def _plain(i: Instruction, isa: Isa, type: str, types: str, function: Compute) -> Step:
    result, carries = type[:3], type.endswith("+")
    kinds = types.split()
    given = list(i.operands)
    target = register_of(i, 0, bits(result) // 32 or 1, may_be_half=bits(result) == 16)
    flags = register_of(i, 1, isa.mask_words) if carries else None
    operands = given[2:] if carries else given[1:]
    reads = registers_of(operands)
    if "vcc" in kinds or ("mask" in kinds and len(operands) < len(kinds)):
        operands.append(Operand(Register(SCALAR + VCC, isa.mask_words, "vcc")))
        reads |= registers_of(operands[-1:])
    if "acc" in kinds:
        operands.append(Operand(target))
        reads |= frozenset(target.all)
    kinds = ["mask" if k == "vcc" else result if k == "acc" else k for k in kinds]
    if len(operands) != len(kinds):
        raise i.error(f"{i.name} takes {len(kinds)} operands after its results, not {len(operands)}")
    for operand, kind in zip(operands, kinds, strict=True):
        if kind == "mask" and (not isinstance(operand.base, Register) or operand.base.count != isa.mask_words):
            raise i.error(f"a mask of {isa.lanes} lanes has {isa.mask_words} scalar registers")
    across = crossing.Crossing(i, isa) if i.encoding in ("dpp", "e64_dpp") else None
    fetch = _sources(i, operands, kinds, across)
    compute = function if carries else _clamped(i, result, function)
    numbers = list(target.all)
    keeps = i.encoding == "sdwa" or across is not None
    is_half = bits(result) == 16
    high = is_half and (bool(_bits_of(i, "op_sel", len(operands) + 1)[len(operands)]) or i.operands[0].half == "h")
    keeps_other_half = high or (is_half and isa.is_rdna)
    if target.is_scalar:
        raise i.error(f"{i.name} writes a vector register")

    def act(x: Waves) -> None:
        operands = [f(x) for f in fetch]
        if flags is not None:
            found, flag = with_flags(compute, operands)
            x.set_flags(flags.scalar, flag)
        else:
            found = result_of(compute, operands)
        parts = words(found, result)
        for number, part in zip(numbers, parts, strict=True):
            if i.encoding == "sdwa":
                x.set_vector(number, crossing.put_part(i, x.v[number], part))
                continue
            if high:
                part = (x.v[number] & U32(0xFFFF)) | (part << U32(16))
            elif keeps_other_half:
                part = (x.v[number] & U32(0xFFFF0000)) | part
            if across is not None:
                across.write(x, number, part)
            else:
                x.set_vector(number, part)

    written = registers_of(given[:2] if carries else given[:1])
    return Step(i, act, reads | written if keeps or keeps_other_half else reads, written)


def _compare(i: Instruction, isa: Isa, name: str, type: str, *, writes_exec: bool) -> Step:
    function = comparison(name, type)
    if function is None:
        raise i.error(f"the emulator does not know {i.name}")
    only_exec = writes_exec and isa.is_rdna
    target = Register(SCALAR + EXEC, isa.mask_words, "exec") if only_exec else register_of(i, 0, isa.mask_words)
    given = i.operands if only_exec else i.operands[1:]
    across = crossing.Crossing(i, isa) if i.encoding in ("dpp", "e64_dpp") else None
    # A lane that DPP leaves out would keep its bit of the mask.
    if (across is not None and not (across.writes_all and across.reads_zero)) or (i.encoding == "sdwa" and isa.is_rdna):
        raise i.error(f"the emulator does not do {i.encoding} of {i.name}")
    kinds = [type, "u32" if name == "class" else type]
    fetch = _sources(i, list(given), kinds, across)
    number = target.scalar

    def act(x: Waves) -> None:
        flags = result_of(function, [f(x) for f in fetch])
        x.set_flags(number, flags)
        if writes_exec and number != EXEC:
            x.set_flags(EXEC, flags)

    return Step(i, act, registers_of(given), frozenset(target.all))


_HALVES: dict[str, tuple[str, Compute]] = {
    "add_f16": ("f16", lambda a, b: a + b), "mul_f16": ("f16", lambda a, b: a * b), "fma_f16": ("f16", fma16),
    "min_f16": ("f16", smallest), "max_f16": ("f16", largest), "add_u16": ("u16", lambda a, b: a + b),
    "sub_u16": ("u16", lambda a, b: a - b), "add_i16": ("i16", lambda a, b: a + b), "sub_i16": ("i16", lambda a, b: a - b),
    "mul_lo_u16": ("u16", lambda a, b: a * b), "mad_u16": ("u16", lambda a, b, c: a * b + c),
    "mad_i16": ("i16", lambda a, b, c: a * b + c), "min_u16": ("u16", np.minimum), "max_u16": ("u16", np.maximum),
    "min_i16": ("i16", np.minimum), "max_i16": ("i16", np.maximum), "lshlrev_b16": ("u16", lambda a, b: b << (a & U16(15))),
    "lshrrev_b16": ("u16", lambda a, b: b >> (a & U16(15))), "ashrrev_i16": ("i16", lambda a, b: b >> (a & np.int16(15))),
}  # fmt: skip
_SINGLES: dict[str, tuple[str, Compute]] = {
    "add_f32": ("f32", lambda a, b: a + b), "mul_f32": ("f32", lambda a, b: a * b), "fma_f32": ("f32", floats.fma32),
    "mov_b32": ("u32", lambda a, b: a),
}  # fmt: skip


def _packed(i: Instruction) -> Step:
    """VOP3P: an operation on both halves of 32 bits, or both registers of a pair; `op_sel` and `op_sel_hi` choose which part of each operand."""
    name = i.name.removeprefix("v_pk_")
    halves = name in _HALVES
    found = (_HALVES if halves else _SINGLES).get(name)
    if found is None:
        raise i.error(f"the emulator does not know {i.name}")
    type, function = found
    function = _clamped(i, type, function)
    operands = i.operands[1:]
    count = len(operands)
    chosen = [_bits_of(i, "op_sel", count), _bits_of(i, "op_sel_hi", count, 1)]
    negated = [_bits_of(i, "neg_lo", count), _bits_of(i, "neg_hi", count)]
    target = register_of(i, 0, 1 if halves else 2)

    def operand(number: int, part: int) -> Fetch:
        o, select = operands[number], chosen[part][number]
        if isinstance(o.base, Constant):
            value = constant(o.base.value, type)
            if halves and select:
                value = constant(0 if isinstance(o.base.value, float) else int(o.base.value) >> 16, type)
            plain = always(value)
        elif halves:
            plain = _half(raw(i, o), select, type)
        else:
            plain = typed(raw(i, o, select), type)
        return modified(plain, Operand(o.base, bool(negated[part][number]) ^ o.negated), type)

    low, high = ([operand(n, part) for n in range(count)] for part in range(2))
    if i.name == "v_pk_mov_b32":
        high = [low[1], low[1]]
    numbers = list(target.all)

    def act(x: Waves) -> None:
        first = words(result_of(function, [f(x) for f in low]), type)[0]
        second = words(result_of(function, [f(x) for f in high]), type)[0]
        if halves:
            x.set_vector(numbers[0], first | (second << U32(16)))
        else:
            first = first.copy()
            x.set_vector(numbers[1], second.copy())
            x.set_vector(numbers[0], first)

    return Step(i, act, registers_of(operands), frozenset(target.all))


def _mixed(i: Instruction) -> Step:
    """`v_fma_mix`: each operand is float32 or, by `op_sel_hi`, a half (by `op_sel`) of its register."""
    wide, high = _bits_of(i, "op_sel_hi", 3), _bits_of(i, "op_sel", 3)
    negated = _bits_of(i, "neg_lo", 3)
    absolute = _bits_of(i, "neg_hi", 3)

    def operand(number: int) -> Fetch:
        o = i.operands[1 + number]
        o = Operand(o.base, o.negated ^ bool(negated[number]), o.absolute or bool(absolute[number]))
        if not wide[number]:
            return source(i, o, "f32")
        if isinstance(o.base, Constant):
            value = constant(o.base.value, "f16")
            half = always(value)
        else:
            half = _half(raw(i, o), high[number], "f16")
        return modified(lambda x: half(x).astype(np.float32), o, "f32")

    fetch = [operand(n) for n in range(3)]
    target = register_of(i, 0, 1)
    number = target.index
    function = _clamped(i, "f32", floats.fma32)

    def act(x: Waves) -> None:
        result = result_of(function, [f(x) for f in fetch])
        if i.name == "v_fma_mix_f32":
            x.set_vector(number, words(result, "f32")[0])
            return
        half = small.f16_from(result).astype(U32)
        old = x.v[number]
        x.set_vector(
            number, old & U32(0xFFFF0000) | half if i.name.endswith("lo_f16") else old & U32(0xFFFF) | half << U32(16)
        )

    written = frozenset(target.all)
    return Step(i, act, registers_of(i.operands if i.name != "v_fma_mix_f32" else i.operands[1:]), written)


def _small_floats(i: Instruction, target: str) -> Step | None:
    """Conversions of 8-bit floats: `fp8` and `bf8` are the FNUZ formats on gfx940 to gfx942, the OCP ones on later targets."""
    match = re.fullmatch(
        r"v_cvt_(?:scalef32_)?(?:(f32)_(fp8|bf8)|pk_f32_(fp8|bf8)|pk_(fp8|bf8)_f32|sr_(fp8|bf8)_f32)", i.name
    )
    if match is None:
        return None
    name = next(m for m in match.groups()[1:] if m)
    scaled = "scalef32" in i.name
    scale = _scale(i, i.operands[-1]) if scaled else always(np.ones(1, np.float32))
    format = (FNUZ if target.startswith("gfx94") else OCP)[name]
    into = register_of(i, 0)
    numbers = list(into.all)
    high = _bits_of(i, "op_sel", 4)
    written = frozenset(into.all)
    if match[1]:
        which = i.modifiers.get("src0_sel", "BYTE_0")
        byte = int(which[-1]) if which.startswith("BYTE") else high[0] * 2 + high[1]
        fetch = source(i, i.operands[1], "u32")
        return Step(
            i, lambda x: x.set_vector(numbers[0], decode_small(format, (fetch(x) >> U32(8 * byte)) & U32(255)).view(U32)),
            registers_of(i.operands[1:]), written,
        )  # fmt: skip
    if match[3]:
        fetch = source(i, i.operands[1], "u32")
        shift = 16 if high[0] or i.modifiers.get("src0_sel") == "WORD_1" else 0

        def unpack(x: Waves) -> None:
            word = fetch(x) >> U32(shift)
            for n in range(2):
                x.set_vector(numbers[n], (decode_small(format, (word >> U32(8 * n)) & U32(255)) * scale(x)).view(U32))

        return Step(i, unpack, registers_of(i.operands[1:]), written)
    if match[4]:
        a, b = source(i, i.operands[1], "f32"), source(i, i.operands[2], "f32")
        position = 16 * high[3 if scaled else 2]

        def pack(x: Waves) -> None:
            first, second = (encode_small(format, f(x) / scale(x)).astype(U32) for f in (a, b))
            word = first | second << U32(8)
            mask = U32(0xFFFF << position)
            x.set_vector(numbers[0], x.v[numbers[0]] & ~mask | word << U32(position))

        return Step(i, pack, registers_of(i.operands), written)
    return None


def _scaled_halves(i: Instruction) -> Step | None:
    """`v_cvt_scalef32_pk_bf16_fp4` and its kin: two numbers of 8 or 4 bits times a power of 2, as halves of a register (CDNA4 ISA, "VOP3 Instructions").

    `op_sel` says which half of the word has the two bytes, or which byte (lower bit first) the two fp4.
    """
    match = re.fullmatch(r"v_cvt_scalef32_pk_(f16|bf16)_(fp8|bf8|fp4)", i.name)
    if match is None:
        return None
    bits = 4 if match[2] == "fp4" else 8
    format = "e2m1" if bits == 4 else OCP[match[2]]
    low, high, *_ = _bits_of(i, "op_sel", 2)
    first = 8 * (low + 2 * high) if bits == 4 else 16 * low
    fetch, scale, into = source(i, i.operands[1], "u32"), _scale(i, i.operands[2]), register_of(i, 0, 1).index

    def act(x: Waves) -> None:
        word, factor = fetch(x) >> U32(first), scale(x)
        halves: list[np.ndarray] = []
        for n in range(2):
            number = decode_small(format, (word >> U32(bits * n)) & U32((1 << bits) - 1)) * factor
            half = number.astype(np.float16).view(np.uint16) if match[1] == "f16" else encode_bf16(number)
            halves.append(half.astype(U32))
        x.set_vector(into, halves[0] | halves[1] << U32(16))

    return Step(i, act, registers_of(i.operands[1:]), frozenset([into]))


def _scale(i: Instruction, operand: Operand) -> Fetch:
    """The power of 2 of a float32, by which `v_cvt_scalef32_*` divides what it narrows and multiplies what it widens; NaN where the exponent is 255."""
    fetch = source(i, operand, "u32")

    def power(x: Waves) -> np.ndarray:
        exponent = fetch(x) & U32(0x7F800000)
        return np.where(exponent == U32(0x7F800000), np.float32(np.nan), exponent.view(np.float32))

    return power


def _swap_rows(i: Instruction) -> Step:
    """`v_permlane16_swap_b32` and `v_permlane32_swap_b32`: odd rows of the first register and even ones of the second change."""
    a, b = register_of(i, 0, 1).index, register_of(i, 1, 1).index
    row = 16 if "16" in i.name else 32

    def act(x: Waves) -> None:
        first, second = (x.v[n].reshape(x.waves, -1, 2, row).copy() for n in (a, b))
        odd = first[:, :, 1].copy()
        first[:, :, 1], second[:, :, 0] = second[:, :, 0], odd
        x.set_vector(a, first.reshape(x.shape))
        x.set_vector(b, second.reshape(x.shape))

    return Step(i, act, registers_of(i.operands), registers_of(i.operands))


def _read_first(i: Instruction) -> Step:
    number, fetch = register_of(i, 0, 1).scalar, source(i, i.operands[1], "u32")

    def act(x: Waves) -> None:
        value = np.broadcast_to(fetch(x), x.shape)
        x.set_scalar(number, value[x.wave, crossing.first_lane(x)])

    return Step(i, act, registers_of(i.operands[1:]), registers_of(i.operands[:1]))


def _read_lane(i: Instruction) -> Step:
    number, fetch, lane = (
        register_of(i, 0, 1).scalar,
        source(i, i.operands[1], "u32"),
        source(i, i.operands[2], "u32", scalar=True),
    )

    def act(x: Waves) -> None:
        value = np.broadcast_to(fetch(x), x.shape)
        x.set_scalar(number, value[x.wave, (lane(x) % x.warp_size).astype(np.int64)])

    return Step(i, act, registers_of(i.operands[1:]), registers_of(i.operands[:1]))


def _write_lane(i: Instruction) -> Step:
    number = register_of(i, 0, 1).index
    value, lane = source(i, i.operands[1], "u32", scalar=True), source(i, i.operands[2], "u32", scalar=True)

    def act(x: Waves) -> None:
        waves = x.running()
        picked = np.broadcast_to(lane(x) % x.warp_size, (x.waves,)).astype(np.int64)[waves]
        x.v[number, waves, picked] = np.broadcast_to(value(x), (x.waves,))[waves]

    return Step(i, act, registers_of(i.operands), registers_of(i.operands[:1]))


def _swap(i: Instruction) -> Step:
    a, b = register_of(i, 0, 1).index, register_of(i, 1, 1).index

    def act(x: Waves) -> None:
        first = x.v[a].copy()
        x.set_vector(a, x.v[b].copy())
        x.set_vector(b, first)

    return Step(i, act, registers_of(i.operands), registers_of(i.operands))


def _nothing(i: Instruction) -> Step:
    return Step(i, lambda x: None)


_SPECIAL: dict[str, Callable[[Instruction], Step]] = {
    "v_readfirstlane_b32": _read_first, "v_readlane_b32": _read_lane, "v_writelane_b32": _write_lane, "v_swap_b32": _swap,
    "v_permlane16_swap_b32": _swap_rows, "v_permlane32_swap_b32": _swap_rows,
    "v_nop": _nothing,
}  # fmt: skip
