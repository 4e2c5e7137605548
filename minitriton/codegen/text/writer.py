"""What writing LLVM IR text needs everywhere: names of values, lines, declarations, and the table of writers.

@WRITERS.add(llvm.FNegOp)
def fneg(w: FunctionWriter, op: Operation) -> None:
    w.emit(f"{w.define(op.results[0])} = fneg {w.typed(op.operands[0])}")
"""

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, SSAValue

from minitriton.codegen.debug_info import DebugInfo, NoDebugInfo
from minitriton.codegen.text.values import symbol_text, type_text
from minitriton.dialects.op_rules import OpRules

Writer = Callable[["FunctionWriter", Any], None]

WRITERS = OpRules[Writer]()
"""How each op is written."""

KERNEL_CONVENTIONS: dict[str, str] = {}
"""LLVM's calling convention of kernels, by the attribute with which a back end marks their `llvm.func`."""
FUNCTION_ATTRIBUTES: list[str] = []
"""Attributes of an `llvm.func` that LLVM IR has as strings, in the order of the text: a back end adds its own."""
LOAD_METADATA: dict[str, str] = {}
"""What LLVM IR says after a load that has one of these attributes."""
PARAMETER_ATTRIBUTES: set[str] = set()
"""Those of parameters, likewise."""


class ModuleWriter:
    """What the functions of a module share: declarations, attribute groups, metadata."""

    def __init__(self, debug: DebugInfo | NoDebugInfo, ptx_version: int):
        self.debug = debug
        self.ptx_version = ptx_version
        self.declarations: dict[str, str] = {}
        self.structs: dict[str, str] = {}
        """What is written in place of a struct's type, by that."""
        self.asm_attributes_used = False

    def declare(self, name: str, result: str, parameters: str) -> None:
        """Makes sure that a function is declared."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} {symbol_text(name)}({parameters})"

    def struct(self, type_: str) -> str:
        """`type_`, or the name of it where it is a long struct: reading a type takes LLVM longer than any other word."""
        if len(type_) <= _LONG_TYPE:
            return type_
        return self.structs.setdefault(type_, f"%words{len(self.structs)}")


_LONG_TYPE = 60


class FunctionWriter:
    """Writes the body of one function: `lines` so far, and what every value is called."""

    __slots__ = ("_count", "dbg", "labels", "lines", "module", "names", "predecessors")

    def __init__(self, module: ModuleWriter):
        self.module = module
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.labels: dict[Block, str] = {}
        self.predecessors: dict[Block, list[tuple[str, Sequence[SSAValue]]]] = {}
        self.dbg = ""
        self._count = 0

    def new_name(self) -> str:
        """A name for a value that is only in the text."""
        self._count += 1
        return f"%t{self._count}"

    def define(self, value: SSAValue) -> str:
        """Names the value that the next line defines."""
        self._count += 1
        name = self.names[value] = f"%v{self._count}"
        return name

    def typed(self, value: SSAValue) -> str:
        """`i32 %v4`"""
        return f"{type_text(value.type)} {self.names[value]}"

    def emit(self, text: str) -> None:
        """One instruction."""
        self.lines.append(f"  {text}{self.dbg}")

    def let(self, text: str) -> str:
        """One instruction whose result is only in the text; returns its name."""
        name = self.new_name()
        self.lines.append(f"  {name} = {text}{self.dbg}")
        return name


def escaped(text: str) -> str:
    """A text inside LLVM's quotes."""
    return text.replace("\\", "\\5C").replace('"', "\\22").replace("\n", "\\0A").replace("\t", "\\09")


def inserted(w: FunctionWriter, values: Sequence[str], type_: str) -> str:
    """A vector of the named values."""
    if len(values) == 1:
        return values[0]
    result = "poison"
    for lane, value in enumerate(values):
        result = w.let(f"insertelement <{len(values)} x {type_}> {result}, {type_} {value}, i32 {lane}")
    return result
