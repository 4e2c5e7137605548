"""Where shared-memory allocation puts every buffer, as remarks.

In: TTGIR. Out: the module unchanged, and on standard error, for each function, its name, its buffers and its size:

    kernel.ttgir:3:0: remark: matmul
    kernel.ttgir:9:8: remark: scratch offset = 0, size = 8192
    kernel.ttgir:3:0: remark: size = 8192
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.axis_info.explain import source_location
from minitriton.analysis.shared_memory.allocation import BufferKind, FunctionAllocation, ScratchBytes, allocate
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects.attribute_values import plain_text
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass

Remark = tuple[Operation, str]


def allocation_remarks(module: ModuleOp, scratch_bytes: ScratchBytes) -> Iterator[Remark]:
    """For each function of `module` its name, the place of every buffer, and the bytes that it needs."""
    allocation = allocate(module, scratch_bytes)
    for op in module.walk():
        placed = allocation.functions.get(op)
        if placed is not None:
            yield op, plain_text(op.properties["sym_name"])
            yield from _function_remarks(placed)
            yield op, f"size = {placed.total_bytes}"


def _function_remarks(placed: FunctionAllocation) -> Iterator[Remark]:
    for op in placed.function.walk():
        scratch = placed.of_op.get(op)
        if scratch is not None:
            kind = "virtual" if scratch.kind is BufferKind.VIRTUAL else "scratch"
            yield op, f"{kind} offset = {scratch.offset}, size = {scratch.size}"
        for result in op.results:
            buffer = placed.of_value.get(result)
            if buffer is not None:
                yield op, f"offset = {buffer.offset}, size = {buffer.size}"


def print_remarks(remarks: Iterator[Remark]) -> None:
    """Print remarks on standard error, with the place in the source where it is known."""
    for op, text in remarks:
        location = source_location(op.location)
        print(f"{location}: remark: {text}" if location else f"remark: {text}", file=sys.stderr)


@register_pass
@dataclass(frozen=True)
class PrintAllocation(Pass, origin="triton"):
    """Prints where shared-memory allocation puts every buffer."""

    name = "test-print-allocation"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR, Property.EXCHANGES_LOWERED})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    get_scratch_size_function: str = "None"
    """`ValidConstant` gives every op 128 bytes of scratch, `None` what it needs."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constant = self.get_scratch_size_function == "ValidConstant"
        print_remarks(allocation_remarks(op, (lambda _: 128) if constant else triton_scratch_bytes))
