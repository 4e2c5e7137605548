"""Loops pipelined for AMD's GPUs: what the passes make of small kernels, and what these compute on the emulator, which finds a missing barrier."""

import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.emulator import amdgcn
from minitriton.emulator.report import Report
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import GPUTarget

GFX942 = GPUTarget("hip", "gfx942", 64)


@triton.jit
def product(a, b, out, k, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, steps = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    total = tl.zeros([N, N], tl.float32)
    for start in range(0, k, BK):
        at = start + steps
        left = tl.load(a + rows * k + at[None, :], mask=at[None, :] < k, other=0.0)
        right = tl.load(b + at[:, None] * N + columns, mask=at[:, None] < k, other=0.0)
        total = tl.dot(left, right, total)
    tl.store(out + rows * N + columns, total)


@triton.jit
def attention(q, k, v, out, n, N: tl.constexpr, BN: tl.constexpr):
    rows, inner, steps = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BN)
    query = tl.load(q + rows * N + inner)
    total = tl.zeros([N, N], tl.float32)
    for start in range(0, n, BN):
        at = start + steps
        key = tl.load(k + tl.arange(0, N)[:, None] + at[None, :] * N)
        scores = tl.dot(query, key)
        value = tl.load(v + at[:, None] * N + inner)
        total = tl.dot((scores * 0.5).to(tl.float16), value, total)
    tl.store(out + rows * N + inner, total)


def compiled(
    kernel: Any, pointers: int, size: str, constants: dict[str, Any], stages: int, aligned: int = 0, warps: int = 4
) -> Any:
    names = kernel.arg_names
    signature = dict.fromkeys(names[: pointers - 1], "*fp16") | {names[pointers - 1]: "*fp32", size: "i32"}
    attrs = {(position,): [["tt.divisibility", 16]] for position in range(pointers + aligned)}
    return triton.compile(
        ASTSource(kernel, signature, constants, attrs), GFX942, {"num_stages": stages, "num_warps": warps}
    )


@pytest.fixture(scope="module", params=[1, 2, 3])
def matmul(request: pytest.FixtureRequest) -> Any:
    return compiled(product, 3, "k", {"N": 32, "BK": 16}, request.param)


def run(kernel: Any, *arguments: Any, text: str = "") -> Report:
    return amdgcn.run(text or kernel.asm["amdgcn"], None, (1,), list(arguments), shared_bytes=kernel.metadata.shared)


@pytest.mark.parametrize("k", [0, 16, 20, 32, 100])
def test_a_matmul_of_any_number_of_steps_is_right(matmul: Any, k: int) -> None:
    a, b = (np.random.default_rng(0).standard_normal(shape).astype(np.float16) for shape in ((32, k), (k, 32)))
    out = np.full((32, 32), np.nan, np.float32)
    report = run(matmul, a if k else np.zeros(1, np.float16), b if k else np.zeros(1, np.float16), out, k)
    assert report.ok, report.findings
    np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


def test_a_load_waits_in_registers_for_one_buffer() -> None:
    text = compiled(product, 3, "k", {"N": 32, "BK": 16}, 2, aligned=1).asm["ttgir"]
    assert text.count("ttg.local_alloc : () -> !ttg.memdesc<1x") == 2
    body = text[text.index("scf.for") : text.index("scf.yield")]
    order = re.findall(r"tt\.load|amdg\.buffer_load|ttg\.local_load|tt\.dot|ttg\.local_store", body)
    assert [name.split(".")[1].removeprefix("buffer_") for name in order] == [
        "local_load", "load", "local_load", "load", "dot", "local_store", "local_store"
    ]  # fmt: skip


def test_two_dots_in_a_chain_are_a_stage_apart() -> None:
    kernel = compiled(attention, 4, "n", {"N": 32, "BN": 16}, 4)
    q, k, v = (np.random.default_rng(1).standard_normal((n, 32)).astype(np.float16) for n in (32, 80, 80))
    for n in (16, 80):
        out = np.zeros((32, 32), np.float32)
        report = run(kernel, q, k, v, out, n)
        assert report.ok, report.findings
        scores = (0.5 * q.astype(np.float32) @ k[:n].astype(np.float32).T).astype(np.float16)
        np.testing.assert_allclose(out, scores.astype(np.float32) @ v[:n].astype(np.float32), rtol=2e-2, atol=0.3)


def test_a_barrier_less_in_the_loop_is_found() -> None:
    kernel = compiled(product, 3, "k", {"N": 32, "BK": 16}, 2)
    text = kernel.asm["amdgcn"]
    places = [found.start() for found in re.finditer(r"^\ts_barrier", text, re.MULTILINE)]
    assert places
    a, b = np.ones((32, 96), np.float16), np.ones((96, 32), np.float16)
    for place in places:
        damaged = text[:place] + "\ts_nop 0" + text[place + len("\ts_barrier") :]
        found = {
            finding.kind for finding in run(kernel, a, b, np.zeros((32, 32), np.float32), 96, text=damaged).findings
        }
        assert "shared-race" in found


@triton.jit
def tiles(a, b, out, k, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, steps = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    left, right = a + rows * k + steps[None, :], b + steps[:, None] * N + columns
    total = tl.zeros([M, N], tl.float32)
    for _ in range(0, k, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK * N
    tl.store(out + rows * N + columns, total)


@pytest.mark.parametrize(("n", "slices"), [(128, 2), (256, 4)])
def test_two_halves_of_eight_waves_take_turns(n: int, slices: int) -> None:
    kernel = compiled(tiles, 3, "k", {"M": 256, "N": n, "BK": 64}, 2, aligned=1, warps=8)
    text = kernel.asm["ttgir"]
    assert text.count("amdg.cond_barrier") == 2 and text.count("rocdl.s.setprio 1") == slices
    a, b = (np.random.default_rng(2).standard_normal(shape).astype(np.float16) for shape in ((256, 192), (192, n)))
    out = np.zeros((256, n), np.float32)
    report = run(kernel, a, b, out, 192)
    assert report.ok, report.findings
    np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3, atol=1e-3)


def test_an_operand_that_is_not_contiguous_along_k_is_transposed_in_registers() -> None:
    text = compiled(tiles, 3, "k", {"M": 64, "N": 64, "BK": 64}, 2, aligned=1).asm["ttgir"]
    assert "amdg.in_thread_transpose" in text and "#ttg.amd_rotating_shared" in text


@triton.jit
def scaled(a, b, left_scales, right_scales, out, k, N: tl.constexpr, BK: tl.constexpr):
    rows, columns, steps = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    left = tl.load(a + rows * BK + steps[None, :])
    total = tl.zeros([N, N], tl.float32)
    for step in range(k):
        right = tl.load(b + (step * BK + steps[:, None]) * N + columns)
        total += tl.dot(left, right) * (tl.load(left_scales + step) * tl.load(right_scales + step))
    tl.store(out + rows * N + columns, total)


def test_two_scales_of_an_iteration_are_not_tiles() -> None:
    kinds = ["*fp16", "*fp16", "*fp32", "*fp32", "*fp32", "i32"]
    source = ASTSource(scaled, dict(zip(scaled.arg_names, kinds, strict=False)), {"N": 32, "BK": 16}, {})
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((32, 16), (64, 32)))
    scales, out = [random.standard_normal(4).astype(np.float32) for _ in range(2)], np.zeros((32, 32), np.float32)
    assert run(triton.compile(source, GFX942), a, b, *scales, out, 4).ok
    parts = [
        a.astype(np.float32) @ b[16 * n : 16 * n + 16].astype(np.float32) * scales[0][n] * scales[1][n]
        for n in range(4)
    ]
    np.testing.assert_allclose(out, sum(parts), rtol=1e-3, atol=1e-3)


@triton.jit
def bytes_dot(a, b, out, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    left = tl.load(a + rows * N + columns).to(tl.float8e5, bitcast=True)
    right = tl.load(b + rows * N + columns).to(tl.float8e5, bitcast=True)
    tl.store(out + rows * N + columns, tl.dot(left, right))


def test_bytes_without_an_instruction_are_multiplied_as_halves() -> None:
    source = ASTSource(bytes_dot, {"a": "*i8", "b": "*i8", "out": "*fp32"}, {"N": 32}, {})
    kernel = triton.compile(source, GFX942)
    assert "v_mfma_f32_32x32x8_f16" in kernel.asm["amdgcn"]
    bits = [
        np.random.default_rng(n).standard_normal((32, 32)).astype(np.float16).view(np.uint16) & 0xFF00 for n in (4, 5)
    ]
    out = np.zeros((32, 32), np.float32)
    assert run(kernel, *((each >> 8).astype(np.uint8).view(np.int8) for each in bits), out).ok
    a, b = (each.view(np.float16).astype(np.float32) for each in bits)
    np.testing.assert_allclose(out, a @ b, rtol=1e-5, atol=1e-5)


def verbose_assembly(llvm_ir: str) -> str:
    """With LLVM's comments, which name what is no instruction of the hardware."""
    module = llvm.parse_assembly(llvm_ir)
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(cpu="gfx942", opt=3, reloc="pic")
    machine.set_asm_verbosity(True)
    return machine.emit_assembly(module)


def test_schedule_hints_and_their_numbers_reach_the_assembly() -> None:
    constants = {"N": 32, "BN": 16}
    names = attention.arg_names
    signature = dict.fromkeys(names[:3], "*fp16") | {"out": "*fp32", "n": "i32"} | dict.fromkeys(constants, "constexpr")
    options = {"num_stages": 1, "schedule_hint": "attention,memory-bound-attention"}
    kernel = triton.compile(ASTSource(attention, signature, constants), GFX942, options)
    text = verbose_assembly(kernel.asm["llir"])
    assert '"amdgpu-sched-strategy"="iterative-ilp"' in kernel.asm["llir"]
    loop = text.split("sched_barrier mask(0x00000000)")
    assert len(loop) == 3, "one at each end of the loop's body"
    assert "v_mfma" in loop[1]
    assert "iglp_opt mask(0x00000002)" in loop[1]
    inputs = [np.eye(32, dtype=np.float16) for _ in range(3)]
    out = np.zeros((32, 32), np.float32)
    assert run(kernel, *inputs, out, 32).ok
    np.testing.assert_array_equal(out, np.eye(32) / 2)


_GROUPS = """
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %x = tt.load %p : !tt.ptr<f32>
    rocdl.sched.group.barrier 32, 3, 7
    rocdl.sched.group.barrier 8, 1, 7
    rocdl.sched.barrier 6
    rocdl.s.setprio 2
    tt.store %p, %x : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_limits_of_the_scheduler_keep_their_numbers(tmp_path: Path) -> None:
    file = tmp_path / "k.ttgir"
    file.write_text(_GROUPS)
    text = verbose_assembly(triton.compile(str(file), GFX942).asm["llir"])
    groups = re.findall(r"sched_group_barrier mask\((\w+)\) size\((\d+)\) SyncID\((\d+)\)", text)
    assert groups == [("0x00000020", "3", "7"), ("0x00000008", "1", "7")]
    assert "sched_barrier mask(0x00000006)" in text
    assert "s_setprio 2" in text
