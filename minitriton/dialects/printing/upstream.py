"""Textual forms of upstream ops where xDSL prints something else than MLIR.

%1 = scf.for %arg1 = %c0_i32 to %n step %c1_i32 iter_args(%arg2 = %0) -> (f32)  : i32 {

`PRINTERS` maps an op's class to a function that prints the op after its name.
"""

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.printer import Printer

from minitriton.dialects.fast_paths.op_access import block_of, operand_at, operand_values


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
    lower, upper, step, *initial = operand_values(op)
    variable, *arguments = block_of(op).args
    printer.print_string(" ")
    printer.print_ssa_value(variable)
    for word, value in ((" = ", lower), (" to ", upper), (" step ", step)):
        printer.print_string(word)
        printer.print_ssa_value(value)
    if arguments:
        _print_initial_values(printer, " iter_args", arguments, initial)
        printer.print_string(" -> (")
        _print_types(initial, printer)
        printer.print_string(")")
    printer.print_string(" ")
    if not isinstance(variable.type, IndexType):
        printer.print_string(" : ")
        printer.print_attribute(variable.type)
        printer.print_string(" ")
    printer.print_region(op.regions[0], print_entry_block_args=False, print_block_terminators=bool(arguments))
    printer.print_op_attributes(op.attributes)


def _print_if(op: Operation, printer: Printer) -> None:
    has_results = bool(op.results)
    true_region, false_region = op.regions
    printer.print_string(" ")
    printer.print_ssa_value(operand_at(op, 0))
    if has_results:
        printer.print_string(" -> (")
        _print_types(op.results, printer)
        printer.print_string(")")
    printer.print_string(" ")
    printer.print_region(true_region, print_entry_block_args=False, print_block_terminators=has_results)
    if false_region.first_block is not None:
        printer.print_string(" else ")
        printer.print_region(false_region, print_entry_block_args=False, print_block_terminators=has_results)
    printer.print_op_attributes(op.attributes)


def _print_while(op: Operation, printer: Printer) -> None:
    before, after = op.regions
    _print_initial_values(printer, " ", block_of(op).args, operand_values(op))
    printer.print_string(" : ")
    printer.print_function_type([value.type for value in operand_values(op)], [value.type for value in op.results])
    printer.print_string(" ")
    printer.print_region(before, print_entry_block_args=False)
    printer.print_string(" do ")
    printer.print_region(after)
    printer.print_op_attributes(op.attributes, print_keyword=True)


def _print_types(values: Sequence[SSAValue], printer: Printer) -> None:
    """`f32, i32`."""
    for index, value in enumerate(values):
        if index:
            printer.print_string(", ")
        printer.print_attribute(value.type)


def _print_values(values: Sequence[SSAValue], printer: Printer) -> None:
    """`%0, %1 : f32, i32`."""
    for index, value in enumerate(values):
        if index:
            printer.print_string(", ")
        printer.print_ssa_value(value)
    printer.print_string(" : ")
    _print_types(values, printer)


def _print_yield(op: Operation, printer: Printer) -> None:
    printer.print_op_attributes(op.attributes)
    values = operand_values(op)
    if values:
        printer.print_string(" ")
        _print_values(values, printer)


def _print_condition(op: Operation, printer: Printer) -> None:
    holds, *values = operand_values(op)
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


PRINTERS: dict[type[Operation], Callable[[Operation, Printer], None]] = {
    ModuleOp: _print_module,
    scf.ForOp: _print_for,
    scf.IfOp: _print_if,
    scf.WhileOp: _print_while,
    scf.YieldOp: _print_yield,
    scf.ConditionOp: _print_condition,
}
