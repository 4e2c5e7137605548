"""Matrix products on tensor cores: by pointers, by descriptors (TMA) with programs that stay, and with A widened on the way."""

import triton
import triton.language as tl


@triton.jit
def tile_of(pid, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of the tile of a program: GROUP rows of tiles at a time, so that neighbours share what they read."""
    down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
    group = pid // (GROUP * across)
    first = group * GROUP
    height = min(down - first, GROUP)
    inside = pid % (GROUP * across)
    return first + inside % height, inside // height


@triton.jit
def matmul(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """c = a @ b, c row by row; K is a multiple of BK."""
    down, across = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    rows = (down * BM + tl.arange(0, BM)) % m
    columns = (across * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BM, BN), ACC)
    for _ in range(tl.cdiv(k, BK)):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total, out_dtype=ACC)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    rows = down * BM + tl.arange(0, BM)
    columns = across * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_descriptors(
    a_desc, b_desc, c_desc, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """c = a @ b.T by tensor copies; each program goes through its tiles."""
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        down, across = tile_of(tile, m, n, BM, BN, GROUP)
        total = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(k, BK)):
            a = a_desc.load([down * BM, step * BK])
            b = b_desc.load([across * BN, step * BK])
            total = tl.dot(a, b.T, total)
        c_desc.store([down * BM, across * BN], total.to(c_desc.dtype))


@triton.jit
def matmul_widened(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a.to(b's type) @ b, for an a of narrower numbers."""
    down, across = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    rows = (down * BM + tl.arange(0, BM)) % m
    columns = (across * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(k, BK)):
        total = tl.dot(tl.load(a_ptrs).to(b_ptr.dtype.element_ty), tl.load(b_ptrs), total)
        a_ptrs += BK
        b_ptrs += BK * stride_bk
    rows = down * BM + tl.arange(0, BM)
    columns = across * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_widened_descriptors(
    a_desc, b_desc, c_desc, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a.to(b's type) @ b by tensor copies."""
    down, across = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(k, BK)):
        a = a_desc.load([down * BM, step * BK])
        b = b_desc.load([step * BK, across * BN])
        total = tl.dot(a.to(b_desc.dtype), b, total)
    c_desc.store([down * BM, across * BN], total.to(c_desc.dtype))


@triton.jit
def matmul_int4(
    a_ptr, scale_ptr, b_ptr, c_ptr, m, n, k, stride_am, stride_bk, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = (a * scale) @ b: a of 4 bits, two neighbours along K to a byte, with a scale for each BK of a row."""
    down, across = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    rows = (down * BM + tl.arange(0, BM)) % m
    columns = (across * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * stride_am + tl.arange(0, BK // 2)[None, :]
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :]
    scale_ptrs = scale_ptr + rows * (k // BK)
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(k, BK)):
        packed = tl.load(a_ptrs)
        low, high = (packed << 4) >> 4, packed >> 4
        a = tl.join(low, high).reshape(BM, BK).to(b_ptr.dtype.element_ty)
        total = tl.dot(a * tl.load(scale_ptrs)[:, None], tl.load(b_ptrs), total)
        a_ptrs += BK // 2
        b_ptrs += BK * stride_bk
        scale_ptrs += 1
    rows = down * BM + tl.arange(0, BM)
    columns = across * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    tl.store(c_ptrs, total.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul_batched(
    a_ptr, b_ptr, c_ptr, m, n, k, stride_a, stride_b, stride_c,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c[i] = a[i] @ b[i], all row by row."""
    batch = tl.program_id(1).to(tl.int64)
    a_ptr += batch * stride_a
    b_ptr += batch * stride_b
    c_ptr += batch * stride_c
    down, across = tile_of(tl.program_id(0), m, n, BM, BN, GROUP)
    rows, columns, inner = down * BM + tl.arange(0, BM), across * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(k, BK)):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += BK
        b_ptrs += BK * n
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_grouped(
    addresses, sizes, groups, PROGRAMS: tl.constexpr, KIND: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a @ b for products of any sizes, each row by row; each program goes through its tiles of all of them.

    `addresses`: int64 (groups, 3), of a, b and c; `sizes`: int32 (groups, 3), m, n and k, in multiples of the tile.
    """
    tile = tl.program_id(0)
    behind = 0
    for group in range(groups):
        m = tl.load(sizes + 3 * group)
        n = tl.load(sizes + 3 * group + 1)
        k = tl.load(sizes + 3 * group + 2)
        tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
        while tile >= behind and tile < behind + tiles:
            a_ptr = tl.load(addresses + 3 * group).to(tl.pointer_type(KIND))
            b_ptr = tl.load(addresses + 3 * group + 1).to(tl.pointer_type(KIND))
            c_ptr = tl.load(addresses + 3 * group + 2).to(tl.pointer_type(KIND))
            down, across = tile_of(tile - behind, m, n, BM, BN, GROUP)
            rows, columns, inner = down * BM + tl.arange(0, BM), across * BN + tl.arange(0, BN), tl.arange(0, BK)
            a_ptrs = a_ptr + rows[:, None] * k + inner[None, :]
            b_ptrs = b_ptr + inner[:, None] * n + columns[None, :]
            total = tl.zeros((BM, BN), tl.float32)
            for _ in range(tl.cdiv(k, BK)):
                tl.multiple_of(a_ptrs, [16, 16])
                tl.multiple_of(b_ptrs, [16, 16])
                total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
                a_ptrs += BK
                b_ptrs += BK * n
            tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(KIND))
            tile += PROGRAMS
        behind += tiles
