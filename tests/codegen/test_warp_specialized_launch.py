"""A file of IR with groups of warps: a symbol without visibility is a kernel, and a launch has the threads of all groups."""

from __future__ import annotations

import numpy as np

import minitriton as triton
from minitriton.target import GPUTarget

SOURCE = """
tt.func @two_stores(%p: !tt.ptr<i32>) {
  %c42 = arith.constant 42 : i32
  gpu.barrier
  ttg.warp_specialize(%p)
  default {
    tt.store %p, %c42 : !tt.ptr<i32>
    gpu.barrier
    ttg.warp_yield
  }
  partition0(%q: !tt.ptr<i32>) num_warps(1) {
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    gpu.barrier
    %next = tt.addptr %q, %c1 : !tt.ptr<i32>, i32
    tt.store %next, %c7 : !tt.ptr<i32>
    ttg.warp_return
  } : (!tt.ptr<i32>) -> ()
  tt.return
}
"""


def test_the_launch_has_the_warps_of_all_partitions(tmp_path):
    file = tmp_path / "two_stores.ttir"
    file.write_text(SOURCE)
    kernel = triton.compile(str(file), target=GPUTarget("cuda", 90, 32))
    assert kernel.metadata.num_warps == 8
    assert ".reqntid 256" in kernel.asm["ptx"]
    out = np.zeros(2, np.int32)
    kernel[(1, 1, 1)](out)
    assert out.tolist() == [42, 7]
