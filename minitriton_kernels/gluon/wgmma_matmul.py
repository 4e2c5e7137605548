"""A matmul by warp-group MMAs: operands in shared memory, loaded by TMA into a ring of stages, MMAs and loads in flight at once (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/wgmma_matmul.py

The accumulator stays in registers. One MMA is in flight while the next is issued: `warpgroup_mma_wait(1)` says that the one before is
done, so its stage may be filled again.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def start_load(a, b, buffers, ready, row, column, step, steps, STAGES: gl.constexpr):
    """Starts the loads of step number `step` along K, if there is one."""
    BK: gl.constexpr = a.block_type.shape[1]
    stage, bar = step % STAGES, ready.index(step % STAGES)
    mbarrier.expect(bar, a.block_type.nbytes + b.block_type.nbytes, pred=step < steps)
    tma.async_copy_global_to_shared(a, [row, step * BK], bar, buffers[0].index(stage), pred=step < steps)
    tma.async_copy_global_to_shared(b, [step * BK, column], bar, buffers[1].index(stage), pred=step < steps)


@gluon.jit
def matmul_tile(a, b, c, k, STAGES: gl.constexpr, num_warps: gl.constexpr):
    """A tile of c = a @ b."""
    BM: gl.constexpr = a.block_type.shape[0]
    BK: gl.constexpr = a.block_type.shape[1]
    BN: gl.constexpr = b.block_type.shape[1]
    gl.static_assert(STAGES > 2, "one stage is read by the MMA in flight, one by the next MMA")
    buffers = (
        gl.allocate_shared_memory(a.dtype, [STAGES, BM, BK], a.layout),
        gl.allocate_shared_memory(b.dtype, [STAGES, BK, BN], b.layout),
    )
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    row, column, steps = gl.program_id(0) * BM, gl.program_id(1) * BN, gl.cdiv(k, BK)
    for step in gl.static_range(STAGES - 2):
        start_load(a, b, buffers, ready, row, column, step, steps, STAGES)

    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [num_warps, 1], [16, BN, 16])
    acc = gl.zeros([BM, BN], gl.float32, layout)
    for step in range(steps):
        start_load(a, b, buffers, ready, row, column, step + STAGES - 2, steps, STAGES)
        stage = step % STAGES
        mbarrier.wait(ready.index(stage), step // STAGES & 1)
        acc = warpgroup_mma(buffers[0].index(stage), buffers[1].index(stage), acc, is_async=True)
        acc = warpgroup_mma_wait(1, deps=[acc])
    acc = warpgroup_mma_wait(0, deps=[acc])

    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))
    out = gl.allocate_shared_memory(c.dtype, [BM, BN], c.layout)
    out.store(acc.to(c.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(c, [row, column], out)
    tma.store_wait(0)


def described(x, block):
    """`x`, a matrix of float16, by blocks."""
    return TensorDescriptor.from_tensor(x, block, gl.NVMMASharedLayout.get_default_for(block, gl.float16))


def matmul(a, b, c, bm=128, bn=128, bk=64, stages=4, warps=4):
    """`c` becomes `a @ b`, matrices of float16: NumPy arrays or tensors, of any size whose rows are multiples of 8."""
    grid = (triton.cdiv(a.shape[0], bm), triton.cdiv(b.shape[1], bn))
    described_all = described(a, [bm, bk]), described(b, [bk, bn]), described(c, [bm, bn])
    return matmul_tile[grid](*described_all, a.shape[1], stages, num_warps=warps)


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((100, 200), (200, 136)))
    c = np.zeros((100, 136), np.float16)
    matmul(a, b, c, bm=64, bn=64, bk=32, stages=4)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=1e-2)
    print("the matmul agrees with NumPy's")


if __name__ == "__main__":
    main()
