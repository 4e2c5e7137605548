"""AMDGCN by hand on the emulator: arithmetic, lanes that read each other, memory, matrix cores, functions, and faults at their line."""

import functools

import numpy as np
import pytest
from amdgcn_text import START, lanes, run, text_of

from minitriton.emulator import EmulationError, Report, amdgcn

U32, F32 = np.uint32, np.float32
RNG = np.random.default_rng(0)
SPECIAL = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-40, 3e38, 1e-38, 7.5, -1e30], F32)


def found(report: Report) -> list[tuple[str, str]]:
    """Kinds of findings and the instructions they are at."""
    return [(f.kind, f.text.split()[0]) for f in report.findings]


def pairs_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs."""
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


A, B = (RNG.integers(0, 1 << 32, 64, dtype=np.uint64).astype(U32) for _ in range(2))
SIGNED_A, SIGNED_B = A.view(np.int32), B.view(np.int32)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("v_add_u32_e32 v9, v2, v3", A + B),
        ("v_sub_u32_e64 v9, v2, v3 clamp", np.where(A > B, A - B, 0)),
        ("v_mul_hi_i32 v9, v2, v3", (SIGNED_A.astype(np.int64) * SIGNED_B >> 32).astype(U32)),
        ("v_bfe_i32 v9, v2, 28, 3", ((SIGNED_A << 1) >> 29).view(U32)),
        ("v_alignbit_b32 v9, v2, v3, 12", (A << U32(20)) | (B >> U32(12))),
        ("v_perm_b32 v9, v2, v3, 0x07060c01", np.uint32(0)),
        ("v_add_co_u32_e32 v4, vcc, v2, v3\nv_addc_co_u32_e64 v9, vcc, 0, 0, vcc", (A.astype(np.uint64) + B >> np.uint64(32)).astype(U32)),
        ("v_mad_u64_u32 v[8:9], vcc, v2, v3, 0", (A.astype(np.uint64) * B >> np.uint64(32)).astype(U32)),
        ("v_cmp_gt_i32_e64 s[8:9], v2, v3\nv_cndmask_b32_e64 v9, 2, 7, s[8:9]", np.where(SIGNED_A > SIGNED_B, 7, 2).astype(U32)),
        ("v_ffbh_u32_e32 v9, 0", np.full(64, 0xFFFFFFFF, U32)),
        ("v_add_u32_sdwa v9, v2, sext(v3) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_1",
         (A >> U32(16)) + (B >> U32(8)).astype(np.int8).astype(np.int32).view(U32)),
        ("v_mov_b32_e32 v9, v3\nv_add_u16_sdwa v9, v2, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:BYTE_0",
         (B & U32(0xFFFF00FF)) | ((2 * (A & U32(255)) & U32(255)) << U32(8))),
        ("v_mbcnt_lo_u32_b32 v9, -1, 0\nv_mbcnt_hi_u32_b32 v9, -1, v9", np.arange(64, dtype=U32)),
        ("v_lshrrev_b64 v[8:9], 4, v[2:3]\nv_mov_b32 v9, v8", (A >> U32(4)) | (B << U32(28))),
    ],
)  # fmt: skip
def test_integers(body: str, wanted: np.ndarray) -> None:
    if "v_perm" in body:
        wanted = (A >> U32(24) << U32(24)) | ((A >> U32(16) & U32(255)) << U32(16)) | (B >> U32(8) & U32(255))
    np.testing.assert_array_equal(lanes(body, A, B), wanted)


DIVISION = """v_div_scale_f32 v4, s[8:9], v3, v3, v2
v_div_scale_f32 v5, vcc, v2, v3, v2
v_rcp_f32_e32 v6, v4
v_fma_f32 v7, -v4, v6, 1.0
v_fmac_f32_e32 v6, v7, v6
v_mul_f32_e32 v7, v5, v6
v_fma_f32 v8, -v4, v7, v5
v_fmac_f32_e32 v7, v8, v6
v_fma_f32 v4, -v4, v7, v5
v_div_fmas_f32 v4, v4, v6, v7
v_div_fixup_f32 v9, v4, v3, v2"""


def test_the_sequence_of_a_division_is_correctly_rounded_and_a_subnormal_result_within_one_ulp() -> None:
    exponents = RNG.uniform(-149, 127, 2000)
    numbers = (2.0**exponents * RNG.choice([-1, 1], 2000)).astype(F32)
    a, b = (
        np.concatenate([numbers[:1000], pairs_of(SPECIAL)[0]]),
        np.concatenate([numbers[1000:], pairs_of(SPECIAL)[1]]),
    )
    result = np.concatenate([lanes(DIVISION, a[n : n + 512], b[n : n + 512]) for n in range(0, len(a), 512)]).view(F32)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(result, a / b, rtol=0, atol=2e-45)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("v_max_f32_e32 v9, v2, v3", np.fmax),
        ("v_fma_f32 v9, -v2, |v3|, 0", lambda a, b: -a * np.abs(b)),
        ("v_cvt_i32_f32_e32 v4, v2\nv_cvt_f32_i32_e32 v9, v4",
         lambda a, b: np.where(np.isnan(a), 0, np.clip(np.trunc(a), -(2.0**31), 2.0**31 - 1)).astype(F32)),
        ("v_mul_f32_e64 v9, v2, 1.0 clamp", lambda a, b: np.where(np.isnan(a), 0, np.clip(a, 0, 1)).astype(F32)),
        ("v_cmp_class_f32_e64 vcc, v2, 3\nv_cndmask_b32_e64 v9, 0, 1.0, vcc", lambda a, b: np.isnan(a).astype(F32)),
        ("v_cmp_class_f32_e64 vcc, v2, 0x204\nv_cndmask_b32_e64 v9, 0, 1.0, vcc", lambda a, b: np.isinf(a).astype(F32)),
        ("v_cmp_nlt_f32_e32 vcc, v2, v3\nv_cndmask_b32_e64 v9, 0, 1.0, vcc", lambda a, b: (~(a < b)).astype(F32)),
        ("v_cvt_f16_f32_e32 v4, v2\nv_cvt_f32_f16_e32 v9, v4", lambda a, b: a.astype(np.float16).astype(F32)),
        ("v_pk_mul_f32 v[8:9], v[2:3], v[2:3] op_sel:[1,0] op_sel_hi:[0,1]", lambda a, b: a * b),
        ("v_pk_add_f32 v[8:9], v[2:3], v[2:3] op_sel_hi:[1,0] neg_hi:[0,1]", lambda a, b: b - a),
    ],
)  # fmt: skip
def test_floats(body: str, wanted: object) -> None:
    a, b = pairs_of(SPECIAL)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(lanes(body, a, b).view(F32), wanted(a, b))


def test_packed_halves() -> None:
    halves = RNG.standard_normal((2, 64, 2)).astype(np.float16)
    words = [h.view(U32)[:, 0].copy() for h in halves]
    result = lanes("v_pk_add_f16 v9, v2, v3 op_sel_hi:[0,1] neg_lo:[0,1]", *words).view(np.float16).reshape(64, 2)
    np.testing.assert_array_equal(result[:, 0], halves[0][:, 0] - halves[1][:, 0])
    np.testing.assert_array_equal(result[:, 1], halves[0][:, 0] + halves[1][:, 1])


@pytest.mark.parametrize(("target", "largest"), [("gfx942", 240), ("gfx950", 448)])
def test_eight_bit_floats_have_the_format_of_the_target(target: str, largest: float) -> None:
    values = np.resize(np.array([1.0, -3.25, 1000.0, 0.017, 0.0], F32), 64)
    result = lanes(
        "v_cvt_pk_fp8_f32 v9, v2, v2\nv_cvt_f32_fp8_sdwa v9, v9 src0_sel:BYTE_1", values, target=target
    ).view(F32)
    np.testing.assert_allclose(result, np.clip(values, None, largest), rtol=0.07)


LANE = np.arange(64)


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("v_mov_b32_dpp v9, v2 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", LANE ^ 3),
        ("v_mov_b32_dpp v9, v2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", np.where(LANE % 16 > 0, LANE - 1, -1)),
        ("v_mov_b32_dpp v9, v2 row_shl:3 row_mask:0xf bank_mask:0xf bound_ctrl:1", np.where(LANE % 16 < 13, LANE + 3, -1)),
        ("v_mov_b32_dpp v9, v2 row_ror:4 row_mask:0xf bank_mask:0xf", LANE // 16 * 16 + (LANE - 4) % 16),
        ("v_mov_b32_dpp v9, v2 row_half_mirror row_mask:0xf bank_mask:0xf", LANE ^ 7),
        ("v_mov_b32_dpp v9, v2 row_newbcast:5 row_mask:0xf bank_mask:0xf", LANE // 16 * 16 + 5),
        ("v_mov_b32_dpp v9, v2 row_bcast:31 row_mask:0xf bank_mask:0xf bound_ctrl:1", np.where(LANE > 31, 31, -1)),
        ("v_mov_b32_dpp v9, v2 wave_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", np.where(LANE < 63, LANE + 1, -1)),
        ("ds_swizzle_b32 v9, v2 offset:swizzle(SWAP,16)\ns_waitcnt lgkmcnt(0)", LANE ^ 16),
        ('ds_swizzle_b32 v9, v2 offset:swizzle(BITMASK_PERM,"01pip")\ns_waitcnt lgkmcnt(0)', LANE // 32 * 32 + 8 + ((LANE & 7) ^ 2)),
        ("ds_swizzle_b32 v9, v2 offset:0x801f\ns_waitcnt lgkmcnt(0)", LANE // 4 * 4 + np.array([3, 3, 1, 0])[LANE % 4]),
        ("v_sub_u32 v3, 63, v0\nv_lshlrev_b32 v3, 2, v3\nds_bpermute_b32 v9, v3, v2\ns_waitcnt lgkmcnt(0)", 63 - LANE),
        ("v_add_u32 v3, 5, v0\nv_lshlrev_b32 v3, 2, v3\nds_permute_b32 v9, v3, v2\ns_waitcnt lgkmcnt(0)", (LANE - 5) % 64),
        ("v_readlane_b32 s8, v2, 17\nv_mov_b32 v9, s8", np.full(64, 17)),
        ("v_mov_b32 v9, v2\ns_mov_b32 s8, 7\nv_writelane_b32 v9, s8, 3", np.where(LANE == 3, -2, LANE)),
    ],
)  # fmt: skip
def test_lanes_read_each_other(body: str, reads: np.ndarray) -> None:
    values = (LANE + 100).astype(U32)
    wanted = np.where(reads == -1, 0, np.where(reads == -2, 7, values[reads]))
    np.testing.assert_array_equal(lanes(body, values), wanted)


def test_masks_and_lanes_that_do_not_act_keep_the_destination_of_dpp() -> None:
    body = """v_mov_b32 v9, 1
s_mov_b64 exec, 0xffff
v_add_u32_dpp v9, v2, v2 row_shr:1 row_mask:0xf bank_mask:0x6
s_mov_b64 exec, -1"""
    values = (LANE + 100).astype(U32)
    chosen = (LANE < 16) & (LANE // 4 % 4 > 0) & (LANE // 4 % 4 < 3)
    np.testing.assert_array_equal(lanes(body, values), np.where(chosen, np.roll(values, 1) + values, 1))


def test_rows_are_swapped_and_columns_read_on_gfx950() -> None:
    low, high = np.arange(64, dtype=U32), np.arange(100, 164, dtype=U32)
    swapped = lanes("v_permlane32_swap_b32 v2, v3\nv_sub_u32 v9, v3, v2", low, high, target="gfx950")
    np.testing.assert_array_equal(swapped, np.where(LANE < 32, LANE + 32 - LANE, LANE + 100 - (LANE + 68)).astype(U32))
    body = (
        START
        + """s_mov_b32 m0, -1
v_lshlrev_b32 v2, 3, v0
global_load_dwordx2 v[4:5], v2, s[4:5]
s_waitcnt vmcnt(0)
ds_write_b64 v2, v[4:5]
s_waitcnt lgkmcnt(0)
ds_read_b64_tr_b16 v[6:7], v2
s_waitcnt lgkmcnt(0)
global_store_dwordx2 v2, v[6:7], s[6:7]"""
    )
    x, out = np.arange(256, dtype=np.uint16), np.zeros(256, np.uint16)
    assert run(body, x, out, lds=512, target="gfx950").ok
    np.testing.assert_array_equal(out.reshape(4, 16, 4), x.reshape(4, 4, 16).swapaxes(1, 2))
    assert run(body.replace("tr_b16", "tr_b4"), x, out, lds=512, target="gfx950").ok
    halves = np.stack([x.view(np.uint8) & 15, x.view(np.uint8) >> 4], axis=-1).reshape(4, 16, 16).swapaxes(1, 2)
    np.testing.assert_array_equal(out.view(np.uint8).reshape(4, 16, 8), halves[..., ::2] | halves[..., 1::2] << 4)
    words = lanes("v_bitop3_b32 v9, v2, v3, 12 bitop3:0x6c", low, high, target="gfx950")
    np.testing.assert_array_equal(words, high ^ (low & U32(12)))


def test_scales_are_powers_of_two_as_two_numbers_are_widened() -> None:
    """`op_sel` chooses the half of the word, or for fp4 the byte, lower bit first; an exponent of 255 is NaN."""
    words = np.full(64, 0x21B4E638, U32)
    scales = np.where(LANE == 5, np.nan, 4.5).astype(F32).view(U32)
    for name, selected, wanted in (
        ("fp8", "[1,0,0]", (-3, 0.5625)),
        ("fp4", "[0,1,0]", (8, -6)),
        ("bf8", "[0,0,0]", (2, -6144)),
    ):
        text = f"v_cvt_scalef32_pk_f16_{name} v9, v2, v3 op_sel:{selected}"
        halves = lanes(text, words, scales, target="gfx950").view(np.float16).reshape(64, 2)
        assert tuple(halves[0]) == wanted and np.isnan(halves[5]).all(), name
    wide = lanes("v_cvt_scalef32_pk_bf16_fp4 v9, v2, v3", words, scales, target="gfx950")
    assert wide[0] == 0x40C08000


def test_a_sum_over_a_wave_by_dpp() -> None:
    steps = [f"v_add_f32_dpp v2, v2, v2 row_shr:{n} row_mask:0xf bank_mask:0xf bound_ctrl:1" for n in (8, 4, 2, 1)]
    steps += [f"v_add_f32_dpp v2, v2, v2 row_bcast:{n} row_mask:0xf bank_mask:0xf bound_ctrl:1" for n in (15, 31)]
    values = RNG.integers(0, 100, 64).astype(F32)
    assert lanes("\n".join([*steps, "v_mov_b32 v9, v2"]), values).view(F32)[63] == values.sum()


def scalar(body: str, *numbers: int) -> int:
    """What s20 holds after scalar instructions on s10, s11, ..."""
    moves = "".join(f"s_mov_b32 s{10 + n}, {number}\n" for n, number in enumerate(numbers))
    return int(lanes(f"{moves}{body}\nv_mov_b32 v9, s20", A)[5])


@pytest.mark.parametrize(
    ("body", "numbers", "wanted"),
    [
        ("s_add_u32 s12, s10, s11\ns_addc_u32 s20, 0, 5", (0xFFFFFFFF, 1), 6),
        ("s_sub_u32 s12, s10, s11\ns_subb_u32 s20, 9, 5", (1, 2), 3),
        ("s_bfe_i32 s20, s10, 0x80004", (0xF80,), 0xFFFFFFF8),
        ("s_cmp_lt_i32 s10, s11\ns_cselect_b32 s20, 4, 8", (-3, 2), 4),
        ("s_cmp_lt_u32 s10, s11\ns_cselect_b32 s20, 4, 8", (-3, 2), 8),
        ("s_lshl_b64 s[20:21], s[10:11], 36\ns_mov_b32 s20, s21", (3, 0), 48),
        ("s_ff1_i32_b32 s20, s10", (0x50,), 4),
        ("s_flbit_i32_b32 s20, s10", (0x50,), 25),
        ("s_bcnt1_i32_b64 s20, s[10:11]", (0xFF, 1), 9),
        ("s_mul_hi_u32 s20, s10, s11", (1 << 31, 6), 3),
        ("s_movk_i32 s20, 0xff00\ns_addk_i32 s20, 0x10", (), 0xFFFFFF10),
        ("s_andn2_b32 s20, s10, s11\ns_cselect_b32 s20, s20, 77", (6, 7), 77),
        ("s_bitcmp1_b32 s10, 3\ns_cselect_b32 s20, 1, 2", (8,), 1),
    ],
)  # fmt: skip
def test_the_scalar_unit(body: str, numbers: tuple[int, ...], wanted: int) -> None:
    assert scalar(body, *numbers) == wanted


LOOP = (
    START
    + """v_mov_b32 v9, 0
.L_loop:
v_add_u32 v9, v9, 1
v_cmp_lt_u32_e32 vcc, v9, v0
s_and_b64 exec, exec, vcc
s_cbranch_execnz .L_loop
s_mov_b64 exec, -1
global_store_dword v1, v9, s[6:7]"""
)


def test_lanes_leave_a_loop_one_by_one() -> None:
    out = np.zeros(128, U32)
    assert run(LOOP, out, out, threads=128).ok
    np.testing.assert_array_equal(out, np.maximum(np.arange(128), 1))


def test_waves_part_at_a_scalar_branch_and_meet_at_a_barrier() -> None:
    body = (
        START
        + """v_readfirstlane_b32 s8, v0
s_cmp_eq_u32 s8, 0
v_mov_b32 v9, 5
s_cbranch_scc1 .L_first
v_mov_b32 v9, 6
s_barrier
s_branch .L_end
.L_first:
s_barrier
.L_end:
global_store_dword v1, v9, s[6:7]"""
    )
    out = np.zeros(128, U32)
    report = run(body, out, out, threads=128)
    assert report.ok and report.mix()["s_barrier"] == 2
    np.testing.assert_array_equal(out, np.repeat([5, 6], 64))


def test_a_function_is_called_and_returns() -> None:
    body = (
        START
        + """v_mov_b32 v9, 3
s_getpc_b64 s[8:9]
s_add_u32 s8, s8, double@rel32@lo+4
s_addc_u32 s9, s9, double@rel32@hi+12
s_swappc_b64 s[30:31], s[8:9]
global_store_dword v1, v9, s[6:7]
s_endpgm
double:
v_add_u32 v9, v9, v9
s_setpc_b64 s[30:31]"""
    )
    out = np.zeros(64, U32)
    assert run(body, out, out).ok
    np.testing.assert_array_equal(out, 6)


def matrix(name: str, elements: int, result: int) -> str:
    """A body: A at the first array, `elements` words a lane, B after it; D of `result` words to the second."""
    loads = "".join(f"global_load_dword v{n + 2}, v1, s[4:5] offset:{256 * n}\n" for n in range(2 * elements))
    a, b = (f"v[{2 + n * elements}:{1 + (n + 1) * elements}]" if elements > 1 else f"v{2 + n}" for n in range(2))
    wide = f"a[0:{result - 1}]" if result > 1 else "a0"
    stores = "".join(
        f"v_accvgpr_read_b32 v20, a{n}\nglobal_store_dword v1, v20, s[6:7] offset:{256 * n}\n" for n in range(result)
    )
    return f"{START}{loads}s_waitcnt vmcnt(0)\nv_mfma_{name} {wide}, {a}, {b}, 0\n{stores}"


def _bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(F32).view(U32) >> U32(16)).astype(np.uint16)


@pytest.mark.parametrize(
    ("name", "m", "k", "kind"),
    [
        ("f32_32x32x8_f16", 32, 8, "f16"), ("f32_16x16x16_f16", 16, 16, "f16"), ("f32_32x32x8_bf16", 32, 8, "bf16"),
        ("f32_16x16x16_bf16", 16, 16, "bf16"), ("f32_32x32x2_f32", 32, 2, "f32"), ("f32_16x16x4_f32", 16, 4, "f32"),
        ("i32_32x32x16_i8", 32, 16, "i8"), ("i32_16x16x32_i8", 16, 32, "i8"), ("f32_16x16x8_xf32", 16, 8, "f32"),
        ("f32_32x32x16_f16", 32, 16, "f16"), ("f32_16x16x32_bf16", 16, 32, "bf16"),
    ],
)  # fmt: skip
def test_matrix_cores_have_the_layouts_of_the_isa(name: str, m: int, k: int, kind: str) -> None:
    a, b = (RNG.integers(-8, 8, (m, k)).astype(np.float64) for _ in range(2))
    encode = {
        "f16": lambda x: x.astype(np.float16).view(np.uint16),
        "bf16": _bf16,
        "f32": lambda x: x.astype(F32),
        "i8": lambda x: x.astype(np.int8),
    }[kind]
    held = m * k // 64
    table = np.stack(
        [encode(one)[LANE % m][np.arange(64)[:, None], LANE[:, None] // m * held + np.arange(held)] for one in (a, b)]
    )
    words = np.ascontiguousarray(table).view(U32)
    out = np.zeros((m * m // 64, 64), U32)
    assert run(matrix(name, words.shape[2], len(out)), np.ascontiguousarray(words.transpose(0, 2, 1)), out).ok
    result = np.zeros((m, m))
    register = np.arange(len(out))[:, None]
    result[register // 4 * (4 * 64 // m) + LANE // m * 4 + register % 4, LANE % m] = out.view(
        np.int32 if kind == "i8" else F32
    )
    np.testing.assert_array_equal(result, a @ b.T)


def test_sixteen_small_matrices_at_once() -> None:
    a, b = (RNG.integers(-8, 8, (16, 4, 4)).astype(np.float16) for _ in range(2))
    words = np.stack([a, b]).reshape(2, 64, 4).view(U32)
    out = np.zeros((4, 64), F32)
    assert run(matrix("f32_4x4x4_16b_f16", 2, 4), np.ascontiguousarray(words.transpose(0, 2, 1)), out).ok
    np.testing.assert_array_equal(
        out.reshape(4, 16, 4).transpose(1, 0, 2), a.astype(F32) @ b.astype(F32).transpose(0, 2, 1)
    )


def test_a_block_is_broadcast_to_all_small_matrices() -> None:
    """4x64: with `cbsz:4` all sixteen blocks multiply with the block of A that `abid` chooses."""
    a, b = (RNG.integers(-8, 8, (16, 4, 4)).astype(np.float16) for _ in range(2))
    words = np.stack([a, b]).reshape(2, 64, 4).view(U32)
    out = np.zeros((4, 64), F32)
    text = matrix("f32_4x4x4_16b_f16", 2, 4).replace("v[4:5], 0\n", "v[4:5], 0 cbsz:4 abid:5\n")
    assert "abid" in text and run(text, np.ascontiguousarray(words.transpose(0, 2, 1)), out).ok
    np.testing.assert_array_equal(out, (a[5] @ b.swapaxes(1, 2)).transpose(1, 0, 2).reshape(4, 64))


BUFFER = (
    START
    + """s_mov_b32 s8, s4
s_mov_b32 s9, s5
s_mov_b32 s10, 100
s_mov_b32 s11, 0x27000
s_mov_b32 s12, s6
s_mov_b32 s13, s7
s_mov_b32 s14, 60
s_mov_b32 s15, 0x27000
buffer_load_dword v9, v1, s[8:11], 0 offen
s_waitcnt vmcnt(0)
buffer_store_dword v9, v1, s[12:15], 0 offen offset:4"""
)


def test_a_descriptor_bounds_what_a_buffer_reads_and_writes() -> None:
    x, out = np.arange(1, 65, dtype=U32), np.full(64, 99, U32)
    assert run(BUFFER, x, out).ok
    np.testing.assert_array_equal(out, [99, *range(1, 15), *[99] * 49])
    beyond = run(BUFFER.replace("s10, 100", "s10, 0x7ffffffe"), x[:32].copy(), out)
    assert found(beyond) == [("out-of-bounds", "buffer_load_dword")]


def test_atomics_return_what_was_there() -> None:
    body = (
        START
        + """v_mov_b32 v2, 0
v_mov_b32 v3, 2
global_atomic_add v9, v2, v3, s[4:5] sc0
s_waitcnt vmcnt(0)
global_store_dword v1, v9, s[6:7]"""
    )
    total, out = np.zeros(1, U32), np.zeros(64, U32)
    assert run(body, total, out).ok
    assert total[0] == 128 and sorted(out) == list(range(0, 128, 2))


LOCK = (
    START
    + """v_mov_b32 v2, 0
v_mov_b32 v4, 1
v_mov_b32 v5, 0
s_mov_b64 exec, 1
.L_again:
global_atomic_cmpswap v6, v2, v[4:5], s[4:5] sc0
s_waitcnt vmcnt(0)
v_cmp_ne_u32_e32 vcc, 0, v6
s_cbranch_vccnz .L_again
buffer_inv sc1
global_load_dword v7, v2, s[6:7]
s_waitcnt vmcnt(0)
v_add_u32 v7, v7, 1
global_store_dword v2, v7, s[6:7]
buffer_wbl2 sc1
s_waitcnt vmcnt(0)
global_atomic_swap v2, v5, s[4:5]"""
)


def test_workgroups_wait_for_a_lock_and_an_unordered_one_is_a_race() -> None:
    lock, count = np.zeros(1, U32), np.zeros(1, U32)
    report = run(LOCK, lock, count, grid=(5,))
    assert report.ok, report.findings
    assert count[0] == 5
    unordered = run(LOCK.replace("buffer_wbl2 sc1\n", "").replace("buffer_inv sc1\n", ""), lock, count, grid=(5,))
    assert {kind for kind, _ in found(unordered)} == {"global-race"}


ADD = """s_load_dwordx4 s[4:7], s[0:1], 0x0
s_load_dword s8, s[0:1], 0x10
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
v_cmp_gt_u32_e32 vcc, s8, v0
s_and_saveexec_b64 s[10:11], vcc
global_load_dword v2, v1, s[4:5]
global_load_dword v3, v1, s[6:7]
s_waitcnt vmcnt(1)
v_add_f32_e32 v2, 1.0, v2
s_waitcnt vmcnt(0)
v_add_f32_e32 v3, v2, v3
global_store_dword v1, v3, s[6:7]"""


def add(body: str, size: int = 100, number: int = 100) -> tuple[Report, np.ndarray]:
    out = np.ones(size, F32)
    return run(body, np.arange(size, dtype=F32), out, number, threads=128), out


def test_loads_are_there_once_a_wait_covers_them() -> None:
    report, out = add(ADD)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.arange(100) + 2)
    assert report.total("global").threads == 300 + 4  # and two scalar loads of each of two waves


@pytest.mark.parametrize(
    ("wait", "line", "register"),
    [("s_waitcnt lgkmcnt(0)", 5, "s8"), ("s_waitcnt vmcnt(1)", 10, "v2"), ("s_waitcnt vmcnt(0)", 12, "v3")],
)
def test_a_missing_wait_is_found_where_the_register_is_used(wait: str, line: int, register: str) -> None:
    report, out = add(ADD.replace(wait, "s_nop 0"))
    first = report.findings[0]
    assert (first.kind, first.source.line) == ("missing-wait", line) and f"uses {register}" in first.message
    assert wait in first.message
    if register[0] == "v":
        assert not np.array_equal(out, np.arange(100) + 2)


def test_an_access_out_of_bounds_is_found_at_its_line() -> None:
    report, _ = add(ADD, size=100, number=101)
    assert [(f.kind, f.source.line, f.count) for f in report.findings] == [("out-of-bounds", n, 1) for n in (7, 8, 13)]
    assert "byte 400 of `argument 0` (400 bytes)" in report.findings[0].message


REVERSE = (
    START
    + """global_load_dword v2, v1, s[4:5]
v_sub_u32 v3, 508, v1
s_waitcnt vmcnt(0)
ds_write_b32 v3, v2
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b32 v9, v1
s_waitcnt lgkmcnt(0)
global_store_dword v1, v9, s[6:7]"""
)


def reverse(body: str, lds: int = 512) -> tuple[Report, np.ndarray]:
    out = np.zeros(128, U32)
    return run(body, np.arange(128, dtype=U32), out, threads=128, lds=lds), out


def test_waves_exchange_values_through_lds() -> None:
    report, out = reverse(REVERSE)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.arange(128)[::-1])
    assert report.total("shared").conflicts == 0


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (("s_barrier\n", "s_nop 0\n"), [("shared-race", "ds_read_b32")]),
        (("ds_write_b32 v3, v2\ns_waitcnt lgkmcnt(0)", "ds_write_b32 v3, v2\ns_nop 0"), [("shared-race", "ds_read_b32")]),
        (("v_sub_u32 v3, 508, v1", "v_and_b32 v3, 252, v1"), [("uninitialised", "ds_read_b32"), ("shared-race", "ds_write_b32")]),
        (("ds_read_b32 v9, v1", "ds_read_b32 v9, v1 offset:4"), [("out-of-bounds", "ds_read_b32")]),
        (("ds_write_b32 v3", "v_mov_b32 v3, 2\nds_write_b32 v3"), [("uninitialised", "ds_read_b32")]),
    ],
)  # fmt: skip
def test_faults_of_lds_are_found_at_their_line(change: tuple[str, str], wanted: list[tuple[str, str]]) -> None:
    report, _ = reverse(REVERSE.replace(*change))
    assert sorted(found(report)) == sorted(wanted), report.findings
    lines = REVERSE.replace(*change).splitlines()
    assert all(lines[f.source.line - 1].startswith(f.text.split()[0]) for f in report.findings)


def test_a_wave_needs_no_barrier_for_its_own_values() -> None:
    body = REVERSE.replace("v_sub_u32 v3, 508, v1", "v_xor_b32 v3, 252, v1").replace("s_barrier\n", "")
    report, out = reverse(body)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out.reshape(2, 64), np.arange(128).reshape(2, 64)[:, ::-1])


def test_a_store_that_no_wait_covers_is_not_ordered_by_a_barrier() -> None:
    body = (
        START
        + """v_sub_u32 v3, 508, v1
global_store_dword v1, v0, s[4:5]
s_waitcnt vmcnt(0)
s_barrier
global_load_dword v9, v3, s[4:5]
s_waitcnt vmcnt(0)
global_store_dword v1, v9, s[6:7]"""
    )
    x, out = np.zeros(128, U32), np.zeros(128, U32)
    assert run(body, x, out, threads=128).ok
    np.testing.assert_array_equal(out, np.arange(128)[::-1])
    report = run(body.replace("s_waitcnt vmcnt(0)\ns_barrier", "s_barrier"), x, out, threads=128)
    assert found(report) == [("thread-race", "global_load_dword")]


COPIED = (
    START
    + """v_lshlrev_b32 v2, 4, v0
v_readfirstlane_b32 s8, v2
s_mov_b32 m0, s8
global_load_lds_dwordx4 v2, s[4:5]
s_add_i32 m0, s8, 2048
global_load_lds_dwordx4 v2, s[4:5]
v_sub_u32 v3, 2032, v2
s_waitcnt vmcnt(1)
s_barrier
ds_read_b128 v[8:11], v3
s_waitcnt lgkmcnt(0)
global_store_dwordx4 v2, v[8:11], s[6:7]"""
)


def copied(body: str) -> tuple[Report, np.ndarray]:
    out = np.zeros(512, U32)
    return run(body, np.arange(1, 513, dtype=U32), out, threads=128, lds=4096, target="gfx950"), out


def test_a_copy_to_lds_puts_the_words_of_each_lane_next_to_those_of_the_lane_before() -> None:
    report, out = copied(COPIED)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out.reshape(128, 4), np.arange(1, 513).reshape(128, 4)[::-1])


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (("s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(2)"), ("shared-race", "ds_read_b128")),
        (("s_barrier\n", "s_nop 0\n"), ("shared-race", "ds_read_b128")),
        (("v_sub_u32 v3, 2032, v2\ns_waitcnt vmcnt(1)", "v_mov_b32 v3, v2\ns_nop 0"), ("missing-wait", "ds_read_b128")),
        (("s_add_i32 m0, s8, 2048", "s_add_i32 m0, s8, 4096"), ("out-of-bounds", "global_load_lds_dwordx4")),
        (("ds_read_b128", "v_mov_b32 v12, 0\nds_write_b32 v12, v12 offset:3000\nds_read_b128"), ("shared-race", "ds_write_b32")),
        (("s_waitcnt lgkmcnt(0)\nglobal_store", "s_mov_b32 m0, 0\nglobal_load_lds_dwordx4 v2, s[4:5]\nglobal_store"), ("shared-race", "global_load_lds")),
    ],
)  # fmt: skip
def test_faults_of_copies_to_lds_are_found_at_their_line(change: tuple[str, str], wanted: tuple[str, str]) -> None:
    body = COPIED.replace(*change)
    report, out = copied(body)
    kinds = [(finding.kind, finding.text.split()[0]) for finding in report.findings]
    assert any(kind == wanted[0] and text.startswith(wanted[1]) for kind, text in kinds), report.findings
    lines = body.splitlines()
    assert all(lines[f.source.line - 1].startswith(f.text.split()[0]) for f in report.findings)
    if "vmcnt(2)" in body:
        assert not (out.reshape(128, 4) == np.arange(1, 513).reshape(128, 4)[::-1]).any(), "the copy came too early"


def test_a_buffer_copies_zeros_to_lds_for_what_is_outside_of_it() -> None:
    body = (
        START
        + """s_mov_b32 s8, s4
s_and_b32 s9, s5, 0xffff
s_mov_b32 s10, 120
s_mov_b32 s11, 0x27000
s_mov_b32 m0, 0
buffer_load_dword v1, s[8:11], 0 offen lds
s_waitcnt vmcnt(0)
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)
global_store_dword v1, v2, s[6:7]"""
    )
    out = np.full(64, 7, U32)
    report = run(body, np.arange(1, 65, dtype=U32), out, lds=256)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.where(np.arange(64) < 30, np.arange(1, 65), 0))


@pytest.mark.parametrize(
    "accesses",
    [
        "ds_write_b32 v1, v0 offset:512\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1 offset:512",
        "ds_write2_b32 v1, v0, v0 offset0:128 offset1:192\ns_waitcnt lgkmcnt(0)\nds_read2_b32 v[2:3], v1 offset0:128 offset1:192",
        "v_mov_b32 v2, 0\nds_write_b32 v1, v2 offset:512\nds_add_u32 v1, v0 offset:512\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v1 offset:512",
    ],
)
def test_an_offset_is_added_to_a_negative_address_of_lds(accesses: str) -> None:
    out = np.zeros(64, U32)
    body = f"{START}v_lshlrev_b32 v4, 2, v0\nv_subrev_u32 v1, 512, v4\n{accesses}\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v4, v2, s[6:7]"
    report = run(body, np.zeros(1, U32), out, lds=512)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, np.arange(64))


def test_bank_conflicts_are_counted_over_64_lanes() -> None:
    for shift, conflicts in ((2, 0), (3, 2), (7, 62)):
        body = f"v_lshlrev_b32 v1, {shift}, v0\nds_write_b32 v1, v0"
        assert run(body, lds=8192).total("shared").conflicts == conflicts


@pytest.mark.parametrize(
    ("body", "message", "line"),
    [
        ("s_nop 0\nv_frobnicate_b32 v0, v1", "the emulator does not know v_frobnicate_b32", 2),
        ("v_add_f32 v0, v1", "takes 2 operands", 1),
        ("s_branch .L_nowhere", "the label .L_nowhere is missing", 1),
        ("v_mov_b32 v900, v1", "the registers end before v900", 1),
        ("global_load_dword v0, v[2:3], off lds", "does not know lds", 1),
        ("v_mov_b32_dpp v0, v1 row_mask:0xf", "no DPP control", 1),
        ("s_waitcnt vscnt(0)", "counters of this target", 1),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0 cbsz:1", "has 1 blocks", 1),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], 0 blgp:1", "does not know this form", 1),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_an_error_at_its_line(body: str, message: str, line: int) -> None:
    text = text_of(body)
    with pytest.raises(EmulationError, match="(?s).*" + message) as caught:
        amdgcn.run(text, None, (1,), [])
    assert text.splitlines()[caught.value.location.line - 1].strip() == body.splitlines()[line - 1]


def test_a_loop_without_an_end_ends_with_the_finding() -> None:
    report = amdgcn.run(text_of(".L_again:\ns_branch .L_again"), None, (1,), [], seconds=0.1)
    assert found(report) == [("endless", "s_branch")]


def test_a_report_has_the_language_of_its_text() -> None:
    report, _ = add(ADD, number=101)
    assert "\n    amdgcn:" in str(report.findings[0])
    assert {"amdgcn", "amdgcn_line"} <= report.to_json()["findings"][0].keys()
    assert "global_load_dword" in report.listing() and report.by_source_line()["/k.py:7"]["instructions"] == 2


@functools.cache
def by_triton(name: str) -> tuple:
    """A case of the corpus and Triton's assembly of it."""
    import building
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from minitriton.lab import corpus
    from minitriton_kernels.cases import CASES, load_kernels

    case = next(c for c in [*CASES, *corpus.cases()] if c.name == name)
    source = ASTSource(getattr(load_kernels(case.file, "triton"), case.kernel), *building.source_parts(case))
    made = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=case.launch_options)
    return case, made.asm["amdgcn"], made.metadata.shared


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "vector_add",
        "softmax",
        "layer_norm",
        "sum_rows",
        "argmax_columns",
        "running_sums",
        "transpose",
        "small_matmul",
        "tiled_dot",
    ],
)
def test_the_assembly_of_triton_gives_the_numbers_of_numpy(name: str) -> None:
    pytest.importorskip("triton")
    case, text, shared = by_triton(name)
    arguments = case.inputs(np.random.default_rng(0))
    report = amdgcn.run(text, None, case.grid, arguments, shared_bytes=shared)
    assert report.ok, report.findings
    for position, wanted in case.expected(*case.inputs(np.random.default_rng(0))).items():
        np.testing.assert_allclose(arguments[position], wanted, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "what", "kind"),
    [("softmax", "\ts_barrier\n", "shared-race"), ("layer_norm", "\ts_waitcnt vmcnt(0)\n", "missing-wait"), ("transpose", "\ts_barrier\n", "shared-race")],
)  # fmt: skip
def test_a_fault_planted_in_the_assembly_of_triton_is_found(name: str, what: str, kind: str) -> None:
    pytest.importorskip("triton")
    case, text, shared = by_triton(name)
    assert what in text
    report = amdgcn.run(
        text.replace(what, "\ts_nop 0\n"), None, case.grid, case.inputs(np.random.default_rng(0)), shared_bytes=shared
    )
    assert kind in {f.kind for f in report.findings}
    assert all(f.source is not None for f in report.findings)
