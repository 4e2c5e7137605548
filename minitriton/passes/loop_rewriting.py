"""Rewritings of whole loops: a condition around one, one more result; and which one is around an op.

A loop is put under the condition that it has an iteration, so that what runs once for all iterations can stand before it.

%r = scf.for %i = %l to %u ...      =>      %some = arith.cmpi slt, %l, %u
                                            %r = scf.if %some { <here> %s = scf.for ...; yield %s } else { yield the initial values }

An op with regions gets one more result in place: loops and conditionals that carry one value more.

%0 = scf.for ... iter_args(%a = %x) -> (f32)      ->      %0:2 = scf.for ... iter_args(%a = %x, %b = %y) -> (f32, f32)
"""

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValues

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.rewriter import Inserter


def append_result(op: Operation, type_: Attribute) -> OpResult:
    """A new last result of `op`; operands, arguments and yields are the caller's business."""
    result = OpResult(type_, op, len(op.results))
    op.results = SSAValues((*op.results, result))
    return result


def surely_runs(loop: scf.ForOp) -> bool:
    """Whether the bounds are numbers with an iteration between them."""
    low, high = int_constant(loop.lb), int_constant(loop.ub)
    return low is not None and high is not None and low < high


def put_under_condition(loop: scf.ForOp) -> None:
    """`loop` becomes all of a conditional that asks whether it has an iteration, if that is not known."""
    if surely_runs(loop):
        return
    at = Inserter.before(loop)
    has_iteration = at.value(arith.CmpiOp(loop.lb, loop.ub, "slt"))
    used = [result for result in loop.results if result.first_use is not None]
    then, otherwise = Block(), Block()
    choice = at.insert(scf.IfOp(has_iteration, [result.type for result in used], Region(then), Region(otherwise)))
    for result, new in zip(used, choice.results, strict=True):
        new.name_hint = result.name_hint
        result.replace_all_uses_with(new)
    loop.detach()
    then.add_op(loop)
    at.at_end(then).insert(scf.YieldOp(*used))
    at.at_end(otherwise).insert(scf.YieldOp(*(operand_values(loop)[3 + result.index] for result in used)))


def loop_around(op: Operation) -> scf.ForOp | None:
    """The innermost `scf.for` around `op`."""
    around = op.parent_op()
    while around is not None and not isinstance(around, scf.ForOp):
        around = around.parent_op()
    return around
