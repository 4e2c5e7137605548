"""A copy by the tensor memory accelerator: no thread holds an element, an mbarrier says when a block is there (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/tma_copy.py

A ring of STAGES buffers. The load of a block announces its bytes to the mbarrier of its buffer; the phase of the mbarrier completes when
they have arrived. A store reads its buffer after the launch of the copy: `store_wait` says when the buffer may be filled again.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def start_load(source, buffers, ready, row, block, STAGES: gl.constexpr, blocks):
    """Starts the load of block number `block` of a row of blocks, if there is one, to its buffer of the ring."""
    COLUMNS: gl.constexpr = source.block_type.shape[1]
    bar = ready.index(block % STAGES)
    mbarrier.expect(bar, source.block_type.nbytes, pred=block < blocks)
    tma.async_copy_global_to_shared(
        source, [row, block * COLUMNS], bar, buffers.index(block % STAGES), pred=block < blocks
    )


@gluon.jit
def copy_blocks(source, target, columns, STAGES: gl.constexpr):
    """Copies a row of blocks, STAGES - 1 loads ahead of the stores."""
    ROWS: gl.constexpr = source.block_type.shape[0]
    COLUMNS: gl.constexpr = source.block_type.shape[1]
    buffers = gl.allocate_shared_memory(source.dtype, [STAGES, ROWS, COLUMNS], source.layout)
    ready = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(ready.index(i), count=1)
    row = gl.program_id(0) * ROWS
    blocks = gl.cdiv(columns, COLUMNS)
    for block in gl.static_range(STAGES - 1):
        start_load(source, buffers, ready, row, block, STAGES, blocks)
    for block in range(blocks):
        mbarrier.wait(ready.index(block % STAGES), block // STAGES & 1)
        tma.async_copy_shared_to_global(target, [row, block * COLUMNS], buffers.index(block % STAGES))
        tma.store_wait(1)  # the store before this one has read its buffer: that is the one to fill next
        start_load(source, buffers, ready, row, block + STAGES - 1, STAGES, blocks)
    tma.store_wait(0)
    for i in gl.static_range(STAGES):
        mbarrier.invalidate(ready.index(i))


def copy(x, out, rows=64, columns=64, stages=4):
    """`out` becomes `x`, two matrices of float16: NumPy arrays or tensors. Blocks may lie over the edges."""
    block = [rows, columns]
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    source, target = (TensorDescriptor.from_tensor(each, block, layout) for each in (x, out))
    return copy_blocks[(triton.cdiv(x.shape[0], rows),)](source, target, x.shape[1], stages, num_warps=1)


def main():
    x = np.random.default_rng(0).standard_normal((100, 520)).astype(np.float16)
    out = np.zeros_like(x)
    kernel = copy(x, out)
    np.testing.assert_array_equal(out, x)
    print(f"copied {x.nbytes} bytes; {kernel.asm['ptx'].count('cp.async.bulk.tensor')} copies of blocks in the PTX")


if __name__ == "__main__":
    main()
