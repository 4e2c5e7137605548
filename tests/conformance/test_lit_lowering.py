"""Lit tests of the lowering, compiled, executed and compared (`lit_lowering.py` prints the same as a table)."""

import os
from pathlib import Path

import pytest

pytest.importorskip("triton")

from lit_lowering import FILES, Result, lower_file, lower_text

SOURCE = os.environ.get("TRITON_SRC")

FUNCTIONS = {
    "Conversion/atomic_ldst.mlir": 1,
    "Conversion/cvt_to_llvm.mlir": 3,
    "Conversion/dedup-by-constancy.mlir": 2,
    "Conversion/divide-by-0.mlir": 1,
    "Conversion/reduce_to_llvm.mlir": 1,
    "Conversion/scan_to_llvm.mlir": 3,
    "Conversion/tritongpu_to_llvm.mlir": 132,
    "Conversion/tritongpu_to_llvm_block_dot_shortcut.mlir": 2,
    "Conversion/tritongpu_to_llvm_hopper.mlir": 34,
    "Conversion/tritongpu_to_llvm_hopper_ptx80.mlir": 3,
    "Conversion/tritongpu_to_ptx.mlir": 7,
    "Conversion/tritonnvidiagpu_to_llvm.mlir": 13,
    "TritonGPU/atomic-cas.mlir": 1,
    "TritonGPU/global_scratch_to_llvm.mlir": 1,
    "TritonNvidiaGPU/bf16-atomics.mlir": 2,
}
"""Functions that each file has for NVIDIA GPUs before Blackwell; all but these leave the memory that they mean."""

OPEN = {
    "global_scratch_alloc_warpgroup": "nothing to be seen",
    **dict.fromkeys(
        [
            "matmul_kernel_dot_operand_layout",
            "matmul_fmadot",
            "matmul_fmadot_integer",
            "matmul_tf32dot",
            "matmul_tf32_cst_b",
        ],
        "thread-race: writes what another thread of the CTA reads or writes",  # they store a whole tile to one address
    ),
}
"""Functions that are not run, or are wrong themselves, and why."""

PTXAS_REFUSES = {"warp_group_dot_bf16_32_warps": "Insufficient registers"}
"""Functions that are run though no cubin can be made of them: Triton's PTX of them neither."""

TRITON_DIFFERS = {
    "convert_dot_fp8": ("differs", "-5.0703125, not -2.53515625"),
    "dot_high_precision_acc": ("differs", "reads a result of wgmma before the wait"),
    "dot_mix_precision_acc": ("differs", "reads a result of wgmma before the wait"),
    "dot_zero_acc_operand": ("differs", "reads a result of wgmma before the wait"),
    "warpgroup_dot_wait_1_input": ("refused", "it ended the process"),
}
"""Functions that Triton's lowering on the wheel treats otherwise: how, and by what words of the difference."""


def unexpected(result: Result) -> str:
    """What of a result is none of the differences above; empty if nothing is."""
    name = result.function
    if name in OPEN:
        return "" if OPEN[name] in result.detail else f"{result.outcome}: {result.detail}"
    if result.outcome != "equal":
        return f"{result.outcome}: {result.detail}"
    if PTXAS_REFUSES.get(name, "") not in result.ptxas or bool(result.ptxas) != (name in PTXAS_REFUSES):
        return f"ptxas: {result.ptxas}"
    outcome, words = TRITON_DIFFERS.get(name, ("equal", ""))
    if result.triton != outcome or words not in result.triton_detail:
        return f"Triton {result.triton}: {result.triton_detail}"
    return ""


@pytest.mark.skipif(SOURCE is None, reason="TRITON_SRC names no checkout of Triton")
@pytest.mark.parametrize("name", FILES)
def test_functions_do_on_the_emulator_what_they_mean(name: str) -> None:
    results = lower_file(Path(SOURCE or ""), name)
    assert len(results) == FUNCTIONS[name]
    assert [(r.chunk, r.function, why) for r in results if (why := unexpected(r))] == []


COPIES = """
#spread = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#row = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32}>
#flag = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func @fetches_a_block(%from: !tt.tensordesc<tensor<16x32xf32, #row>>, %to: !ttg.memdesc<16x32xf32, #row, #smem, mutable>, %at: i32, %really: i1) -> tensor<16x32xf32, #spread> {
    %first = arith.constant 0 : i32
    %flag = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #flag, #smem, mutable>
    ttng.init_barrier %flag, 1 : !ttg.memdesc<1xi64, #flag, #smem, mutable>
    ttng.barrier_expect %flag, 2048, %really : !ttg.memdesc<1xi64, #flag, #smem, mutable>
    ttng.async_tma_copy_global_to_local %from[%at, %at] %to, %flag, %really : !tt.tensordesc<tensor<16x32xf32, #row>>, !ttg.memdesc<1xi64, #flag, #smem, mutable> -> !ttg.memdesc<16x32xf32, #row, #smem, mutable>
    ttng.wait_barrier %flag, %first : !ttg.memdesc<1xi64, #flag, #smem, mutable>
    %block = ttg.local_load %to : !ttg.memdesc<16x32xf32, #row, #smem, mutable> -> tensor<16x32xf32, #spread>
    tt.return %block : tensor<16x32xf32, #spread>
  }
  tt.func @returns_a_block(%to: !tt.tensordesc<tensor<16x32xf32, #row>>, %from: !ttg.memdesc<16x32xf32, #row, #smem>, %at: i32) {
    ttng.fence_async_shared {bCluster = false}
    ttng.async_tma_copy_local_to_global %to[%at, %at] %from : !tt.tensordesc<tensor<16x32xf32, #row>>, !ttg.memdesc<16x32xf32, #row, #smem>
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}
"""

SLICES = """
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#swizzled = #ttg.swizzled_shared<{vec = 2, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func @reads_the_first_rows(%all: tensor<32x32xf32, #rows>) -> tensor<16x32xf32, #rows> {
    %whole = ttg.local_alloc %all : (tensor<32x32xf32, #rows>) -> !ttg.memdesc<32x32xf32, #swizzled, #smem>
    %first = ttg.memdesc_subslice %whole[0, 0] : !ttg.memdesc<32x32xf32, #swizzled, #smem> -> !ttg.memdesc<16x32xf32, #swizzled, #smem>
    %read = ttg.local_load %first : !ttg.memdesc<16x32xf32, #swizzled, #smem> -> tensor<16x32xf32, #rows>
    tt.return %read : tensor<16x32xf32, #rows>
  }
}
"""


@pytest.mark.oracle
@pytest.mark.parametrize(("text", "count"), [(COPIES, 2), (SLICES, 1)])
def test_functions_of_our_own_do_what_they_mean(text: str, count: int) -> None:
    results = lower_text(text, "own")
    assert len(results) == count
    assert [(r.function, why) for r in results if (why := unexpected(r))] == []
