"""Textual forms of upstream ops where xDSL prints something else than MLIR.

%1 = scf.for %arg1 = %c0_i32 to %n step %c1_i32 iter_args(%arg2 = %0) -> (f32)  : i32 {

`PRINTERS` maps an op's class to a function that prints the op after its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import gpu, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.printer import Printer


def _print_initial_values(
    printer: Printer, prefix: str, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]
) -> None:
    """`iter_args(%arg2 = %0, %arg3 = %1)`."""
    if not values:
        return
    printer.print_string(f"{prefix}(")
    for index, (argument, value) in enumerate(zip(arguments, values, strict=True)):
        if index:
            printer.print_string(", ")
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
        printer.print_ssa_value(value)
    printer.print_string(")")


def _print_for(op: Operation, printer: Printer) -> None:
    assert isinstance(op, scf.ForOp)
    variable, *arguments = op.body.block.args
    printer.print_string(" ")
    printer.print_ssa_value(variable)
    for word, value in ((" = ", op.lb), (" to ", op.ub), (" step ", op.step)):
        printer.print_string(word)
        printer.print_ssa_value(value)
    if arguments:
        _print_initial_values(printer, " iter_args", arguments, op.iter_args)
        printer.print_string(" -> (")
        printer.print_list(op.iter_args.types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" ")
    if not isinstance(variable.type, IndexType):
        printer.print_string(" : ")
        printer.print_attribute(variable.type)
        printer.print_string(" ")
    printer.print_region(op.body, print_entry_block_args=False, print_block_terminators=bool(arguments))
    printer.print_op_attributes(op.attributes)


def _print_if(op: Operation, printer: Printer) -> None:
    assert isinstance(op, scf.IfOp)
    printer.print_string(" ")
    printer.print_ssa_value(op.cond)
    if op.output:
        printer.print_string(" -> (")
        printer.print_list(op.output.types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" ")
    printer.print_region(op.true_region, print_entry_block_args=False, print_block_terminators=bool(op.output))
    if op.false_region.blocks:
        printer.print_string(" else ")
        printer.print_region(op.false_region, print_entry_block_args=False, print_block_terminators=bool(op.output))
    printer.print_op_attributes(op.attributes)


def _print_while(op: Operation, printer: Printer) -> None:
    assert isinstance(op, scf.WhileOp)
    _print_initial_values(printer, " ", op.before_region.block.args, op.arguments)
    printer.print_string(" : ")
    printer.print_function_type(op.operand_types, op.result_types)
    printer.print_string(" ")
    printer.print_region(op.before_region, print_entry_block_args=False)
    printer.print_string(" do ")
    printer.print_region(op.after_region)
    printer.print_op_attributes(op.attributes, print_keyword=True)


def _print_values(values: Sequence[SSAValue], printer: Printer) -> None:
    """`%0, %1 : f32, i32`."""
    for index, value in enumerate(values):
        if index:
            printer.print_string(", ")
        printer.print_ssa_value(value)
    printer.print_string(" : ")
    for index, value in enumerate(values):
        if index:
            printer.print_string(", ")
        printer.print_attribute(value.type)


def _print_yield(op: Operation, printer: Printer) -> None:
    printer.print_op_attributes(op.attributes)
    if op.operands:
        printer.print_string(" ")
        _print_values(op.operands, printer)


def _print_condition(op: Operation, printer: Printer) -> None:
    holds, *values = op.operands
    printer.print_string("(")
    printer.print_ssa_value(holds)
    printer.print_string(")")
    printer.print_op_attributes(op.attributes)
    if values:
        printer.print_string(" ")
        _print_values(values, printer)


def _print_module(op: Operation, printer: Printer) -> None:
    assert isinstance(op, ModuleOp)
    attributes = dict(op.attributes)
    name = op.properties.get("sym_name") or attributes.pop("sym_name", None)
    if isinstance(name, StringAttr):
        printer.print_string(" ")
        printer.print_symbol_name(name.data)
    printer.print_op_attributes(attributes, print_keyword=True)
    printer.print_string(" ")
    printer.print_region(op.body, print_empty_block=False)


def _print_attributes_only(op: Operation, printer: Printer) -> None:
    printer.print_op_attributes(op.attributes)


PRINTERS: dict[type[Operation], Callable[[Operation, Printer], None]] = {
    ModuleOp: _print_module,
    gpu.BarrierOp: _print_attributes_only,
    scf.ForOp: _print_for,
    scf.IfOp: _print_if,
    scf.WhileOp: _print_while,
    scf.YieldOp: _print_yield,
    scf.ConditionOp: _print_condition,
}
