"""Copies to LDS that pass by no register: what kernels with them compute on the emulator, and what their assembly is."""

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.emulator import amdgcn
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def matmul(a, b, out, k_size, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, MASKED: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k_size, BK):
        if MASKED:
            left = tl.load(a + i * k_size + start + k[None, :], mask=start + k[None, :] < k_size, other=0.0)
            right = tl.load(b + (start + k[:, None]) * N + j, mask=start + k[:, None] < k_size)
        else:
            left = tl.load(a + i * k_size + start + k[None, :])
            right = tl.load(b + (start + k[:, None]) * N + j)
        total = tl.dot(left, right, total)
    tl.store(out + i * N + j, total)


def compiled(arch: str, constants: dict[str, Any], divisible: tuple[int, ...] = (0, 1, 2, 3), **options: Any) -> Any:
    signature = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "k_size": "i32"} | dict.fromkeys(constants, "constexpr")
    attributes = {(n,): [["tt.divisibility", 16], *([["tt.pointer_range", 32]] if n < 3 else [])] for n in divisible}
    source = ASTSource(matmul, signature, constants, attributes)
    return triton.compile(source, GPUTarget("hip", arch, 64), options)


@pytest.fixture(autouse=True)
def with_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_HIP_USE_ASYNC_COPY", "1")


def check(kernel: Any, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(0)
    a, b = ((rng.integers(-8, 8, shape) / 4).astype(np.float16) for shape in ((m, k), (k, n)))
    out = np.zeros((m, n), np.float32)
    report = amdgcn.run(kernel.asm["amdgcn"], None, (1,), [a, b, out, k], shared_bytes=kernel.metadata.shared)
    assert report.ok, report.findings
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize(
    ("arch", "size", "masked", "stages", "copy"),
    [
        ("gfx950", (64, 64, 32), False, 2, "buffer_load_dwordx4 .* lds"),
        ("gfx950", (128, 128, 64), False, 3, "buffer_load_dwordx4 .* lds"),
        ("gfx950", (64, 64, 32), True, 2, "buffer_load_dwordx4 .* lds"),
        ("gfx942", (64, 64, 32), False, 2, "buffer_load_dword .* lds"),
        ("gfx942", (32, 64, 32), True, 3, "buffer_load_dword .* lds"),
    ],
)
def test_a_pipelined_matmul_copies_to_lds(
    arch: str, size: tuple[int, int, int], masked: bool, stages: int, copy: str
) -> None:
    m, n, bk = size
    kernel = compiled(arch, {"M": m, "N": n, "BK": bk, "MASKED": masked}, num_stages=stages)
    assert re.search(copy, kernel.asm["amdgcn"])
    check(kernel, m, n, bk * 3 + 16 * masked)
