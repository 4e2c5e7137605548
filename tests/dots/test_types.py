"""Products of every type, compiled for tensor cores and run on the emulator: what NumPy gives, by the instruction that is expected."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from narrow_floats import as_bf16, from_bf16, random_codes, values

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.convert_triton_gpu_to_llvm import ConvertTritonGPUToLLVM
from minitriton.errors import BrokenContract
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.runtime.on_cpu.emulation import KernelFault
from minitriton.target import CUDAOptions, GPUTarget


@triton.jit
def product(
    a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr,
    TYPE: tl.constexpr, PRECISION: tl.constexpr, IMPRECISE: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), c.dtype.element_ty)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        if TYPE is not None:
            x, y = x.to(TYPE, bitcast=True), y.to(TYPE, bitcast=True)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=acc.dtype, max_num_imprecise_acc=IMPRECISE)
    tl.store(c + m[:, None] * N + n[None, :], acc)


rng = np.random.default_rng(0)
K = 64


def operands(kind: str, m: int, n: int) -> tuple[np.ndarray, np.ndarray, Any, Any, np.ndarray]:
    """a and b as they lie in memory, the type to see them as, the type of c, and the product."""
    if kind == "int8":
        a, b = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((m, K), (K, n)))
        return a, b, None, np.int32, a.astype(np.int32) @ b
    if kind in ("e4m3", "e5m2"):
        a, b = random_codes(rng, kind, m, K), random_codes(rng, kind, K, n)
        type_ = tl.float8e4nv if kind == "e4m3" else tl.float8e5
        return a, b, type_, np.float32, values(kind)[a] @ values(kind)[b]
    a, b = rng.standard_normal((m, K)), rng.standard_normal((K, n))
    if kind == "bf16":
        a, b = as_bf16(a), as_bf16(b)
        return a, b, tl.bfloat16, np.float32, from_bf16(a) @ from_bf16(b)
    a, b = a.astype(kind), b.astype(kind)
    return a, b, None, np.float64 if kind == "float64" else np.float32, a.astype(np.float64) @ b


def instructions(ptx: str) -> set[str]:
    """The tensor-core instructions of a kernel: what multiplies, the depth of one, the types of a and b."""
    found = re.findall(r"(wgmma|mma)\.\w+\.sync\.aligned\.m\d+n\d+k(\d+)\.(?:row\.col\.)?(?:satfinite\.)?([\w.]+)", ptx)
    found += re.findall(r"(mma)\.sync\.aligned\.m\d+n\d+k(\d+)\.row\.col\.(?:satfinite\.)?([\w.]+)", ptx)
    return {f"{name} k{depth} {types}" for name, depth, types in found}


WGMMA = {
    "float16": "k16 f32.f16.f16", "bf16": "k16 f32.bf16.bf16", "float32": "k8 f32.tf32.tf32", "int8": "k32 s32.s8.s8",
    "e4m3": "k32 f32.e4m3.e4m3", "e5m2": "k32 f32.e5m2.e5m2",
}  # fmt: skip
MMA = {
    "float16": "k16 f32.f16.f16.f32", "bf16": "k16 f32.bf16.bf16.f32", "float32": "k8 f32.tf32.tf32.f32",
    "int8": "k32 s32.s8.s8.s32", "e4m3": "k32 f32.e4m3.e4m3.f32", "e5m2": "k32 f32.e5m2.e5m2.f32",
}  # fmt: skip


def expected_instruction(kind: str, arch: int, warps: int, m: int) -> set[str]:
    """What Triton's rules choose."""
    if kind == "float64":
        return {80: {"mma k4 f64.f64.f64.f64"}, 90: {"mma k16 f64.f64.f64.f64"}}.get(arch, set())
    if arch == 90 and warps == 4 and m >= 64:
        return {f"wgmma {WGMMA[kind]}"}
    if kind in ("e4m3", "e5m2") and arch != 89:
        return {f"mma {MMA['float16']}"}
    return {f"mma {MMA[kind]}"}


TOLERANCE = {"float32": 4e-2, "e4m3": 5e-2, "e5m2": 5e-2, "int8": 0, "float64": 1e-12}
"""tf32 has 10 bits of fraction; `wgmma` adds products of fp8 with 13."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("m", "n", "warps"), [(64, 32, 4), (16, 16, 1)])
@pytest.mark.parametrize("kind", ["float16", "bf16", "float32", "float64", "int8", "e4m3", "e5m2"])
def test_a_product_is_what_numpy_gives(kind: str, m: int, n: int, warps: int, arch: int) -> None:
    if (kind, arch) == ("e4m3", 80):
        pytest.skip("sm_80 has no e4m3")
    a, b, type_, out, wanted = operands(kind, m, n)
    c = np.zeros((m, n), out)
    compiled = product[(1,)](a, b, c, m, n, K, 32, type_, "tf32", None, num_warps=warps)
    assert instructions(compiled.asm["ptx"]) == expected_instruction(kind, arch, warps, m)
    np.testing.assert_allclose(c, wanted, rtol=0, atol=TOLERANCE.get(kind, 1e-5))


PRECISIONS = {"ieee": (set(), 2e-5), "tf32": ({"tf32"}, 4e-2), "tf32x3": ({"tf32"}, 2e-5), "bf16x3": ({"bf16"}, 4e-4), "bf16x6": ({"bf16"}, 2e-5)}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_input_precision_says_how_exact_a_product_of_floats_is(precision: str, arch: int) -> None:
    types, tolerance = PRECISIONS[precision]
    a, b, _, _, wanted = operands("float32", 64, 32)
    c = np.zeros((64, 32), np.float32)
    compiled = product[(1,)](a, b, c, 64, 32, K, 32, None, precision, None, num_warps=4)
    assert {text.split(".")[1] for text in instructions(compiled.asm["ptx"])} == types
    np.testing.assert_allclose(c, wanted, rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_an_infinite_product_of_split_floats_stays_infinite(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    a, b = np.ones((16, K), np.float32), np.ones((K, 16), np.float32)
    a[3, 5] = np.inf
    c = np.zeros((16, 16), np.float32)
    product[(1,)](a, b, c, 16, 16, K, 32, None, precision, None, num_warps=1)
    assert np.isposinf(c[3]).all()
    assert (np.delete(c, 3, 0) == K).all()


def test_sums_of_fp8_products_are_exact_where_the_kernel_asks_for_it(arch: int) -> None:
    a, b, type_, _, wanted = operands("e5m2", 64, 32)
    c = np.zeros((64, 32), np.float32)
    compiled = product[(1,)](a, b, c, 64, 32, K, 32, type_, "tf32", 0, num_warps=4)
    assert not any(text.startswith("wgmma") for text in instructions(compiled.asm["ptx"]))
    np.testing.assert_allclose(c, wanted, rtol=0, atol=1e-5)


def test_f16_accumulates_in_f16_where_the_kernel_asks_for_it(arch: int) -> None:
    a, b, _, _, wanted = operands("float16", 64, 32)
    c = np.zeros((64, 32), np.float16)
    compiled = product[(1,)](a, b, c, 64, 32, K, 32, None, "tf32", None, num_warps=4)
    assert all(text.split()[2].startswith("f16.") for text in instructions(compiled.asm["ptx"]))
    np.testing.assert_allclose(c, wanted, rtol=0, atol=5e-2)


@triton.jit
def batched(a, b, c, G: tl.constexpr, N: tl.constexpr):
    g, r = tl.arange(0, G)[:, None, None] * (N * N), tl.arange(0, N)
    at = g + r[None, :, None] * N + r[None, None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_a_batch_of_products(kind: str, arch: int) -> None:
    a, b = (rng.standard_normal((4, 32, 32)).astype(kind) for _ in range(2))
    c = np.zeros((4, 32, 32), np.float32)
    compiled = batched[(1,)](a, b, c, 4, 32)
    assert instructions(compiled.asm["ptx"]) == {f"mma {MMA[kind]}"}
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=0, atol=TOLERANCE.get(kind, 1e-5))


@triton.jit
def odd(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


@pytest.mark.parametrize(
    ("m", "n", "k", "warps"), [(1, 64, 32, 4), (64, 1, 16, 4), (4, 8, 16, 2), (128, 8, 16, 8), (2, 256, 64, 8)]
)
def test_small_products_fill_up_the_instruction(m: int, n: int, k: int, warps: int, arch: int) -> None:
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    odd[(1,)](a, b, c, m, n, k, num_warps=warps)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=0, atol=1e-5)


@triton.jit
def widened(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    acc = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (i + k)[None, :])
        y = tl.load(b + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(x.to(tl.float16), y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


def widened_product(**options: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """A product of int8 by f16 in a pipelined loop: what was compiled, the result and what is right."""
    a, b = rng.integers(-128, 128, (64, 512)).astype(np.int8), rng.standard_normal((512, 64)).astype(np.float16)
    c = np.zeros((64, 64), np.float32)
    compiled = widened[(1,)](a, b, c, 64, 64, 512, 64, **options)
    return compiled, c, a.astype(np.float64) @ b


def test_an_operand_is_widened_in_registers_on_its_way_to_wgmma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    compiled, c, wanted = widened_product()
    np.testing.assert_allclose(c, wanted, rtol=0, atol=1e-2)
    ptx = compiled.asm["ptx"]
    assert re.search(r"wgmma.mma_async[^;]*?\}, \{%r\d+, %r\d+, %r\d+, %r\d+\}, b", ptx), "A is in registers"
    loop = ptx[ptx.index("wgmma.mma_async") :]
    assert "st.shared" not in loop[: loop.index("bra")], "A goes through shared memory once"


def test_products_in_flight_keep_the_registers_of_their_operand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm90")
    target = GPUTarget("cuda", 90, 32)
    steps = str(pipeline_for(target, CUDAOptions.for_target(target)))
    assert "hold-wgmma-registers," in steps
    without = steps.replace("hold-wgmma-registers,", "")
    with pytest.raises(BrokenContract, match="needs: registers of asynchronous dots held"):
        widened_product(pipeline=without)
    monkeypatch.setattr(ConvertTritonGPUToLLVM, "requires", frozenset())
    with pytest.raises(KernelFault, match="writes a register that wgmma may still use"):
        widened_product(pipeline=without)
