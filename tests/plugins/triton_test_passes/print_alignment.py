"""What axis-info analysis knows of every result, as remarks.

In: any module. Out: the module unchanged, and on standard error one line for each result of each op in a function:

    kernel.ttir:4:8: remark: %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> => contiguity = [128],
    divisibility = [1073741824], constancy = [1], constant_value = <none>

Of an op with regions the first line of its text stands before the arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.explain import location_of
from minitriton.analysis.axis_info.lattice import AxisInfo
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.errors import SourceLocation
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass


@dataclass(frozen=True)
class AlignmentRemark:
    """One result and what is known of it."""

    value: SSAValue
    fact: AxisInfo
    location: SourceLocation | None
    text: str

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}remark: {self.text} => {self.fact}"


def alignment_remarks(module: ModuleOp) -> Iterator[AlignmentRemark]:
    """A remark for each result of each op inside the functions of `module`, in textual order."""
    analysis = AxisInfoAnalysis(module)
    names = ValueNames(module)
    for function in module.ops:
        for op in function.walk():
            for result in op.results:
                yield AlignmentRemark(result, analysis.get(result), location_of(result), _first_line(op, names))


def _first_line(op: Operation, names: ValueNames) -> str:
    """The op as the module's text has it: `%2 = arith.addi %0, %1 : tensor<128xi32>`."""
    printer = TritonPrinter(names, AliasTable(enabled=False), False)
    printer.print_op(op)
    return printer.text.strip().split("\n", 1)[0]


@register_pass
class PrintAlignment(Pass, origin="triton"):
    """Prints what axis-info analysis knows of every result."""

    name = "test-print-alignment"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for remark in alignment_remarks(op):
            print(remark, file=sys.stderr)


@register_pass
class PrintAlignmentOnAMD(PrintAlignment, origin="triton"):
    """Under the name of Triton's tests for AMD."""

    name = "test-print-amd-alignment"
