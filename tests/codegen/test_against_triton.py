"""The PTX of both compilers for the same TTGIR: the same memory instructions, and no more work."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from emitting import compiled_ptx, emitted_ptx

from minitriton.analysis.shared_memory.allocation import allocate, write_attributes
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.codegen.convert_triton_gpu_to_llvm import lower_module
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects.text import parse_module
from minitriton.target import CUDAOptions, GPUTarget

pytestmark = pytest.mark.oracle
triton = pytest.importorskip("triton")

HOPPER = GPUTarget("cuda", 90)

TTIR = {
    "add": """
module {
  tt.func public @k(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
    %c = arith.constant 2048 : i32
    %pid = tt.get_program_id x : i32
    %base = arith.muli %pid, %c : i32
    %r = tt.make_range {end = 2048 : i32, start = 0 : i32} : tensor<2048xi32>
    %s = tt.splat %base : i32 -> tensor<2048xi32>
    %off = arith.addi %s, %r : tensor<2048xi32>
    %ns = tt.splat %n : i32 -> tensor<2048xi32>
    %m = arith.cmpi slt, %off, %ns : tensor<2048xi32>
    %xs = tt.splat %x : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>>
    %xp = tt.addptr %xs, %off : tensor<2048x!tt.ptr<f16>>, tensor<2048xi32>
    %v = tt.load %xp, %m : tensor<2048x!tt.ptr<f16>>
    %w = arith.addf %v, %v : tensor<2048xf16>
    %os = tt.splat %o : !tt.ptr<f16> -> tensor<2048x!tt.ptr<f16>>
    %op = tt.addptr %os, %off : tensor<2048x!tt.ptr<f16>>, tensor<2048xi32>
    tt.store %op, %w, %m : tensor<2048x!tt.ptr<f16>>
    tt.return
  }
}
""",
    "reduce": """
module {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %n = arith.constant dense<128> : tensor<64x1xi32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %c = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %re = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %ce = tt.expand_dims %c {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %rn = arith.muli %re, %n : tensor<64x1xi32>
    %rb = tt.broadcast %rn : tensor<64x1xi32> -> tensor<64x128xi32>
    %cb = tt.broadcast %ce : tensor<1x128xi32> -> tensor<64x128xi32>
    %off = arith.addi %rb, %cb : tensor<64x128xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %off : tensor<64x128x!tt.ptr<f32>>, tensor<64x128xi32>
    %v = tt.load %xp : tensor<64x128x!tt.ptr<f32>>
    %z = "tt.reduce"(%v) <{axis = 0 : i32}> ({
    ^bb0(%p: f32, %q: f32):
      %y = arith.addf %p, %q : f32
      tt.reduce.return %y : f32
    }) : (tensor<64x128xf32>) -> tensor<128xf32>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %op = tt.addptr %os, %c : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    tt.store %op, %z : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
""",
}


@pytest.fixture(params=TTIR)
def compiled(request: pytest.FixtureRequest, tmp_path: Path):
    """What Triton makes of one of the kernels above, without a GPU."""
    from triton.backends.compiler import GPUTarget as TritonTarget

    path = tmp_path / "kernel.ttir"
    path.write_text(TTIR[request.param])
    return triton.compile(str(path), target=TritonTarget("cuda", 90, 32))


def _ours(ttgir: str) -> str:
    module = parse_module(ttgir)
    allocation = allocate(module, scratch_bytes)
    write_attributes(module, allocation)
    insert_barriers(module, allocation)
    text = write_module(lower_module(module, allocation))
    return compiled_ptx(text, HOPPER, CUDAOptions())


def _instructions(text: str) -> Counter[str]:
    """Instructions by their opcode, without predicates and register names."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        match = re.match(r"\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)\s.*;", line)
        if match and not match[1].startswith("mov"):
            found[match[1]] += 1
    return found


def test_memory_is_accessed_in_vectors_of_the_same_width(compiled):
    ours, theirs = _instructions(_ours(compiled.asm["ttgir"])), _instructions(compiled.asm["ptx"])
    for opcode in {*ours, *theirs}:
        if opcode.startswith(("ld.global", "st.global")):
            assert ours[opcode] == theirs[opcode], opcode


def test_no_more_instructions_are_written(compiled):
    ours, theirs = _instructions(_ours(compiled.asm["ttgir"])), _instructions(compiled.asm["ptx"])
    assert ours.total() <= theirs.total()


def test_llvm_ir_of_triton_is_emitted_as_the_same_instructions(compiled):
    emitted = emitted_ptx(compiled.asm["llir"], HOPPER, CUDAOptions())
    ours, theirs = _instructions(emitted), _instructions(compiled.asm["ptx"])
    assert ours.total() <= theirs.total() * 1.02
    assert {k: v for k, v in ours.items() if k.startswith(("ld.global", "st.global"))} == {
        k: v for k, v in theirs.items() if k.startswith(("ld.global", "st.global"))
    }
