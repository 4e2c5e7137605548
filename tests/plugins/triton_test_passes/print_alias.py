"""Which buffers every memory descriptor may belong to, as remarks.

In: TTGIR. Out: the module unchanged, and on standard error a line for each descriptor, its values named as in the text:

    kernel.ttgir:5:8: remark: %1 -> %0
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.shared_memory.liveness import Aliases, shared_memory_aliases
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass
from triton_test_passes.print_allocation import Remark, print_remarks


def alias_remarks(function: Operation, name_of: Callable[[SSAValue], str]) -> Iterator[Remark]:
    """For each descriptor inside `function` its name and those of its buffers; block arguments are named at their branch."""
    aliases = shared_memory_aliases(function)
    for op in function.walk():
        if not op.results:
            if op.successors and isinstance(op.parent, Block):
                for argument in op.parent.args:
                    yield from _remark(op, argument, argument, aliases, name_of)
            continue
        if op.name == "scf.for":
            for argument, init in zip(op.regions[0].block.args[1:], tuple(op.operands)[3:], strict=True):
                yield from _remark(op, argument, init, aliases, name_of)
        for result in op.results:
            yield from _remark(op, result, result, aliases, name_of)


def _remark(
    op: Operation, named: SSAValue, value: SSAValue, aliases: Aliases, name_of: Callable[[SSAValue], str]
) -> Iterator[Remark]:
    buffers = sorted(name_of(buffer) for buffer in aliases.get(value, ()))
    if buffers:
        yield op, f"{name_of(named)} -> {','.join(buffers)}"


class TextNames:
    """Names of buffers and views as MLIR prints them where nothing else names them: `%0`, `%1#2`, `%arg0`.

    The values of a region are numbered before those of the regions inside it, and regions side by side start at the same number.
    """

    def __init__(self, function: Operation) -> None:
        self._names: dict[SSAValue, str] = {}
        self._number(function, 0, 0)

    def __call__(self, value: SSAValue) -> str:
        return self._names.get(value, "<unknown>")

    def _number(self, op: Operation, next_value: int, next_argument: int) -> None:
        for region in op.regions:
            values, arguments = next_value, next_argument
            for block in region.blocks:
                is_entry = block is region.first_block
                for argument in block.args:
                    self._names[argument] = f"%arg{arguments}" if is_entry else f"%{values}"
                    arguments, values = arguments + is_entry, values + (not is_entry)
                for inner in block.ops:
                    if inner.results and inner.name != "arith.constant":
                        self._name_results(inner, values)
                        values += 1
            for block in region.blocks:
                for inner in block.ops:
                    self._number(inner, values, arguments)

    def _name_results(self, op: Operation, number: int) -> None:
        for index, result in enumerate(op.results):
            self._names[result] = f"%{number}#{index}" if len(op.results) > 1 else f"%{number}"


@register_pass
class PrintAlias(Pass, origin="triton"):
    """Prints which buffers every memory descriptor may belong to."""

    name = "test-print-alias"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if function.name == "tt.func":
                print_remarks(alias_remarks(function, TextNames(function)))
