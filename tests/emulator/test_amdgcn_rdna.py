"""RDNA by hand on the emulator: waves of 32 lanes, two instructions at once, lanes that read each other, waits, WMMA."""

import numpy as np
import pytest
from amdgcn_text import run

from minitriton.emulator import EmulationError, Report

U16, U32, F16, F32, F64 = np.uint16, np.uint32, np.float16, np.float32, np.float64
RNG = np.random.default_rng(0)
LANE = np.arange(32)
A, B = (RNG.integers(0, 1 << 32, 32, dtype=np.uint64).astype(U32) for _ in range(2))
RDNA3, RDNA4 = "gfx1100", "gfx1200"


def start(target: str) -> str:
    wait = "s_wait_kmcnt 0x0" if target == RDNA4 else "s_waitcnt lgkmcnt(0)"
    return f"s_load_b128 s[4:7], s[0:1], 0x0\n{wait}\nv_lshlrev_b32 v1, 2, v0\n"


def loaded(target: str) -> str:
    return "s_wait_loadcnt 0x0" if target == RDNA4 else "s_waitcnt vmcnt(0)"


def lanes(body: str, *inputs: np.ndarray, target: str = RDNA3, results: int = 1) -> np.ndarray:
    """Word i of each input in v2, v3, ... of lane i; what v9 and on hold afterwards."""
    table = np.stack([np.asarray(one).view(U32) for one in inputs]) if inputs else np.zeros((1, 32), U32)
    out = np.zeros((results, 32), U32)
    loads = "".join(f"global_load_b32 v{n + 2}, v1, s[4:5] offset:{128 * n}\n" for n in range(len(inputs)))
    stores = "".join(f"\nglobal_store_b32 v1, v{9 + n}, s[6:7] offset:{128 * n}" for n in range(results))
    report = run(
        f"{start(target)}{loads}{loaded(target)}\n{body.strip()}{stores}", table, out, threads=32, target=target
    )
    assert report.ok, report.findings
    return out[0] if results == 1 else out


def found(report: Report) -> list[tuple[str, str]]:
    return [(f.kind, f.text.split()[0]) for f in report.findings]


HIGH, LOW = U32(0xFFFF0000), U32(0xFFFF)


@pytest.mark.parametrize("target", [RDNA3, RDNA4])
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("v_add_nc_u32_e32 v9, v2, v3", A + B),
        ("v_xor3_b32 v9, v2, v3, 5", A ^ B ^ U32(5)),
        ("v_add_co_u32 v4, vcc_lo, v2, v3\nv_add_co_ci_u32_e64 v9, null, 0, 0, vcc_lo", (A.astype(np.uint64) + B >> np.uint64(32)).astype(U32)),
        ("v_cmp_gt_u32_e64 s8, v2, v3\nv_cndmask_b32_e64 v9, 2, 7, s8", np.where(A > B, 7, 2).astype(U32)),
        ("v_mov_b32 v9, 1\ns_mov_b32 s8, exec_lo\nv_cmpx_gt_u32_e32 v2, v3\nv_mov_b32 v9, 4\ns_mov_b32 exec_lo, s8", np.where(A > B, 4, 1).astype(U32)),
        ("v_mbcnt_lo_u32_b32 v9, -1, 0", LANE.astype(U32)),
        ("v_clz_i32_u32_e32 v9, 1", np.full(32, 31, U32)),
        # Both read before either writes.
        ("v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\nv_sub_nc_u32_e32 v9, v2, v3", B - A),
        ("v_mov_b32 v8, v3\nv_dual_mov_b32 v8, v2 :: v_dual_lshlrev_b32 v9, 1, v8", B << U32(1)),
        ("v_cmp_gt_u32_e32 vcc_lo, v2, v3\nv_dual_cndmask_b32 v9, v2, v3 :: v_dual_mov_b32 v8, 0", np.where(A > B, B, A)),
        # Halves of registers: the other half stays.
        ("v_mov_b32 v9, v3\nv_add_nc_u16 v9.l, v2.h, v2.l", (B & HIGH) | ((A >> U32(16)) + A & LOW)),
        ("v_mov_b32 v9, v3\nv_mov_b16_e32 v9.h, v2.l", (B & LOW) | (A << U32(16))),
        ("v_mov_b32 v9, v3\nv_lshlrev_b16 v9, 1, v2", (B & HIGH) | (A << U32(1) & LOW)),
        ("s_mov_b32 s8, 0x1234\ns_and_saveexec_b32 s9, s8\nv_mov_b32 v9, 1\ns_mov_b32 exec_lo, s9", (0x1234 >> LANE & 1).astype(U32)),
        ("s_mov_b32 s8, 0x10\ns_and_not1_b32 s9, exec_lo, s8\nv_mov_b32 v9, s9", np.full(32, 0xFFFFFFEF, U32)),
    ],
)  # fmt: skip
def test_instructions(body: str, wanted: np.ndarray, target: str) -> None:
    zeroed = body if "v9, v3" in body else f"v_mov_b32 v9, 0\n{body}"
    np.testing.assert_array_equal(lanes(zeroed, A, B, target=target), wanted)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("s_mov_b32 s8, 2.0\ns_fmac_f32 s8, 0x40400000, 0.5\nv_mov_b32 v9, s8", 3.5),
        ("s_cmp_lt_f32 1.0, 2.0\ns_cselect_b32 s8, 4.0, 1.0\nv_mov_b32 v9, s8", 4.0),
        ("s_cvt_f32_i32 s8, -3\nv_mov_b32 v9, s8", -3.0),
        ("v_s_exp_f32 s8, 2.0\nv_mov_b32 v9, s8", 4.0),
        ("v_max_num_f32_e32 v9, 0x7fc00000, v2", 1.5),
        ("v_maximum_f32 v9, 0x7fc00000, v2", np.nan),
        ("v_maxmin_num_f32 v9, v2, 4.0, 2.0", 2.0),
    ],
)
def test_floats_of_rdna4(body: str, wanted: float) -> None:
    result = lanes(body, np.full(32, 1.5, F32), target=RDNA4).view(F32)
    np.testing.assert_array_equal(result, np.full(32, wanted, F32))


def test_two_halves_are_multiplied_and_added() -> None:
    pairs = RNG.integers(-8, 8, (2, 32, 2)).astype(F16)
    a, b = (pair.view(U32).ravel() for pair in pairs)
    result = lanes("v_mov_b32 v9, 1.0\nv_dot2_f32_f16 v9, v2, v3, v9", a, b).view(F32)
    np.testing.assert_array_equal(result, (pairs[0].astype(F32) * pairs[1]).sum(1) + 1)


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("v_mov_b32_dpp v9, v2 row_share:3 row_mask:0xf bank_mask:0xf", LANE // 16 * 16 + 3),
        ("v_mov_b32_dpp v9, v2 row_xmask:5 row_mask:0xf bank_mask:0xf", LANE ^ 5),
        ("v_mov_b32_dpp v9, v2 dpp8:[7,6,5,4,3,2,1,0]", LANE ^ 7),
        ("v_mov_b32_dpp v9, v2 row_ror:4 row_mask:0xf bank_mask:0xf", LANE // 16 * 16 + (LANE - 4) % 16),
        ("v_permlanex16_b32 v9, v2, -1, -1 op_sel:[1,0]", LANE // 16 * 16 + 15 ^ 16),
        ("s_mov_b32 s8, 0x76543210\ns_mov_b32 s9, 0xfedcba98\nv_permlanex16_b32 v9, v2, s8, s9", LANE ^ 16),
        ("s_mov_b32 s8, 0x01234567\ns_mov_b32 s9, 0x89abcdef\nv_permlane16_b32 v9, v2, s8, s9",
         LANE // 16 * 16 + np.where(LANE % 16 < 8, 7 - LANE % 8, 15 - LANE % 8)),
        ("v_xor_b32 v8, 31, v0\nv_lshlrev_b32 v8, 2, v8\nds_bpermute_b32 v9, v8, v2\ns_waitcnt lgkmcnt(0)", LANE ^ 31),
    ],
)  # fmt: skip
def test_lanes_read_each_other(body: str, reads: np.ndarray) -> None:
    np.testing.assert_array_equal(lanes(body, A), A[reads])


def test_a_comparison_reads_another_lane() -> None:
    body = "v_cmp_ne_u32_e64_dpp s8, v2, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1\nv_cndmask_b32 v9, 0, 1, s8"
    given = np.array([4, 4, 5, 6] * 8, U32)
    np.testing.assert_array_equal(lanes(body, given), given[LANE ^ 1] != given)
    body = f"{start(RDNA3)}v_cvt_f32_u32 v2, v0\ns_mov_b32 s9, 3.0\n{body.replace('ne_u32', 'eq_f32').replace('v2, v2', 'v2, s9')}\nglobal_store_b32 v1, v9, s[6:7]"
    out = np.zeros(128, U32)
    assert run(body, np.zeros(1, U32), out, threads=128, target=RDNA3).ok
    assert out.nonzero()[0].tolist() == [2]


@pytest.mark.parametrize(("name", "expected"), [("u8", 0xF1), ("i8", 0xFFFFFFF1), ("u16", 0x80F1), ("i16", 0xFFFF80F1)])
def test_a_scalar_load_of_rdna_4_takes_less_than_a_word(name: str, expected: int) -> None:
    body = f"s_load_{name} s8, s[4:5], 0x8\ns_wait_kmcnt 0x0\nv_mov_b32 v9, s8"
    given = np.full(32, 0x123480F1, U32)
    np.testing.assert_array_equal(lanes(body, given, target=RDNA4), np.full(32, expected, U32))


def test_lanes_that_do_not_act_are_read_when_the_instruction_says_so() -> None:
    dpp = "v_mov_b32 v9, 7\ns_mov_b32 exec_lo, 0xffff\nv_mov_b32_dpp v9, v2 row_shr:1 row_mask:0xf bank_mask:0xf{}\ns_mov_b32 exec_lo, -1"
    upper = "v_mov_b32 v9, 7\ns_mov_b32 exec_lo, 0xffff\nv_permlanex16_b32 v9, v2, 0, 0 op_sel:[{},0]\ns_mov_b32 exec_lo, -1"
    acts = LANE < 16
    np.testing.assert_array_equal(lanes(dpp.format(""), A), np.where(acts & (LANE > 0), np.roll(A, 1), 7))
    np.testing.assert_array_equal(lanes(upper.format(1), A), np.where(acts, A[16], 7))
    np.testing.assert_array_equal(lanes(upper.format(0), A), np.full(32, 7, U32))


# Matrices -------------------------------------------------------------------------------------------------------------


def _bf16(x: np.ndarray) -> np.ndarray:
    return (x.astype(F32).view(U32) >> U32(16)).astype(U16)


def _e4m3(x: np.ndarray) -> np.ndarray:
    """Of whole numbers from -8 to 8: three bits of a mantissa are enough."""
    exponent = np.frexp(np.abs(x))[1] - 1
    mantissa = (np.abs(x) / 2.0**exponent - 1) * 8
    return np.where(x == 0, 0, (x < 0) * 128 + (exponent + 7) * 8 + mantissa).astype(np.uint8)


@pytest.mark.parametrize(
    ("name", "encode", "more"),
    [
        ("f32_16x16x16_f16", lambda x: x.astype(F16).view(U16), ""),
        ("f32_16x16x16_bf16", _bf16, ""),
        ("i32_16x16x16_iu8", lambda x: x.astype(np.int8), " neg_lo:[1,1,0]"),
        ("f32_16x16x16_fp8_fp8", _e4m3, ""),
    ],
)
@pytest.mark.parametrize("target", [RDNA3, RDNA4])
def test_matrix_instructions_have_the_layouts_of_the_isa(name: str, encode: object, more: str, target: str) -> None:
    if "fp8" in name and target == RDNA3:
        pytest.skip("RDNA3 lacks it")
    assert callable(encode)
    a, b = (RNG.integers(-8, 8, (16, 16)).astype(F64) for _ in range(2))
    table = []
    for one in (encode(a), encode(b)):
        each = 16 if target == RDNA3 else 8
        first = 0 * LANE if target == RDNA3 else LANE // 16 * 8
        table.append(np.ascontiguousarray(one[LANE[:, None] % 16, first[:, None] + np.arange(each)]).view(U32))
    words = np.stack(table).transpose(0, 2, 1).reshape(-1, 32)
    half = len(words) // 2
    spans = [f"v[{2 + n * half}:{1 + (n + 1) * half}]" for n in range(2)]
    multiply = f"v_wmma_{name} v[40:47], {spans[0]}, {spans[1]}, 1{'.0' if name[0] == 'f' else ''}{more}"
    moves = "".join(f"\nv_mov_b32 v{9 + n}, v{40 + n}" for n in range(8))
    out = lanes(multiply + moves, *words, target=target, results=8).view(F32 if name[0] == "f" else np.int32)
    register = np.arange(8)[:, None]
    row = 2 * register + LANE // 16 if target == RDNA3 else 8 * (LANE // 16) + register
    result = np.zeros((16, 16))
    result[row, LANE % 16] = out
    np.testing.assert_array_equal(result, a @ b.T + 1)


def test_results_of_16_bits_keep_the_other_half_on_rdna3() -> None:
    ones = np.full((16, 32), 0x3C003C00, U32)
    body = "v_mov_b32 v40, v2\nv_wmma_f16_16x16x16_f16 v[40:47], v[2:9], v[10:17], 0 op_sel:[0,0,1]\nv_mov_b32 v9, v40"
    assert set(lanes(body, *ones).tolist()) == {0x4C003C00}


def test_halves_of_an_operand_that_differ_are_found() -> None:
    body = f"{start(RDNA3)}v_wmma_f32_16x16x16_f16 v[40:47], v[2:9], v[10:17], 0\n"
    assert run(body, A, B, threads=32, target=RDNA3).ok
    report = run(body.replace("v_wmma", "v_mov_b32 v10, v0\nv_wmma", 1), A, B, threads=32, target=RDNA3)
    assert found(report) == [("unequal-copies", "v_wmma_f32_16x16x16_f16")]


# Memory ---------------------------------------------------------------------------------------------------------------


def test_scratch_memory_is_each_thread_s_own_and_has_an_end() -> None:
    body = f"{start(RDNA3)}scratch_store_b32 off, v0, off offset:4\nscratch_load_b32 v9, off, off offset:4\ns_waitcnt vmcnt(0)\nglobal_store_b32 v1, v9, s[6:7]"
    out = np.zeros(32, U32)
    assert run(body, A, out, threads=32, target=RDNA3, directives={"private_segment_fixed_size": 8}).ok
    np.testing.assert_array_equal(out, LANE)
    report = run(body, A, out, threads=32, target=RDNA3)
    assert found(report) == [("out-of-bounds", "scratch_store_b32"), ("out-of-bounds", "scratch_load_b32")]


def test_a_raw_buffer_has_bounds() -> None:
    body = "s_mov_b32 s6, 64\ns_mov_b32 s7, 0x31027000\nbuffer_load_b32 v9, v1, s[4:7], null offen\ns_wait_loadcnt 0x0"
    moved = body.replace("s[4:7]", "s[12:15]").replace("s6,", "s14,").replace("s7,", "s15,")
    result = lanes(f"s_mov_b64 s[12:13], s[4:5]\n{moved}", A, target=RDNA4)
    np.testing.assert_array_equal(result, np.where(LANE < 16, A, 0))


@pytest.mark.parametrize("target", [RDNA3, RDNA4])
def test_compare_and_swap_has_the_new_value_first(target: str) -> None:
    asks, wait = (" th:TH_ATOMIC_RETURN", "s_wait_dscnt 0x0") if target == RDNA4 else (" glc", "s_waitcnt lgkmcnt(0)")
    body = f"""v_mov_b32 v10, 100
v_mov_b32 v11, v2
global_atomic_cmpswap_b32 v12, v1, v[10:11], s[4:5]{asks}
ds_store_b32 v1, v2
ds_cmpstore_rtn_b32 v13, v1, v10, v11
ds_load_b32 v9, v1
{wait}
{loaded(target)}
v_add_nc_u32_e32 v9, v9, v12"""
    table, out = A.copy(), np.zeros(32, U32)
    text = f"{start(target)}global_load_b32 v2, v1, s[4:5]\n{loaded(target)}\n{body}\nglobal_store_b32 v1, v9, s[6:7]"
    assert run(text, table, out, threads=32, target=target, lds=128).ok
    np.testing.assert_array_equal(table, 100)
    np.testing.assert_array_equal(out, A + U32(100))


# Waits and barriers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "wait", "missing"),
    [
        (RDNA3, "s_waitcnt_vscnt null, 0x0", "s_waitcnt vmcnt(0)"),
        (RDNA3, "s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)"),
        (RDNA4, "s_wait_storecnt 0x0", "s_wait_loadcnt 0x0"),
        (RDNA4, "s_wait_dscnt 0x0", "s_wait_loadcnt 0x0"),
    ],
)
def test_a_load_has_a_counter_of_its_own(target: str, wait: str, missing: str) -> None:
    body = f"{start(target)}global_load_b32 v9, v1, s[4:5]\n{wait}\nglobal_store_b32 v1, v9, s[6:7]"
    report = run(body, A, np.zeros(32, U32), threads=32, target=target)
    assert found(report) == [("missing-wait", "global_store_b32")]
    assert missing in report.findings[0].message
    covered = body.replace(f"{wait}\nglobal_store", f"{missing}\nglobal_store")
    assert run(covered, A, np.zeros(32, U32), threads=32, target=target).ok


def exchange(target: str, store_wait: str, barrier: str) -> Report:
    """Each wave reads what the other wrote to global memory."""
    body = f"""{start(target)}global_store_b32 v1, v0, s[6:7]
{store_wait}
{barrier}
v_xor_b32 v2, 0x80, v1
global_load_b32 v9, v2, s[6:7]"""
    return run(body, A, np.zeros(64, U32), threads=64, target=target)


BARRIER4 = "s_barrier_signal -1\ns_barrier_wait -1"


@pytest.mark.parametrize(
    ("target", "store_wait", "barrier", "wanted"),
    [
        (RDNA3, "s_waitcnt_vscnt null, 0x0", "s_barrier", []),
        (RDNA3, "s_waitcnt vmcnt(0)", "s_barrier", ["thread-race"]),
        (RDNA4, "s_wait_storecnt 0x0", BARRIER4, []),
        (RDNA4, "s_wait_loadcnt 0x0", BARRIER4, ["thread-race"]),
        (RDNA4, "s_barrier_signal -1", "s_wait_storecnt 0x0\ns_barrier_wait -1", ["thread-race"]),
        (RDNA4, "s_wait_storecnt 0x0", "s_barrier_wait -1", ["deadlock"]),
    ],
)
def test_barriers_order_stores_that_their_counter_says_are_complete(
    target: str, store_wait: str, barrier: str, wanted: list[str]
) -> None:
    assert [f.kind for f in exchange(target, store_wait, barrier).findings][:1] == wanted


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("s_wait_loadcnt 0x0", "lacks s_wait_loadcnt"),
        ("v_mov_b32_dpp v1, v2 row_bcast:15 row_mask:0xf bank_mask:0xf", "no DPP control"),
        ("v_cndmask_b32_e64 v9, 2, 7, s[8:9]", "a mask of 32 lanes"),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], 0", "does not know"),
        ("global_load_b32 v1.l, v2, s[4:5]", "a whole register"),
    ],
)
def test_what_rdna3_lacks_is_an_error_at_its_line(body: str, message: str) -> None:
    with pytest.raises(EmulationError, match=message):
        run(body, A, B, threads=32, target=RDNA3)
