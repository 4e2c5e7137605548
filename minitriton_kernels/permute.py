"""The axes of `x[a, b, c]` in another order: by tiles, and by arithmetic on one flat offset."""

import triton
import triton.language as tl


@triton.jit
def permute_cab(x_ptr, out_ptr, n_a, n_b, n_c, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """out[c, a, b] = x[a, b, c]"""
    a = tl.program_id(0) * A + tl.arange(0, A)[:, None, None]
    b = tl.program_id(1) * B + tl.arange(0, B)[None, :, None]
    c = tl.program_id(2) * C + tl.arange(0, C)[None, None, :]
    mask = (a < n_a) & (b < n_b) & (c < n_c)
    x = tl.load(x_ptr + (a * n_b + b) * n_c + c, mask=mask)
    at = tl.permute((c * n_a + a) * n_b + b, (2, 0, 1))
    tl.store(out_ptr + at, tl.permute(x, (2, 0, 1)), mask=tl.permute(mask, (2, 0, 1)))


@triton.jit
def permute_bac(x_ptr, out_ptr, n_a, n_b, N_C: tl.constexpr, BLOCK: tl.constexpr):
    """out[b, a, c] = x[a, b, c], one element of the result after another"""
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c, pair = flat % N_C, flat // N_C
    a, b = pair % n_a, pair // n_a
    mask = b < n_b
    tl.store(out_ptr + flat, tl.load(x_ptr + (a * n_b + b) * N_C + c, mask=mask), mask=mask)
