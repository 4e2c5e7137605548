"""Cross entropy of each row of logits with its label, in one walk over the row: the sum is rescaled when the maximum grows."""

import triton
import triton.language as tl


@triton.jit
def cross_entropy(logits_ptr, label_ptr, loss_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.full([BLOCK], -float("inf"), dtype=tl.float32)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + row * n_cols + columns, mask=columns < n_cols, other=-1.0e30).to(tl.float32)
        larger = tl.maximum(best, x)
        total = total * tl.exp(best - larger) + tl.exp(x - larger)
        best = larger
    highest = tl.max(best, axis=0)
    log_sum = highest + tl.log(tl.sum(total * tl.exp(best - highest), axis=0))
    chosen = tl.load(logits_ptr + row * n_cols + tl.load(label_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, log_sum - chosen)
