"""The same TTGIR under both compilers, run on the emulator: no more accesses of shared memory, no more bank conflicts, the same `ldmatrix` and `stmatrix`.

Conversions between layouts, and buffers written from one layout and read into another, of a tile that goes from one array to the other.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minitriton import compiler, emulator
from minitriton.target import GPUTarget

pytestmark = pytest.mark.oracle
triton = pytest.importorskip("triton")


def blocked(registers: list[int], lanes: list[int], warps: list[int], order: list[int]) -> str:
    return f"#ttg.blocked<{{sizePerThread = {registers}, threadsPerWarp = {lanes}, warpsPerCTA = {warps}, order = {order}}}>"


def mma(version: int, warps: list[int], shape: list[int]) -> str:
    return (
        f"#ttg.nvidia_mma<{{versionMajor = {version}, versionMinor = 0, warpsPerCTA = {warps}, instrShape = {shape}}}>"
    )


def operand(index: int, k_width: int) -> str:
    return f"#ttg.dot_op<{{opIdx = {index}, parent = {MMA_V2}, kWidth = {k_width}}}>"


MMA_V2 = mma(2, [2, 2], [16, 8])
LAYOUTS = {
    "rows of 16": blocked([1, 16], [8, 4], [4, 1], [1, 0]),
    "rows of 8": blocked([1, 8], [8, 4], [4, 1], [1, 0]),
    "wide rows of 8": blocked([1, 8], [2, 16], [4, 1], [1, 0]),
    "rows of 4": blocked([1, 4], [4, 8], [4, 1], [1, 0]),
    "rows of 1": blocked([1, 1], [1, 32], [4, 1], [1, 0]),
    "columns of 16": blocked([16, 1], [4, 8], [1, 4], [0, 1]),
    "columns of 8": blocked([8, 1], [4, 8], [1, 4], [0, 1]),
    "wide columns of 8": blocked([8, 1], [16, 2], [1, 4], [0, 1]),
    "columns of 4": blocked([4, 1], [8, 4], [1, 4], [0, 1]),
    "squares": blocked([4, 4], [8, 4], [2, 2], [1, 0]),
    "mma": MMA_V2,
    "wgmma": mma(3, [4, 1], [16, 64, 16]),
    "A": operand(0, 2),
    "B": operand(1, 2),
    "A of tf32": operand(0, 1),
    "B of tf32": operand(1, 1),
    "A of fp8": operand(0, 4),
    "B of fp8": operand(1, 4),
}


def nvmma(swizzle: int, transposed: bool, bits: int) -> str:
    return (
        f"#ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, transposed = {str(transposed).lower()}, "
        f"elementBitWidth = {bits}}}>"
    )


def swizzled(vec: int, per_phase: int, max_phase: int, order: list[int]) -> str:
    return f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {max_phase}, order = {order}}}>"


BUFFERS = {
    "128 bytes": nvmma(128, False, 16),
    "64 bytes": nvmma(64, False, 16),
    "128 bytes, transposed": nvmma(128, True, 16),
    "8 of 8": swizzled(8, 1, 8, [1, 0]),
    "8 of 4, transposed": swizzled(8, 2, 4, [0, 1]),
    "128 bytes of fp8": nvmma(128, False, 8),
    "128 bytes of f32": nvmma(128, False, 32),
    "none": swizzled(1, 1, 1, [1, 0]),
}


@dataclass(frozen=True)
class Way:
    """A tile of `shape` goes from layout `src` to layout `dst`, through `buffer` if there is one."""

    src: str
    dst: str
    bits: int = 16
    shape: tuple[int, int] = (128, 128)
    buffer: str | None = None

    def __str__(self) -> str:
        return "-".join(map(str, (self.src, self.dst, self.bits, self.buffer)))

    def ttgir(self) -> str:
        (m, n), element = self.shape, f"i{self.bits}"
        tile = f"{m}x{n}x{element}"
        body = [f"%y = ttg.convert_layout %x : tensor<{tile}, #src> -> tensor<{tile}, #dst>"]
        aliases = [f"#src = {LAYOUTS[self.src]}", f"#dst = {LAYOUTS[self.dst]}"]
        if self.buffer is not None:
            memory = f"!ttg.memdesc<{tile}, #shared, #smem, mutable>"
            aliases += [f"#shared = {BUFFERS[self.buffer]}", "#smem = #ttg.shared_memory"]
            body = [
                f"%tile = ttg.local_alloc %x : (tensor<{tile}, #src>) -> {memory}",
                f"%y = ttg.local_load %tile : {memory} -> tensor<{tile}, #dst>",
            ]
        lines = [
            *_pointers("a", "#src", self.shape, element),
            f"%x = tt.load %a_at : tensor<{m}x{n}x!tt.ptr<{element}>, #src>",
            *body,
            *_pointers("b", "#dst", self.shape, element),
            f"tt.store %b_at, %y : tensor<{m}x{n}x!tt.ptr<{element}>, #dst>",
            "tt.return",
        ]
        arguments = ", ".join(f"%{name}: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}}" for name in "ab")
        module = '"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32'
        return "\n".join(
            [*aliases, f"module attributes {{{module}}} {{", f"tt.func public @k({arguments}) {{", *lines, "}", "}"]
        )


def _pointers(name: str, layout: str, shape: tuple[int, int], element: str) -> list[str]:
    """`%name_at`: the addresses of all elements of an array in rows."""
    m, n = shape
    rows, columns = (f"#ttg.slice<{{dim = {dim}, parent = {layout}}}>" for dim in (1, 0))
    whole = f"tensor<{m}x{n}xi32, {layout}>"
    pointers = f"tensor<{m}x{n}x!tt.ptr<{element}>, {layout}>"
    return [
        f"%{name}_i = tt.make_range {{start = 0 : i32, end = {m} : i32}} : tensor<{m}xi32, {rows}>",
        f"%{name}_j = tt.make_range {{start = 0 : i32, end = {n} : i32}} : tensor<{n}xi32, {columns}>",
        f"%{name}_i1 = tt.expand_dims %{name}_i {{axis = 1 : i32}} : tensor<{m}xi32, {rows}> -> tensor<{m}x1xi32, {layout}>",
        f"%{name}_j1 = tt.expand_dims %{name}_j {{axis = 0 : i32}} : tensor<{n}xi32, {columns}> -> tensor<1x{n}xi32, {layout}>",
        f"%{name}_n = arith.constant dense<{n}> : tensor<{m}x1xi32, {layout}>",
        f"%{name}_row = arith.muli %{name}_i1, %{name}_n : tensor<{m}x1xi32, {layout}>",
        f"%{name}_rows = tt.broadcast %{name}_row : tensor<{m}x1xi32, {layout}> -> {whole}",
        f"%{name}_columns = tt.broadcast %{name}_j1 : tensor<1x{n}xi32, {layout}> -> {whole}",
        f"%{name}_offset = arith.addi %{name}_rows, %{name}_columns : {whole}",
        f"%{name}_all = tt.splat %{name} : !tt.ptr<{element}> -> {pointers}",
        f"%{name}_at = tt.addptr %{name}_all, %{name}_offset : {pointers}, {whole}",
    ]


@dataclass(frozen=True)
class Cost:
    requests: int
    wavefronts: int
    conflicts: int
    waits: int
    matrices: dict[str, int]


def cost(kernel: Any, way: Way) -> Cost:
    """What one run takes; checks that the tile arrives and that nothing is wrong on the way."""
    type_ = np.dtype(f"u{way.bits // 8}")
    tile = np.random.default_rng(0).integers(0, 1 << min(way.bits, 63), way.shape, dtype=type_)
    out = np.zeros_like(tile)
    report = emulator.run(kernel.asm["ptx"], None, (1,), [tile, out], kernel.metadata.shared)
    assert report.ok, report.findings
    assert (out == tile).all()
    shared, mix = report.total("shared"), report.mix()
    matrices = Counter(re.findall(r"\b(?:ld|st)matrix\.[\w.]+", kernel.asm["ptx"]))
    waits = sum(count for name, count in mix.items() if name.startswith("bar"))
    return Cost(shared.requests, shared.wavefronts, shared.conflicts, waits, dict(matrices))


def costs(way: Way, folder: Path) -> tuple[Cost, Cost, Cost]:
    """Of minitriton, of minitriton without its own passes, of Triton."""
    from triton.backends.compiler import GPUTarget as TritonTarget

    path = folder / "kernel.ttgir"
    path.write_text(way.ttgir())
    target = GPUTarget("cuda", 90)
    ours, plain = (compiler.compile(str(path), target, {"without": without}) for without in ("", "minitriton"))
    theirs = triton.compile(str(path), target=TritonTarget("cuda", 90, 32))
    return cost(ours, way), cost(plain, way), cost(theirs, way)


CONVERSIONS = [
    Way("rows of 8", "columns of 8"), Way("wide rows of 8", "wide columns of 8"), Way("columns of 8", "rows of 8"),
    Way("rows of 1", "columns of 4"), Way("wgmma", "rows of 8"), Way("wgmma", "wide rows of 8"),
    Way("wgmma", "columns of 8"), Way("mma", "wide rows of 8"), Way("rows of 8", "mma"), Way("rows of 8", "A"),
    Way("rows of 8", "B"), Way("columns of 8", "B"), Way("mma", "A"), Way("squares", "mma"), Way("rows of 4", "squares"),
    Way("rows of 4", "columns of 4", 32, (128, 64)), Way("rows of 1", "rows of 4", 32, (128, 64)),
    Way("wgmma", "rows of 4", 32, (128, 64)), Way("rows of 4", "A of tf32", 32, (128, 64)),
    Way("columns of 4", "B of tf32", 32, (128, 64)), Way("rows of 16", "columns of 16", 8),
    Way("rows of 4", "columns of 4", 8), Way("rows of 16", "A of fp8", 8), Way("columns of 16", "B of fp8", 8),
    Way("wgmma", "rows of 16", 8), Way("rows of 1", "columns of 4", 64, (64, 64)),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", CONVERSIONS, ids=str)
def test_conversions_cost_no_more(way: Way, tmp_path: Path) -> None:
    ours, plain, theirs = costs(way, tmp_path)
    assert plain == theirs
    assert ours.requests <= theirs.requests
    assert (ours.wavefronts, ours.conflicts) == (theirs.wavefronts, theirs.conflicts)
    assert ours.waits <= theirs.waits


THROUGH_BUFFERS = [
    Way("wgmma", "rows of 8", 16, (128, 64), "128 bytes"), Way("mma", "A", 16, (128, 64), "128 bytes"),
    Way("rows of 8", "B", 16, (128, 64), "128 bytes"), Way("wgmma", "A", 16, (128, 64), "64 bytes"),
    Way("columns of 8", "A", 16, (128, 64), "128 bytes, transposed"), Way("mma", "B", 16, (128, 64), "128 bytes, transposed"),
    Way("rows of 8", "B", 16, (128, 64), "8 of 8"), Way("A", "rows of 1", 16, (128, 64), "8 of 8"),
    Way("columns of 8", "B", 16, (128, 64), "8 of 4, transposed"), Way("wgmma", "columns of 8", 16, (128, 64), "none"),
    Way("rows of 16", "A of fp8", 8, (128, 128), "128 bytes of fp8"), Way("wgmma", "rows of 16", 8, (128, 128), "128 bytes of fp8"),
    Way("rows of 4", "A of tf32", 32, (128, 64), "128 bytes of f32"), Way("mma", "B of tf32", 32, (128, 64), "128 bytes of f32"),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", THROUGH_BUFFERS, ids=str)
def test_buffers_are_written_and_read_by_the_same_instructions(way: Way, tmp_path: Path) -> None:
    ours, _, theirs = costs(way, tmp_path)
    assert ours.matrices == theirs.matrices
    assert ours.requests == theirs.requests
    assert ours.wavefronts <= theirs.wavefronts
    assert ours.waits == theirs.waits


def test_the_register_that_walks_over_rows_is_chosen_by_banks(tmp_path: Path) -> None:
    ours, _, theirs = costs(Way("columns of 8", "B", 16, (64, 64), "none"), tmp_path)
    assert ours.matrices == theirs.matrices
    assert 2 * ours.conflicts < theirs.conflicts
