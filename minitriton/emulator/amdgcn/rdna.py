"""RDNA3 (gfx11) and RDNA4 (gfx12): what their instructions are called for the tables of this package, and scalar instructions on floats.

v_add_nc_u32   →   v_add_u32;   ds_load_2addr_b64   →   ds_read2_b64;   s_max_num_f32   →   the function of v_max_f32, once a wave

Sources: AMD, "RDNA3 Instruction Set Architecture" and "RDNA4 Instruction Set Architecture", sections 5 and 6 "Scalar" and "Vector ALU Operations",
and their lists of instructions. An instruction that RDNA4 renames does what RDNA3's does, but for `v_minimum` and `v_maximum`, which have NaN win.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace

from minitriton.emulator.amdgcn import scalar
from minitriton.emulator.amdgcn.program import Instruction, registers_of
from minitriton.emulator.amdgcn.values import Step, result_of, source
from minitriton.emulator.amdgcn.vector import RULES, comparison
from minitriton.emulator.amdgcn.waves import Waves

_NAMES = (
    (r"v_dual_(\w+)", r"v_\1"), (r"v_(add|sub|subrev)_nc_([ui]\d\d)", r"v_\1_\2"), (r"v_add_co_ci_u32", "v_addc_co_u32"),
    (r"v_sub_co_ci_u32", "v_subb_co_u32"), (r"v_subrev_co_ci_u32", "v_subbrev_co_u32"), (r"v_mad_co_([ui]64_[ui]32)", r"v_mad_\1"),
    (r"(v_pk_|v_|s_|ds_|\w+_atomic_)(\w*?)(min|max|med3|min3|max3|maxmin|minmax)_num(_rtn)?_(f\d\d)", r"\1\2\3\4_\5"),
    (r"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"), (r"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"),
    (r"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"), (r"v_clz_i32_u32", "v_ffbh_u32"), (r"v_cls_i32", "v_ffbh_i32"),
    (r"v_ctz_i32_b32", "v_ffbl_b32"), (r"v_mul_dx9_zero_f32", "v_mul_legacy_f32"), (r"s_(and|or)_not1_(\w+)", r"s_\1n2_\2"),
    (r"s_(and|or)_not0_(\w+)", r"s_\1n1_\2"), (r"s_(add|sub)_co_([ui]32)", r"s_\1_\2"), (r"s_add_co_ci_u32", "s_addc_u32"),
    (r"s_sub_co_ci_u32", "s_subb_u32"), (r"s_(add|sub)_nc_u64", r"s_\1_u64"), (r"s_addk_co_i32", "s_addk_i32"),
    (r"s_clz_i32_u(32|64)", r"s_flbit_i32_b\1"), (r"s_cls_i32(_i64)?", r"s_flbit_i32\1"), (r"s_ctz_i32_b(32|64)", r"s_ff1_i32_b\1"),
    (r"ds_(load|store)_2addr_stride64_(b\d\d)", r"ds_\1_2st64_\2"), (r"ds_(load|store)_2addr_(b\d\d)", r"ds_\1_2_\2"),
    (r"ds_storexchg_(\w+)", r"ds_wrxchg_\1"), (r"ds_load_2(st64)?_(\w+)", r"ds_read2\1_\2"), (r"ds_store_2(st64)?_(\w+)", r"ds_write2\1_\2"),
    (r"ds_load_(\w+)", r"ds_read_\1"), (r"ds_store_(\w+)", r"ds_write_\1"),
    (r"(global|buffer|flat|scratch)_(load|store)_d16_(hi_)?[bui](8|16)", None),
    (r"(global|buffer|flat)_atomic_(add|sub|inc|dec|min|max|and|or|xor|swap|cmpswap)_([ubi])(32|64)", None),
)  # fmt: skip
"""What follows another name, in order."""


def _renamed(match: re.Match[str]) -> str:
    parts = match.groups()
    if parts[1] in ("load", "store"):
        kind = match[0].rsplit("_", 1)[1]
        narrow = {"b16": "short", "u8": "ubyte", "i8": "sbyte", "b8": "byte"}[kind]
        return f"{parts[0]}_{parts[1]}_{narrow}_d16{'_hi' if parts[2] else ''}"
    sign = {"i": "s", "u": "u"}.get(parts[2], "") if parts[1] in ("min", "max") else ""
    return f"{parts[0]}_atomic_{sign}{parts[1]}{'_x2' if parts[3] == '64' else ''}"


@functools.cache
def canonical(name: str) -> str:
    """What the tables of this package call an instruction of RDNA."""
    for pattern, to in _NAMES:
        if match := re.fullmatch(pattern, name):
            name = _renamed(match) if to is None else match.expand(to)
    return name


_COMPARE = re.compile(r"s_cmp_([a-z]+)_(f32|f16)$")


def rule_of(i: Instruction) -> Step | None:
    """What a scalar instruction on floats does, by the vector one of its name; None for others."""
    if match := _COMPARE.match(i.name):
        function = comparison(match[1], match[2])
        if function is None:
            return None
        a, b = (source(i, o, match[2], scalar=True) for o in i.operands)
        return Step(i, lambda x: x.set_scc(result_of(function, [a(x), b(x)])), registers_of(i.operands))
    name = "v_" + i.name.removeprefix("v_s_" if i.name.startswith("v_s_") else "s_")
    if not i.name.startswith(("s_", "v_s_")) or name not in RULES:
        return None
    type, types, function = RULES[name]
    if types.endswith(" acc"):
        whole = replace(i, operands=(*i.operands, i.operands[0]))
        return scalar.plain(whole, type, types.replace("acc", type), function)
    return scalar.plain(i, type, types, function)


def signal(i: Instruction) -> Step:
    """`s_barrier_signal`: what is complete now is ordered before what others do after the wait."""

    def act(x: Waves) -> None:
        waves = x.running()
        x.signalled[waves] = True
        for clocks in (x.lds, x.vector_memory):
            clocks.released[waves] = clocks.done[waves]

    return Step(i, act)


def dual(i: Instruction, first: Step, second: Step) -> Step:
    """`v_dual_*`: both read their operands before either writes (RDNA3 ISA, section 7.6 "Dual Issue VALU")."""
    written = sorted(first.writes)

    def one_by_one(x: Waves) -> None:
        first.act(x)
        second.act(x)

    def at_once(x: Waves) -> None:
        before = x.v[written]
        first.act(x)
        after = x.v[written]
        x.v[written] = before
        second.act(x)
        x.v[written] = after

    act = one_by_one if first.writes.isdisjoint(second.reads) else at_once
    return Step(i, act, first.reads | second.reads, first.writes | second.writes)
