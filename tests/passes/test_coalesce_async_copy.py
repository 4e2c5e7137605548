"""`tritongpu-coalesce-async-copy`: what the buffer's swizzle would break is read in shorter runs."""

from __future__ import annotations

import pytest
from filecheck_ir import check, run

from minitriton.passes.coalesce_async_copy import CoalesceAsyncCopy


def copy(vec: int) -> str:
    """A copy of bytes into a buffer swizzled by `vec`, 16 at a time."""
    return f"""
#b = #ttg.blocked<{{sizePerThread = [1, 16], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}}>
#s = #ttg.swizzled_shared<{{vec = {vec}, perPhase = 1, maxPhase = 8, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f(%p: tensor<64x128x!tt.ptr<i8>, #b> {{tt.divisibility = dense<16> : tensor<2xi32>, tt.contiguity = dense<16> : tensor<2xi32>}},
             %to: !ttg.memdesc<64x128xi8, #s, #smem, mutable>, %m: tensor<64x128xi1, #b>) {{
    %t = ttg.async_copy_global_to_local %p, %to mask %m {{contiguity = 16 : i32}} : tensor<64x128x!tt.ptr<i8>, #b> -> <64x128xi8, #s, #smem, mutable>
    tt.return
  }}
}}"""


def test_runs_become_as_short_as_the_pieces_of_the_buffer() -> None:
    check(
        copy(8),
        CoalesceAsyncCopy(),
        """
        // CHECK: [[NEW:#.*]] = #ttg.blocked<{sizePerThread = [1, 8]
        // CHECK: [[P:%.*]] = ttg.convert_layout %arg0
        // CHECK: [[M:%.*]] = ttg.convert_layout %arg2
        // CHECK: ttg.async_copy_global_to_local [[P]], %arg1 mask [[M]]
        // CHECK-NOT: contiguity = 16
        """,
    )


@pytest.mark.parametrize("vec", [16, 32])
def test_unbroken_runs_stay(vec: int) -> None:
    assert run(copy(vec), CoalesceAsyncCopy()) == run(copy(vec))
