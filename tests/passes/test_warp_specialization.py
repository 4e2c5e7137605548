"""`nvgpu-warp-specialization`: specialized kernels compute what NumPy does, in the interpreter and on the emulator; others are left to the pipeliner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitriton.compiler import ASTSource, CompiledKernel
from minitriton.compiler import compile as compile_kernel
from minitriton.dialects.text import parse_module
from minitriton.emulator import run
from minitriton.interpreter import interpret
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.tools.tensor_descriptor import TensorDescriptor
from minitriton_kernels.cases import load_kernels

EXAMPLE = load_kernels("attention", "minitriton")
kernels = load_kernels("specialized", "minitriton")
HOPPER = GPUTarget("cuda", 90, 32)
Array = np.ndarray[Any, Any]


def compiled(kernel: Any, constants: dict[str, Any], num_warps: int = 4, pipeline: str | None = None) -> CompiledKernel:
    """`kernel` for Hopper; all pointers are to f16, all other arguments i32, divisible by 16."""
    names = [name for name in kernel.arg_names if name not in constants]
    signature = {name: "*fp16" if name.islower() else "i32" for name in names}
    signature |= dict.fromkeys(constants, "constexpr")
    attributes = {(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in names}
    ordered = {name: signature[name] for name in kernel.arg_names}
    source = ASTSource(kernel, ordered, {(kernel.arg_names.index(n),): v for n, v in constants.items()}, attributes)
    return compile_kernel(source, target=HOPPER, options={"num_warps": num_warps, "pipeline": pipeline}, assemble=False)


def check(kernel: CompiledKernel, name: str, arguments: list[Any], out: int, expected: Array, programs: int) -> None:
    """Asserts that the interpreter and the emulator compute `expected` into argument `out`."""
    interpret(parse_module(kernel.asm["ttgir"]), name, arguments, (programs,))
    np.testing.assert_allclose(arguments[out], expected, atol=0.02, rtol=0.01)
    arguments[out][:] = 0
    scratch = kernel.metadata.global_scratch_size * programs
    report = run(kernel.asm["ptx"], name, (programs,), arguments, kernel.metadata.shared, scratch=scratch)
    assert report.ok, [str(finding) for finding in report.findings]
    np.testing.assert_allclose(arguments[out], expected, atol=0.02, rtol=0.01)


def groups(kernel: CompiledKernel) -> int:
    """Partitions of the kernel's `ttg.warp_specialize`; 0 if it has none."""
    return kernel.asm["ttgir"].count("num_warps(4)")


def product(m: int, n: int, k: int, columns_of_b: bool) -> tuple[list[Any], Array]:
    generator = np.random.default_rng(0)
    a = generator.uniform(-1, 1, (m, k)).astype(np.float16)
    b = generator.uniform(-1, 1, (n, k) if columns_of_b else (k, n)).astype(np.float16)
    expected = a.astype(np.float32) @ (b.T if columns_of_b else b).astype(np.float32)
    return [a, b, np.zeros((m, n), np.float16), m, n, k], expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name",
    [
        "matmul",
        "rows_of_b",
        "stored_by_pointers",
        "scaled",
        "two_products",
        "stored_in_halves",
        "assumed",
        "in_a_branch",
    ],
)
@pytest.mark.parametrize("rows", [64, 128])
def test_a_product_is_what_numpy_computes(name: str, rows: int) -> None:
    kernel = compiled(getattr(kernels, name), {"STAGES": 2, "BM": rows, "BN": 64, "BK": 64})
    assert groups(kernel) == (2 if rows == 128 else 1)
    assert kernel.asm["ptx"].count("setmaxnreg") > 1
    arguments, expected = product(rows, 64, 192, name == "matmul")
    if name == "scaled":
        expected = np.where(expected > 0, expected, expected * 0.01) + np.arange(64) * 0.001
    if name == "two_products":
        expected = expected * 3
    check(kernel, name, arguments, 2, expected, 1)


@pytest.mark.parametrize("name", ["persistent", "inner_marked"])
def test_tiles_in_a_loop_are_what_numpy_computes(name: str) -> None:
    kernel = compiled(getattr(kernels, name), {"PROGRAMS": 2, "STAGES": 2, "BM": 128, "BN": 64, "BK": 64})
    assert groups(kernel) == 2
    arguments, expected = product(256, 192, 128, True)
    check(kernel, name, arguments, 2, expected, 2)


def test_attention_is_what_numpy_computes() -> None:
    kernel = compiled(kernels.attention, {"SCALE": 0.5, "STAGES": 2, "BM": 128, "BN": 64, "D": 64})
    assert groups(kernel) == 2
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(0, 1, (128, 64)).astype(np.float16) for _ in range(3))
    p = q.astype(np.float32) @ k.T.astype(np.float32) * 0.5
    p = np.exp2(p - p.max(1, keepdims=True))
    expected = p @ v.astype(np.float32) / p.sum(1, keepdims=True)
    check(kernel, "attention", [q, k, v, np.zeros((128, 64), np.float16), 128, 128], 3, expected, 1)


@pytest.mark.parametrize("rows", [64, 128])
def test_threads_of_the_producer_copy_what_is_loaded_through_pointers_where_asked_to(rows: int) -> None:
    steps = str(pipeline_for(HOPPER, CUDAOptions.for_target(HOPPER, num_warps=4)))
    asked = steps.replace("nvgpu-warp-specialization{", "nvgpu-warp-specialization{copies-by-threads=true ")
    kernel = compiled(kernels.by_pointers, {"STAGES": 2, "BM": rows, "BN": 64, "BK": 64}, pipeline=asked)
    assert groups(kernel) == rows // 64
    assert "cp.async.mbarrier.arrive.noinc" in kernel.asm["ptx"]
    arguments, expected = product(rows, 64, 256, False)
    check(kernel, "by_pointers", arguments, 2, expected, 1)


@pytest.mark.parametrize(("rows", "consumers"), [(64, 1), (128, 2)])
def test_descriptors_of_the_host_get_blocks_of_a_part(rows: int, consumers: int) -> None:
    generator = np.random.default_rng(0)
    a, b = (generator.uniform(-1, 1, (n, 128)).astype(np.float16) for n in (256, 128))
    c = np.zeros((256, 128), np.float16)
    blocks = ((a, rows), (b, 64), (c, rows))
    descriptors = [TensorDescriptor(x, list(x.shape), [x.shape[1], 1], [n, 64]) for x, n in blocks]
    kernel = kernels.by_host_descriptors[(2,)](*descriptors, 256, 128, 128, 2, rows, 64, 64, num_warps=4)
    assert groups(kernel) == consumers
    assert [meta["block_size"] for meta in kernel.metadata.tensordesc_meta] == [[64, 64]] * 3
    assert kernel.last_report.ok, kernel.last_report.findings
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.T.astype(np.float32), atol=0.02, rtol=0.01)


def test_causal_attention_is_specialized_through_both_of_its_loops() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.normal(0, 1, (256, 64)).astype(np.float16) for _ in range(3))
    o, log_sums = np.zeros_like(q), np.zeros(256, np.float32)
    descriptors = [TensorDescriptor(x, [256, 64], [64, 1], [n, 64]) for x, n in ((q, 128), (k, 64), (v, 64), (o, 128))]
    constants = {"BM": 128, "BN": 64, "D": 64, "CAUSAL": True, "SPECIALIZE": True}
    kernel = EXAMPLE.attention[(2, 1)](*descriptors, log_sums, 256, 0.125, **constants, num_warps=4)
    assert groups(kernel) == 2
    assert kernel.last_report.ok, kernel.last_report.findings
    scores = q.astype(np.float32) @ k.T.astype(np.float32) * 0.125
    p = np.exp(np.where(np.tril(np.ones((256, 256))) > 0, scores, -np.inf))
    np.testing.assert_allclose(o, p @ v.astype(np.float32) / p.sum(1, keepdims=True), atol=0.01)
    np.testing.assert_allclose(log_sums, np.log2(p.sum(1)), atol=0.01)


@pytest.mark.parametrize(
    ("name", "num_warps", "why"),
    [
        ("matmul", 8, "the kernel needs num_warps=4, a warp group"),
        ("updated_in_place", 4, "the kernel stores to the array that this load reads, so it cannot be prefetched"),
        ("by_pointers", 4, "an operand is loaded through pointers; the copy unit needs a tensor descriptor"),
        ("counted", 4, "no warp group would run `tt.atomic_rmw`"),
    ],
)
def test_what_cannot_be_specialized_is_pipelined(
    name: str, num_warps: int, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    kernel = compiled(getattr(kernels, name), {"STAGES": 2, "BM": 128, "BN": 64, "BK": 64}, num_warps)
    assert groups(kernel) == 0
    assert "warp_group_dot" in kernel.asm["ttgir"]
    assert f"remark: not specialized by warps, but pipelined: {why}" in capsys.readouterr().err
