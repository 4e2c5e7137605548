"""Values that control flow hands on unchanged need not be handed on.

In: a structured op whose regions are rewritten already, its operands, and the positions of carried values to look at. Out: the same
op's regions and operands without those that never change, and what each of them always is.

    scf.for ... iter_args(%a = %x, ...) { ... scf.yield %a, ... }      %a is %x
    scf.if %c { scf.yield %x, ... } else { scf.yield %x, ... }         the result is %x
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from minitriton.dialects.fast_paths.op_access import block_of, last_op_of, operand_at, operand_values
from minitriton.rewriting.regions import is_defined_outside

_BOUNDS = 3
"""The operands of `scf.for` before its initial values."""


def drop_steady(op: Operation, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    """Removes from `op`'s regions and from `operands` the carried values at `positions` (counted among the results) that never
    change; what each of them always is."""
    if not positions:
        return {}
    if isinstance(op, scf.ForOp):
        return _of_for(op, operands, positions)
    if isinstance(op, scf.IfOp):
        return _of_if(op, positions)
    if isinstance(op, scf.WhileOp):
        return _of_while(op, operands, positions)
    return {}


def _terminator(op: Operation, region: int) -> Operation:
    return last_op_of(block_of(op, region))


def _replace_argument(block: Block, index: int, value: SSAValue) -> None:
    argument = block.args[index]
    argument.replace_all_uses_with(value)
    block.erase_arg(argument)


def _drop_operands(op: Operation, dropped: set[int], first: int = 0) -> None:
    op.operands = [value for index, value in enumerate(operand_values(op)) if index - first not in dropped]


def _of_for(op: scf.ForOp, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    block, end = block_of(op, 0), _terminator(op, 0)
    dropped: dict[int, SSAValue] = {}
    for position in positions:
        init, argument = operands[_BOUNDS + position], block.args[1 + position]
        if operand_at(end, position) in (argument, init):
            dropped[position] = init
    _drop_operands(end, set(dropped))
    for position in sorted(dropped, reverse=True):
        _replace_argument(block, 1 + position, dropped[position])
        del operands[_BOUNDS + position]
    return dropped


def _of_if(op: scf.IfOp, positions: Sequence[int]) -> dict[int, SSAValue]:
    then, other = _terminator(op, 0), _terminator(op, 1)
    dropped = {p: operand_at(then, p) for p in positions if operand_at(then, p) is operand_at(other, p)}
    for end in (then, other):
        _drop_operands(end, set(dropped))
    return dropped


def _of_while(op: scf.WhileOp, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    """First the values that go round unchanged, then the results that are one of the values around the loop."""
    before, after = block_of(op, 0), block_of(op, 1)
    condition, end = _terminator(op, 0), _terminator(op, 1)
    steady: dict[int, SSAValue] = {}
    for index, init in enumerate(operands):
        again = operand_at(end, index)
        through = after.args.index(again) if again in after.args else None
        comes_back = through in positions and operand_values(condition)[1 + (through or 0)] is before.args[index]
        if comes_back or (
            again is init and any(operand_values(condition)[1 + p] is before.args[index] for p in positions)
        ):
            steady[index] = init
    _drop_operands(end, set(steady))
    for index in sorted(steady, reverse=True):
        _replace_argument(before, index, steady[index])
        del operands[index]
    dropped = {p: v for p in positions if is_defined_outside(v := operand_values(condition)[1 + p], op)}
    _drop_operands(condition, set(dropped), 1)
    for position in sorted(dropped, reverse=True):
        _replace_argument(after, position, dropped[position])
    return dropped
