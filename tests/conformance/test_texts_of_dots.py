# pyright: standard
"""Matrix products, as programs look for them in TTGIR and PTX: the instruction by types and architecture, the stages of a loop, copies by
TMA, warp specialization (see `test_texts_that_programs_ask_for`)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from asked_texts import ARCHITECTURES, array, text_of

import minitriton as triton
import minitriton.language as tl
from minitriton.tools.tensor_descriptor import TensorDescriptor

FLOATS, HALVES = array(tl.float32), array(tl.float16)


@triton.jit
def product(
    x,
    x_m,
    x_k,
    y,
    y_k,
    y_n,
    w,
    z,
    z_m,
    z_n,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    PRECISION: tl.constexpr,
    OUT: tl.constexpr,
    AFTER: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(x + m[:, None] * x_m + k[None, :] * x_k)
    b = tl.load(y + k[:, None] * y_k + n[None, :] * y_n)
    c = tl.dot(a, b, input_precision=PRECISION, out_dtype=OUT)
    at = z + m[:, None] * z_m + n[None, :] * z_n
    if AFTER == "add-matrix":
        c += tl.load(at)
    if AFTER == "add-rows":
        c += tl.load(z + m * z_m)[:, None]
    if AFTER == "add-columns":
        c += tl.load(z + n * z_n)[None, :]
    if AFTER == "softmax":
        top = tl.max(c, 1)
        e = tl.exp((c - top[:, None]).to(tl.float32)).to(top.dtype)
        c = e / tl.sum(e, 1)[:, None]
    if AFTER == "product":
        second = tl.load(w + n[:, None] * N + n[None, :])
        c = tl.dot(c.to(second.dtype), second, input_precision=PRECISION, out_dtype=OUT)
    tl.store(at, c)


def multiplied(
    arch: str,
    dtype: tl.dtype,
    out: tl.dtype,
    shape: tuple[int, int, int, int],
    *,
    stored: tl.dtype | None = None,
    precision: str = "ieee",
    after: str = "none",
    columns: tuple[bool, bool] = (False, False),
) -> str:
    m, n, k, warps = shape
    x = (1, m) if columns[0] else (k, 1)
    y = (1, k) if columns[1] else (n, 1)
    z = (1, m) if after == "transposed" else (n, 1)
    given, result = array(dtype), array(stored or out)
    return text_of(
        product, given, *x, given, *y, given, result, *z, m, n, k, precision, out, after, arch=arch, num_warps=warps
    )


MMA = r"(wgmma\.mma_async|mma)\.sync\.aligned\.m\d+n\d+"
AFTER = ("none", "transposed", "add-matrix", "add-rows", "add-columns", "softmax", "product")
SHAPES = [
    ("sm80", (128, 16, 32, 4), (False, False)),
    ("sm90", (32, 128, 64, 4), (True, False)),
    ("sm90", (64, 128, 128, 4), (False, True)),
    ("sm89", (32, 128, 64, 2), (True, True)),
    ("sm86", (64, 64, 32, 4), (True, False)),
    ("sm90", (128, 256, 32, 8), (False, True)),
]
"""Architecture; rows, columns, depth and warps; whether the operands lie in columns."""


KINDS = [
    (tl.float16, tl.float32, "ieee", MMA + r"k16(\.row\.col)?\.f32\.f16\.f16"),
    (tl.float16, tl.float16, "ieee", MMA + r"k16(\.row\.col)?\.f16\.f16\.f16"),
    (tl.float32, tl.float32, "tf32", MMA + r"k8(\.row\.col)?\.f32\.tf32\.tf32"),
    (tl.float32, tl.float32, "bf16x3", MMA + r"k16(\.row\.col)?\.f32\.bf16\.bf16"),
]
"""Type of the operands, type and precision of the product, its instruction."""


def vectors(ptx: str) -> set[str]:
    return set(re.findall(r"\b(?:ld|st)\.global\.v\d", ptx))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("arch", "shape", "columns"), SHAPES, ids=str)
def test_operands_and_results_of_a_product_are_accessed_in_vectors(
    arch: str, shape: tuple[int, int, int, int], columns: tuple[bool, bool]
) -> None:
    for dtype, out in ((tl.float16, tl.float16), (tl.int8, tl.int8)):
        ptx = multiplied(
            arch, dtype, out, shape, stored=tl.int32 if out == tl.int8 else out, precision="tf32", columns=columns
        )
        assert {"ld.global.v4", "st.global.v4"} <= vectors(ptx)
        if dtype == tl.int8:
            assert re.search(
                r"wgmma\.mma_async\.sync\.aligned|mma\.sync\.aligned\.m16n8k32\.row\.col\.satfinite\.s32\.s8\.s8\.s32",
                ptx,
            )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("dtype", "out", "precision", "asked", "arch", "after"),
    [
        *((*case, arch, after) for case in KINDS[:3] for arch, after in zip(ARCHITECTURES, AFTER, strict=False)),
        *((*KINDS[3], arch, "none") for arch in ("sm80", "sm90")),
        *((*KINDS[0], arch, after) for after in AFTER[4:] for arch in ("sm80", "sm90")),
    ],
)
def test_the_instruction_of_a_product_is_that_of_its_types(
    dtype: tl.dtype, out: tl.dtype, precision: str, asked: str, arch: str, after: str
) -> None:
    ptx = multiplied(arch, dtype, out, (64, 64, 64, 4), stored=dtype, precision=precision, after=after)
    assert re.search(asked, ptx)
    assert {"ld.global.v4", "st.global.v4"} <= vectors(ptx)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize("side", [16, 32])
@pytest.mark.parametrize(
    ("precision", "asked"),
    [("tf32x3", r"k8(\.row\.col)?\.f32\.tf32\.tf32"), ("bf16x6", r"k16(\.row\.col)?\.f32\.bf16\.bf16")],
)
def test_small_products_of_floats_in_parts_use_tensor_cores(precision: str, asked: str, side: int, arch: str) -> None:
    ptx = multiplied(arch, tl.float32, tl.float32, (side, side, side, 4), precision=precision)
    assert re.search(MMA + asked, ptx)


@pytest.mark.parametrize("arch", ["sm80", "sm90"])
@pytest.mark.parametrize("side", [32, 64])
def test_doubles_are_accessed_two_at_a_time(side: int, arch: str) -> None:
    ptx = multiplied(arch, tl.float64, tl.float64, (side, side, side, 4))
    assert "ld.global.v2.b64" in ptx and "st.global.v2.b64" in ptx


@pytest.mark.parametrize(
    ("arch", "dtype", "name"),
    [
        ("sm80", tl.float8e5, "e5m2"),
        ("sm89", tl.float8e4nv, "e4m3"),
        ("sm90", tl.float8e5, "e5m2"),
        ("sm90", tl.float8e4nv, "e4m3"),
    ],
)
def test_products_of_float8_are_hopper_s_own(arch: str, dtype: tl.dtype, name: str) -> None:
    after = "product" if arch == "sm90" else "none"
    ptx = multiplied(arch, dtype, tl.float32, (128, 128, 64, 4), stored=tl.float64, after=after)
    assert "ld.global.v4" in ptx and "st.global.v2" in ptx
    if arch == "sm90":
        assert f"wgmma.mma_async.sync.aligned.m64n128k32.f32.{name}.{name}" in ptx


@pytest.mark.parametrize("arch", ["sm80", "sm86", "sm90"])
def test_few_rows_of_float8_are_products_of_halves(arch: str) -> None:
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in multiplied(
        arch, tl.float8e5, tl.float32, (1, 2, 32, 1), stored=tl.float64
    )


@triton.jit
def scaled_product(
    x,
    x_m,
    x_k,
    x_scale,
    y,
    y_k,
    y_n,
    y_scale,
    out,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    X: tl.constexpr,
    Y: tl.constexpr,
):
    X_K: tl.constexpr = K // 2 if X == "e2m1" else K
    Y_K: tl.constexpr = K // 2 if Y == "e2m1" else K
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    a = tl.load(x + m[:, None] * x_m + tl.arange(0, X_K)[None, :] * x_k)
    b = tl.load(y + tl.arange(0, Y_K)[:, None] * y_k + n[None, :] * y_n)
    if x_scale is not None:
        x_scale = tl.load(x_scale + m[:, None] * (K // 32) + s[None, :])
    if y_scale is not None:
        y_scale = tl.load(y_scale + n[:, None] * (K // 32) + s[None, :])
    c = tl.dot_scaled(a, x_scale, X, b, y_scale, Y)
    tl.store(out + m[:, None] * N + n[None, :], c.to(tl.bfloat16))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    ("arch", "scaled", "other", "shape", "columns"),
    [
        ("sm90", "e2m1", "bf16", (128, 64, 64), False),
        ("sm90", "e4m3", "fp16", (32, 128, 128), True),
        ("sm89", "e5m2", "e4m3", (64, 64, 64), True),
        ("sm89", "e2m1", "e5m2", (64, 32, 64), False),
    ],
)
def test_a_product_with_scales_is_one_of_halves_accessed_in_vectors(
    arch: str, scaled: str, other: str, shape: tuple[int, int, int], columns: bool, right: bool
) -> None:
    m, n, k = shape
    x, y = (other, scaled) if right else (scaled, other)

    def data(kind: str) -> triton.MockTensor:
        return array({"bf16": tl.bfloat16, "fp16": tl.float16}.get(kind, tl.uint8))

    x_k, y_k = (k // (2 if kind == "e2m1" else 1) for kind in (x, y))
    scales = (None, data("scale")) if right else (data("scale"), None)
    x_strides, y_strides = ((1, m), (1, y_k)) if columns else ((x_k, 1), (n, 1))
    given = data(x), *x_strides, scales[0], data(y), *y_strides, scales[1]
    ptx = text_of(scaled_product, *given, array(tl.bfloat16), m, n, k, x, y, arch=arch)
    assert {"ld.global.v4", "st.global.v4"} <= vectors(ptx)
    assert re.search(MMA + r"k16(\.row\.col)?\.f32\.(f|bf)16\.(f|bf)16", ptx)


@triton.jit
def blocked_product(
    a,
    b,
    c,
    m,
    n,
    k,
    a_m,
    a_k,
    b_k,
    b_n,
    c_m,
    c_n,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    IMPRECISE: tl.constexpr,
    STAGES: tl.constexpr,
):
    row, column = tl.program_id(0) % tl.cdiv(m, M), tl.program_id(0) // tl.cdiv(m, M)
    rows = (row * M + tl.arange(0, M)) % m
    columns = (column * N + tl.arange(0, N)) % n
    depth = tl.arange(0, K)
    a_at = a + rows[:, None] * a_m + depth[None, :] * a_k
    b_at = b + depth[:, None] * b_k + columns[None, :] * b_n
    total = tl.zeros((M, N), tl.float32)
    for _ in tl.range(0, tl.cdiv(k, K), num_stages=STAGES):
        total = tl.dot(tl.load(a_at), tl.load(b_at), acc=total, max_num_imprecise_acc=IMPRECISE)
        a_at += K * a_k
        b_at += K * b_k
    rows = row * M + tl.arange(0, M)
    columns = column * N + tl.arange(0, N)
    tl.store(c + rows[:, None] * c_m + columns[None, :] * c_n, total)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_loop_of_five_stages_waits_with_six_copies_under_way(arch: str) -> None:
    ptx = text_of(
        blocked_product,
        HALVES,
        HALVES,
        FLOATS,
        64,
        64,
        512,
        512,
        1,
        64,
        1,
        64,
        1,
        64,
        64,
        64,
        0,
        5,
        arch=arch,
        describe_tiles=False,
    )
    assert "cp.async.wait_group \t6" in ptx


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("dtype", "precise", "block"),
    [
        (tl.float8e5, 32, (128, 128, 128)),
        (tl.float8e4nv, 64, (128, 128, 128)),
        (tl.float8e5, 128, (128, 128, 128)),
        (tl.float8e4nv, 32, (64, 128, 128)),
        (tl.float8e5, 64, (128, 256, 128)),
        (tl.float8e4nv, 128, (128, 256, 128)),
    ],
)
def test_hopper_s_float8_sums_are_added_in_full_as_often_as_asked(
    dtype: tl.dtype, precise: int, block: tuple[int, int, int]
) -> None:
    m, n, k = block
    given = array(dtype)
    ptx = text_of(
        blocked_product,
        given,
        given,
        FLOATS,
        128,
        256,
        256,
        256,
        1,
        256,
        1,
        256,
        1,
        m,
        n,
        k,
        precise,
        3,
        arch="sm90",
        num_warps=8,
    )
    assert ptx.count("add.f32") == m * n // (32 * 8) * (k // precise)


@triton.jit
def broadcast_product(
    z, x, y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    pm, pn = tl.program_id(0), tl.program_id(1)
    total = tl.full((BM, BN), 0.0, tl.float32)
    for step in range(K // BK):
        a = tl.load(x + (pm * K * BM + m * K + step * BK + tl.arange(0, BK)[None, :]))
        b = tl.load(y + (pn * BN + tl.arange(0, BK)[:, None] * N + step * N * BK + n))
        total = tl.sum(tl.expand_dims(a, axis=2) * tl.expand_dims(b, axis=0), axis=1) + total
    tl.store(z + (pm * BM * N + pn * BN + m * N + n), total)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_product_spelled_as_a_sum_becomes_one_and_its_loop_is_pipelined(arch: str) -> None:
    kernel = broadcast_product.warmup(FLOATS, FLOATS, FLOATS, 256, 192, 160, 128, 32, 32, grid=(1,), arch=arch)
    assert "tt.dot" in kernel.asm["ttir"]
    assert re.search(r"ttg.async_wait %.* {num = 2 : i32}", kernel.asm["ttgir"])


@triton.jit
def masked_product(
    a,
    scale,
    b,
    out,
    m,
    n,
    k,
    a_m,
    a_k,
    s_m,
    s_k,
    b_k,
    b_n,
    c_m,
    c_n,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    STAGES: tl.constexpr,
    A: tl.constexpr,
    B: tl.constexpr,
):
    row, column = tl.program_id(0) % tl.cdiv(m, M), tl.program_id(0) // tl.cdiv(m, M)
    rows = (row * M + tl.arange(0, M)) % m
    columns = (column * N + tl.arange(0, N)) % n
    PACKED: tl.constexpr = 2 if A == "e2m1" else 1
    a_depth, b_depth, s_depth = tl.arange(0, K // PACKED), tl.arange(0, K), tl.arange(0, K // 32)
    a_end = k * (32 // PACKED) if A is not None else k
    b_end = k * 32 if A is not None else k
    a_at = a + (rows[:, None] * a_m + a_depth[None, :] * a_k)
    b_at = b + (b_depth[:, None] * b_k + columns[None, :] * b_n)
    if A is not None:
        s_at = scale + (rows[:, None] * s_m + s_depth[None, :] * s_k)
    total = tl.zeros((M, N), tl.float32)
    for step in tl.range(0, tl.cdiv(b_end, K), num_stages=STAGES):
        x = tl.load(a_at, mask=(rows[:, None] < m) & (a_depth[None, :] + step * (K // PACKED) < a_end), other=0)
        y = tl.load(b_at, mask=(b_depth[:, None] + step * K < b_end) & (columns[None, :] < n), other=0)
        if A is not None:
            s = tl.load(s_at, mask=(rows[:, None] < m) & (s_depth[None, :] + step * (K // 32) < k), other=0)
            total = tl.dot_scaled(x, s, A, y, None, B, acc=total)
            s_at += (K // 32) * s_k
        else:
            total = tl.dot(x, y, acc=total)
        a_at += (K // PACKED) * a_k
        b_at += K * b_k
    rows = row * M + tl.arange(0, M)
    columns = column * N + tl.arange(0, N)
    at = out + rows[:, None] * c_m + columns[None, :] * c_n
    tl.store(at, total.to(out.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("scaled", "arch"), [*((False, arch) for arch in ARCHITECTURES), (True, "sm80"), (True, "sm90")]
)
def test_a_masked_product_is_pipelined_with_one_buffer_an_operand(scaled: bool, arch: str) -> None:
    if scaled:
        right, data = ("bf16", array(tl.bfloat16)) if arch == "sm90" else ("e5m2", array(tl.uint8))
        packed, scales = array(tl.uint8), array(tl.uint8)
        ttgir = text_of(
            masked_product,
            packed,
            scales,
            data,
            array(tl.bfloat16),
            512,
            512,
            16,
            256,
            1,
            16,
            1,
            512,
            1,
            512,
            1,
            256,
            64,
            128,
            4,
            "e2m1",
            right,
            stage="ttgir",
            arch=arch,
        )
    else:
        ttgir = text_of(
            masked_product,
            HALVES,
            None,
            HALVES,
            HALVES,
            512,
            512,
            128,
            128,
            1,
            0,
            0,
            512,
            1,
            512,
            1,
            64,
            64,
            32,
            4,
            None,
            None,
            stage="ttgir",
            arch=arch,
        )
    assert "ttg.async_copy_global_to_local" in ttgir
    assert ttgir.count("num = 0 : i32") == 1
    assert ttgir.count("ttg.local_alloc") == (3 if scaled else 2)
    assert ("ttng.warp_group_dot" if arch == "sm90" else "ttg.dot") in ttgir


@triton.jit
def summed_blocks(a, b, out, n, blocks, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.program_id(0) * BLOCK * blocks + tl.arange(0, BLOCK)
    for _ in tl.range(0, blocks, num_stages=STAGES):
        tl.store(out + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)
        at += BLOCK


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_loop_of_sums_that_asks_for_stages_copies_ahead(arch: str) -> None:
    ttgir = text_of(summed_blocks, HALVES, HALVES, HALVES, 4096, 4, 256, 3, stage="ttgir", arch=arch)
    assert ttgir.count("ttg.async_copy_global_to_local") == 2 * 3
    assert ttgir.count("ttg.local_alloc") == 2


@triton.jit
def product_of_descriptors(a, b, c, k, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr, STAGES: tl.constexpr):
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for step in tl.range(0, tl.cdiv(k, K), num_stages=STAGES):
        total = tl.dot(a.load([m, step * K]), b.load([step * K, n]), acc=total)
    c.store([m, n], total.to(tl.float16))


@triton.jit
def product_of_made_descriptors(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    b_tiles = tl.make_tensor_descriptor(b, shape=[k, n], strides=[n, 1], block_shape=[K, N])
    c_tiles = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for step in range(tl.cdiv(k, K)):
        total = tl.dot(a_tiles.load([row, step * K]), b_tiles.load([step * K, column]), acc=total)
    c_tiles.store([row, column], total.to(tl.float16))


def tiles(rows: int, columns: int, block: list[int]) -> TensorDescriptor:
    return TensorDescriptor.from_tensor(np.zeros((rows, columns), np.float16), block)


def test_a_product_of_descriptors_has_a_buffer_each_and_one_for_barriers() -> None:
    given = tiles(512, 128, [64, 32]), tiles(128, 512, [32, 64]), tiles(512, 512, [64, 64])
    ttgir = text_of(product_of_descriptors, *given, 128, 32, 64, 64, 4, stage="ttgir", arch="sm90")
    for op in (
        "ttng.async_tma_copy_global_to_local",
        "ttng.barrier_expect",
        "ttng.wait_barrier",
        "ttng.warp_group_dot",
    ):
        assert op in ttgir
    assert "num = 4 : i32" not in ttgir
    assert ttgir.count("ttg.local_alloc") == 4


STMATRIX = "stmatrix.sync.aligned.m8n8.x4.shared.b16", "stmatrix.sync.aligned.x4.m8n8.shared.b16"
PUBLISHED = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
BLOCKS = [
    (128, 128, 16, 1, 1),
    (64, 512, 32, 2, 1),
    (64, 128, 32, 4, 1),
    (32, 32, 32, 4, 1),
    (256, 128, 32, 4, 1),
    (128, 128, 16, 4, 2),
    (256, 64, 32, 2, 2),
]
"""Rows, columns and depth; stages; CTAs."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("m", "n", "k", "stages", "ctas"), BLOCKS)
def test_tiles_of_a_product_are_written_by_stmatrix_and_descriptors_published(
    m: int, n: int, k: int, stages: int, ctas: int
) -> None:
    options = {"arch": "sm90", "num_warps": 8, "num_stages": stages, "num_ctas": ctas}
    made = text_of(product_of_made_descriptors, HALVES, HALVES, HALVES, 1024, 512, 256, m, n, k, **options)
    assert PUBLISHED in made
    given = (
        tiles(1024, 256, [min(m, 256), k]),
        tiles(256, 512, [k, min(n, 256)]),
        tiles(1024, 512, [min(m, 256), min(n, 256)]),
    )
    taken = text_of(product_of_descriptors, *given, 256, k, min(m, 256), min(n, 256), stages, **options)
    if m >= 64 * ctas and n >= 64:
        for ptx in (made, taken):
            assert any(form in ptx for form in STMATRIX)


@triton.jit
def raised(a, m, n, M: tl.constexpr, N: tl.constexpr):
    tiles = tl.make_tensor_descriptor(a, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row = tl.program_id(0) * M
    for column in range(0, n, N):
        if column % (3 * N) == 0:
            tiles = tl.make_tensor_descriptor(a, shape=[m, n], strides=[n, 1], block_shape=[M, N])
        tiles.store([row, column], tiles.load([row, column]) + 10)


def test_a_descriptor_carried_by_a_loop_is_published() -> None:
    assert PUBLISHED in text_of(raised, FLOATS, 64, 512, 8, 128, arch="sm90")


@triton.jit
def product_of_batches(
    a, b, c, batches, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PROGRAMS: tl.constexpr
):
    a_tiles = tl.make_tensor_descriptor(a, [batches, m, k], [k * m, k, 1], [1, M, K])
    b_tiles = tl.make_tensor_descriptor(b, [batches, n, k], [n * k, k, 1], [1, N, K])
    c_tiles = tl.make_tensor_descriptor(c, [batches, m, n], [m * n, n, 1], [1, M, N])
    steps, across = tl.cdiv(k, K), tl.cdiv(n, N)
    each = tl.cdiv(m, M) * across
    total = tl.zeros((M, N), tl.float32)
    for tile in range(tl.program_id(0), batches * each, PROGRAMS):
        batch, row, column = tile // each, tile % each // across * M, tile % across * N
        for step in range(steps):
            x = a_tiles.load([batch, row, step * K]).reshape([M, K])
            y = b_tiles.load([batch, column, step * K]).reshape([N, K])
            total = tl.dot(x, y.T, total)
        c_tiles.store([batch, row, column], total.to(tl.float16).reshape((1, M, N)))
        total = tl.zeros((M, N), tl.float32)


def test_a_product_of_tiles_of_three_axes_is_one_of_warp_groups() -> None:
    ttgir = text_of(
        product_of_batches,
        HALVES,
        HALVES,
        HALVES,
        2,
        1024,
        1024,
        128,
        128,
        256,
        64,
        96,
        stage="ttgir",
        arch="sm90",
        num_stages=3,
        num_warps=8,
    )
    assert "ttng.warp_group_dot" in ttgir


@triton.jit
def specialized_product(a, b, c, m, n, k, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    b_tiles = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    c_tiles = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row, column = tl.program_id(0) // tl.cdiv(n, N) * M, tl.program_id(0) % tl.cdiv(n, N) * N
    total = tl.zeros((M, N), tl.float32)
    for step in tl.range(tl.cdiv(k, K), warp_specialize=True, num_stages=STAGES):
        total = tl.dot(a_tiles.load((row, step * K)), b_tiles.load((column, step * K)).T, total)
    c_tiles.store((row, column), total.to(c.dtype.element_ty))


@triton.jit
def specialized_tiles(a, b, c, m, n, k, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    b_tiles = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    c_tiles = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    across = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * across, 132, warp_specialize=True, num_stages=STAGES):
        row, column = tile // across * M, tile % across * N
        total = tl.zeros((M, N), tl.float32)
        for step in range(tl.cdiv(k, K)):
            total = tl.dot(a_tiles.load((row, step * K)), b_tiles.load((column, step * K)).T, total)
        c_tiles.store((row, column), total.to(c.dtype.element_ty))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kernel", [specialized_product, specialized_tiles], ids=lambda k: k.__name__)
@pytest.mark.parametrize(("warps", "dtype"), [(4, tl.float16), (4, tl.float8e4nv), (8, tl.float16)])
def test_a_loop_is_split_among_warps_where_there_are_four(
    warps: int, dtype: tl.dtype, kernel: triton.JITFunction
) -> None:
    given = array(dtype)
    ttgir = text_of(
        kernel, given, given, given, 8192, 8192, 512, 3, 128, 128, 64, stage="ttgir", arch="sm90", num_warps=warps
    )
    assert "ttng.warp_group_dot" in ttgir and "ttng.async_tma_copy_global_to_local" in ttgir
    assert ("ttg.warp_specialize" in ttgir) == (warps == 4)
