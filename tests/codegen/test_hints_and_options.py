"""What options and loop hints leave in LLVM IR and PTX."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.target import GPUTarget

FLOATS = triton.MockTensor(tl.float32)
INTS = triton.MockTensor(tl.int32)


@triton.jit
def powers(data):
    p = data + tl.arange(0, 128)
    tl.store(p, tl.math.exp2(tl.load(p)))


@triton.jit
def loops_kept(out, n):
    i = 0
    while tl.condition(i < n, disable_licm=True):
        i = i + 1
        tl.store(out + i, n * n)
    for j in tl.range(0, n, disable_licm=True):
        tl.store(out + j, n * n)


@triton.jit
def plain_loop(out, n):
    i = 0
    while tl.condition(i < n):
        i = i + 1
        tl.store(out + i, n * n)


@triton.jit(noinline=True)
def called(out):
    tl.store(out, 0)


@triton.jit
def caller(out):
    called(out)
    tl.store(out, 1)


@pytest.mark.parametrize("reflect", [False, True])
def test_denormals_are_flushed_where_reflection_says_so(reflect: bool) -> None:
    ptx = powers.warmup(FLOATS, grid=(1,), enable_reflect_ftz=reflect).asm["ptx"]
    assert ("ex2.approx.ftz.f32" in ptx) == reflect
    assert "ex2.approx" in ptx


def test_loops_tell_llvm_to_leave_invariants_inside() -> None:
    llir = loops_kept.warmup(INTS, 10, grid=(1,)).asm["llir"]
    assert llir.count('!{!"llvm.licm.disable"}') == 1
    assert len(set(re.findall(r"br .*!llvm\.loop !(\d+)", llir))) >= 2
    assert "llvm.licm.disable" not in plain_loop.warmup(INTS, 10, grid=(1,)).asm["llir"]


def test_the_limit_of_registers_is_the_kernel_s_alone() -> None:
    kernel = caller.warmup(INTS, grid=(1,), maxnreg=42)
    assert "ttg.maxnreg = 42 : i32" in kernel.asm["ttgir"] and "maxnreg" not in kernel.asm["ttir"]
    assert re.search(r"\.visible \.entry [^{;]*\.maxnreg 42", kernel.asm["ptx"])
    assert not re.search(r"\.func [^{;]*\.maxnreg", kernel.asm["ptx"])
    assert "maxnreg" not in caller.warmup(INTS, grid=(1,)).asm["ptx"]


def test_stores_have_no_modifier_that_only_loads_have(tmp_path: Path) -> None:
    file = tmp_path / "k.ttgir"
    file.write_text(
        """
        module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
          tt.func public @k(%p: !tt.ptr<i32>) {
            %c = arith.constant 1 : i32
            tt.store %p, %c evictionPolicy = evict_last cacheModifier = ca : !tt.ptr<i32>
            tt.return
          }
        }"""
    )
    ptx = triton.compile(file, GPUTarget("cuda", 90, 32)).asm["ptx"]
    assert re.search(r"st\.global\.L1::evict_last\S*\.b32", ptx)


def test_a_module_may_declare_the_shared_memory_itself(tmp_path: Path) -> None:
    file = tmp_path / "k.ttgir"
    file.write_text(
        """
        module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
          llvm.mlir.global external @global_smem() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
          tt.func public @k(%p: !tt.ptr<i32>) {
            %c = arith.constant 1 : i32
            %true = arith.constant true
            %old = tt.atomic_rmw add, acq_rel, gpu, %p, %c, %true : (!tt.ptr<i32>, i32, i1) -> i32
            tt.store %p, %old : !tt.ptr<i32>
            tt.return
          }
        }"""
    )
    assert triton.compile(file, GPUTarget("cuda", 90, 32)).asm["ptx"].count(".shared .align 16 .b8 global_smem[]") == 1
