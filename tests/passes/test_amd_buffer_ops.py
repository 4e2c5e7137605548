"""Pointers as a base and offsets, accesses as those of buffers: on small TTGIR, and what lowered kernels compute on the emulator."""

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.dialects.verification.verifier import verify
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.target import GPUTarget

GFX942 = GPUTarget("hip", "gfx942", 64)
BLOCKED = "#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>"
MODULE = 'module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 64 : i32, ttg.target = "hip:gfx942"}'


def after(passes: str, body: str, parameters: str) -> str:
    """The text of a kernel after the passes."""
    module = parse_module(f"{BLOCKED}\n{MODULE} {{\ntt.func public @f({parameters}) {{\n{body}\ntt.return\n}}\n}}")
    PassManager(Pipeline.parse(passes)).run(make_context(), module)
    verify(module)
    return str(module)


SUM = """
%r = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #b>
%n = tt.splat %i : i32 -> tensor<256xi32, #b>
%o = arith.addi %n, %r : tensor<256xi32, #b>
%s = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
%t = tt.addptr %s, %o : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
%v = tt.load %t : tensor<256x!tt.ptr<f32>, #b>
tt.store %t, %v : tensor<256x!tt.ptr<f32>, #b>
"""


def test_what_all_elements_share_goes_into_the_base() -> None:
    text = after(
        "tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=true},canonicalize",
        SUM,
        "%p: !tt.ptr<f32>, %i: i32",
    )
    assert re.search(r"%(\d+) = tt.addptr %p, %i : !tt.ptr<f32>, i32", text)
    assert re.search(r"tt.addptr %\w+, %r : tensor<256x!tt.ptr<f32>", text)


def test_small_offsets_become_those_of_a_buffer() -> None:
    both = "tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=true},canonicalize,tritonamdgpu-convert-buffer-ops"
    text = after(both, SUM, "%p: !tt.ptr<f32>, %i: i32")
    assert re.search(r"amdg.buffer_load %\w+\[%r\]", text) and re.search(r"amdg.buffer_store %\w+, %\w+\[%r\]", text)
    assert "tt.load" not in text and "tt.store" not in text


@pytest.mark.parametrize(("attribute", "is_converted"), [("", False), (" {tt.pointer_range = 32 : i32}", True)])
def test_offsets_of_unknown_size_do_only_where_the_argument_is_small(attribute: str, is_converted: bool) -> None:
    text = after("tritonamdgpu-convert-buffer-ops", SUM, f"%p: !tt.ptr<f32>{attribute}, %i: i32")
    assert ("amdg.buffer_load" in text) is is_converted


@triton.jit
def rows(x, out, m, N: tl.constexpr, WIDE: tl.constexpr, KIND: tl.constexpr):
    i, j = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None], tl.arange(0, WIDE)[None, :]
    mask = (i < m) & (j < N)
    v = tl.load(x + i * N + j, mask, other=3)
    tl.store(out + i * N + j, (v + 1).to(KIND), mask)


@pytest.mark.parametrize("element", ["i8", "fp16", "fp32", "i64"])
@pytest.mark.parametrize("n", [64, 61])
def test_buffers_give_the_numbers_of_numpy(element: str, n: int) -> None:
    kind: Any = {"i8": tl.int8, "fp16": tl.float16, "fp32": tl.float32, "i64": tl.int64}[element]
    dtype = {"i8": np.int8, "fp16": np.float16, "fp32": np.float32, "i64": np.int64}[element]
    attrs = {(k,): [["tt.divisibility", 16]] for k in (0, 1)}
    signature = {"x": f"*{element}", "out": f"*{element}", "m": "i32"}
    source = ASTSource(rows, signature, {"N": n, "WIDE": 64, "KIND": kind}, attrs)
    kernel = triton.compile(source, GFX942)
    assert "buffer_load_" in kernel.asm["amdgcn"] and "buffer_store_" in kernel.asm["amdgcn"]
    x, out = np.arange(7 * n).reshape(7, n).astype(dtype), np.zeros((7, n), dtype)
    kernel[(2,)](x, out, 7)
    np.testing.assert_array_equal(out, x + dtype(1))


def test_a_small_argument_is_a_base_as_it_is() -> None:
    text = after(CHAIN, SUM, "%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %i: i32")
    assert re.search(r"amdg.buffer_load %p\[%\w+\]", text) and "tt.addptr" not in text


CARRIED = """
%c0 = arith.constant 0 : i32
%c1 = arith.constant 1 : i32
%r = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #b>
%s = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
%t = tt.addptr %s, %r : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
%n = tt.splat %i : i32 -> tensor<256xi32, #b>
%end = scf.for %k = %c0 to %i step %c1 iter_args(%a = %t) -> (tensor<256x!tt.ptr<f32>, #b>) : i32 {
  %v = tt.load %a : tensor<256x!tt.ptr<f32>, #b>
  tt.store %a, %v : tensor<256x!tt.ptr<f32>, #b>
  %next = tt.addptr %a, %n : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
  scf.yield %next : tensor<256x!tt.ptr<f32>, #b>
}
"""


@pytest.mark.parametrize("attribute", ["", " {tt.pointer_range = 32 : i32}"])
def test_a_loop_carries_base_and_offsets_in_place_of_pointers(attribute: str) -> None:
    text = after(CHAIN, CARRIED, f"%p: !tt.ptr<f32>{attribute}, %i: i32")
    assert "tt.load" not in text and "tt.store" not in text and "x!tt.ptr" not in text


CHAIN = (
    "tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=true},canonicalize,tritonamdgpu-convert-buffer-ops{"
    "arch-generation-name=gfx942 wide-offsets=true},canonicalize"
)


@triton.jit
def walk(x, out, steps, stride, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(steps):
        total += tl.load(at)
        at += stride
    tl.store(out + tl.arange(0, BLOCK), total)


@triton.jit
def walk_while(x, out, steps, stride, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    n = 0
    while n < steps:
        total += tl.load(at)
        at += stride
        n += 1
    tl.store(out + tl.arange(0, BLOCK), total)


BRANCHES = """
%r = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #b>
%s = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b>
%t = tt.addptr %s, %r : tensor<256x!tt.ptr<f32>, #b>, tensor<256xi32, #b>
cf.cond_br %c, ^one(%t, %p : tensor<256x!tt.ptr<f32>, #b>, !tt.ptr<f32>), ^other(%s : tensor<256x!tt.ptr<f32>, #b>)
^one(%a: tensor<256x!tt.ptr<f32>, #b>, %q: !tt.ptr<f32>):
%z = tt.load %q : !tt.ptr<f32>
%y = tt.splat %z : f32 -> tensor<256xf32, #b>
tt.store %a, %y : tensor<256x!tt.ptr<f32>, #b>
cf.br ^other(%a : tensor<256x!tt.ptr<f32>, #b>)
^other(%d: tensor<256x!tt.ptr<f32>, #b>):
%v = tt.load %d : tensor<256x!tt.ptr<f32>, #b>
tt.store %d, %v : tensor<256x!tt.ptr<f32>, #b>
"""


def test_branches_pass_base_and_offsets_on() -> None:
    text = after(CHAIN, BRANCHES, "%p: !tt.ptr<f32> {tt.pointer_range = 32 : i32}, %c: i1")
    assert text.count("amdg.buffer_store") == 2 and "x!tt.ptr" not in text


def test_offsets_that_a_loop_adds_up_keep_their_width() -> None:
    gathered = CARRIED.replace("%next = tt.addptr %a, %n", "%next = tt.addptr %a, %r")
    cut = "tritonamdgpu-canonicalize-pointers{enable-large-tensor-ptr-canon=true"
    assert "arith.trunci" in after(cut + "}", gathered, "%p: !tt.ptr<f32>, %i: i32")
    assert "arith.trunci" not in after(cut + " narrow-carried=false}", gathered, "%p: !tt.ptr<f32>, %i: i32")
    assert "arith.trunci" in after(cut + " narrow-carried=false}", CARRIED, "%p: !tt.ptr<f32>, %i: i32")


@triton.jit
def tally(x, out, N: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, N)
    old = tl.atomic_add(out + i // 2, tl.load(x + i), mask=i < N - 3)
    tl.store(x + i, (old * 0).to(KIND))


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("function", [walk, walk_while])
def test_pointers_that_a_loop_carries_read_what_they_should(function: Any, steps: int) -> None:
    source = ASTSource(function, {"x": "*fp32", "out": "*fp32", "steps": "i32", "stride": "i32"}, {"BLOCK": 64}, {})
    kernel = triton.compile(source, GFX942)
    assert not re.search(r"iter_args.*x!tt.ptr|scf.while.*x!tt.ptr", kernel.asm["ttgir"])
    x, out = np.arange(6 * 80, dtype=np.float32), np.zeros(64, np.float32)
    kernel[(1,)](x, out, steps, 80)
    np.testing.assert_array_equal(out, sum((x[80 * n : 80 * n + 64] for n in range(steps)), np.zeros(64, np.float32)))


@pytest.mark.parametrize("element", ["i32", "i64", "fp32", "fp16"])
def test_atomics_of_buffers_add_up(element: str) -> None:
    dtype: Any = {"i32": np.int32, "i64": np.int64, "fp32": np.float32, "fp16": np.float16}[element]
    kind: Any = {"i32": tl.int32, "i64": tl.int64, "fp32": tl.float32, "fp16": tl.float16}[element]
    source = ASTSource(tally, {"x": f"*{element}", "out": f"*{element}"}, {"N": 128, "KIND": kind}, {})
    kernel = triton.compile(source, GFX942)
    assert ("buffer_atomic_add" in kernel.asm["amdgcn"]) == (element != "fp16")
    x, out = np.ones(128, dtype), np.zeros(64, dtype)
    kernel[(1,)](x, out)
    wanted = np.full(64, 2, dtype)
    wanted[-2:] = 1, 0
    np.testing.assert_array_equal(out, wanted)
