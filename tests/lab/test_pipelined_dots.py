"""Products that are kept fed by the pipeliner give the same numbers after every pass, down to PTX on the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.assemblers import assembler_available
from minitriton.lab import check_call
from minitriton.lab.call import source_of_call
from minitriton.target import GPUTarget
from minitriton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    rows, cols, ks = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    pa, pb = a + rows[:, None] * sa + ks[None, :], b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        x = tl.load(pa, mask=ks[None, :] < K - k * BK, other=0.0)
        acc = tl.dot(x, tl.load(pb, mask=ks[:, None] < K - k * BK, other=0.0), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc)


@triton.jit
def descriptor_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        row, col = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in tl.range(tl.cdiv(K, BK), num_stages=STAGES):
            acc = tl.dot(a.load([row, k * BK]), b.load([col, k * BK]).T, acc)
        c.store([row, col], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0) * BM
    x = q.load([row, 0])
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in tl.range(0, length, BN, num_stages=STAGES):
        scores = tl.dot(x, k.load([start, 0]).T)
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(top - higher)
        acc = tl.dot(p.to(tl.float16), v.load([start, 0]), acc * shrink[:, None])
        total = total * shrink + tl.sum(p, 1)
        top = higher
    o.store([row, 0], (acc / total[:, None]).to(tl.float16))


def box(array: np.ndarray[Any, Any], rows: int, cols: int) -> TensorDescriptor:
    return TensorDescriptor(array, list(array.shape), [array.shape[1], 1], [rows, cols])


def numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float16)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("stages", [2, 3])
def test_matmul_through_pointers(arch: int, stages: int) -> None:
    a, b, c = numbers(64, 152), numbers(152, 32), np.zeros((64, 32), np.float32)
    sizes = {"BM": 64, "BN": 32, "BK": 32, "STAGES": stages}
    report = check_call(matmul, [a, b, c, 152, 152, 32, 32], (1, 1), arch=arch, **sizes)
    assert report.ok, report.text()
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=0.01, rtol=0.01)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stages", [2, 3])
def test_matmul_through_descriptors(stages: int) -> None:
    a, b, c = numbers(128, 160), numbers(64, 160), np.zeros((128, 64), np.float16)
    arrays = [box(a, 64, 32), box(b, 32, 32), box(c, 64, 32)]
    sizes = {"BM": 64, "BN": 32, "BK": 32, "STAGES": stages}
    report = check_call(descriptor_matmul, [*arrays, 128, 64, 160], (2,), **sizes)
    assert report.ok, report.text()
    expected = a.astype(np.float32) @ b.T.astype(np.float32)
    np.testing.assert_allclose(c, expected.astype(np.float16), atol=0.02, rtol=0.01)


def test_attention() -> None:
    q, k, v, o = numbers(64, 32), numbers(96, 32), numbers(96, 32), np.zeros((64, 32), np.float16)
    arrays = [box(q, 64, 32), box(k, 32, 32), box(v, 32, 32), box(o, 64, 32)]
    report = check_call(attention, [*arrays, 96], (1,), BM=64, BN=32, D=32, STAGES=2)
    assert report.ok, report.text()
    weights = np.exp2(q.astype(np.float32) @ k.T.astype(np.float32))
    np.testing.assert_allclose(
        o, (weights @ v.astype(np.float32)) / weights.sum(1, keepdims=True), atol=0.02, rtol=0.02
    )


def compiled(kernel: Any, arguments: list[Any], arch: int, **sizes: int) -> triton.compiler.CompiledKernel:
    source, _ = source_of_call(kernel, arguments, sizes)
    return triton.compile(source, target=GPUTarget("cuda", arch, 32))


def test_descriptor_loads_run_ahead_and_wgmma_runs_on() -> None:
    a, b, c = numbers(128, 160), numbers(64, 160), np.zeros((128, 64), np.float16)
    arrays = [box(a, 64, 32), box(b, 32, 32), box(c, 64, 32)]
    kernel = compiled(descriptor_matmul, [*arrays, 128, 64, 160], 90, BM=64, BN=32, BK=32, STAGES=3)
    assert kernel.asm["ptx"].count("cp.async.bulk.tensor.2d.shared") == 6
    assert "wgmma.wait_group.sync.aligned 1" in kernel.asm["ptx"]
    assert "cp.async.bulk.wait_group.read 0" in kernel.asm["ptx"]


@pytest.mark.skipif(not assembler_available("sm_90a"), reason="no assembler for PTX")
def test_a_small_kernel_with_wgmma_assembles() -> None:
    a, b, c = numbers(128, 160), numbers(64, 160), np.zeros((128, 64), np.float16)
    arrays = [box(a, 64, 32), box(b, 32, 32), box(c, 64, 32)]
    assert compiled(descriptor_matmul, [*arrays, 128, 64, 160], 90, BM=64, BN=32, BK=32, STAGES=3).asm["cubin"]
