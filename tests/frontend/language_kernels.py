"""Small kernels, each about one feature of the language. Loaded once with `triton` meaning minitriton and once Triton."""

# ruff: noqa: B007 (kernels are written to be compiled, not to be run)

import triton
import triton.language as tl
from triton.language.extra import libdevice

LIMIT = tl.constexpr(7)


@triton.jit
def integer_arithmetic(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    z = (x + y) * 3 - x // 5 + y % 7 - (x << 2) + (y >> 1)
    z = (z & 15) | (x ^ y)
    z = ~z + -y
    tl.store(out_ptr + i, z + n)


@triton.jit
def operators_by_name(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr.__add__(i), mask=i.__lt__(n))
    y = tl.load(y_ptr + i, mask=i.__ne__(3).__and__(i.__rgt__(1)))
    z = x.__lshift__(4).to(tl.int8).__rshift__(y).__rsub__(7).__neg__()
    tl.store(out_ptr + i, z.__xor__(y).__rmul__(3).__invert__().__mod__(n))


@triton.jit
def float_arithmetic(x_ptr, y_ptr, out_ptr, s, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    z = x * 2 + y / 3.5 - 1.0 / x
    z = z % 2.5 + s * -x
    tl.store(out_ptr + i, z)


@triton.jit
def scalars_promote(x_ptr, i_ptr, out_ptr, a, b, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    k = tl.load(i_ptr + i)
    tl.store(out_ptr + i, x * 0.5 + k * a + b + (k / 2) * x)


@triton.jit
def comparisons(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    m = (x < y) & (x != 3) | (y >= x) & (x == y) | (x <= 2) ^ (y > 1)
    tl.store(out_ptr + i, tl.where(m, x, y), mask=(i < n) & m)


@triton.jit
def casts(x_ptr, out_ptr, T: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(T).to(tl.float32))


@triton.jit
def bitcasts(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    bits = x.to(tl.int32, bitcast=True)
    tl.store(out_ptr + i, (bits & 0x7FFFFFFF).to(tl.float32, bitcast=True))


@triton.jit
def rounding(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x.to(tl.float16, fp_downcast_rounding="rtz") + x.to(tl.float8e5).to(tl.float16))


@triton.jit
def pointer_casts(x_ptr, n, out_ptr):
    p = n.to(tl.pointer_type(tl.float32))
    tl.store(out_ptr, tl.load(p) + x_ptr.to(tl.int64))
    q = x_ptr.to(tl.pointer_type(tl.int8), bitcast=True)
    tl.store(out_ptr + 1, tl.load(q))


@triton.jit
def load_modifiers(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x_ptr + i, mask=i < n, other=0, cache_modifier=".cg", eviction_policy="evict_first")
    b = tl.load(x_ptr + i, mask=i < n, cache_modifier=".ca", volatile=True)
    c = tl.load(x_ptr + i, eviction_policy="evict_last")
    tl.store(out_ptr + i, a + b + c, mask=i < n, cache_modifier=".wt", eviction_policy="evict_first")


@triton.jit
def booleans_in_memory(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = tl.load(x_ptr + i, mask=i > 3, other=True)
    tl.store(out_ptr + i, m & (i < 5))


@triton.jit
def scalar_memory(x_ptr, out_ptr, n):
    if n > 3:
        tl.store(out_ptr, tl.load(x_ptr + n, mask=n < 5, other=1.0))
    out_ptr.store(2.0)


@triton.jit
def indexing(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    cols = tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + cols[None, :])
    y = tl.expand_dims(rows, [0, 2]) + cols[None, None, :]
    tl.store(out_ptr + rows[:, None] * N + cols[None, :], x + tl.reshape(y, (M, N)).to(tl.float32))


@triton.jit
def shapes(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.trans(x).T + x.trans().permute(1, 0) + tl.permute(tl.trans(x, 1, 0), (1, 0))
    z = y.reshape(N, M).reshape([M, N], can_reorder=True) + tl.broadcast_to(x.sum(axis=1, keep_dims=True), [M, N])
    z += tl.ravel(x).reshape(M, N)
    tl.store(out_ptr + i, z)


@triton.jit
def join_and_split(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    j = tl.join(x, x * 2)
    a, b = tl.split(j)
    c = tl.interleave(a, b)
    d = tl.cat(a, b, can_reorder=True)
    p, q = tl.join(a.sum(0), b.sum(0)).split()
    tl.store(out_ptr + tl.arange(0, 2 * N), c + d + p + q)


@triton.jit
def creation(out_ptr, s, N: tl.constexpr):
    a = tl.zeros((N, N), tl.float32) + tl.full([N, N], 2, tl.float32) + tl.full([N, 1], s, tl.float32)
    b = tl.zeros_like(a) + tl.full((), 3.0, tl.float32)
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + i, a + b)


@triton.jit
def reductions(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    a = tl.sum(x, axis=0) + tl.max(x, 0) - tl.min(x, axis=0)
    b = tl.sum(x) + tl.max(x) + x.min()
    c = tl.argmax(x, 0) + tl.argmin(x, axis=0, tie_break_left=False)
    v, w = tl.max(x, axis=0, return_indices=True)
    d = tl.sum(x, axis=1, keep_dims=True) + tl.max(x, axis=1, keep_dims=True)
    tl.store(out_ptr + tl.arange(0, N), a + b + c + v + w)
    tl.store(out_ptr + i, d + tl.sum(x, axis=None, keep_dims=True))


@triton.jit
def integer_reductions(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    a = tl.sum(x, 0) + tl.max(x, 0) + tl.min(x, 0)
    b = tl.xor_sum(x, 0) | tl.reduce_or(x, 0)
    tl.store(out_ptr, a + b + tl.sum(x, 0, dtype=tl.int64))


@triton.jit
def weighted(a, b, c, d):
    return a + c, b * tl.where(a > c, 2.0, d)


@triton.jit
def custom_reduction(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    a, b = tl.reduce((tl.load(x_ptr + i), tl.load(y_ptr + i)), 1, weighted)
    tl.store(out_ptr + tl.arange(0, M), a + b)


@triton.jit
def linear(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scans(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    a = tl.cumsum(x, 0) + tl.cumprod(x, axis=1, reverse=True) + x.cumsum(1, reverse=True)
    b, c = tl.associative_scan((x, tl.load(y_ptr + i)), 0, linear)
    tl.store(out_ptr + i, a + b + c)


@triton.jit
def histogram_and_gather(x_ptr, y_ptr, out_ptr, N: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    h = tl.histogram(x, B) + tl.histogram(x, B, mask=x > 3)
    g = tl.gather(tl.load(y_ptr + i), x, 0)
    tl.store(out_ptr + tl.arange(0, B), h)
    tl.store(out_ptr + i, g)


@triton.jit
def elementary_functions(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.exp(x) + tl.exp2(x) + tl.log(x) + tl.log2(x) + tl.sin(x) + tl.cos(x) + tl.sqrt(x) + tl.rsqrt(x)
    y += tl.erf(x) + tl.floor(x) + tl.ceil(x) + tl.abs(x) + tl.sqrt_rn(x) + tl.math.div_rn(x, y) + tl.fdiv(x, y)
    y += tl.fma(x, y, 2.0) + tl.sigmoid(x) + x.exp() + tl.softmax(x) + tl.clamp(x, 0.0, 1.0)
    tl.store(out_ptr + i, y)


@triton.jit
def extremes(x_ptr, y_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    a = tl.maximum(x, y) + tl.minimum(x, 3) + tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)
    k = min(n, 5) + max(n, 2, 7) + min(3, N)
    tl.store(out_ptr + i, a + k)


@triton.jit
def integer_functions(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.abs(x) + tl.cdiv(n, 8) + tl.cdiv(N, 3) + tl.umulhi(x, x)
    tl.store(out_ptr + i, y)


@triton.jit
def dots(a_ptr, b_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + i[:, None] * K + k[None, :])
    b = tl.load(b_ptr + k[:, None] * N + j[None, :])
    c = tl.dot(a, b)
    c = tl.dot(a, b, c, input_precision="ieee")
    c += tl.dot(a, b, allow_tf32=False)
    tl.store(out_ptr + i[:, None] * N + j[None, :], c)


@triton.jit
def batched_dot(a_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, B)[:, None, None] * M * M + tl.arange(0, M)[None, :, None] * M + tl.arange(0, M)[None, None, :]
    a = tl.load(a_ptr + i)
    tl.store(out_ptr + i, tl.dot(a, tl.permute(a, (0, 2, 1)), out_dtype=tl.float32))


@triton.jit
def atomics(x_ptr, i_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(x_ptr + i, 1.0, mask=i < 5)
    old = tl.atomic_max(i_ptr + i, i)
    old += tl.atomic_min(i_ptr, 3, sem="relaxed", scope="cta")
    old += tl.atomic_and(i_ptr + i, 7, sem="acquire") + tl.atomic_or(i_ptr + i, 8) + tl.atomic_xor(i_ptr + i, 9)
    old += tl.atomic_xchg(i_ptr + i, i + 1, scope="sys")
    tl.store(out_ptr + i, old + tl.atomic_add(i_ptr, 2))


@triton.jit
def float_atomics(x_ptr, out_ptr, s, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.atomic_max(x_ptr + i, i.to(tl.float32))
    b = tl.atomic_min(x_ptr, s)
    tl.store(out_ptr + i, a + b)


@triton.jit
def spin_lock(lock_ptr, count_ptr, x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    partial = tl.load(x_ptr + i)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    count = tl.load(count_ptr)
    if count == 0:
        tl.atomic_xchg(count_ptr, 1)
    else:
        partial += tl.load(out_ptr + i)
    tl.store(out_ptr + i, partial)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def block_pointers(x_ptr, out_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_block_ptr(x_ptr, (m, n), (n, 1), (0, tl.program_id(0) * N), (M, N), (1, 0))
    dst = tl.make_block_ptr(out_ptr, [m, n], [n, 1], [0, 0], block_shape=[M, N], order=[1, 0])
    for _ in range(0, n, N):
        x = tl.load(src, boundary_check=(0, 1), padding_option="zero")
        tl.store(dst, x, boundary_check=(1,))
        src = tl.advance(src, (0, N))
        dst = dst.advance([0, N])


@triton.jit
def hints(x_ptr, out_ptr, n, N: tl.constexpr):
    tl.assume(n > 0)
    i = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * N + tl.arange(0, N), N), N)
    j = tl.max_constancy(i // 4, [4])
    tl.store(out_ptr + i, tl.load(x_ptr + i + j), mask=i < tl.multiple_of(n, 8))


@triton.jit
def hints_in_loops(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    pointers = x_ptr + i
    others = out_ptr + i
    acc = tl.zeros([N], tl.float32)
    for k in range(n):
        tl.multiple_of(pointers, [16])
        acc += tl.load(pointers) + tl.load(others)
        pointers += N
    tl.store(out_ptr + i, acc)


@triton.jit
def descriptors(x_ptr, out_ptr, m, n, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    dst = tl.make_tensor_descriptor(out_ptr, [m, n], [n, 1], [M, N], padding_option="nan")
    for j in range(0, n, N):
        x = src.load([0, j])
        dst.store([tl.program_id(0) * M, j], x * 2)
        dst.atomic_add([0, j], x)
        tl.store_tensor_descriptor(dst, [0, j], tl.load_tensor_descriptor(src, [j, 0]))


@triton.jit
def descriptor_rows(x_ptr, out_ptr, rows_ptr, n, N: tl.constexpr):
    src = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [1, N])
    rows = tl.load(rows_ptr + tl.arange(0, 16))
    src.scatter(src.gather(rows, n), rows, 0)


@triton.jit
def copy_block(src, dst, offset):
    tl.static_assert(isinstance(src, tl.tensor_descriptor))
    dst.store([offset, src.shape[1] - src.block_shape[1]], src.load([offset, 0]).to(dst.dtype))


@triton.jit
def descriptor_arguments(src, dst, n):
    copy_block(src, dst, n)


@triton.jit
def library_functions(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = libdevice.asin(x) + libdevice.pow(x, x) + libdevice.fma_rn(x, x, x)
    tl.store(out_ptr + i, y, mask=libdevice.isnan(x))


@triton.jit
def special_registers(out_ptr):
    tl.extra.cuda.gdc_wait()
    time = tl.extra.cuda.globaltimer() + tl.extra.cuda.smid() + tl.extra.cuda.num_warps() + tl.extra.cuda.num_threads()
    tl.store(out_ptr, time)
    tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def scaled_dots(a_ptr, b_ptr, s_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, 32)
    k = tl.arange(0, 64)
    a = tl.load(a_ptr + i[:, None] * 64 + k[None, :])
    b = tl.load(b_ptr + k[:, None] * 32 + i[None, :])
    pack: tl.constexpr = 2 if A == "e2m1" else 1
    scale = tl.load(s_ptr + i[:, None] * 2 * pack + tl.arange(0, 2 * pack)[None, :])
    if A == "e2m1":
        b = tl.join(b, b).permute(0, 2, 1).reshape(128, 32)
    c = tl.dot_scaled(a, scale, A, b, None, B)
    c = tl.dot_scaled(a, scale, A, b, scale, B, c, fast_math=True)
    tl.store(out_ptr + i[:, None] * 32 + i[None, :], c)


@triton.jit
def if_else(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = x
    if n > 5:
        x = x + 1
        z = x * 2
    elif n == 3:
        z = y
        x = x * 3
    else:
        z = x - y
    w = z if n > 7 else x
    if n < 2 and n > -2:
        w = w + z
    if n:
        w += 1.0
    tl.store(out_ptr + i, w + x + (3 if N > 4 else 4))


@triton.jit
def effects_in_a_ternary(x_ptr, out_ptr, n):
    tl.store(out_ptr, tl.load(x_ptr)) if n > 0 else tl.store(out_ptr, 1.0)


@triton.jit
def annotated_tuples(out_ptr, SIZES: tl.constexpr):
    own: tl.constexpr = (4, 8)
    tl.static_assert(own.type == tl.constexpr_type((4, 8)))
    tl.static_assert(own == SIZES)
    copy: tl.constexpr = SIZES
    first, second = own
    tl.store(out_ptr + tl.arange(0, copy[0])[:, None] * second + tl.arange(0, own[1])[None, :], first)


@triton.jit
def constexpr_branches(out_ptr, n, FLAG: tl.constexpr, N: tl.constexpr):
    if FLAG:
        x = tl.full([N], 1.0, tl.float32)
    else:
        x = tl.full([N], 2.0, tl.float16)
    if FLAG is None or (N == 8 and not FLAG):
        x = x + 1
    K: tl.constexpr = N * 2 if FLAG else N // 2
    if K > LIMIT:
        x = x + K
    tl.store(out_ptr + tl.arange(0, N), x)


@triton.jit
def for_loops(x_ptr, out_ptr, n, step, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.float32)
    count = 0
    unchanged = n + 1
    for k in range(n):
        acc += tl.load(x_ptr + i + k * N)
        if k > 3:
            count += 1
    for k in range(0, n, step):
        t = acc * 2
        acc = t + unchanged
    for k in range(10, 2, -3):
        acc -= k
    for a in range(2):
        for b in range(a, n):
            acc = acc * b + a
    tl.store(out_ptr + i, acc + count)


@triton.jit
def unused_assignments(x_ptr, out_ptr, n, FLAG: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    scale = 2.0
    acc = tl.zeros([N], tl.float32)
    for k in range(n):
        if FLAG:
            scale = scale + 1
        acc += tl.load(x_ptr + i + k) * scale
    while n > 3:
        if FLAG:
            scale = scale * 2
        n -= 1
        acc += scale
    tl.store(out_ptr + i, acc)


@triton.jit
def loop_hints(x_ptr, out_ptr, n, N: tl.constexpr):
    acc = tl.zeros([N], tl.float32)
    i = tl.arange(0, N)
    for k in tl.range(0, n, 2, num_stages=3, loop_unroll_factor=2, flatten=True, disallow_acc_multi_buffer=True):
        acc += tl.load(x_ptr + i + k)
    for k in tl.range(n, warp_specialize=True):
        acc += tl.load(x_ptr + i + k)
    for k in tl.range(n, disable_licm=True):
        acc += tl.load(x_ptr + i + k)
    while tl.condition(n > 3, disable_licm=True):
        n -= 1
        acc += n
    tl.store(out_ptr + i, acc)


@triton.jit
def static_loops(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.load(x_ptr + i)
    for k in tl.static_range(3):
        acc += k
        for j in tl.static_range(0, 6, 2):
            acc = acc * (j + k)
    for k in tl.static_range(4, 0, -2):
        acc += k
    tl.store(out_ptr + i, acc)


@triton.jit
def while_loops(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.float32)
    k = 0
    while k < n:
        acc += tl.load(x_ptr + i + k)
        k += 1
        j = n
        while j > k:
            j -= 2
            acc += j
    tl.store(out_ptr + i, acc)


@triton.jit
def early_return(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    if n == 0:
        return
    x = tl.load(x_ptr + i)
    if n > 5:
        x = x + 1
        if n > 9:
            tl.store(out_ptr, 1.0)
            return
    else:
        x = x * 2
    tl.store(out_ptr + i, x)


@triton.jit
def scaled(x, factor=2, OFFSET: tl.constexpr = 1):
    return x * factor + OFFSET


@triton.jit
def pair(x, y):
    return x + y, x - y


@triton.jit
def nothing(ptr):
    tl.store(ptr, 3.0)


@triton.jit
def sign(x):
    if x > 0:
        return 1
    else:
        return -1


@triton.jit
def pick(x, n):
    if n > 3:
        return x
    return x * 2


@triton.jit
def calls(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = scaled(x) + scaled(x, 3) + scaled(x, OFFSET=5) + scaled(factor=x, x=n)
    a, b = pair(x, y)
    c = pair(a, 2)
    nothing(out_ptr)
    tl.store(out_ptr + i, a + b + c[0] * c[1] + sign(n) + pick(n, n))


@triton.jit(noinline=True)
def not_inlined(ptr, n):
    tl.store(ptr, n * 2)
    return n + 1


@triton.jit
def calls_noinline(out_ptr, n):
    tl.store(out_ptr + 1, not_inlined(out_ptr, n) + not_inlined(out_ptr, 7))


@triton.jit
def apply(fn: tl.constexpr, x):
    return fn(x)


@triton.jit
def square(x):
    return x * x


@triton.jit
def functions_as_arguments(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, apply(square, tl.load(x_ptr + i)))


@triton.jit
def tuples(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    t = (tl.load(x_ptr + i), n, 3)
    a, (b, c) = t[0], (t[1], t[-1])
    values = [k * 2 for k in t[1:]]
    shape: tl.constexpr = t[0].shape[0]
    acc = (a, b)
    for k in range(n):
        acc = (acc[0] + k, acc[1] * 2)
    a, b = b, a
    tl.store(out_ptr + i, acc[0] + acc[1] + values[0] + values[1] + b + a + c + len(t) + shape)


@triton.jit
def random_numbers(out_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.rand(seed, i) + tl.randn(seed, i)
    b, c, d, e = tl.randint4x(seed, i)
    tl.store(out_ptr + i, a + b + c + d + e + tl.randint(seed, i, n_rounds=6))


@triton.jit
def sorting(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.sort(x) + tl.sort(x, descending=True) + tl.flip(x, 0))
    tl.store(out_ptr + tl.arange(0, 2), tl.topk(x, 2))


@triton.jit
def debugging(x_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.static_assert(N > 2, f"N is {N}")
    tl.device_assert(n > 3, "too small")
    assert n > 4, f"smaller than {N}"
    tl.device_print("x", x, n)
    print("n: ", n, hex=True)


@triton.jit
def swizzled(out_ptr, m, n):
    pid = tl.program_id(0)
    i, j = tl.swizzle2d(pid // n, pid % n, m, n, 4)
    tl.store(out_ptr + pid, i * n + j + tl.num_programs(1))


@triton.jit
def unsigned(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = x // 3 + x % 5 + (x >> 2) + tl.maximum(x, 4) + n
    k = x.to(tl.uint32)
    tl.store(out_ptr + k, y, mask=(x > 7) & (y < x))


@triton.jit
def inline_assembly(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("add.f32 $0, $1, $2;", "=f,f,f", [x, 1.0], dtype=tl.float32, is_pure=True, pack=1)
    (a, b) = tl.inline_asm_elementwise(
        "mov.b32 $0, $2; mov.b32 $1, $2;", "=r,=r,r", [i], dtype=(tl.int32, tl.int32), is_pure=False, pack=1
    )
    tl.store(out_ptr + i, y + a + b)


@triton.jit
def elementwise_map(x, y):
    if x > y:
        return x - y
    else:
        return y * 2


@triton.jit
def mapped(x_ptr, y_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.map_elementwise(elementwise_map, tl.load(x_ptr + i), tl.load(y_ptr + i)))


@triton.constexpr_function
def doubled(n):
    return n * 2


@triton.jit
def python_at_compile_time(out_ptr, N: tl.constexpr, T: tl.constexpr):
    M: tl.constexpr = doubled(N)
    x = tl.full([M], float("inf"), tl.float32)
    if tl.float16 == T:
        x = x + 1
    if T.is_floating() and isinstance(N, int):
        x = x * T.primitive_bitwidth
    tl.store(out_ptr + tl.arange(0, M), x + int(3.7) + (N**2 % 5))


KERNELS: dict[str, list[str]] = {
    "integer_arithmetic": ["*i32, *i32, *i32, i32, BLOCK=64", "*i16, *i64, *i64, i64, BLOCK=64", "*i8, *i32, *i8, i32, BLOCK=64"],
    "operators_by_name": ["*i32, *i32, *i32, i32, BLOCK=64", "*i16, *i64, *i64, i64, BLOCK=64", "*i8, *i32, *i8, i32, BLOCK=64"],
    "float_arithmetic": [
        "*fp32, *fp32, *fp32, fp32, BLOCK=64",
        "*fp16, *fp16, *fp16, fp32, BLOCK=64",
        "*bf16, *fp16, *bf16, fp64, BLOCK=64",
        "*fp64, *fp32, *fp64, fp32, BLOCK=64",
    ],
    "scalars_promote": ["*fp16, *i8, *fp32, i32, fp32, BLOCK=32", "*fp64, *i64, *fp64, i64, fp64, BLOCK=32"],
    "comparisons": ["*fp32, *fp32, *fp32, i32, BLOCK=32", "*i32, *i64, *i64, i32, BLOCK=32", "*fp16, *bf16, *fp32, i32, BLOCK=32", "*u32, *u32, *u32, i32, BLOCK=32"],
    "casts": [
        f"*{source}, *fp32, T=tl.{target}, BLOCK=32"
        for source, target in (
            ("fp32", "float16"), ("fp32", "bfloat16"), ("fp16", "bfloat16"), ("fp32", "float64"), ("fp32", "int32"),
            ("fp16", "uint8"), ("i32", "float16"), ("u32", "float32"), ("i8", "int64"), ("u8", "int32"),
            ("i64", "int8"), ("i32", "int1"), ("fp32", "int1"), ("fp32", "float8e5"), ("fp16", "float8e4nv"),
            ("fp8e5", "float32"), ("fp8e4nv", "float16"), ("i1", "float32"), ("i32", "uint64"), ("bf16", "int16"),
        )
    ],
    "bitcasts": ["*fp32, *fp32, BLOCK=32"],
    "rounding": ["*fp32, *fp16, BLOCK=32"],
    "pointer_casts": ["*fp32, i64, *fp32"],
    "load_modifiers": ["*fp32, *fp32, i32, BLOCK=32", "*fp16, *fp16, i32, BLOCK=32"],
    "booleans_in_memory": ["*i1, *i1, BLOCK=32"],
    "scalar_memory": ["*fp32, *fp32, i32"],
    "indexing": ["*fp32, *fp32, M=8, N=16"],
    "shapes": ["*fp32, *fp32, M=8, N=16"],
    "join_and_split": ["*fp32, *fp32, N=16"],
    "creation": ["*fp32, fp32, N=16", "*fp32, i32, N=16"],
    "reductions": ["*fp32, *fp32, M=8, N=16", "*fp16, *fp32, M=8, N=16", "*bf16, *fp32, M=8, N=16"],
    "integer_reductions": ["*i32, *i64, N=32", "*i8, *i64, N=32", "*i16, *i64, N=32", "*i64, *i64, N=32"],
    "custom_reduction": ["*fp32, *fp32, *fp32, M=8, N=16"],
    "scans": ["*fp32, *fp32, *fp32, M=8, N=16"],
    "histogram_and_gather": ["*i32, *fp32, *fp32, N=32, B=8"],
    "elementary_functions": ["*fp32, *fp32, N=32"],
    "extremes": ["*fp32, *fp32, *fp32, i32, N=32", "*bf16, *bf16, *fp32, i32, N=32", "*i32, *i64, *i64, i32, N=32"],
    "integer_functions": ["*i32, *i32, i32, N=32", "*u32, *u32, i32, N=32"],
    "dots": ["*fp16, *fp16, *fp32, M=16, N=32, K=64", "*fp32, *fp32, *fp32, M=16, N=32, K=64", "*bf16, *bf16, *fp32, M=16, N=32, K=64"],
    "batched_dot": ["*fp16, *fp32, B=4, M=16"],
    "atomics": ["*fp32, *i32, *i32, N=16", "*fp16, *i32, *i32, N=16", "*fp32, *u32, *i32, N=16"],
    "float_atomics": ["*fp32, *fp32, fp32, N=16", "*fp64, *fp64, fp64, N=16"],
    "spin_lock": ["*i32, *i32, *fp32, *fp32, N=64"],
    "block_pointers": ["*fp16, *fp16, i32, i64, M=16, N=32"],
    "hints": ["*fp32, *fp32, i32, N=64"],
    "hints_in_loops": ["*fp32, *fp32, i32, N=64"],
    "descriptors": ["*fp16, *fp16, i32, i32, M=16, N=32"],
    "descriptor_rows": ["*fp32, *fp32, *i32, i32, N=16"],
    "descriptor_arguments": ["tensordesc<fp16[16,64]>, tensordesc<fp32[16,64]>, i32"],
    "library_functions": ["*fp32, *fp32, N=32", "*fp64, *fp64, N=32"],
    "special_registers": ["*i64"],
    "scaled_dots": ['*u8, *u8, *u8, *fp32, A="e5m2", B="e4m3"', '*u8, *u8, *u8, *fp32, A="e2m1", B="e5m2"'],
    "if_else": ["*fp32, *fp32, i32, N=16"],
    "effects_in_a_ternary": ["*fp32, *fp32, i32"],
    "annotated_tuples": ["*i32, SIZES=(4, 8)"],
    "constexpr_branches": ["*fp32, i32, FLAG=True, N=16", "*fp32, i32, FLAG=False, N=8", "*fp32, i32, FLAG=None, N=2"],
    "for_loops": ["*fp32, *fp32, i32, i32, N=16", "*fp32, *fp32, i64, i32, N=16"],
    "unused_assignments": ["*fp32, *fp32, i32, FLAG=False, N=16", "*fp32, *fp32, i32, FLAG=True, N=16"],
    "loop_hints": ["*fp32, *fp32, i32, N=16"],
    "static_loops": ["*fp32, *fp32, N=16"],
    "while_loops": ["*fp32, *fp32, i32, N=16"],
    "early_return": ["*fp32, *fp32, i32, N=16"],
    "calls": ["*fp32, *fp32, i32, N=16"],
    "calls_noinline": ["*i32, i32"],
    "functions_as_arguments": ["*fp32, *fp32, N=16"],
    "tuples": ["*fp32, *fp32, i32, N=16"],
    "random_numbers": ["*fp32, i32, N=16", "*fp32, i64, N=16"],
    "sorting": ["*fp32, *fp32, N=8"],
    "debugging": ["*fp32, i32, N=8"],
    "swizzled": ["*i32, i32, i32"],
    "unsigned": ["*u32, *u32, u32, N=16", "*u8, *u8, u64, N=16"],
    "inline_assembly": ["*fp32, *fp32, N=16"],
    "mapped": ["*fp32, *fp32, *fp32, N=16"],
    "python_at_compile_time": ["*fp32, N=16, T=tl.float16", "*fp32, N=16, T=tl.int32"],
}  # fmt: skip
"""Kernel → signatures to compile it for."""
