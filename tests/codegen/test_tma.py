"""Tensor copies: boxes, coordinates and barriers, as the PTX that ptxas takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from emitting import compiled_ptx

from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.analysis.shared_memory.membar import insert_barriers
from minitriton.codegen.convert_triton_gpu_to_llvm import lower_module
from minitriton.codegen.llvm_text import write_module
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects.text import parse_module
from minitriton.errors import LoweringError
from minitriton.target import CUDAOptions, GPUTarget

KERNEL = """
#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%d: !tt.tensordesc<tensor<64x128xf16, #sh>>, %m: i32, %n: i32) {
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %buf = ttg.local_alloc : () -> !ttg.memdesc<64x128xf16, #sh, #smem, mutable>
    ttng.barrier_expect %bar, 16384, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.async_tma_copy_global_to_local %d[%m, %n] %buf, %bar, %true : !tt.tensordesc<tensor<64x128xf16, #sh>>, !ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<64x128xf16, #sh, #smem, mutable>
    ttng.wait_barrier %bar, %zero : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.inval_barrier %bar : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %v = ttg.local_load %buf : !ttg.memdesc<64x128xf16, #sh, #smem, mutable> -> tensor<64x128xf16, #b>
    %w = arith.addf %v, %v : tensor<64x128xf16, #b>
    ttg.local_store %w, %buf : tensor<64x128xf16, #b> -> !ttg.memdesc<64x128xf16, #sh, #smem, mutable>
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_copy_local_to_global %d[%m, %n] %buf : !tt.tensordesc<tensor<64x128xf16, #sh>>, !ttg.memdesc<64x128xf16, #sh, #smem, mutable>
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}
"""


@pytest.fixture(scope="module")
def emitted() -> str:
    module = parse_module(KERNEL)
    allocation = allocate(module, scratch_bytes)
    insert_barriers(module, allocation)
    lowered = lower_module(module, allocation)
    lowered.verify()
    return compiled_ptx(write_module(lowered), GPUTarget("cuda", 90), CUDAOptions())


def test_a_descriptor_is_a_parameter_of_128_bytes(emitted):
    assert re.search(r"\.param \.align 64 \.b8 k_param_0\[128\]", emitted)


def test_a_buffer_is_copied_in_boxes_as_wide_as_its_swizzle(emitted):
    loads = re.findall(r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\S* \[(\S+)\], \[\S+, \{(\S+), (\S+)\}\]", emitted)
    assert len(loads) == 2
    (first, column, row), (second, next_column, next_row) = loads
    assert first != second and column != next_column and row == next_row


def test_a_store_is_a_group_that_is_waited_for(emitted):
    store = emitted.index("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group")
    assert emitted.index("fence.proxy.async.shared::cta") < store
    assert store < emitted.index("cp.async.bulk.commit_group") < emitted.index("cp.async.bulk.wait_group.read 0")


def test_waiting_for_a_barrier_is_a_loop_on_its_parity(emitted):
    assert "mbarrier.init.shared::cta.b64" in emitted
    assert "mbarrier.arrive.expect_tx.shared.b64" in emitted and "16384;" in emitted
    assert emitted.index("mbarrier.try_wait.parity.shared.b64") < emitted.index("mbarrier.inval.shared::cta.b64")


def test_ptxas_takes_it(emitted):
    found = os.environ.get("MINITRITON_PTXAS") or shutil.which("ptxas")
    if found is None:
        triton = pytest.importorskip("triton")
        found = str(Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas")
    command = [found, "--gpu-name=sm_90a", "-o", os.devnull, "/dev/stdin"]
    result = subprocess.run(command, input=emitted, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_copy_of_a_part_that_begins_between_is_refused_at_its_line() -> None:
    plain = KERNEL.replace("swizzlingByteWidth = 128", "swizzlingByteWidth = 0")
    part = plain.replace("!tt.tensordesc<tensor<64x128xf16, #sh>>", "!tt.tensordesc<tensor<64x32xf16, #sh>>").replace(
        "ttng.async_tma_copy_local_to_global %d[%m, %n] %buf : !tt.tensordesc<tensor<64x32xf16, #sh>>, !ttg.memdesc<64x128xf16, #sh, #smem, mutable>",
        "%part = ttg.memdesc_subslice %buf[0, 32] : !ttg.memdesc<64x128xf16, #sh, #smem, mutable> -> !ttg.memdesc<64x32xf16, #sh, #smem, mutable, 64x128>\n"
        '    ttng.async_tma_copy_local_to_global %d[%m, %n] %part : !tt.tensordesc<tensor<64x32xf16, #sh>>, !ttg.memdesc<64x32xf16, #sh, #smem, mutable, 64x128> loc("k.py":7:3)',
    )
    assert part.count("%part") == 2
    module = parse_module(part)
    with pytest.raises(
        LoweringError, match=r"k\.py:7:3: error: a tensor copy of a part .* begins 64 bytes from its start"
    ):
        lower_module(module, allocate(module, scratch_bytes))
