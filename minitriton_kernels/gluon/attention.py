"""Attention for Hopper: a producer warp that loads, and two warp groups that each work on 64 rows of queries (sm_90).

    python -m minitriton.run_as_triton minitriton_kernels/gluon/attention.py

producer          the queries; then for each block of keys, from the last one on: keys and values, each into a ring of two buffers
consumer 0, 1     for each block: start Q @ K of this block and P @ V of the block before; the softmax of this block runs while
                  P @ V is in flight; then rescale the output

The two warp groups take turns in starting their MMAs (`turns`): while one computes its softmax, the tensor cores work for the other.
Scores stay in registers: P is the left operand of `wgmma` as it is. The scale is folded into `exp2`, as one FMA. Row sums are kept
apart for each lane, and added at the end. With a causal mask the programs with the most keys start first.
"""

import numpy as np
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

LOG2_E = 1.4426950408889634
CACHED = 4 << 20
"""Keys, as elements, that are read by programs at the same time: with the values 16 MB of the 50 MB of L2."""


@gluon.jit
def work_of(length, heads, ROWS: gl.constexpr, KEYS: gl.constexpr, CAUSAL: gl.constexpr, GROUP: gl.constexpr):
    """The first row of this program's head, its first row in it, and how many blocks of keys those rows see.

    GROUP heads at a time, whose keys and values stay in the L2 cache; of these the rows with the most keys first.
    """
    blocks = length // ROWS
    first = gl.program_id(0) // (GROUP * blocks) * GROUP
    inside = gl.program_id(0) % (GROUP * blocks)
    together = gl.minimum(heads - first, GROUP)
    head, block = first + inside % together, inside // together
    seen = length // KEYS
    if CAUSAL:
        block = blocks - 1 - block
        seen = (block + 1) * ROWS // KEYS
    return head * length, block * ROWS, seen


@gluon.jit
def produce(q, k, v, length, heads, buffers, bars, CAUSAL: gl.constexpr, GROUP: gl.constexpr):
    """Loads all that this program reads."""
    q_buffers, k_buffers, v_buffers = buffers
    q_full, k_full, k_empty, v_full, v_empty, _ = bars
    HALF: gl.constexpr = q.block_type.shape[0]
    KEYS: gl.constexpr = k.block_type.shape[0]
    STAGES: gl.constexpr = k_buffers.shape[0]
    origin, row, blocks = work_of(length, heads, 2 * HALF, KEYS, CAUSAL, GROUP)
    mbarrier.expect(q_full, 2 * q.block_type.nbytes)
    for i in gl.static_range(2):
        tma.async_copy_global_to_shared(q, [origin + row + i * HALF, 0], q_full, q_buffers.index(i))
    for step in range(blocks):
        stage, phase = step % STAGES, step // STAGES & 1 ^ 1
        first = origin + (blocks - 1 - step) * KEYS
        mbarrier.wait(k_empty.index(stage), phase)
        mbarrier.expect(k_full.index(stage), k.block_type.nbytes)
        tma.async_copy_global_to_shared(k, [first, 0], k_full.index(stage), k_buffers.index(stage))
        mbarrier.wait(v_empty.index(stage), phase)
        mbarrier.expect(v_full.index(stage), v.block_type.nbytes)
        tma.async_copy_global_to_shared(v, [first, 0], v_full.index(stage), v_buffers.index(stage))


@gluon.jit
def start_scores(q, k, layout: gl.constexpr):
    """Starts the MMA of the scores of a block of keys."""
    ROWS: gl.constexpr = q.shape[0]
    KEYS: gl.constexpr = k.shape[0]
    none = gl.zeros([ROWS, KEYS], gl.float32, layout)
    return warpgroup_mma(q, k.permute([1, 0]), none, use_acc=False, is_async=True)


@gluon.jit
def lane_sums(p):
    """Sums of each row, over the elements of each lane only."""
    return gl.sum(p.reshape(p.shape[0], p.shape[1] // 8, 8), 1)


@gluon.jit
def consume(q, k, v, o, length, heads, scale, buffers, bars, half, CAUSAL: gl.constexpr, GROUP: gl.constexpr):
    """The attention of half of the rows."""
    q_buffers, k_buffers, v_buffers = buffers
    q_full, k_full, k_empty, v_full, v_empty, turns = bars
    HALF: gl.constexpr = q.block_type.shape[0]
    WIDTH: gl.constexpr = q.block_type.shape[1]
    KEYS: gl.constexpr = k.block_type.shape[0]
    STAGES: gl.constexpr = k_buffers.shape[0]
    of_scores: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, KEYS, 16])
    of_output: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    of_weights: gl.constexpr = gl.DotOperandLayout(0, of_output, 2)
    of_rows: gl.constexpr = gl.SliceLayout(1, of_output)
    origin, row, blocks = work_of(length, heads, 2 * HALF, KEYS, CAUSAL, GROUP)
    row += half * HALF
    queries = q_buffers.index(half)

    mbarrier.wait(q_full, 0)
    mbarrier.wait(k_full.index(0), 0)
    s = warpgroup_mma_wait(0, deps=[start_scores(queries, k_buffers.index(0), of_scores)])
    mbarrier.arrive(k_empty.index(0))
    if CAUSAL:
        i = row + gl.arange(0, HALF, gl.SliceLayout(1, of_scores))
        j = (blocks - 1) * KEYS + gl.arange(0, KEYS, gl.SliceLayout(0, of_scores))
        s = gl.where(i[:, None] >= j[None, :], s, float("-inf"))
    highest = gl.max(s, 1)
    p = gl.exp2(s * scale - (highest * scale)[:, None])
    sums = lane_sums(p)
    weights = gl.convert_layout(p.to(q.dtype), of_weights)
    acc = gl.zeros([HALF, WIDTH], gl.float32, of_output)

    mbarrier.wait(k_full.index(1 % STAGES), 1 // STAGES & 1, pred=blocks > 1)
    for step in range(1, blocks):
        stage = step % STAGES
        before, phase_before = (step - 1) % STAGES, (step - 1) // STAGES & 1
        mbarrier.wait(turns.index(half), step & 1 ^ half)
        scores = start_scores(queries, k_buffers.index(stage), of_scores)
        mbarrier.wait(v_full.index(before), phase_before)
        acc = warpgroup_mma(weights, v_buffers.index(before), acc, is_async=True)
        mbarrier.arrive(turns.index(1 - half))
        s = warpgroup_mma_wait(1, deps=[scores])
        mbarrier.arrive(k_empty.index(stage))
        higher = gl.maximum(highest, gl.max(s, 1))
        p = gl.exp2(s * scale - (higher * scale)[:, None])
        factor = gl.exp2((highest - higher) * scale)
        highest = higher
        sums = sums * gl.convert_layout(factor, gl.SliceLayout(1, sums.type.layout))[:, None] + lane_sums(p)
        # Here, as a branch: ptxas moves the wait for P @ V before the softmax if no branch is between them.
        after = step + 1
        mbarrier.wait(k_full.index(after % STAGES), after // STAGES & 1, pred=after < blocks)
        acc = warpgroup_mma_wait(0, deps=[acc])
        mbarrier.arrive(v_empty.index(before))
        weights = gl.convert_layout(p.to(q.dtype), of_weights)
        acc = acc * gl.convert_layout(factor, of_rows)[:, None]

    last = (blocks - 1) % STAGES
    mbarrier.wait(v_full.index(last), (blocks - 1) // STAGES & 1)
    acc = warpgroup_mma_wait(0, deps=[warpgroup_mma(weights, v_buffers.index(last), acc, is_async=True)])
    acc = acc / gl.convert_layout(gl.sum(sums, 1), of_rows)[:, None]
    queries.store(acc.to(o.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o, [origin + row, 0], queries)
    tma.store_wait(0)


@gluon.jit
def attention_rows(
    q, k, v, o, length, heads, scale, STAGES: gl.constexpr, CAUSAL: gl.constexpr, GROUP: gl.constexpr
):  # fmt: skip
    """The attention of a block of rows of one head. `scale` is that of the scores, times log2(e)."""
    HALF: gl.constexpr = q.block_type.shape[0]
    WIDTH: gl.constexpr = q.block_type.shape[1]
    KEYS: gl.constexpr = k.block_type.shape[0]
    gl.static_assert(KEYS == 2 * HALF or not CAUSAL, "the mask cuts one block of keys only")
    q_buffers = gl.allocate_shared_memory(q.dtype, [2, HALF, WIDTH], q.layout)
    k_buffers = gl.allocate_shared_memory(k.dtype, [STAGES, KEYS, WIDTH], k.layout)
    v_buffers = gl.allocate_shared_memory(v.dtype, [STAGES, KEYS, WIDTH], v.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    k_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    k_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    v_empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    turns = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(q_full, count=1)
    for i in gl.static_range(STAGES):
        mbarrier.init(k_full.index(i), count=1)
        mbarrier.init(v_full.index(i), count=1)
        mbarrier.init(k_empty.index(i), count=2)
        mbarrier.init(v_empty.index(i), count=2)
    for i in gl.static_range(2):
        mbarrier.init(turns.index(i), count=1)
    buffers = (q_buffers, k_buffers, v_buffers)
    bars = (q_full, k_full, k_empty, v_full, v_empty, turns)
    first = (q, k, v, o, length, heads, scale, buffers, bars, 0, CAUSAL, GROUP)
    second = (q, k, v, o, length, heads, scale, buffers, bars, 1, CAUSAL, GROUP)
    loads = (q, k, v, length, heads, buffers, bars, CAUSAL, GROUP)
    gl.warp_specialize([(consume, first), (consume, second), (produce, loads)], [4, 1], [240, 24])


def attention(q, k, v, o, causal=False, scale=None, keys=128, stages=2):
    """`o` becomes softmax(scale * q @ k.T) @ v for each head: float16 of shape (..., length, width), contiguous.

    NumPy arrays or tensors; `length` is a multiple of 128 and `width` 64, 128 or 256. `scale` is 1 / sqrt(width) if not given.
    """
    *outer, length, width = q.shape
    heads = 1
    for size in outer:
        heads *= size
    scale = width**-0.5 if scale is None else scale
    blocks = []
    for x, rows in ((q, 64), (k, keys), (v, keys), (o, 64)):
        layout = gl.NVMMASharedLayout.get_default_for([rows, width], gl.float16)
        blocks.append(TensorDescriptor.from_tensor(x.reshape(heads * length, width), [rows, width], layout))
    group = max(1, CACHED // (length * width)) if causal else 1
    options = {"num_warps": 4, "maxnreg": 168}
    return attention_rows[(length // 128 * heads,)](
        *blocks, length, heads, scale * LOG2_E, stages, causal, group, **options
    )


def expected(q, k, v, causal):
    """The same in float32 by NumPy."""
    s = q.astype(np.float32) @ k.astype(np.float32).swapaxes(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True) @ v.astype(np.float32)


def main():
    rng = np.random.default_rng(0)
    for causal in (False, True):
        q, k, v = (rng.standard_normal((1, 2, 256, 64)).astype(np.float16) for _ in range(3))
        o = np.zeros_like(q)
        attention(q, k, v, o, causal)
        np.testing.assert_allclose(o, expected(q, k, v, causal), rtol=1e-2, atol=2e-3)
    print("the attention agrees with NumPy's")


if __name__ == "__main__":
    main()
