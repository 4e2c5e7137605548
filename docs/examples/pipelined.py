"""The loops of docs/pipelining.md: a matmul and attention, with operands by tensor copies."""

import triton
import triton.language as tl


@triton.jit
def matmul(a_desc, b_desc, c_ptr, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        a = a_desc.load([0, start])
        b = b_desc.load([start, 0])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@triton.jit
def attention(q_desc, k_desc, v_desc, o_ptr, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    top, total, out = tl.full((M,), -1e6, tl.float32), tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    q = q_desc.load([0, 0])
    for start in range(0, length, N):
        k = k_desc.load([start, 0])
        scores = tl.dot(q, k.T)
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(top - higher)
        total = total * fade + tl.sum(p, 1)
        v = v_desc.load([start, 0])
        out = tl.dot(p.to(tl.float16), v, out * fade[:, None])
        top = higher
    tl.store(o_ptr + tl.arange(0, M)[:, None] * D + tl.arange(0, D)[None, :], out / total[:, None])
