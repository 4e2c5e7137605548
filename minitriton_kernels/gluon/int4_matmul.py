"""A matmul with weights of 4 bits, which threads unpack into registers: `wgmma` takes its left operand from there (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/int4_matmul.py

The transposed matmul is computed, c.T = w @ x.T: the weights are the left operand. `pack` arranges them once on the host: a thread finds the 32
weights that the MMA wants of it, of one row and 128 steps of K, in 16 bytes next to each other. Two bytes become two numbers of float16
without a conversion: 0x6400 | v is 1024 + v. The weights of the next step are read while the dots of this one are in flight,
and one warp group unpacks while the other's dots are.
"""

import numpy as np
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

STEP = 128
"""Elements along K of a step; they share a scale of each row."""
ROWS = 64
"""Of a warp group."""
UNPACK = gl.constexpr("""
{
    .reg .b32 low, high;
    prmt.b32 low, $4, 0, 0x4140;
    prmt.b32 high, $4, 0, 0x4342;
    lop3.b32 $0, low, 0x000f000f, 0x64006400, 0xea;
    lop3.b32 $1, high, 0x000f000f, 0x64006400, 0xea;
    lop3.b32 $2, low, 0x00f000f0, 0x64006400, 0xea;
    lop3.b32 $3, high, 0x00f000f0, 0x64006400, 0xea;
}
""")
"""Four bytes as eight numbers of float16: the low halves v as 1024 + v, the high ones as 1024 + 16 * v."""


@gluon.jit
def produce(w, x, k, row, token, w_buffers, x_buffers, full, empty):
    """Loads the weights of both halves, and the tokens."""
    STAGES: gl.constexpr = x_buffers.shape[0]
    STEP: gl.constexpr = x.block_type.shape[1]
    for step in range(k // STEP):
        stage = step % STAGES
        mbarrier.wait(empty.index(stage), step // STAGES & 1 ^ 1)
        bar = full.index(stage)
        mbarrier.expect(bar, 2 * w.block_type.nbytes + x.block_type.nbytes)
        for half in gl.static_range(2):
            at = [row + half * w.block_type.shape[0], step * (STEP // 2)]
            tma.async_copy_global_to_shared(w, at, bar, w_buffers.index(2 * stage + half))
        tma.async_copy_global_to_shared(x, [token, step * STEP], bar, x_buffers.index(stage))


@gluon.jit
def unpacked(w, scale):
    """Both halves of each byte of a tile, as operands of an MMA: integers from -8 to 7, times the scale of their row."""
    low, high = gl.inline_asm_elementwise(
        UNPACK, "=r,=r,=r,=r,r", [w], dtype=(gl.float16, gl.float16), is_pure=True, pack=4
    )
    factor = scale[:, None]
    return (low - 1032) * factor, (high * 0.0625 - 72) * factor


@gluon.jit
def consume(scales, c, n, m, k, row, token, w_buffers, x_buffers, full, empty, half):
    """Multiplies half of the rows of weights with the tokens."""
    STAGES: gl.constexpr = x_buffers.shape[0]
    ROWS: gl.constexpr = w_buffers.shape[1]
    TOKENS: gl.constexpr = x_buffers.shape[1]
    STEP: gl.constexpr = x_buffers.shape[2]
    BYTES: gl.constexpr = STEP // 2
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, TOKENS, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, layout, 2)
    of_bytes: gl.constexpr = gl.DistributedLinearLayout(
        [[0, 1], [0, 2], [0, 4], [0, 8], [8, 0]],
        [[0, 16], [0, 32], [1, 0], [2, 0], [4, 0]],
        [[16, 0], [32, 0]],
        [],
        [ROWS, BYTES],
    )
    rows = row + half * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, of_bytes))
    acc = gl.zeros([ROWS, TOKENS], gl.float32, layout)
    steps = k // STEP
    mbarrier.wait(full.index(0), 0)
    packed, scale = w_buffers.index(half).load(of_bytes), gl.load(scales + rows)
    for step in range(steps):
        stage, after = step % STAGES, gl.minimum(step + 1, steps - 1)
        low, high = unpacked(packed, scale)
        # The bytes of thread t of 4 are 16 next to each other; the MMA counts them as columns 2t, 2t+1, 2t+8, 2t+9, ...
        low = low.reshape(ROWS, 4, BYTES // 8, 2).permute(0, 2, 1, 3).reshape(ROWS, BYTES)
        high = high.reshape(ROWS, 4, BYTES // 8, 2).permute(0, 2, 1, 3).reshape(ROWS, BYTES)
        tokens = x_buffers.index(stage).permute([1, 0])
        dot = warpgroup_mma(gl.convert_layout(low, operand), tokens.slice(0, BYTES), acc, is_async=True)
        dot = warpgroup_mma(gl.convert_layout(high, operand), tokens.slice(BYTES, BYTES), dot, is_async=True)
        mbarrier.wait(full.index(after % STAGES), after // STAGES & 1, pred=after > step)
        packed = w_buffers.index(2 * (after % STAGES) + half).load(of_bytes)
        scale = gl.load(scales + after * n + rows)
        acc = warpgroup_mma_wait(0, deps=[dot])
        mbarrier.arrive(empty.index(stage))
    stored: gl.constexpr = gl.BlockedLayout([8, 1], [8, 4], [1, 4], [0, 1])
    i = row + half * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, stored))[:, None]
    j = token + gl.arange(0, TOKENS, gl.SliceLayout(0, stored))[None, :]
    gl.store(c + j * n + i, gl.convert_layout(acc.to(c.dtype.element_ty), stored), mask=(i < n) & (j < m))


@gluon.jit
def matmul_tile(w, scales, x, c, n, m, k, STAGES: gl.constexpr):
    """A tile of c = x @ w.T."""
    ROWS: gl.constexpr = w.block_type.shape[0]
    TOKENS: gl.constexpr = x.block_type.shape[0]
    STEP: gl.constexpr = x.block_type.shape[1]
    row, token = gl.program_id(0) * 2 * ROWS, gl.program_id(1) * TOKENS
    w_buffers = gl.allocate_shared_memory(w.dtype, [2 * STAGES, ROWS, STEP // 2], w.layout)
    x_buffers = gl.allocate_shared_memory(x.dtype, [STAGES, TOKENS, STEP], x.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for i in gl.static_range(STAGES):
        mbarrier.init(full.index(i), count=1)
        mbarrier.init(empty.index(i), count=2)
    first = (scales, c, n, m, k, row, token, w_buffers, x_buffers, full, empty, 0)
    second = (scales, c, n, m, k, row, token, w_buffers, x_buffers, full, empty, 1)
    loads = (w, x, k, row, token, w_buffers, x_buffers, full, empty)
    gl.warp_specialize([(consume, first), (consume, second), (produce, loads)], [4, 1], [240, 24])


def pack(weights):
    """Integers from -8 to 7, n x k, as n x k/2 bytes in the order that the kernel reads."""
    n, k = weights.shape
    low, high = np.moveaxis((weights + 8).astype(np.uint8).reshape(n, k // STEP, 2, STEP // 2), 2, 0)
    return np.ascontiguousarray(
        (low | high << 4).reshape(n, k // STEP, STEP // 16, 4, 2).swapaxes(2, 3).reshape(n, k // 2)
    )


def described(x, block, dtype):
    """`x`, a matrix, by blocks."""
    return TensorDescriptor.from_tensor(x, block, gl.NVMMASharedLayout.get_default_for(block, dtype))


def matmul(x, w, scales, c, tokens=64, stages=4):
    """`c` becomes `x @ w.T`: `x` m x k of float16, `w` by `pack` of n x k integers, `scales` k/128 x n of float16, `c` m x n of float16.

    n is a multiple of 128, k of 128. NumPy arrays or tensors.
    """
    (m, k), n = x.shape, w.shape[0]
    blocks = described(w, [ROWS, STEP // 2], gl.uint8), scales, described(x, [tokens, STEP], gl.float16)
    grid = (n // (2 * ROWS), triton.cdiv(m, tokens))
    return matmul_tile[grid](*blocks, c, n, m, k, stages, num_warps=4, maxnreg=168)


def main():
    rng = np.random.default_rng(0)
    m, n, k = 40, 128, 256
    weights = rng.integers(-8, 8, (n, k))
    x, scales = rng.standard_normal((m, k)).astype(np.float16), (rng.random((k // STEP, n)) / 8).astype(np.float16)
    c = np.zeros((m, n), np.float16)
    matmul(x, pack(weights), scales, c, stages=2)
    np.testing.assert_allclose(c, expected(x, weights, scales), rtol=1e-2, atol=2e-2)
    print("the matmul agrees with NumPy's")


def expected(x, weights, scales):
    """The same in float32 by NumPy, of the integers."""
    return x.astype(np.float32) @ (weights * np.repeat(scales.astype(np.float32).T, STEP, 1)).T


if __name__ == "__main__":
    main()
