"""Matrix products of Triton's own PTX: mma and ldmatrix with cp.async on sm_80, wgmma and TMA on sm_90."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minitriton import emulator

triton = pytest.importorskip("triton")
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

pytestmark = pytest.mark.oracle
SIZE = {"M": 80, "N": 96, "K": 160}


@triton.jit
def by_pointers(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + depth)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(b + (k + depth)[:, None] * N + columns[None, :], mask=columns[None, :] < N, other=0.0)
        total = tl.dot(x, y, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


@triton.jit
def by_descriptors(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        total = tl.dot(da.load([row, k]), db.load([k, column]), total)
    dc.store([row, column], total)


def compiled(kernel: Any, element: str, capability: int) -> tuple[str, int]:
    pointers = {"a": f"*{element}", "b": f"*{element}", "c": "*fp32"}
    tile = {"BM": 64, "BN": 64, "BK": 32}
    signature = {**pointers, **dict.fromkeys(SIZE, "i32"), **dict.fromkeys(tile, "constexpr")}
    attrs = {(i,): [["tt.divisibility", 16]] for i in range(6)}
    target = GPUTarget("cuda", capability, 32)
    made = triton.compile(ASTSource(kernel, signature, tile, attrs), target=target, options={"num_stages": 3})
    return made.asm["ptx"], made.metadata.shared


def run(ptx: str, shared: int, dtype: Any) -> tuple[float, emulator.Report]:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((SIZE["M"], SIZE["K"])).astype(dtype)
    b = rng.standard_normal((SIZE["K"], SIZE["N"])).astype(dtype)
    c = np.zeros((SIZE["M"], SIZE["N"]), np.float32)
    report = emulator.run(ptx, None, (2, 2), [a, b, c, *SIZE.values()], shared)
    return float(np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max()), report


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize(("element", "dtype", "error"), [("fp16", np.float16, 1e-4), ("fp32", np.float32, 0.1)])
def test_products_by_pointers(capability: int, element: str, dtype: Any, error: float) -> None:
    found, report = run(*compiled(by_pointers, element, capability), dtype)
    assert report.ok, report.findings
    assert found < error


def test_products_by_tensor_descriptors() -> None:
    found, report = run(*compiled(by_descriptors, "fp16", 90), np.float16)
    assert report.ok, report.findings
    assert found < 1e-4


def plus(pattern: str, amount: int) -> Callable[[str], str]:
    return lambda text: re.sub(pattern, lambda m: m[1] + str(int(m[2]) + amount), text)


FAULTS: dict[str, tuple[Any, int, Callable[[str], str], str]] = {
    "cp.async wait one group short": (by_pointers, 80, plus(r"(cp\.async\.wait_group\s+)(\d)", 1), "async-read"),
    "wgmma results read before the wait": (
        by_pointers, 90, lambda t: re.sub(r"wgmma\.wait_group\.sync\.aligned \d;", "", t), "async-read",
    ),
    "no wait for a tensor copy": (
        by_descriptors, 90, lambda t: re.sub(r"waitLoop:.*?waitLoop;", "", t, flags=re.S), "async-read",
    ),
    "an mbarrier that expects too many bytes": (
        by_descriptors, 90, plus(r"(expect_tx\.shared\.b64 _, \[%r\d+\], )(\d+)", 16), "deadlock",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str) -> None:
    kernel, capability, edit, kind = FAULTS[fault]
    ptx, shared = compiled(kernel, "fp16", capability)
    assert edit(ptx) != ptx
    _, report = run(edit(ptx), shared, np.float16)
    assert kind in {f.kind for f in report.findings}
