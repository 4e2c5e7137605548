"""Launches of over thirty families, drawn: kernels of `drawn_kernels.py` with random types, sizes, tiles, warps and stages that nobody tuned.

drawn("rope", number=7, seed=3)     is always the same launch
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from speed_shapes import BYTES, Array, Launch, result
from workload import cdiv, power_of_two

FILE = str(Path(__file__).with_name("drawn_kernels"))
FLOATS = ("fp16", "bf16", "fp32")
HALVES = ("fp16", "bf16")
BYTES_MOVED = 1 << 26
"""About how many bytes a launch moves."""
FLOPS = 1 << 35
"""About how many operations a launch of dots has."""

Draw = Callable[[random.Random], Launch]
FAMILIES: dict[str, Draw] = {}


def family(draw: Draw) -> Draw:
    FAMILIES[draw.__name__] = draw
    return draw


def drawn(name: str, number: int, seed: int) -> Launch:
    if name == REPORTED:
        launches = _reported()
        return launches[number % len(launches)]
    return FAMILIES[name](random.Random(f"{seed} {name} {number}"))


def _launch(
    kernel: str, label: str, arguments: Sequence[object], constants: dict[str, int], grid: Sequence[int], warps: int
) -> Launch:
    tile = ", ".join(f"{name} {value}" for name, value in constants.items())
    return Launch(FILE, kernel, f"{label} by {tile}", tuple(arguments), constants, tuple(grid), warps)


def _width(rng: random.Random, least: int, most: int) -> int:
    """A length: a power of two, a multiple of 16, a multiple of 8, or any."""
    power = 1 << rng.randrange(least.bit_length() - 1, most.bit_length())
    if rng.random() < 0.35:
        return max(power, least)
    length = rng.randint(least, most)
    step = rng.choice((1, 8, 16, 64))
    return max(length // step * step, step)


def _rows_of(rng: random.Random, columns: int, dtype: str, share: float = 1.0) -> int:
    rows = max(int(BYTES_MOVED * share * rng.choice((0.5, 1, 1.5)) / BYTES[dtype] / columns), 1)
    return rows if rng.random() < 0.3 else max(rows // 8 * 8, 8)


def _flat(
    kernel: str, rng: random.Random, dtypes: Sequence[str], inputs: int, *more: object, **constants: int
) -> Launch:
    """A kernel over a line: arrays, result, length, further arguments."""
    dtype, block = rng.choice(dtypes), 1 << rng.randint(8, 13)
    n = _rows_of(rng, 1, dtype, 1 / inputs)
    arrays = [Array(dtype, (n,)) for _ in range(inputs)]
    return _launch(
        kernel, f"{dtype} {n}", (*arrays, result(dtype, n), n, *more), {"BLOCK": block, **constants}, (cdiv(n, block),),
        _warps(rng, block),
    )  # fmt: skip


def _warps(rng: random.Random, elements: int) -> int:
    """With 1 to 64 elements a thread or so."""
    return rng.choice([w for w in (1, 2, 4, 8, 16) if 1 <= elements / (32 * w) <= 64] or [4])


def _tile(rng: random.Random, most: int = 8192) -> tuple[int, int, int]:
    """Rows, columns and warps of a two-dimensional tile."""
    while True:
        rows, columns = 1 << rng.randint(0, 7), 1 << rng.randint(5, 10)
        if 256 <= rows * columns <= most:
            return rows, columns, _warps(rng, rows * columns)


@family
def elements(rng: random.Random) -> Launch:
    return _flat("axpby", rng, FLOATS, 2, 0.5, -1.25)


@family
def gelu(rng: random.Random) -> Launch:
    return _flat("gelu", rng, FLOATS, 1, TANH=rng.randint(0, 1))


@family
def silu_and_mul(rng: random.Random) -> Launch:
    dtype, half, block = rng.choice(FLOATS), _width(rng, 512, 14336), 1 << rng.randint(8, 12)
    rows = _rows_of(rng, 2 * half, dtype)
    return _launch(
        "silu_and_mul", f"{dtype} {rows}x{half}", (Array(dtype, (rows, 2 * half)), result(dtype, rows, half), half),
        {"BLOCK": block}, (rows, cdiv(half, block)), _warps(rng, block),
    )  # fmt: skip


@family
def dequantize(rng: random.Random) -> Launch:
    dtype, columns, (r, c, warps) = rng.choice(FLOATS), _width(rng, 256, 8192), _tile(rng)
    rows = _rows_of(rng, columns, dtype)
    arguments = (Array("i8", (rows, columns)), Array("fp32", (rows,)), result(dtype, rows, columns), columns)
    return _launch(
        "dequantize", f"i8 to {dtype} {rows}x{columns}", arguments, {"ROWS": r, "COLS": c, "rows": rows},
        (cdiv(rows, r), cdiv(columns, c)), warps,
    )  # fmt: skip


@family
def unpack_int4(rng: random.Random) -> Launch:
    dtype, block, group = rng.choice(HALVES), 1 << rng.randint(8, 12), rng.choice((32, 64, 128))
    n = BYTES_MOVED // 2
    arguments = (Array("i8", (n // 2,)), Array("fp16", (n // group,)), result(dtype, n), n)
    return _launch(
        "unpack_int4",
        f"{dtype} {n}",
        arguments,
        {"GROUP": group, "BLOCK": block},
        (cdiv(n, block),),
        _warps(rng, block),
    )


@family
def row_statistics(rng: random.Random) -> Launch:
    dtype, columns, (r, c, warps) = rng.choice(FLOATS), _width(rng, 512, 16384), _tile(rng, 4096)
    rows = _rows_of(rng, columns, dtype)
    arguments = (Array(dtype, (rows, columns)), result("fp32", rows), result("fp32", rows), rows, columns)
    return _launch(
        "row_statistics", f"{dtype} {rows}x{columns}", arguments, {"ROWS": r, "COLS": c}, (cdiv(rows, r),), warps
    )


def _whole_rows(kernel: str, rng: random.Random, out: str | None, most: int = 16384) -> Launch:
    """Tiles of whole rows; `out`: the type of a result a row, else the rows' own."""
    dtype, columns = rng.choice(FLOATS), _width(rng, 64, most)
    block = power_of_two(columns)
    r = rng.choice([1 << p for p in range(6) if (1 << p) * block <= 16384])
    rows = cdiv(_rows_of(rng, columns, dtype), r) * r
    found = result(out, rows) if out else result(dtype, rows, columns)
    return _launch(
        kernel, f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), found, rows, columns),
        {"ROWS": r, "BLOCK": block}, (rows // r,), _warps(rng, r * block),
    )  # fmt: skip


@family
def row_softmax(rng: random.Random) -> Launch:
    return _whole_rows("row_softmax", rng, None)


@family
def argmax(rng: random.Random) -> Launch:
    return _whole_rows("argmax", rng, "i32")


def _long_rows(kernel: str, rng: random.Random, make: Callable[[str, int, int], tuple[object, ...]]) -> Launch:
    """A row a program, block by block."""
    dtype, columns, block = rng.choice(FLOATS), _width(rng, 1024, 65536), 1 << rng.randint(9, 13)
    rows = _rows_of(rng, columns, dtype)
    return _launch(
        kernel, f"{dtype} {rows}x{columns}", (*make(dtype, rows, columns), columns), {"BLOCK": block}, (rows,),
        _warps(rng, block),
    )  # fmt: skip


@family
def online_softmax(rng: random.Random) -> Launch:
    return _long_rows("online_softmax", rng, lambda t, r, c: (Array(t, (r, c)), result(t, r, c)))


@family
def add_rms_norm(rng: random.Random) -> Launch:
    return _long_rows(
        "add_rms_norm", rng, lambda t, r, c: (Array(t, (r, c)), Array(t, (r, c)), Array(t, (c,)), result(t, r, c))
    )


@family
def cross_entropy(rng: random.Random) -> Launch:
    return _long_rows(
        "cross_entropy", rng, lambda t, r, c: (Array(t, (r, c)), Array("i32", (r,), "below", c), result("fp32", r))
    )


@family
def embedding(rng: random.Random) -> Launch:
    return _long_rows(
        "embedding", rng, lambda t, r, c: (Array(t, (r, c)), Array("i32", (r,), "below", r), result(t, r, c))
    )


def _columns(kernel: str, rng: random.Random, **constants: int) -> Launch:
    dtype, columns, (r, c, warps) = rng.choice(FLOATS), _width(rng, 2048, 16384), _tile(rng)
    rows = _rows_of(rng, columns, dtype)
    return _launch(
        kernel, f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), result("fp32", columns), rows, columns),
        {"ROWS": max(r, 2), "COLS": min(c, 256), **constants}, (cdiv(columns, min(c, 256)),), warps,
    )  # fmt: skip


@family
def column_sums(rng: random.Random) -> Launch:
    return _columns("column_sums", rng, SQUARES=rng.randint(0, 1))


@family
def column_max(rng: random.Random) -> Launch:
    return _columns("column_max", rng)


@family
def scan_rows(rng: random.Random) -> Launch:
    dtype, columns = rng.choice(("fp16", "fp32", "i32")), _width(rng, 64, 16384)
    block = power_of_two(columns)
    r = rng.choice([1 << p for p in range(5) if (1 << p) * block <= 16384])
    rows = cdiv(_rows_of(rng, columns, dtype), r) * r
    return _launch(
        "scan_rows", f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), result(dtype, rows, columns), columns),
        {"ROWS": r, "BLOCK": block, "REVERSE": rng.randint(0, 1)}, (rows // r,), _warps(rng, r * block),
    )  # fmt: skip


@family
def recurrence(rng: random.Random) -> Launch:
    dtype, block, c = rng.choice(FLOATS), 1 << rng.randint(4, 7), 1 << rng.randint(4, 6)
    columns = _width(rng, 4096, 16384)
    steps = max(_rows_of(rng, columns, dtype, 0.5) // block, 1) * block
    x = Array(dtype, (steps, columns))
    return _launch(
        "recurrence", f"{dtype} {steps}x{columns}", (x, x, result(dtype, steps, columns), columns),
        {"BLOCK": block, "COLS": c, "steps": steps}, (cdiv(columns, c),), _warps(rng, block * c),
    )  # fmt: skip


@family
def rope(rng: random.Random) -> Launch:
    dtype, heads, half = rng.choice(FLOATS), rng.choice((8, 24, 32)), rng.choice((32, 64, 128))
    r = rng.choice((1, 2, 4, 8, 16, 32))
    tokens = _rows_of(rng, heads * 2 * half, dtype)
    rows = tokens * heads
    angles = Array(dtype, (tokens, half))
    return _launch(
        rng.choice(("rope", "rope_of_pairs")), f"{dtype} {tokens}x{heads}",
        (Array(dtype, (rows, 2 * half)), angles, angles, result(dtype, rows, 2 * half), rows),
        {"HEADS": heads, "HALF": half, "ROWS": r}, (cdiv(rows, r),), _warps(rng, r * half),
    )  # fmt: skip


@family
def transpose(rng: random.Random) -> Launch:
    dtype, columns = rng.choice((*FLOATS, "i8")), _width(rng, 1024, 16384)
    rows = _rows_of(rng, columns, dtype)
    r, c = 1 << rng.randint(4, 7), 1 << rng.randint(4, 7)
    return _launch(
        "transpose", f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), result(dtype, columns, rows), rows, columns),
        {"ROWS": r, "COLS": c}, (cdiv(rows, r), cdiv(columns, c)), _warps(rng, r * c),
    )  # fmt: skip


@family
def strided_copy(rng: random.Random) -> Launch:
    dtype, stride, block = rng.choice((*FLOATS, "i8")), rng.choice((2, 3, 4, 5)), 1 << rng.randint(8, 12)
    n = _rows_of(rng, stride, dtype)
    return _launch(
        "strided_copy", f"{dtype} {n} stride {stride}", (Array(dtype, (n * stride,)), result(dtype, n), n, stride),
        {"BLOCK": block}, (cdiv(n, block),), _warps(rng, block),
    )  # fmt: skip


@family
def gather(rng: random.Random) -> Launch:
    dtype, size, block = rng.choice(FLOATS), 1 << rng.randint(12, 22), 1 << rng.randint(7, 11)
    n = _rows_of(rng, 4, dtype)
    return _launch(
        "gather", f"{dtype} {n} of {size}", (Array(dtype, (size,)), Array("i32", (n,), "below", size), result(dtype, n), n),
        {"BLOCK": block}, (cdiv(n, block),), _warps(rng, block),
    )  # fmt: skip


@family
def scatter_add(rng: random.Random) -> Launch:
    size, block = 1 << rng.randint(12, 20), 1 << rng.randint(7, 11)
    n = BYTES_MOVED // 32
    arguments = (Array("fp32", (n,)), Array("i32", (n,), "below", size), Array("fp32", (size,), "zeros"), n)
    return _launch(
        "scatter_add", f"fp32 {n} of {size}", arguments, {"BLOCK": block}, (cdiv(n, block),), _warps(rng, block)
    )


@family
def histogram(rng: random.Random) -> Launch:
    bins, block = 1 << rng.randint(5, 10), 1 << rng.randint(9, 13)
    n = BYTES_MOVED // 4
    return _launch(
        "histogram", f"{n} of {bins}", (Array("i32", (n,), "below", bins), Array("i32", (bins,), "zeros"), n),
        {"BLOCK": block, "BINS": bins}, (cdiv(n, block),), _warps(rng, block),
    )  # fmt: skip


@family
def layer_norm(rng: random.Random) -> Launch:
    dtype, columns = rng.choice(FLOATS), _width(rng, 256, 16384)
    rows, block, w = _rows_of(rng, columns, dtype), power_of_two(columns), Array(dtype, (columns,))
    return _launch(
        "layer_norm", f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), w, w, result(dtype, rows, columns), columns),
        {"BLOCK": block}, (rows,), _warps(rng, block),
    )  # fmt: skip


@family
def rms_norm_backward(rng: random.Random) -> Launch:
    dtype, columns, per = rng.choice(FLOATS), _width(rng, 256, 8192), rng.choice((4, 16, 64))
    rows, block = _rows_of(rng, columns, dtype, 0.5), power_of_two(columns)
    programs, x = cdiv(rows, per), Array(dtype, (rows, columns))
    arguments = (
        x,
        Array(dtype, (columns,)),
        x,
        result(dtype, rows, columns),
        result("fp32", programs, columns),
        rows,
        columns,
    )
    return _launch(
        "rms_norm_backward",
        f"{dtype} {rows}x{columns}",
        arguments,
        {"PER": per, "BLOCK": block},
        (programs,),
        _warps(rng, block),
    )


@family
def quantize_rows(rng: random.Random) -> Launch:
    dtype, columns = rng.choice(FLOATS), _width(rng, 256, 16384)
    rows, block = _rows_of(rng, columns, dtype), power_of_two(columns)
    return _launch(
        "quantize_rows", f"{dtype} {rows}x{columns}",
        (Array(dtype, (rows, columns)), result("i8", rows, columns), result("fp32", rows), columns), {"BLOCK": block}, (rows,),
        _warps(rng, block),
    )  # fmt: skip


@family
def depthwise_conv(rng: random.Random) -> Launch:
    dtype, channels, (r, c, warps) = rng.choice(FLOATS), _width(rng, 512, 8192), _tile(rng, 4096)
    length, taps = _rows_of(rng, channels, dtype, 0.5), rng.choice((2, 3, 4))
    arguments = (
        Array(dtype, (length, channels)),
        Array(dtype, (taps, channels)),
        result(dtype, length, channels),
        length,
        channels,
    )
    return _launch(
        "depthwise_conv", f"{dtype} {length}x{channels}", arguments, {"TAPS": taps, "ROWS": r, "COLS": c},
        (cdiv(length, r), cdiv(channels, c)), warps,
    )  # fmt: skip


@family
def max_pool(rng: random.Random) -> Launch:
    dtype, window, block = rng.choice(FLOATS), rng.choice((2, 3)), 1 << rng.randint(5, 8)
    height, width = window * rng.randint(20, 80), window * rng.randint(40, 200)
    planes = _rows_of(rng, height * width, dtype)
    return _launch(
        "max_pool", f"{dtype} {planes}x{height}x{width}",
        (Array(dtype, (planes, height, width)), result(dtype, planes, height // window, width // window), height, width),
        {"BLOCK": block, "WINDOW": window}, (planes, height // window, cdiv(width // window, block)), _warps(rng, block),
    )  # fmt: skip


@family
def matrix_vector(rng: random.Random) -> Launch:
    dtype, columns, (r, c, warps) = rng.choice(FLOATS), _width(rng, 1024, 16384), _tile(rng, 4096)
    rows = _rows_of(rng, columns, dtype)
    return _launch(
        "matrix_vector", f"{dtype} {rows}x{columns}",
        (Array(dtype, (rows, columns)), Array(dtype, (columns,)), result("fp32", rows), rows, columns), {"ROWS": r, "COLS": c},
        (cdiv(rows, r),), warps,
    )  # fmt: skip


@family
def pairwise(rng: random.Random) -> Launch:
    m, n, k = _width(rng, 1024, 4096), _width(rng, 1024, 4096), rng.choice((2, 3, 8, 16))
    tile_m, tile_n = 1 << rng.randint(3, 6), 1 << rng.randint(5, 7)
    return _launch(
        "pairwise", f"fp32 {m}x{n}x{k}", (Array("fp32", (m, k)), Array("fp32", (n, k)), result("fp32", m, n), m, n),
        {"K": k, "M": tile_m, "N": tile_n}, (cdiv(m, tile_m), cdiv(n, tile_n)), _warps(rng, tile_m * tile_n),
    )  # fmt: skip


@family
def sort_rows(rng: random.Random) -> Launch:
    dtype, columns, r = rng.choice(("fp32", "i32", "fp16")), 1 << rng.randint(4, 9), 1 << rng.randint(0, 4)
    rows = (BYTES_MOVED // 16 // BYTES[dtype] // columns) // r * r
    return _launch(
        "sort_rows", f"{dtype} {rows}x{columns}", (Array(dtype, (rows, columns)), result(dtype, rows, columns)),
        {"ROWS": r, "COLS": columns}, (rows // r,), _warps(rng, r * columns),
    )  # fmt: skip


@family
def complex_multiply(rng: random.Random) -> Launch:
    block, n = 1 << rng.randint(7, 11), BYTES_MOVED // 16
    x = Array("fp32", (2 * n,))
    return _launch(
        "complex_multiply",
        f"fp32 {n}",
        (x, x, result("fp32", 2 * n), n),
        {"BLOCK": block},
        (cdiv(n, block),),
        _warps(rng, 2 * block),
    )


@family
def dropout(rng: random.Random) -> Launch:
    return _flat("dropout", rng, FLOATS, 1, 0.3, 77)


# Dots


def _dot_tile(rng: random.Random, most: int = 256) -> tuple[int, int, int, int, int]:
    """M, N, K, warps and stages of a tile that fits an SM."""
    while True:
        m, n, k = 1 << rng.randint(4, 8), 1 << rng.randint(4, 8), 1 << rng.randint(5, 7)
        warps, stages = rng.choice((2, 4, 8)), rng.randint(2, 4)
        if max(m, n) <= most and 256 * warps <= m * n <= 4096 * warps and (m + n) * k * 2 * stages <= 200_000:
            return m, n, k, warps, stages


@family
def batched_matmul(rng: random.Random) -> Launch:
    dtype, (m, n, k, warps, stages) = rng.choice(HALVES), _dot_tile(rng)
    sizes = [64 * rng.randint(1, 32) + rng.choice((0, 0, 0, 8)) for _ in range(3)]
    size_m, size_n, size_k = sizes
    batch = max(FLOPS // (2 * size_m * size_n * size_k) // 2, 1)
    batch = min(batch, 512)
    is_column = rng.random() < 0.5
    arguments = (
        Array(dtype, (batch, size_m, size_k)), Array(dtype, (batch, size_k, size_n)), result(dtype, batch, size_m, size_n),
        size_m, size_n, size_k, 1 if is_column else size_n, size_k if is_column else 1,
    )  # fmt: skip
    return _launch(
        "batched_matmul", f"{dtype} {batch}x{size_m}x{size_n}x{size_k}{' b transposed' * is_column}", arguments,
        {"M": m, "N": n, "K": k, "num_stages": stages}, (cdiv(size_m, m), cdiv(size_n, n), batch), warps,
    )  # fmt: skip


@family
def int4_matmul(rng: random.Random) -> Launch:
    dtype, (m, n, k, warps, stages) = rng.choice(HALVES), _dot_tile(rng, 128)
    group = max(rng.choice((64, 128)), k)
    rows, columns, depth = rng.choice((16, 64, 256, 1024)), 128 * rng.randint(8, 40), 128 * rng.randint(8, 40)
    arguments = (
        Array(dtype, (rows, depth)), Array("i8", (depth // 2, columns)), Array(dtype, (depth // group, columns)),
        result(dtype, rows, columns), rows, columns, depth,
    )  # fmt: skip
    return _launch(
        "int4_matmul", f"{dtype} {rows}x{columns}x{depth}", arguments,
        {"GROUP": group, "M": m, "N": n, "K": k, "num_stages": stages}, (cdiv(rows, m), cdiv(columns, n)), warps,
    )  # fmt: skip


@family
def decode_attention(rng: random.Random) -> Launch:
    dtype, heads, d = rng.choice(HALVES), 16, rng.choice((64, 128))
    length, block, warps = _width(rng, 512, 8192), rng.choice((32, 64, 128)), rng.choice((2, 4, 8))
    batch = max(BYTES_MOVED // (length * d * 2), 8)
    x = Array(dtype, (batch, length, d))
    arguments = (Array(dtype, (batch, heads, d)), x, x, result(dtype, batch, heads, d), length, 0.1275)
    return _launch(
        "decode_attention", f"{dtype} {batch}x{length}x{d}", arguments,
        {"D": d, "HEADS": heads, "BLOCK": block, "num_stages": rng.randint(2, 3)}, (batch,), warps,
    )  # fmt: skip


@family
def attention(rng: random.Random) -> Launch:
    dtype, d, causal = rng.choice(HALVES), rng.choice((64, 128)), rng.randint(0, 1)
    m, n, warps = rng.choice((64, 128)), rng.choice((32, 64, 128)), rng.choice((4, 8))
    length = _width(rng, 1024, 4096)
    heads = max(FLOPS // (4 * length * length * d), 4)
    x = Array(dtype, (heads, length, d))
    return _launch(
        "attention", f"{dtype} {heads}x{length}x{d}", (x, x, x, result(dtype, heads, length, d), length, 0.1275),
        {"D": d, "M": m, "N": n, "CAUSAL": causal, "num_stages": rng.randint(2, 3)}, (cdiv(length, m), heads), warps,
    )  # fmt: skip


@family
def gated_mlp(rng: random.Random) -> Launch:
    dtype, (m, n, k, warps, stages) = rng.choice(HALVES), _dot_tile(rng, 128)
    rows, columns, depth = 64 * rng.randint(2, 64), 256 * rng.randint(4, 24), 128 * rng.randint(4, 32)
    weights = Array(dtype, (depth, columns))
    return _launch(
        "gated_mlp", f"{dtype} {rows}x{columns}x{depth}",
        (Array(dtype, (rows, depth)), weights, weights, result(dtype, rows, columns), rows, columns, depth),
        {"M": m, "N": n, "K": k, "num_stages": stages}, (cdiv(rows, m), cdiv(columns, n)), warps,
    )  # fmt: skip


# Launches that ran slower than with Triton on an H100 when others drew them (November 2026)


def _dots(
    label: str, dtype: str, shape: Sequence[int], tile: Sequence[int], stages: int, warps: int, column_b: bool = False
) -> Launch:
    """A batched matmul: `shape` is batch, M, N, K; `tile` M, N, K."""
    batch, m, n, k = shape
    arguments = (
        Array(dtype, (batch, m, k)), Array(dtype, (batch, k, n)), result(dtype, batch, m, n), m, n, k,
        1 if column_b else n, k if column_b else 1,
    )  # fmt: skip
    constants = {"M": tile[0], "N": tile[1], "K": tile[2], "num_stages": stages}
    return _launch("batched_matmul", label, arguments, constants, (cdiv(m, tile[0]), cdiv(n, tile[1]), batch), warps)


def _reported() -> list[Launch]:
    def rows(dtype: str, m: int, n: int) -> Array:
        return Array(dtype, (m, n))

    wide = (1, 8192, 1024, 8192)
    angles = Array("bf16", (20000, 128))
    heads = 1024
    cache = Array("bf16", (heads, 4096, 128))
    return [
        _launch("scan_rows", "scan fp16", (rows("fp16", 8192, 16384), result("fp16", 8192, 16384), 16384), {"ROWS": 1, "BLOCK": 16384, "REVERSE": 0}, (8192,), 16),
        _launch("scan_rows", "scan fp32", (rows("fp32", 8192, 16384), result("fp32", 8192, 16384), 16384), {"ROWS": 1, "BLOCK": 16384, "REVERSE": 0}, (8192,), 2),
        _launch("rope", "rope bf16", (rows("bf16", 160000, 256), angles, angles, result("bf16", 160000, 256), 160000), {"HEADS": 8, "HALF": 128, "ROWS": 32}, (5000,), 2),
        _launch("decode_attention", "decode attention", (Array("bf16", (heads, 16, 128)), cache, cache, result("bf16", heads, 16, 128), 4096, 0.1275), {"D": 128, "HEADS": 16, "BLOCK": 128, "num_stages": 2}, (heads,), 2),
        _dots("matmul fp16", "fp16", (1, 5000, 3000, 4096), (64, 64, 128), 2, 8),
        _dots("matmul b transposed", "bf16", wide, (128, 128, 64), 3, 4, True),
        _dots("matmul 5 stages", "bf16", wide, (128, 128, 32), 5, 8),
        _dots("matmul 32x256x128", "bf16", wide, (32, 256, 128), 2, 4),
        _dots("batched bf16 32x128x32", "bf16", (64, 512, 512, 512), (32, 128, 32), 2, 8),
        _dots("batched fp16 64x64x64", "fp16", (16, 1024, 2048, 128), (64, 64, 64), 3, 4),
        _dots("batched fp16 32x128x64", "fp16", (16, 1024, 2048, 128), (32, 128, 64), 2, 4),
        _launch("row_statistics", "sums and squares fp32", (rows("fp32", 8192, 8200), result("fp32", 8192), result("fp32", 8192), 8192, 8200), {"ROWS": 128, "COLS": 128}, (64,), 8),
        _launch("cross_entropy", "cross entropy bf16", (rows("bf16", 4096, 32000), Array("i32", (4096,), "below", 32000), result("fp32", 4096), 32000), {"BLOCK": 4096}, (4096,), 2),
        _launch("strided_copy", "strided copy fp16", (Array("fp16", (3 << 24,)), result("fp16", 1 << 24), 1 << 24, 3), {"BLOCK": 4096}, (4096,), 4),
        _launch("column_sums", "column sums fp16", (rows("fp16", 16384, 16384), result("fp32", 16384), 16384, 16384), {"ROWS": 512, "COLS": 32, "SQUARES": 0}, (512,), 8),
        _launch("argmax", "argmax fp16", (rows("fp16", 65536, 1000), result("i32", 65536), 65536, 1000), {"ROWS": 1, "BLOCK": 1024}, (65536,), 4),
        _launch("transpose", "transpose fp16", (rows("fp16", 16384, 16384), result("fp16", 16384, 16384), 16384, 16384), {"ROWS": 64, "COLS": 64}, (256, 256), 4),
    ]  # fmt: skip


REPORTED = "reported"
"""A family that is not drawn: `number` says which, and `drawn` knows it."""
FAMILIES[REPORTED] = lambda rng: _reported()[0]
