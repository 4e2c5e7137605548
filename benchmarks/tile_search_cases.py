"""What `tile_search.py` searches: 60 matmuls and 12 other kernels, each with arguments as data, so that any process can make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from minitriton_kernels.cases import load_kernels

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Array:
    """An array of an element type (Triton's name) and a shape; `strides` where it is not row by row. `fill`: how it is made."""

    element: str
    shape: tuple[int, ...]
    fill: str = "random"


Argument = Array | int | float
Grid = Callable[[Mapping[str, Any]], tuple[int, ...]]


@dataclass(frozen=True)
class Case:
    """One kernel and one size. `given`: constants that are no choice; `listed`: configurations that a program would list by hand."""

    name: str
    file: str
    kernel: str
    arguments: tuple[Argument, ...]
    grid: Grid
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    operations: int = 0
    """Of a matmul."""

    def module(self, compiler: str = "minitriton") -> ModuleType:
        return load_kernels(self.file, compiler)

    def constants(self, module: ModuleType) -> dict[str, Any]:
        """`given`, with element types in place of their names."""
        tl: Any = module.tl
        return {
            name: getattr(tl, value[3:]) if isinstance(value, str) and value.startswith("tl.") else value
            for name, value in self.given.items()
        }


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class _TileGrid:
    """As many programs as there are tiles of `lengths` by the constants `names`; `batch` in another dimension."""

    lengths: tuple[int, ...]
    names: tuple[str, ...]
    batch: int = 1
    flat: bool = True

    def __call__(self, meta: Mapping[str, Any]) -> tuple[int, ...]:
        counts = [_cdiv(length, meta[name]) for length, name in zip(self.lengths, self.names, strict=True)]
        if not self.flat:
            return (*counts, self.batch) if self.batch > 1 else tuple(counts)
        whole = 1
        for count in counts:
            whole *= count
        return (whole, self.batch) if self.batch > 1 else (whole,)


@dataclass(frozen=True)
class _Fixed:
    shape: tuple[int, ...]

    def __call__(self, meta: Mapping[str, Any]) -> tuple[int, ...]:
        return self.shape


_SQUARE_AND_MORE = {
    "fp16": (
        (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (16, 4096, 4096),
        (64, 8192, 8192), (128, 4096, 11008), (4096, 64, 4096), (256, 256, 16384), (512, 512, 32768), (2048, 8192, 1024),
        (1000, 1000, 1000), (4097, 4095, 4093),
    ),
    "bf16": (
        (768, 768, 768), (1536, 1536, 1536), (4096, 4096, 1024), (4096, 4096, 8192), (32, 8192, 4096), (8192, 128, 4096), (384, 384, 24576),
        (3072, 768, 3072), (8192, 2048, 2048), (1023, 2047, 1025), (3000, 1504, 2000),
    ),
    "fp32": (
        (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 2048), (32, 4096, 4096), (4096, 128, 2048), (256, 256, 8192),
        (1536, 6144, 1536), (999, 1001, 1003), (2048, 1000, 512),
    ),
    "fp8e4nv": (
        (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 4096), (16, 8192, 8192), (128, 8192, 4096), (8192, 64, 4096),
        (512, 512, 16384), (3072, 3072, 3072), (4096, 11008, 2048), (2000, 2000, 2000),
    ),
    "i8": (
        (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (32, 8192, 8192), (4096, 128, 4096), (512, 512, 8192), (6144, 1536, 3072),
        (2000, 3008, 1504),
    ),
}  # fmt: skip
_BATCHES = (
    ("fp16", 16, 512, 512, 512), ("fp16", 64, 128, 128, 1024), ("bf16", 8, 1024, 1024, 1024), ("fp32", 32, 256, 256, 512),
    ("fp8e4nv", 16, 1024, 512, 1024), ("i8", 16, 512, 512, 1024),
)  # fmt: skip
_RESULT = {"fp8e4nv": "fp16", "i8": "i32"}


def matmul(kind: str, m: int, n: int, k: int, batch: int = 1) -> Case:
    """B row by row, of 8 bits column by column."""
    column_b = kind in _RESULT
    result = _RESULT.get(kind, kind)
    strides = (k, 1, *((1, k) if column_b else (n, 1)), n, m * k, k * n, m * n)
    a, b, c = (m, k), ((n, k) if column_b else (k, n)), (m, n)
    if batch > 1:
        a, b, c = (batch, *a), (batch, *b), (batch, *c)
    given = {
        "GROUP": 8, "ACC": "tl.int32" if kind == "i8" else "tl.float32", "MASKED": k % 256 != 0, "BATCHED": batch > 1,
    }  # fmt: skip
    name = f"matmul {kind} {f'{batch} of ' if batch > 1 else ''}{m}x{n}x{k}"
    arguments = (Array(kind, a), Array(kind, b), Array(result, c, "zeros"), m, n, k, *strides)
    grid = _TileGrid((m, n), ("BM", "BN"), batch)
    return Case(name, str(HERE / "tile_search_kernels"), "matmul", arguments, grid, given, 2 * batch * m * n * k)


def matmuls() -> list[Case]:
    """60 of them, kinds in turns, so that the first ones are a sample of all."""
    by_kind = [[matmul(kind, *shape) for shape in shapes] for kind, shapes in _SQUARE_AND_MORE.items()]
    found = [each for kind in by_kind for each in kind]
    return found + [matmul(kind, m, n, k, batch) for kind, batch, m, n, k in _BATCHES]


def others() -> list[Case]:
    """Kernels of the corpus without a hand-written list."""
    rows, columns = 8192, 4096
    x, y = Array("fp16", (rows, columns)), Array("fp16", (rows, columns), "zeros")
    wide, wide_out = Array("fp32", (2048, 16384)), Array("fp32", (2048, 16384), "zeros")
    of_row, f32_of_row = Array("fp16", (columns,)), Array("fp32", (rows,), "zeros")
    by_row = _Fixed((rows,))
    m, n, k = 4096, 4096, 4096
    heads, length, width = 64, 2048, 128
    flat = heads * length
    q = Array("fp16", (flat, width))
    return [
        Case("softmax", "softmax", "softmax", (y, x, columns, columns, rows, columns), by_row),
        Case("softmax wide", "softmax", "softmax", (wide_out, wide, 16384, 16384, 2048, 16384), _Fixed((2048,))),
        Case("layer_norm", "layer_norm", "layer_norm", (x, y, of_row, of_row, f32_of_row, f32_of_row, columns, columns, 1e-5), by_row),
        Case("rms_norm", "rms_norm", "rms_norm", (x, of_row, y, columns, columns, 1e-5), by_row),
        Case(
            "cross_entropy", "cross_entropy", "cross_entropy",
            (Array("fp16", (4096, 32000)), Array("i64", (4096,), "zeros"), Array("fp32", (4096,), "zeros"), 32000), _Fixed((4096,)),
        ),
        Case(
            "vector_add", "vector_add", "vector_add", (Array("fp32", (1 << 25,)), Array("fp32", (1 << 25,)), Array("fp32", (1 << 25,), "zeros"), 1 << 25),
            _TileGrid((1 << 25,), ("BLOCK",)),
        ),
        Case("transpose", "transpose", "transpose", (x, y, rows, columns), _TileGrid((rows, columns), ("ROWS", "COLS"), flat=False)),
        Case("cumulative_sum", "cumulative_sum", "cumulative_sum", (x, y, columns), by_row),
        Case("sum_rows", "reductions", "sum_rows", (x, f32_of_row, rows, columns), _TileGrid((rows,), ("ROWS",))),
        Case("sum_columns", "reductions", "sum_columns", (x, Array("fp32", (columns,), "zeros"), rows, columns), _TileGrid((columns,), ("COLS",))),
        Case(
            "attention", "matrix", "causal_attention", (q, q, q, Array("fp16", (flat, width), "zeros"), 0.1),
            _TileGrid((length,), ("BM",), heads), {"LENGTH": length, "WIDTH": width},
        ),
        Case(
            "int4 matmul", "matmul", "matmul_int4",
            (Array("i8", (m, k // 2)), Array("bf16", (m, k // 64)), Array("bf16", (k, n)), Array("bf16", (m, n), "zeros"), m, n, k, k // 2, n, n),
            _TileGrid((m, n), ("BM", "BN")), {"BK": 64, "GROUP": 8}, 2 * m * n * k,
        ),
        Case(
            "widened matmul", "matmul", "matmul_widened",
            (Array("i8", (m, k)), Array("bf16", (k, n)), Array("bf16", (m, n), "zeros"), m, n, k, k, n, n),
            _TileGrid((m, n), ("BM", "BN")), {"GROUP": 8}, 2 * m * n * k,
        ),
        Case(
            "grouped matmul", "matmul", "matmul_grouped",
            (Array("i64", (16, 3), "addresses"), Array("i32", (16, 3), "sizes"), 16), _Fixed((132,)),
            {"PROGRAMS": 132, "KIND": "tl.float16", "GROUP": 8}, 16 * 2 * 1024 * 2048 * 2048,
        ),
    ]  # fmt: skip


GROUPED = (1024, 2048, 2048)
"""Sizes of each of the grouped matmuls."""


def cases() -> list[Case]:
    return matmuls() + others()


TUTORIAL = (
    (128, 256, 64, 8, 3), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4), (128, 32, 32, 4, 4),
    (64, 32, 32, 2, 5), (32, 64, 32, 2, 5), (128, 256, 128, 8, 3), (256, 128, 128, 8, 3), (256, 64, 128, 4, 4), (64, 256, 128, 4, 4),
    (128, 128, 128, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (128, 32, 64, 4, 4),
)  # fmt: skip
"""BM, BN, BK, warps and stages of the configurations that Triton's tutorial of matmuls lists for CUDA."""
