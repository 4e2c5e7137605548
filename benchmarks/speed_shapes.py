"""Families of launches: each example kernel at ten or more sizes, element types, numbers of warps, strides and odd bounds.

In: nothing. Out: `LAUNCHES`, one `Launch` for each, that says what every argument is, so that it can be compiled without a GPU and
run on one. Sizes are such that a run takes long enough to be timed and a row of the table little of the time of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from workload import cdiv, power_of_two

ELEMENTS = 1 << 25
"""About how many elements a launch moves."""

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "i32": 4, "i8": 1, "fp8e4nv": 1, "fp8e5": 1}


@dataclass(frozen=True)
class Array:
    """An array argument: `fill` is "random", "result", "zeros" (a result that is added to), or "below" a `limit`."""

    dtype: str
    shape: tuple[int, ...]
    fill: str = "random"
    limit: int = 0

    @property
    def bytes(self) -> int:
        return prod(self.shape) * BYTES[self.dtype]


@dataclass(frozen=True)
class Launch:
    """One row of the table: `kernel` of `minitriton_kernels/<file>.py` on `arguments`, in order."""

    file: str
    kernel: str
    label: str
    arguments: tuple[Any, ...]
    constexprs: dict[str, int]
    grid: tuple[int, ...]
    num_warps: int = 4

    @property
    def name(self) -> str:
        return f"{self.kernel} {self.label}, {self.num_warps} warps"


def with_warps(launch: Launch, times: float) -> Launch:
    """The same work by `times` as many warps, 1 to 16: a launch that nobody tuned."""
    return replace(launch, num_warps=min(max(int(launch.num_warps * times), 1), 16))


def result(dtype: str, *shape: int) -> Array:
    return Array(dtype, shape, "result")


def _flat(dtypes: tuple[str, ...], blocks: tuple[int, ...] = (1024,)) -> Iterator[tuple[str, int, int, int]]:
    """Element type, number of elements, block and warps of kernels over a line."""
    for dtype in dtypes:
        for n in (ELEMENTS, ELEMENTS - 3, ELEMENTS // 8 + 8):
            for block in blocks:
                yield dtype, n, block, 4
    for block, warps in ((256, 1), (512, 2), (2048, 8), (4096, 4), (8192, 8)):
        yield dtypes[0], ELEMENTS, block, warps


def _rows(dtypes: tuple[str, ...], widths: tuple[int, ...]) -> Iterator[tuple[str, int, int, int]]:
    """Element type, rows, columns and warps of kernels with a row for each program."""
    for dtype in dtypes:
        for columns in widths:
            block = power_of_two(columns)
            yield dtype, ELEMENTS // block, columns, 4 if block <= 2048 else 8
    for columns, warps in ((512, 1), (1024, 8), (4096, 4), (8192, 16)):
        yield dtypes[0], ELEMENTS // columns, columns, warps


WIDTHS = (777, 1024, 3000, 4096, 8192)


def vector_add() -> Iterator[Launch]:
    for dtype, n, block, warps in _flat(("fp32", "fp16", "bf16")):
        x = Array(dtype, (n,))
        yield Launch(
            "vector_add", "vector_add", f"{dtype} {n} by {block}", (x, x, result(dtype, n), n), {"BLOCK": block},
            (cdiv(n, block),), warps,
        )  # fmt: skip


def cast() -> Iterator[Launch]:
    pairs = (("fp16", "fp8e4nv"), ("fp8e4nv", "fp16"), ("fp32", "fp8e5"), ("fp32", "fp16"), ("bf16", "fp32"))
    for before, after in pairs:
        for n, block, warps in ((ELEMENTS, 4096, 4), (ELEMENTS - 3, 4096, 4), (ELEMENTS, 1024, 8)):
            yield Launch(
                "casts", "cast", f"{before} to {after} {n} by {block}", (Array(before, (n,)), result(after, n), n),
                {"BLOCK": block}, (cdiv(n, block),), warps,
            )  # fmt: skip


def dropout() -> Iterator[Launch]:
    for dtype, n, block, warps in _flat(("fp32", "fp16")):
        seeds = Array("i32", (n,), "below", 1 << 30)
        yield Launch(
            "dropout", "dropout", f"{dtype} {n} by {block}", (Array(dtype, (n,)), seeds, result(dtype, n), n, 0.25),
            {"BLOCK": block}, (cdiv(n, block),), warps,
        )  # fmt: skip
        yield Launch(
            "seeded_dropout", "seeded_dropout", f"{dtype} {n} by {block}",
            (Array(dtype, (n,)), result(dtype, n), n, 0.25, 12345), {"BLOCK": block}, (cdiv(n, block),), warps,
        )  # fmt: skip


def gathers() -> Iterator[Launch]:
    for dtype, n, block, warps in _flat(("fp32", "fp16")):
        n //= 4
        table, index = Array(dtype, (1 << 20,)), Array("i32", (n,), "below", 1 << 20)
        arguments = (table, index, result(dtype, n), n, (1 << 20) - 5, -1.0)
        yield Launch(
            "masked_gather", "masked_gather", f"{dtype} {n} by {block}", arguments, {"BLOCK": block}, (cdiv(n, block),),
            warps,
        )  # fmt: skip
        for rows, columns in ((8192, 6000),):
            arguments = (
                Array(dtype, (rows, columns)), Array("i32", (n,), "below", rows * columns), result(dtype, n), n, columns,
                columns,
            )  # fmt: skip
            yield Launch(
                "index_division", "take_flat", f"{dtype} {n} by {block}", arguments, {"BLOCK": block},
                (cdiv(n, block),), warps,
            )  # fmt: skip


def row_gathers() -> Iterator[Launch]:
    for dtype in ("fp16", "fp32", "bf16"):
        for columns, block, warps in ((2048, 1024, 4), (1000, 1024, 4), (4096, 2048, 8), (513, 256, 2)):
            rows = ELEMENTS // columns
            arguments = (
                Array(dtype, (rows, columns)), Array("i32", (rows,), "below", rows), result(dtype, rows, columns), columns,
            )  # fmt: skip
            yield Launch(
                "gather_rows", "embedding", f"{dtype} {rows}x{columns} by {block}", arguments, {"BLOCK": block},
                (rows, cdiv(columns, block)), warps,
            )  # fmt: skip
    for dtype in ("fp32", "fp16"):
        for columns, tile, warps in ((1024, 2, 4), (256, 8, 4), (512, 2, 4), (128, 8, 2), (2048, 1, 8)):
            rows = (ELEMENTS // 4) // columns
            index = Array("i32", (rows, columns), "below", columns)
            yield Launch(
                "gather_rows", "gather_columns", f"{dtype} {rows}x{columns} by {tile}",
                (Array(dtype, (rows, columns)), index, result(dtype, rows, columns)), {"ROWS": tile, "COLS": columns},
                (rows // tile,), warps,
            )  # fmt: skip


def softmax() -> Iterator[Launch]:
    for dtype, rows, columns, warps in _rows(("fp16", "fp32", "bf16"), WIDTHS):
        for stride in {columns, columns + 8} if dtype == "fp16" else {columns}:
            arguments = (
                result(dtype, rows, columns), Array(dtype, (rows, stride)), stride, columns, rows, columns,
            )  # fmt: skip
            yield Launch(
                "softmax", "softmax", f"{dtype} {rows}x{columns} stride {stride}", arguments,
                {"BLOCK": power_of_two(columns)}, (rows,), warps,
            )  # fmt: skip


def norms() -> Iterator[Launch]:
    for dtype, rows, columns, warps in _rows(("fp16", "fp32", "bf16"), WIDTHS):
        x, w, y = Array(dtype, (rows, columns)), Array(dtype, (columns,)), result(dtype, rows, columns)
        block = power_of_two(columns)
        label = f"{dtype} {rows}x{columns}"
        statistics = (result("fp32", rows), result("fp32", rows))
        yield Launch(
            "layer_norm", "layer_norm", label, (x, y, w, w, *statistics, columns, columns, 1e-5), {"BLOCK": block}, (rows,),
            warps,
        )  # fmt: skip
        yield Launch("rms_norm", "rms_norm", label, (x, w, y, columns, columns, 1e-6), {"BLOCK": block}, (rows,), warps)
    for dtype, rows, columns, warps in _rows(("fp16", "bf16"), (1000, 1024, 3000, 4096)):
        programs = 264
        x, w = Array(dtype, (rows, columns)), Array(dtype, (columns,))
        per_row = Array("fp32", (rows,))
        parts = result("fp32", programs, columns)
        yield Launch(
            "layer_norm_backward", "layer_norm_backward", f"{dtype} {rows}x{columns}",
            (x, x, w, per_row, per_row, result(dtype, rows, columns), parts, parts, rows, columns),
            {"BLOCK": power_of_two(columns)}, (programs,), warps,
        )  # fmt: skip


def rows_and_columns() -> Iterator[Launch]:
    for kind in ("sum", "max"):
        for axis in ("rows", "columns"):
            for dtype in ("fp16", "fp32"):
                yield from _reductions(f"{kind}_{axis}", dtype)


def _reductions(kernel: str, dtype: str) -> Iterator[Launch]:
    along_rows = kernel.endswith("rows")
    tiles = (
        ((4, 1024, 4), (1, 4096, 8), (16, 256, 4), (32, 128, 4), (32, 256, 8), (64, 64, 4), (2, 2048, 4))
        if along_rows
        else ((128, 64, 4), (512, 32, 8), (64, 128, 4), (256, 32, 4), (32, 256, 4))
    )
    for rows, columns in ((32768, 1024), (4096, 8000), (1023, 32768)):
        for tile_rows, tile_columns, warps in tiles:
            programs = cdiv(rows, tile_rows) if along_rows else cdiv(columns, tile_columns)
            yield Launch(
                "reductions", kernel, f"{dtype} {rows}x{columns} by {tile_rows}x{tile_columns}",
                (Array(dtype, (rows, columns)), result("fp32", rows if along_rows else columns), rows, columns),
                {"ROWS": tile_rows, "COLS": tile_columns}, (programs,), warps,
            )  # fmt: skip


def arg_reductions() -> Iterator[Launch]:
    for dtype in ("fp32", "fp16"):
        for columns, tile, warps in ((1024, 4, 4), (1000, 2, 4), (4096, 1, 8), (256, 16, 4), (512, 4, 8)):
            rows = ELEMENTS // power_of_two(columns)
            block = power_of_two(columns)
            yield Launch(
                "reductions", "argmax_rows", f"{dtype} {rows}x{columns} by {tile}",
                (Array(dtype, (rows, columns)), result("i32", rows), rows, columns), {"ROWS": tile, "COLS": block},
                (cdiv(rows, tile),), warps,
            )  # fmt: skip
            yield Launch(
                "reductions", "argmax_columns", f"{dtype} {columns}x{rows} by 32",
                (Array(dtype, (columns, rows)), result("i32", rows), columns, rows), {"ROWS": block, "COLS": 32},
                (cdiv(rows, 32),), max(warps, 8),
            )  # fmt: skip


def partial_sums() -> Iterator[Launch]:
    for dtype in ("fp16", "fp32"):
        for rows, columns in ((4096, 8192), (32768, 1024), (8192, 4000)):
            for tile_rows, tile_columns, warps in ((32, 256, 4), (64, 128, 8)):
                yield Launch(
                    "column_sums", "column_sums", f"{dtype} {rows}x{columns} by {tile_rows}x{tile_columns}",
                    (Array(dtype, (rows, columns)), Array("fp32", (columns,), "zeros"), rows, columns),
                    {"BAND": 1024, "ROWS": tile_rows, "COLS": tile_columns},
                    (cdiv(columns, tile_columns), cdiv(rows, 1024)), warps,
                )  # fmt: skip
    for parts in (64, 264, 1000):
        for columns in (8192, 32768 + 3):
            for tile_columns, warps in ((32, 4), (64, 8)):
                yield Launch(
                    "layer_norm_backward", "sum_parts", f"fp32 {parts}x{columns} by {tile_columns}",
                    (Array("fp32", (parts, columns)), result("fp16", columns), parts, columns),
                    {"PARTS": 64, "COLS": tile_columns}, (cdiv(columns, tile_columns),), warps,
                )  # fmt: skip


def losses_and_scans() -> Iterator[Launch]:
    for dtype in ("fp16", "fp32", "bf16"):
        for rows, columns, block, warps in (
            (4096, 8192, 4096, 8), (1024, 32000, 4096, 8), (1024, 32768, 8192, 16), (8192, 4096, 2048, 4), (4096, 5003, 1024, 4),
        ):  # fmt: skip
            yield Launch(
                "cross_entropy", "cross_entropy", f"{dtype} {rows}x{columns} by {block}",
                (Array(dtype, (rows, columns)), Array("i32", (rows,), "below", columns), result("fp32", rows), columns),
                {"BLOCK": block}, (rows,), warps,
            )  # fmt: skip
    for dtype in ("fp32", "fp16"):
        for rows, columns, block, warps in (
            (8192, 2048, 2048, 4), (1024, 16384, 2048, 4), (1024, 16001, 4096, 8), (16384, 1000, 1024, 4), (4096, 4096, 1024, 2),
        ):  # fmt: skip
            yield Launch(
                "cumulative_sum", "cumulative_sum", f"{dtype} {rows}x{columns} by {block}",
                (Array(dtype, (rows, columns)), result(dtype, rows, columns), columns), {"BLOCK": block}, (rows,), warps,
            )  # fmt: skip


def sorts() -> Iterator[Launch]:
    for dtype in ("fp32", "i32", "fp16"):
        for columns, tile, warps in ((256, 4, 4), (64, 16, 4), (512, 1, 4), (128, 4, 2)):
            rows = (ELEMENTS // 8) // columns
            x = Array(dtype, (rows, columns), "below" if dtype == "i32" else "random", 1 << 30)
            constexprs = {"ROWS": tile, "COLS": columns}
            label = f"{dtype} {rows}x{columns} by {tile}"
            yield Launch(
                "sorting", "sort_rows", label, (x, result(dtype, rows, columns)), constexprs, (rows // tile,), warps
            )
            yield Launch(
                "sorting", "top_k", label, (x, result(dtype, rows, 8)), {**constexprs, "K": 8}, (rows // tile,), warps
            )


def histograms() -> Iterator[Launch]:
    for bins in (64, 256, 1024):
        for n, block, warps in ((ELEMENTS, 8192, 4), (ELEMENTS, 2048, 4), (ELEMENTS - 3, 4096, 8), (ELEMENTS, 1024, 2)):
            x = Array("i32", (n,), "below", bins)
            yield Launch(
                "histogram", "histogram", f"{n} of {bins} by {block}", (x, Array("i32", (bins,), "zeros"), n),
                {"BLOCK": block, "BINS": bins}, (cdiv(n, block),), warps,
            )  # fmt: skip


def permutations() -> Iterator[Launch]:
    for dtype in ("fp32", "fp16", "i8"):
        for rows, columns in ((4096, 8192), (4095, 8191)):
            for tile, warps in ((64, 4), (32, 4)):
                yield Launch(
                    "transpose", "transpose", f"{dtype} {rows}x{columns} by {tile}",
                    (Array(dtype, (rows, columns)), result(dtype, columns, rows), rows, columns),
                    {"ROWS": tile, "COLS": tile}, (cdiv(rows, tile), cdiv(columns, tile)), warps,
                )  # fmt: skip
                yield Launch(
                    "index_division", "copy_by_groups", f"{dtype} {rows}x{columns} by {tile}x{2 * tile}",
                    (Array(dtype, (rows, columns)), result(dtype, rows, columns), rows, columns),
                    {"BM": tile, "BN": 2 * tile, "GROUP": 8}, (cdiv(rows, tile) * cdiv(columns, 2 * tile),), warps,
                )  # fmt: skip
    for dtype in ("fp32", "fp16"):
        for a, b, c in ((256, 256, 512), (64, 500, 1000), (128, 512, 512), (1000, 256, 128), (32, 1024, 1024)):
            x, size = Array(dtype, (a, b, c)), a * b * c
            yield Launch(
                "permute", "permute_cab", f"{dtype} {a}x{b}x{c}", (x, result(dtype, c, a, b), a, b, c),
                {"A": 2, "B": 32, "C": 32}, (cdiv(a, 2), cdiv(b, 32), cdiv(c, 32)), 4,
            )  # fmt: skip
            yield Launch(
                "permute", "permute_bac", f"{dtype} {a}x{b}x{c}", (x, result(dtype, b, a, c), a, b),
                {"N_C": c, "BLOCK": 2048}, (cdiv(size, 2048),), 4,
            )  # fmt: skip


def rotary() -> Iterator[Launch]:
    for dtype in ("fp16", "fp32", "bf16"):
        for tokens, heads, half, warps in ((8192, 32, 64, 4), (8192, 24, 64, 4), (16384, 32, 32, 4), (4096, 64, 64, 8)):
            cosine = Array(dtype, (tokens, half))
            x, y = Array(dtype, (tokens, heads, 2 * half)), result(dtype, tokens, heads, 2 * half)
            for kind in ("halves", "pairs"):
                yield Launch(
                    "rotary", f"rotate_{kind}", f"{dtype} {tokens}x{heads}x{2 * half}", (x, cosine, cosine, y, heads),
                    {"HEADS": 16, "HALF": half}, (tokens, cdiv(heads, 16)), warps,
                )  # fmt: skip


def quantization() -> Iterator[Launch]:
    for dtype, rows, columns, warps in _rows(("fp16", "fp32"), WIDTHS):
        block = power_of_two(columns)
        yield Launch(
            "casts", "quantize_rows", f"{dtype} {rows}x{columns}",
            (Array(dtype, (rows, columns)), result("i8", rows, columns), result("fp32", rows), columns), {"BLOCK": block},
            (rows,), warps,
        )  # fmt: skip
        yield Launch(
            "casts", "dequantize_rows", f"{dtype} {rows}x{columns}",
            (Array("i8", (rows, columns), "below", 127), Array("fp32", (rows,)), result(dtype, rows, columns), columns),
            {"BLOCK": min(block, 2048)}, (rows, cdiv(columns, min(block, 2048))), warps,
        )  # fmt: skip


def tiles() -> Iterator[Launch]:
    for dtype in ("fp16", "fp32", "i8"):
        for rows, columns, width, warps in (
            (4096, 8192, 1024, 4),
            (8192, 4096, 2048, 8),
            (4096, 8000, 512, 2),
            (2048, 16384, 4096, 8),
        ):
            yield Launch(
                "tiled", "untile", f"{dtype} {rows}x{columns} by {width}",
                (Array(dtype, (rows // 16, columns // 16, 16, 16)), result(dtype, rows, columns), columns), {"COLS": width},
                (rows, cdiv(columns, width)), warps,
            )  # fmt: skip
    for rows, columns, times, block, warps in (
        (1 << 14, 16, 60, 128, 4), (1 << 14, 64, 16, 64, 4), (1 << 14, 32, 31, 128, 8), (1 << 12, 128, 32, 32, 4), (1 << 14, 16, 59, 256, 4),
    ):  # fmt: skip
        for dtype in ("i8", "fp16"):
            n = 2 * rows * times
            yield Launch(
                "index_division", "repeat_rows", f"{dtype} {rows}x{columns} {times} times",
                (Array(dtype, (rows, columns), "below", 100), result(dtype, n, columns), rows, times, n),
                {"COLS": columns, "BLOCK": block}, (1, cdiv(n, block)), warps,
            )  # fmt: skip


def products() -> Iterator[Launch]:
    for dtype in ("fp32", "fp16"):
        for size, (bm, bn, bk), warps in (
            (1024, (32, 32, 16), 4), (1024, (64, 64, 16), 4), (1000, (32, 64, 16), 4), (1024, (64, 64, 32), 8), (777, (16, 16, 16), 1),
        ):  # fmt: skip
            x = Array(dtype, (size, size))
            yield Launch(
                "small_matmul", "small_matmul", f"{dtype} {size} by {bm}x{bn}x{bk}",
                (x, x, result("fp32", size, size), size, size, size), {"BM": bm, "BN": bn, "BK": bk},
                (cdiv(size, bm), cdiv(size, bn)), warps,
            )  # fmt: skip


FAMILIES: tuple[Callable[[], Iterator[Launch]], ...] = (
    vector_add, cast, dropout, gathers, row_gathers, softmax, norms, rows_and_columns, arg_reductions, partial_sums,
    losses_and_scans, sorts, histograms, permutations, rotary, quantization, tiles, products,
)  # fmt: skip

LAUNCHES: tuple[Launch, ...] = tuple(launch for family in FAMILIES for launch in family())
