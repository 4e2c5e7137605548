"""`minitriton-share-tensor-copies`: the boxes of a tensor copy are started by as many warps, and arrive whole."""

import numpy as np
import pytest

from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor

COPY = "cp.async.bulk.tensor.2d.shared"


@gluon.jit
def copied(source, out):
    ROWS: gl.constexpr = source.block_type.shape[0]
    WIDTH: gl.constexpr = source.block_type.shape[1]
    buffer = gl.allocate_shared_memory(gl.float16, [ROWS, WIDTH], source.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, source.block_type.nbytes)
    tma.async_copy_global_to_shared(source, [8, 0], bar, buffer)
    mbarrier.wait(bar, 0)
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [gl.num_warps(), 1], [1, 0])
    i = gl.arange(0, ROWS, gl.SliceLayout(1, layout))[:, None]
    j = gl.arange(0, WIDTH, gl.SliceLayout(0, layout))[None, :]
    gl.store(out + i * WIDTH + j, buffer.load(layout))


@pytest.mark.parametrize(("width", "warps"), [(64, 4), (128, 4), (256, 4), (256, 2), (256, 8)])
def test_each_warp_starts_its_boxes(width: int, warps: int) -> None:
    x = np.arange(32 * width, dtype=np.float16).reshape(32, width)
    out = np.zeros((16, width), np.float16)
    layout = gl.NVMMASharedLayout.get_default_for([16, width], gl.float16)
    descriptor = TensorDescriptor.from_tensor(x, [16, width], layout)
    kernels = [
        copied.warmup(descriptor, out, grid=(1,), num_warps=warps, without=without)
        for without in ((), ("minitriton-share-tensor-copies",))
    ]
    copied[(1,)](descriptor, out, num_warps=warps)
    np.testing.assert_array_equal(out, x[8:24])
    boxes = width // 64
    together = min(warps, boxes & -boxes)
    assert [kernel.asm["ptx"].count(COPY) for kernel in kernels] == [boxes // together, boxes]
