"""`triton-loop-unroll`: loops marked `tt.loop_unroll_factor` do several iterations at a time.

    scf.for %i = %l to %u step %s { f(%i) }  {tt.loop_unroll_factor = 2}
        =>
    scf.for %i = %l to %e step %2s { f(%i); f(%i + %s) }       %e: the bound that a whole number of double steps reaches
    scf.for %i = %e to %u step %s { f(%i) }  {tt.num_stages = 1}

The second loop is left out if the trip count is known to be a multiple; either is replaced by its body if it runs once, and
left out if it never runs.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import (
    block_of,
    last_op_of,
    operand_at,
    operand_values,
    ops_in_inner_first,
)
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import constant_op, int_attr, int_constant, width_of
from minitriton.rewriting.regions import clone_op

UNROLL_FACTOR = "tt.loop_unroll_factor"
NUM_STAGES = "tt.num_stages"


def _before(anchor: Operation, op: Operation, location: Operation) -> SSAValue:
    """Inserts `op` before `anchor`, with the location of `location`; its result."""
    assert anchor.parent is not None
    op.location = location.location
    anchor.parent.insert_op_before(op, anchor)
    return op.results[0]


def trip_count(loop: scf.ForOp) -> int | None:
    """How often `loop` runs, if its bounds and step are constants."""
    low, high, step = (int_constant(value) for value in operand_values(loop)[:3])
    if low is None or high is None or not step or step < 0:
        return None
    return max(0, -(-(high - low) // step))


def _dynamic_bounds(loop: scf.ForOp, factor: int) -> tuple[SSAValue, SSAValue]:
    """The end and the step of the unrolled loop, computed at run time. The step must be positive.

    high - low is an unsigned number that may need all bits, if `low` is negative; `factor` steps may be more than a number holds.
    """
    low, high, step = operand_values(loop)[:3]
    type, first, by = low.type, int_constant(low), int_constant(step)
    all_bits = first is None or first < 0 or width_of(type) < 32
    if by != 1 or first != 0:
        high = _before(loop, arith.MaxSIOp(high, low), loop)
    difference = _before(loop, arith.SubiOp(high, low), loop)
    if all_bits and by != 1:
        count = _before(loop, arith.CeilDivUIOp(difference, step), loop)
    else:
        one = _before(loop, constant_op(int_attr(type, 1)), loop)
        step_less_one = _before(loop, arith.SubiOp(step, one), loop)
        rounded = _before(loop, arith.AddiOp(difference, step_less_one), loop)
        count = _before(loop, arith.DivUIOp(rounded, step), loop)
    factor_value = _before(loop, constant_op(int_attr(type, factor)), loop)
    rest = _before(loop, (arith.RemUIOp if all_bits else arith.RemSIOp)(count, factor_value), loop)
    even = _before(loop, arith.SubiOp(count, rest), loop)
    if by is None:
        most = _before(loop, constant_op(int_attr(type, _largest(type) // factor)), loop)
        fits = _before(loop, arith.CmpiOp(step, most, "sle"), loop)
        none = _before(loop, constant_op(int_attr(type, 0)), loop)
        even = _before(loop, arith.SelectOp(fits, even, none), loop)
        one = _before(loop, constant_op(int_attr(type, 1)), loop)
        factor_value = _before(loop, arith.SelectOp(fits, factor_value, one), loop)
    length = _before(loop, arith.MuliOp(even, step), loop)
    end = _before(loop, arith.AddiOp(low, length), loop)
    return end, _before(loop, arith.MuliOp(step, factor_value), loop)


def _largest(type: Attribute) -> int:
    """The largest signed number of a type."""
    return (1 << (width_of(type) - 1)) - 1


def _static_bounds(loop: scf.ForOp, count: int, factor: int) -> tuple[SSAValue, SSAValue, bool]:
    """The end and the step of the unrolled loop as constants, and whether iterations are left over."""
    low, high, step = (int_constant(value) for value in operand_values(loop)[:3])
    assert low is not None and high is not None and step is not None
    type = operand_at(loop, 0).type
    end = low + (count - count % factor) * step
    is_rest = end < high
    end_value = _before(loop, constant_op(int_attr(type, end)), loop) if is_rest else operand_at(loop, 1)
    return end_value, _before(loop, constant_op(int_attr(type, step * factor)), loop), is_rest


def _append_copies(loop: scf.ForOp, step: SSAValue, factor: int) -> None:
    """Puts `factor - 1` copies of the body after it, each fed by what the one before yields."""
    block = block_of(loop)
    terminator = last_op_of(block)
    induction = block.args[0]
    ops = [op for op in block.ops if op is not terminator]
    yielded = list(operand_values(terminator))
    last = list(yielded)
    for index in range(1, factor):
        values: dict[SSAValue, SSAValue] = dict(zip(block.args[1:], last, strict=True))
        if induction.first_use is not None:
            number = _before(terminator, constant_op(int_attr(induction.type, index)), loop)
            offset = _before(terminator, arith.MuliOp(step, number), loop)
            values[induction] = _before(terminator, arith.AddiOp(induction, offset), loop)
        for op in ops:
            block.insert_op_before(clone_op(op, values), terminator)
        last = [values.get(value, value) for value in yielded]
    terminator.operands = last


def _inline_if_short(loop: scf.ForOp) -> bool:
    """Replaces a loop that runs exactly once by its body, one that never runs by its initial values."""
    count = trip_count(loop)
    if count is None or count > 1:
        return False
    block, outer = block_of(loop), loop.parent
    assert outer is not None
    results = operand_values(loop)[3:]
    if count == 1:
        for argument, value in zip(block.args, (operand_at(loop, 0), *operand_values(loop)[3:]), strict=True):
            argument.replace_all_uses_with(value)
        terminator = last_op_of(block)
        results = operand_values(terminator)
        for op in list(block.ops):
            if op is not terminator:
                block.detach_op(op)
                outer.insert_op_before(op, loop)
    for result, value in zip(loop.results, results, strict=True):
        result.replace_all_uses_with(value)
    outer.erase_op(loop)
    return True


def unroll(loop: scf.ForOp, factor: int) -> scf.ForOp | None:
    """Unrolls `loop` by `factor`; the loop that does the iterations left over, if there is one."""
    if block_of(loop).first_op is block_of(loop).last_op:
        return None
    step = operand_at(loop, 2)
    if (int_constant(step) or 0) * factor > _largest(step.type):
        return None
    count = trip_count(loop)
    is_rest = True
    if count is None:
        end, new_step = _dynamic_bounds(loop, factor)
    else:
        end, new_step, is_rest = _static_bounds(loop, count, factor)
    rest: scf.ForOp | None = None
    if is_rest:
        rest = clone_op(loop, {})
        assert loop.parent is not None
        loop.parent.insert_op_after(rest, loop)
        for old, new in zip(loop.results, rest.results, strict=True):
            old.replace_all_uses_with(new)
        rest.operands = [end, *operand_values(rest)[1:3], *loop.results]
        if _inline_if_short(rest):
            rest = None
    loop.operands[1] = end
    loop.operands[2] = new_step
    _append_copies(loop, step, factor)
    _inline_if_short(loop)
    return rest


@register_pass
class LoopUnroll(Pass, stage="ttir", origin="triton"):
    """Unrolls loops that carry the attribute `tt.loop_unroll_factor`."""

    name: ClassVar[str] = "triton-loop-unroll"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        marked: list[tuple[scf.ForOp, int]] = []
        for loop in ops_in_inner_first(op):
            if loop.__class__ is scf.ForOp and isinstance(loop, scf.ForOp):
                factor = loop.attributes.get(UNROLL_FACTOR)
                if isinstance(factor, IntegerAttr) and factor.value.data > 1:
                    marked.append((loop, factor.value.data))
        for loop, factor in marked:
            del loop.attributes[UNROLL_FACTOR]
            rest = unroll(loop, factor)
            if rest is not None:
                rest.attributes[NUM_STAGES] = IntegerAttr(1, i32)
