"""What tensor copies (TMA) write and read around the ends of a tensor's rows, on this machine's GPU and on the emulator.

    python benchmarks/tensor_copy_edges.py

A line for each store, reduction (`add`) and load (`zero`, `nan`: its padding) of one block: the element type, how many elements a row has, the block's rows x columns
and its first column; then the columns of the tensor's rows that are written, or that a load does not fill, with the bytes from the row's end to theirs. `!` marks a line
where the two devices differ, and makes the exit code 1. Without torch or a GPU the emulator's column is printed alone.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import minitriton as triton
import minitriton.language as tl
from minitriton import emulator
from minitriton.tools.tensor_descriptor import TensorDescriptor

ROWS, AROUND, STRIDE, BEFORE = 4, 16, 1024, 256
"""Rows of the tensor and of what is around it, bytes from row to row, and bytes before a row's first element that count as its own."""
ILLEGAL = "illegal instruction"
"""How the GPU ends a launch with such a copy."""
GUARD = 7
"""What memory holds before a store."""


NUMBERS = ("start", "rows", "columns", "stride", "row", "column")


@triton.jit
def store_block(desc, row, column, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    block = (tl.arange(0, R)[:, None] * 16 + tl.arange(0, C)[None, :] % 16 + 9).to(desc.dtype)
    if R == 1 and KIND == "add":
        desc.atomic_add([column], tl.reshape(block, [C]))
    elif R == 1:
        desc.store([column], tl.reshape(block, [C]))
    elif KIND == "add":
        desc.atomic_add([row, column], block)
    else:
        desc.store([row, column], block)


@triton.jit
def load_block(desc, row, column, out, R: tl.constexpr, C: tl.constexpr):
    where = out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    if R == 1:
        tl.store(where, tl.reshape(desc.load([column]), [R, C]))
    else:
        tl.store(where, desc.load([row, column]))


@triton.jit(do_not_specialize=NUMBERS)
def store(x, start, rows, columns, stride, row, column, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    if R == 1:
        store_block(tl.make_tensor_descriptor(x + start, [columns], [1], [C]), row, column, R, C, KIND)
    else:
        store_block(tl.make_tensor_descriptor(x + start, [rows, columns], [stride, 1], [R, C]), row, column, R, C, KIND)


@triton.jit(do_not_specialize=NUMBERS)
def load(x, start, rows, columns, stride, row, column, out, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    if R == 1:
        line = tl.make_tensor_descriptor(x + start, [columns], [1], [C], padding_option=KIND)
        load_block(line, row, column, out, R, C)
    else:
        matrix = tl.make_tensor_descriptor(x + start, [rows, columns], [stride, 1], [R, C], padding_option=KIND)
        load_block(matrix, row, column, out, R, C)


@triton.jit(do_not_specialize=["row", "column"])
def store_by_host(desc, row, column, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    store_block(desc, row, column, R, C, KIND)


@triton.jit(do_not_specialize=["row", "column"])
def load_by_host(desc, row, column, out, R: tl.constexpr, C: tl.constexpr, KIND: tl.constexpr):
    load_block(desc, row, column, out, R, C)


@dataclass(frozen=True)
class Edge:
    """A copy of `block` columns from `column` on, of a tensor of rows of `columns` elements. A single row is a tensor of one dimension."""

    kind: str
    dtype: str
    columns: int
    block: int
    column: int
    rows: int = 8
    base: int = 128
    """Bytes from a multiple of 1,024 to the tensor."""
    row: int = 0
    """Where the block begins."""
    by_host: bool = False
    """Whether the host makes the tensor map, on the GPU."""

    def __str__(self) -> str:
        at = (
            f"{self.rows}x{self.block} from {self.row}, {self.column}"
            + (f", base {self.base}" if self.base != 128 else "")
            + (", host" if self.by_host else "")
        )
        return f"{self.kind:5} {self.dtype:8} {self.columns:4} {at:30}"

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @property
    def start(self) -> int:
        """Elements from the start of memory to the tensor."""
        return (AROUND * STRIDE + self.base) // self.item

    @property
    def is_load(self) -> bool:
        """Whether the block is read."""
        return self.kind in ("zero", "nan")

    @property
    def constants(self) -> dict[str, Any]:
        """The kernel's."""
        return {"R": self.rows, "C": self.block, "KIND": self.kind}

    def arguments(self) -> list[Any]:
        """Memory and numbers, then the block that a load leaves."""
        size = (ROWS + 2 * AROUND) * STRIDE // self.item
        memory = (np.arange(size) % 90 + 3).astype(self.dtype) if self.is_load else np.full(size, GUARD, self.dtype)
        out = [np.zeros(self.rows * self.block, self.dtype)] if self.is_load else []
        return [memory, self.start, ROWS, self.columns, STRIDE // self.item, self.row, self.column, *out]

    def outcome(self, arguments: list[Any]) -> str:
        """In words, what the copy did."""
        return self._read(arguments[0], arguments[-1]) if self.is_load else self._written(arguments[0])

    def _written(self, memory: np.ndarray) -> str:
        per_row, before = STRIDE // self.item, BEFORE // self.item
        changed, wrong = memory != GUARD, 0
        lines: list[str] = []
        for row in range(min(self.rows, ROWS)):
            low = self.start + row * per_row
            lines.append(self._ranges(np.nonzero(changed[low - before : low - before + per_row])[0] - before))
            changed[low - before : low - before + per_row] = False
            of_block = row - self.row
            block = (of_block * 16 + np.arange(self.block) % 16 + 9 + GUARD * (self.kind == "add")).astype(self.dtype)
            found = memory[low + self.column :][: self.block]
            wrong += int(((found != block) & (found != GUARD)).sum())
        return _joined(lines, wrong) + (f"; {changed.sum()} elements outside of the rows" if changed.any() else "")

    def _read(self, memory: np.ndarray, block: np.ndarray) -> str:
        lines: list[str] = []
        wrong = 0
        for row, found in enumerate(block.reshape(self.rows, self.block)):
            filled = np.isnan(found) if self.kind == "nan" else found == 0
            here = memory[self.start + (self.row + row) * STRIDE // self.item + self.column :][: self.block]
            wrong += int((~filled & (found != here)).sum())
            lines.append(self._ranges(np.nonzero(~filled)[0] + self.column))
        return _joined(lines, wrong)

    def _ranges(self, columns: np.ndarray) -> str:
        if not len(columns):
            return "none"
        parts = np.split(columns, np.nonzero(np.diff(columns) != 1)[0] + 1)
        end = (int(columns[-1]) + 1 - self.columns) * self.item
        return ", ".join(f"{p[0]}..{p[-1]}" for p in parts) + f" ({end:+d})"


def _joined(lines: list[str], wrong: int) -> str:
    runs: list[tuple[int, str]] = []
    for row, line in enumerate(lines):
        if not runs or runs[-1][1] != line:
            runs.append((row, line))
    text = runs[0][1] if len(runs) == 1 else "; ".join(f"row {row} on: {line}" for row, line in runs)
    return text + (f"; {wrong} wrong values" if wrong else "")


def on_gpu(edge: Edge) -> str:
    """What this machine's GPU does, in words."""
    import torch

    triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    device = [torch.from_numpy(a).cuda() if isinstance(a, np.ndarray) else a for a in edge.arguments()]
    memory, start, rows, columns, stride, row, column, *out = device
    if edge.by_host:
        shape, strides, block = (
            ([columns], [1], [edge.block])
            if edge.rows == 1
            else ([rows, columns], [stride, 1], [edge.rows, edge.block])
        )
        desc = TensorDescriptor(memory[start:], shape, strides, block, "nan" if edge.kind == "nan" else "zero")
        (load_by_host if edge.is_load else store_by_host)[(1,)](desc, row, column, *out, **edge.constants)
    else:
        (load if edge.is_load else store)[(1,)](*device, **edge.constants)
    torch.cuda.synchronize()
    return edge.outcome([a.cpu().numpy() if isinstance(a, torch.Tensor) else a for a in device])


def serve(edges: list[Edge], pipe: Connection) -> None:
    """Sends what the GPU does for each edge; after a fault it does nothing more."""
    for edge in edges:
        try:
            pipe.send(on_gpu(edge))
        except Exception as error:
            first = str(error).splitlines()[0]
            pipe.send(ILLEGAL if ILLEGAL in first else f"{type(error).__name__}: {first}")
            return


def all_on_gpu(edges: list[Edge]) -> Iterator[str]:
    """What the GPU does for each edge, in processes of which each ends with a fault."""
    done = 0
    while done < len(edges):
        here, there = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.get_context("spawn").Process(target=serve, args=(edges[done:], there))
        worker.start()
        there.close()
        before = done
        try:
            while done < len(edges):
                yield here.recv()
                done += 1
        except EOFError:
            if done == before:
                yield "the process ended"
                done += 1
        worker.join()


def on_emulator(edge: Edge) -> str:
    """What the emulator does. Everything is in one allocation: nothing that is written is out of bounds."""
    arguments = edge.arguments()
    kernel = (load if edge.is_load else store).warmup(*arguments, **edge.constants, grid=(1,))
    report = emulator.run(kernel.asm["ptx"], None, (1, 1, 1), arguments, kernel.metadata.shared, scratch=4096)
    if any(ILLEGAL in finding.message for finding in report.findings):
        return ILLEGAL
    assert report.ok, report.findings
    return edge.outcome(arguments)


def edges() -> Iterator[Edge]:
    """Where a row ends and where the block begins, one dimension and two, maps of the kernel and the host, stores, reductions and loads."""
    for dtype, ends in (("int8", (464, 465, 466, 479)), ("float16", (232, 233, 239)), ("float32", (116, 117, 118))):
        item = np.dtype(dtype).itemsize
        for columns in ends:
            yield Edge("store", dtype, columns, 128 // item, 384 // item)
    for block in (16, 32, 64, 256):
        yield Edge("store", "int8", 261, block, 261 // block * block)
    for rows in (8, 1):
        yield Edge("store", "int8", 466, 128, 384, rows, by_host=True)
        yield Edge("store", "float32", 117, 32, 96, rows, by_host=True)
        yield Edge("store", "int8", 466, 128, 384, rows, base=144)
        for columns, column in ((512, 128), (466, 480), (466, 464), (466, -16), (466, 3), (3, 0), (1, 0)):
            yield Edge("store", "int8", columns, 128, column, rows)
        for column in (97, 100):
            yield Edge("store", "float32", 117, 32, column, rows)
        for dtype, columns in (("float16", 233), ("float32", 117), ("int32", 118)):
            yield Edge("add", dtype, columns, 128 // np.dtype(dtype).itemsize, 384 // np.dtype(dtype).itemsize, rows)
        yield Edge("add", "float32", 117, 32, -4, rows)
        for dtype, columns in (("int8", 466), ("float16", 233), ("float32", 117)):
            item = np.dtype(dtype).itemsize
            for kind in ("zero", "nan")[: 2 if dtype.startswith("float") else 1]:
                for column in (384 // item, -16):
                    yield Edge(kind, dtype, columns, 128 // item, column, rows)
        yield Edge("zero", "float32", 117, 32, -3, rows)
        yield Edge("zero", "int8", 466, 128, 381, rows)
    for kind, dtype in (("store", "int8"), ("add", "float32"), ("zero", "float32")):
        item = np.dtype(dtype).itemsize
        for row in (-8, -2, 2, 4, 12):
            yield Edge(kind, dtype, 464 // item, 128 // item, 128 // item, row=row)


def main() -> int:
    """Prints the table."""
    has_gpu = importlib.util.find_spec("torch") is not None and __import__("torch").cuda.is_available()
    tried = list(edges())
    different = 0
    for edge, found in zip(tried, all_on_gpu(tried) if has_gpu else [""] * len(tried), strict=True):
        expected = on_emulator(edge)
        differs = has_gpu and found != expected
        different += differs
        print(
            f"{'!' if differs else ' '} {edge} | {found or expected}" + (f" | emulator: {expected}" if differs else ""),
            flush=True,
        )
    print(f"{different} of {len(tried)} differ" if has_gpu else "no GPU: the emulator's")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
