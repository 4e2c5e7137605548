"""Dots of microscaled numbers for AMD's GPUs on the emulator, against NumPy: by the instruction of gfx950 that scales, and widened to 16 bits."""

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.text import parse_module
from minitriton.emulator import amdgcn
from minitriton.interpreter.launch import interpret
from minitriton.interpreter.numbers.formats import decode_bf16, decode_small, encode_bf16
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def scaled(
    a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    FA: tl.constexpr, FB: tl.constexpr, SA: tl.constexpr, SB: tl.constexpr, LK: tl.constexpr, RK: tl.constexpr,
):  # fmt: skip
    PA: tl.constexpr = 2 if FA == "e2m1" else 1
    PB: tl.constexpr = 2 if FB == "e2m1" else 1
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ma, nb = tl.arange(0, M if LK else M // PA), tl.arange(0, N if RK else N // PB)
    ka, kb = tl.arange(0, K // PA if LK else K), tl.arange(0, K // PB if RK else K)
    x = tl.load(a + (ma[:, None] * (K // PA) + ka[None, :] if LK else ma[:, None] + ka[None, :] * (M // PA)))
    y = tl.load(b + kb[:, None] * (N if RK else N // PB) + nb[None, :])
    xs = tl.load(sa + m[:, None] * (K // 32) + k[None, :]) if SA else None
    ys = tl.load(sb + n[:, None] * (K // 32) + k[None, :]) if SB else None
    tl.store(c + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, FA, y, ys, FB, lhs_k_pack=LK, rhs_k_pack=RK))


POINTERS = {"fp16": "*fp16", "e2m1": "*u8", "e4m3": "*fp8e4nv", "e5m2": "*fp8e5", "bf16": "*bf16"}
MLIR = {"e2m1": "e2m1", "e4m3": "f8E4M3FN", "e5m2": "f8E5M2"}
rng = np.random.default_rng(1)


def operand(form: str, rows: int, k: int, along_k: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """What is in memory (two codes of e2m1 to a byte, along k or along rows), and its numbers, both [rows, k]."""
    if form == "fp16":
        numbers = rng.standard_normal((rows, k)).astype(np.float16)
        return numbers, numbers.astype(np.float64)
    if form == "bf16":
        codes = encode_bf16(rng.standard_normal((rows, k)).astype(np.float32))
        return codes, decode_bf16(codes).astype(np.float64)
    most = {"e2m1": 8, "e4m3": 0x70, "e5m2": 0x60}[form]
    codes = (rng.integers(0, most, (rows, k)) | rng.integers(0, 2, (rows, k)) * (8 if form == "e2m1" else 0x80)).astype(
        np.uint8
    )
    numbers = decode_small(MLIR[form], codes).astype(np.float64)
    if form == "e2m1":
        codes = codes[:, ::2] | codes[:, 1::2] << 4 if along_k else codes[::2] | codes[1::2] << 4
    return codes, numbers


def run(
    arch: str,
    left: str,
    right: str,
    scales: tuple[bool, bool],
    size: tuple[int, int, int],
    nan: bool = False,
    along_k: tuple[bool, bool] = (True, True),
) -> Any:
    """The assembly, what the kernel stores, and what it should."""
    m, n, k = size
    (a, x), (b, y) = operand(left, m, k, along_k[0]), operand(right, n, k, along_k[1])
    a = a if along_k[0] else np.ascontiguousarray(a.T)
    sa, sb = (rng.integers(124, 131, (rows, k // 32)).astype(np.uint8) for rows in (m, n))
    if nan:
        sa[3, 0] = 255
    fa, fb = (np.repeat(2.0 ** (s.astype(int) - 127), 32, axis=1) for s in (sa, sb))
    wanted = (x * fa if scales[0] else x) @ (y * fb if scales[1] else y).T
    if nan:
        wanted[3] = np.nan
    c = np.zeros((m, n), np.float32)
    constants = {"M": m, "N": n, "K": k, "FA": left, "FB": right, "SA": scales[0], "SB": scales[1]}
    constants |= {"LK": along_k[0], "RK": along_k[1]}
    signature = {"a": POINTERS[left], "sa": "*u8", "b": POINTERS[right], "sb": "*u8", "c": "*fp32"}
    source = ASTSource(
        scaled,
        signature | dict.fromkeys(constants, "constexpr"),
        constants,
        {(i,): [["tt.divisibility", 16]] for i in range(5)},
    )
    kernel = triton.compile(source, GPUTarget("hip", arch, 64), {"num_warps": 4})
    given = [a, sa, np.ascontiguousarray(b.T), sb]
    report = amdgcn.run(kernel.asm["amdgcn"], None, (1,), [*given, c], shared_bytes=kernel.metadata.shared)
    assert report.ok, report.findings
    meant = np.zeros_like(c)
    interpret(parse_module(kernel.asm["ttgir"]), "scaled", [*given, meant])
    np.testing.assert_allclose(c, meant, rtol=1e-5, atol=1e-6 * np.nanmax(np.abs(meant)))
    return kernel, c, wanted


@pytest.mark.parametrize(
    ("left", "right", "scales", "size"),
    [
        ("e2m1", "e2m1", (True, True), (32, 32, 128)),
        ("e4m3", "e5m2", (True, True), (64, 32, 64)),
        ("e2m1", "e4m3", (True, True), (16, 16, 128)),
        ("e5m2", "e2m1", (False, True), (16, 32, 256)),
        ("e4m3", "e4m3", (False, False), (64, 64, 128)),
    ],
)
def test_the_matrix_cores_of_gfx950_scale(
    left: str, right: str, scales: tuple[bool, bool], size: tuple[int, int, int]
) -> None:
    kernel, c, wanted = run("gfx950", left, right, scales, size)
    name = "v_mfma_scale_f32" if any(scales) else "v_mfma_f32"
    assert re.search(rf"{name}_(32x32x64|16x16x128)_f8f6f4", kernel.asm["amdgcn"])
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("arch", "left", "right", "scales"),
    [
        ("gfx950", "e4m3", "bf16", (True, False)),
        ("gfx950", "bf16", "e2m1", (False, True)),
        ("gfx942", "e2m1", "e4m3", (True, True)),
        ("gfx942", "bf16", "e5m2", (False, True)),
        ("gfx942", "e2m1", "bf16", (True, False)),
        ("gfx950", "fp16", "e5m2", (False, True)),
    ],
)
def test_other_scaled_dots_are_widened(arch: str, left: str, right: str, scales: tuple[bool, bool]) -> None:
    kernel, c, wanted = run(arch, left, right, scales, (32, 32, 64))
    assert "v_mfma_f32_32x32x" in kernel.asm["amdgcn"]
    assert ("amdg.upcast_mxfp" in kernel.asm["ttgir"]) == (arch == "gfx942" and not all(scales))
    assert ("v_cvt_scalef32_pk_" in kernel.asm["amdgcn"]) == (arch == "gfx950")
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize(("arch", "right"), [("gfx950", "e4m3"), ("gfx950", "bf16"), ("gfx942", "bf16")])
def test_the_scale_255_is_not_a_number(arch: str, right: str) -> None:
    _, c, wanted = run(arch, "e4m3", right, (True, right != "bf16"), (32, 32, 64), nan=True)
    np.testing.assert_array_equal(np.isnan(c), np.isnan(wanted))


@pytest.mark.parametrize(
    ("arch", "left", "right", "size", "along_k"),
    [
        ("gfx950", "e2m1", "e2m1", (64, 32, 128), (False, False)),
        ("gfx950", "e4m3", "e2m1", (16, 32, 256), (True, False)),
        ("gfx950", "e2m1", "bf16", (32, 32, 64), (False, True)),
        ("gfx942", "e2m1", "e2m1", (32, 32, 64), (False, True)),
    ],
)
def test_pairs_of_fp4_may_be_packed_along_m_or_n(
    arch: str, left: str, right: str, size: tuple[int, int, int], along_k: tuple[bool, bool]
) -> None:
    scales = (left != "bf16", right != "bf16")
    kernel, c, wanted = run(arch, left, right, scales, size, along_k=along_k)
    assert ("ds_read_b64_tr_b4" in kernel.asm["amdgcn"]) == (arch == "gfx950" and right != "bf16")
    np.testing.assert_allclose(c, wanted, rtol=1e-5, atol=1e-6 * np.abs(wanted).max())
