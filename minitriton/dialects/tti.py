"""The `tti` dialect: what the concurrency sanitizer puts into a kernel.

tti.experimental_assert_in_thread %ok, "read before write" {check_any = false} : tensor<4xi1, #blocked>
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, TensorType, i1, i32, i64
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, operand_def, opt_operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure

from minitriton.dialects.declared import declared
from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.ttg_text import parse_attr_dict, parse_memdesc, print_attr_dict, print_memdesc, resolve
from minitriton.dialects.ttg_traits import i32_attr
from minitriton.dialects.ttg_types import MemDescType

MEMORY_TYPES = ("shared_mem", "tensor_mem")
"""Kinds of memory in the order of their numbers."""


@op_definition
class ExperimentalAssertInThreadOp(IRDLOperation):
    """Ends the program with `message` unless all (with `check_any`, any) of the thread's values are true."""

    name = "tti.experimental_assert_in_thread"

    condition = operand_def()
    message = prop_def(StringAttr)
    check_any = prop_def(IntegerAttr.constr(i1))
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$condition `,` $message attr-dict `:` type($condition)"


@op_definition
class ExperimentalBufferPointersOp(IRDLOperation):
    """A tensor of the addresses at `offsets` in shared or tensor memory."""

    name = "tti.experimental_buffer_pointers"

    offsets = prop_def(DenseArrayBase.constr(i32))
    mem_type = prop_def(IntegerAttr.constr(i32), prop_name="memType")
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ExperimentalBufferPointersOp:
        offsets = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        parser.parse_punctuation(",")
        word = parser.parse_identifier()
        if word not in MEMORY_TYPES:
            parser.raise_error(f"expected one of {', '.join(MEMORY_TYPES)}, got {word}")
        _, attributes = parse_attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(
            result_types=[parser.parse_type()],
            properties={
                "offsets": DenseArrayBase.from_list(i32, offsets),
                "memType": i32_attr(MEMORY_TYPES.index(word)),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        offsets = ", ".join(str(offset) for offset in self.offsets.get_values())
        printer.print_string(f" [{offsets}], {MEMORY_TYPES[self.mem_type.value.data]}")
        print_attr_dict(printer, self, ("offsets", "memType"))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)


@op_definition
class ExperimentalMemDescToI64Op(IRDLOperation):
    """The address of a buffer as a number."""

    name = "tti.experimental_memdesc_to_i64"

    memdesc = operand_def(MemDescType)
    result = result_def(i64)
    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ExperimentalMemDescToI64Op:
        operand = parser.parse_unresolved_operand()
        _, attributes = parse_attr_dict(parser, cls)
        parser.parse_punctuation(":")
        return cls.create(
            operands=resolve(parser, [operand], [parse_memdesc(parser)]), result_types=[i64], attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.memdesc)
        print_attr_dict(printer, self)
        printer.print_string(" : ")
        print_memdesc(printer, self.memdesc.type)


@op_definition
class ExperimentalLockAcquireOp(IRDLOperation):
    """One thread takes the lock, where `pred` holds."""

    name = "tti.experimental_lock_acquire"

    lock = operand_def()
    pred = opt_operand_def(i1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$lock (`,` $pred^)? attr-dict `:` type($lock)"


@op_definition
class ExperimentalLockReleaseOp(IRDLOperation):
    """One thread gives the lock back, where `pred` holds."""

    name = "tti.experimental_lock_release"

    lock = operand_def()
    pred = opt_operand_def(i1)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$lock (`,` $pred^)? attr-dict `:` type($lock)"


TTI = Dialect("tti", *declared("tti", globals()))
