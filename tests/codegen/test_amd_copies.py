"""Copies to LDS that pass by no register: what kernels with them compute on the emulator, and what their assembly is."""

import re
from typing import Any

import numpy as np
import pytest
from xdsl.parser import Parser

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.emulator import amdgcn
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import PassManager, Pipeline
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


def compiled(arch: str, constants: dict[str, Any], k_type: str = "i32", **options: Any) -> Any:
    signature = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "k_size": k_type} | dict.fromkeys(constants, "constexpr")
    small = [["tt.pointer_range", 32]] if k_type == "i32" else []
    attributes = {(n,): [["tt.divisibility", 16], *(small if n < 3 else [])] for n in range(4)}
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
        ("gfx950", (128, 32, 64), False, 3, "buffer_load_dwordx4 .* lds"),
        ("gfx950", (64, 64, 32), True, 2, "buffer_load_dwordx4 .* lds"),
        ("gfx942", (64, 64, 32), False, 2, "buffer_load_dword .* lds"),
        ("gfx942", (32, 64, 32), True, 3, "buffer_load_dword .* lds"),
        ("gfx950", (64, 64, 32), True, 2, "global_load_lds_dwordx4"),
        ("gfx950", (32, 128, 64), False, 2, "global_load_lds_dwordx4"),
    ],
)
def test_a_pipelined_matmul_copies_to_lds(
    arch: str, size: tuple[int, int, int], masked: bool, stages: int, copy: str
) -> None:
    m, n, bk = size
    k_type = "i64" if copy.startswith("global") else "i32"
    kernel = compiled(arch, {"M": m, "N": n, "BK": bk, "MASKED": masked}, k_type, num_stages=stages)
    assert re.search(copy, kernel.asm["amdgcn"])
    check(kernel, m, n, bk * 3 + 16 * masked)


def test_waits_leave_the_copies_of_the_next_iteration_under_way() -> None:
    """8 copies an iteration; LLVM adds no wait for all of them before reads of LDS, and a padded buffer needs no exchange of addresses."""
    text = compiled("gfx950", {"M": 128, "N": 128, "BK": 64, "MASKED": False}, num_stages=3).asm["amdgcn"]
    head = text.split("s_cbranch_scc1")[1]
    assert re.findall(r"s_waitcnt (vmcnt\(\d+\))", head) == ["vmcnt(8)"]
    assert "ds_bpermute" not in text


_MASKED = """
#blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx950"} {
  tt.func @f(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}, %b: !ttg.memdesc<2048xf16, #shared, #ttg.shared_memory, mutable>) {
    %i = tt.make_range {start = 0 : i32, end = 2048 : i32} : tensor<2048xi32, #blocked>
    %s = tt.splat %p : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>, #blocked>
    %q = tt.addptr %s, %i : tensor<2048x!tt.ptr<f16>, #blocked>, tensor<2048xi32, #blocked>
    %m = tt.splat %n : i32 -> tensor<2048xi32, #blocked>
    %c = arith.cmpi slt, %i, %m : tensor<2048xi32, #blocked>
    %t0 = ttg.async_copy_global_to_local %q, %b : tensor<2048x!tt.ptr<f16>, #blocked> -> <2048xf16, #shared, #ttg.shared_memory, mutable>
    %g0 = ttg.async_commit_group tokens %t0
    %t1 = ttg.async_copy_global_to_local %q, %b mask %c : tensor<2048x!tt.ptr<f16>, #blocked> -> <2048xf16, #shared, #ttg.shared_memory, mutable>
    %g1 = ttg.async_commit_group tokens %t1
    %w = ttg.async_wait %g0 {num = 1 : i32}
    tt.return
  }
}
"""


@pytest.mark.parametrize(("sure", "outstanding"), [("false", 1), ("true", 0)])
def test_a_wait_counts_no_copy_that_a_wave_may_branch_around(sure: str, outstanding: int) -> None:
    """A wave whose lanes are all masked issues no `global_load_lds`: as Triton counts, the wait would end too early."""
    context = make_context()
    module = Parser(context, _MASKED).parse_module()
    step = f"tritonamdgpu-update-async-wait-count{{arch-generation-name=gfx950 sure-copies-only={sure}}}"
    PassManager(Pipeline.parse(step)).run(context, module)
    assert f"num_inst = {outstanding} : i32" in str(module)


@pytest.mark.parametrize("missing", [r"s_waitcnt vmcnt\(\d+\) lgkmcnt\(0\)", r"s_barrier"])
def test_a_missing_wait_or_barrier_of_a_pipelined_loop_is_found(missing: str) -> None:
    kernel = compiled("gfx950", {"M": 64, "N": 64, "BK": 32, "MASKED": False}, num_stages=2)
    text = kernel.asm["amdgcn"]
    start = text.index("buffer_load_dwordx4")
    text = text[:start] + re.sub(missing, "s_waitcnt lgkmcnt(0)", text[start:])
    a, b, out = np.ones((64, 96), np.float16), np.ones((96, 64), np.float16), np.zeros((64, 64), np.float32)
    report = amdgcn.run(text, None, (1,), [a, b, out, 96], shared_bytes=kernel.metadata.shared)
    kinds = {finding.kind for finding in report.findings}
    assert kinds & {"missing-wait", "shared-race"}, report.findings
    assert all(finding.source is not None for finding in report.findings)
