"""Modules whose PTX, optimised, is run on the emulator: what only the optimiser's order or a launch's size shows."""

from __future__ import annotations

import numpy as np
import pytest

from minitriton import emulator
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.interpreter.numbers.formats import encode_small
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import emission_steps, llvm_passes
from minitriton.pipeline.request import Switches
from minitriton.target import CUDAOptions, GPUTarget

SMEM = "#smem = #ttg.shared_memory"


def _module(warps: int, threads: int = 32) -> str:
    return (
        f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90", '
        f'"ttg.threads-per-warp" = {threads} : i32}}'
    )


def _run(text: str, *arguments: np.ndarray) -> emulator.Report:
    target = GPUTarget("cuda", 90, 32)
    steps = [*llvm_passes(), *emission_steps(target, CUDAOptions.for_target(target), Switches())]
    ptx = str(PassManager(Pipeline.parse(",".join(steps))).run(make_context(), parse_module(text)))
    return emulator.run(ptx, None, (1, 1, 1), arguments, 1 << 16)


def test_products_from_zero_have_no_writes_to_their_registers_behind_the_fence() -> None:
    text = f"""
#b = #ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}}>
#col = #ttg.slice<{{dim = 0, parent = #b}}>
#out = #ttg.slice<{{dim = 0, parent = #mma}}>
#mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}}>
#sh = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
{SMEM}
{_module(4)} {{
  tt.func public @k(%x: !tt.ptr<f16>, %y: !tt.ptr<f32>) {{
    %c = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #col>
    %ce = tt.expand_dims %c {{axis = 0 : i32}} : tensor<64xi32, #col> -> tensor<1x64xi32, #b>
    %cb = tt.broadcast %ce : tensor<1x64xi32, #b> -> tensor<64x64xi32, #b>
    %ps = tt.splat %x : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #b>
    %p = tt.addptr %ps, %cb : tensor<64x64x!tt.ptr<f16>, #b>, tensor<64x64xi32, #b>
    %v = tt.load %p : tensor<64x64x!tt.ptr<f16>, #b>
    %m = ttg.local_alloc %v : (tensor<64x64xf16, #b>) -> !ttg.memdesc<64x64xf16, #sh, #smem>
    ttng.fence_async_shared {{bCluster = false}}
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %d = ttng.warp_group_dot %m, %m, %zero : !ttg.memdesc<64x64xf16, #sh, #smem> * !ttg.memdesc<64x64xf16, #sh, #smem> -> tensor<64x64xf32, #mma>
    %o = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #out>
    %oe = tt.expand_dims %o {{axis = 0 : i32}} : tensor<64xi32, #out> -> tensor<1x64xi32, #mma>
    %ob = tt.broadcast %oe : tensor<1x64xi32, #mma> -> tensor<64x64xi32, #mma>
    %qs = tt.splat %y : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>, #mma>
    %q = tt.addptr %qs, %ob : tensor<64x64x!tt.ptr<f32>, #mma>, tensor<64x64xi32, #mma>
    tt.store %q, %d : tensor<64x64x!tt.ptr<f32>, #mma>
    tt.return
  }}
}}
"""
    x = np.arange(64).astype(np.float16) % 5
    y = np.zeros(64, np.float32)
    report = _run(text, x, y)
    assert [finding for finding in report.findings if finding.kind != "global-race"] == []
    np.testing.assert_array_equal(y, x.astype(np.float32).sum() * x)


def test_a_scan_goes_on_over_warps_of_16_threads() -> None:
    text = f"""
#b = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}}>
{_module(4, 16)} {{
  tt.func public @k(%x: !tt.ptr<i32>) {{
    %n = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32, #b>
    %s = tt.splat %x : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #b>
    %p = tt.addptr %s, %n : tensor<64x!tt.ptr<i32>, #b>, tensor<64xi32, #b>
    %v = tt.load %p : tensor<64x!tt.ptr<i32>, #b>
    %t = "tt.scan"(%v) <{{axis = 0 : i32, reverse = false}}> ({{
    ^bb0(%a: i32, %c: i32):
      %r = arith.addi %a, %c : i32
      tt.scan.return %r : i32
    }}) : (tensor<64xi32, #b>) -> tensor<64xi32, #b>
    tt.store %p, %t : tensor<64x!tt.ptr<i32>, #b>
    tt.return
  }}
}}
"""
    x = np.arange(1, 65, dtype=np.int32)
    report = _run(text, x)
    assert report.findings == []
    np.testing.assert_array_equal(x, np.cumsum(np.arange(1, 65)))


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ"])
def test_constants_of_every_fp8_type_are_their_bits(name: str) -> None:
    text = f"""
#b = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}}>
{_module(1)} {{
  tt.func public @k(%x: !tt.ptr<{name}>) {{
    %n = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, #b>
    %s = tt.splat %x : !tt.ptr<{name}> -> tensor<32x!tt.ptr<{name}>, #b>
    %p = tt.addptr %s, %n : tensor<32x!tt.ptr<{name}>, #b>, tensor<32xi32, #b>
    %c = arith.constant dense<1.500000e+00> : tensor<32x{name}, #b>
    tt.store %p, %c : tensor<32x!tt.ptr<{name}>, #b>
    tt.return
  }}
}}
"""
    x = np.zeros(32, np.uint8)
    _run(text, x)
    np.testing.assert_array_equal(x, encode_small(name, np.full(32, 1.5)))
