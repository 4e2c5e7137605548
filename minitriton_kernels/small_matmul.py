"""Matrix product of small tiles by fused multiply-adds in f32 (`ieee`), so no tensor core takes part."""

import triton
import triton.language as tl


@triton.jit
def small_matmul(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], dtype=tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(
            a_ptr + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0
        )
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))
