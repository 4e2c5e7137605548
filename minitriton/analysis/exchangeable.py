"""Whether the region of a reduction gives the same for exchanged operands, to the last bit: lanes that combine each other's numbers have one.

(a + b, c * d)                                            yes: the same expression once operands of `+` and `*` may be swapped
(a > b or a == b and i < j) ? (a, i) : (b, j)             of integers yes, by trying all orders of a and b, and of i and j
                                                          of floats no: neither of two NaNs comes first
(a > b) ? (a, i) : (b, j)                                 no: the index of equal numbers (`tl.argmax(x, tie_break_left=False)`)
a + (b - a) / 2                                           no, as far as is known

By which comparison a reduction chooses a number and its index, where the first index is the lower one (`choice`): `oge` in the second line, `ogt` in
the third.

Whether a module combines floats across elements in an order that layouts decide.

In: a module. Out: a truth value. Sums and products of floats round, so a layout that gives threads other elements changes their
last bits; maxima, comparisons and all of integers come out the same in any order.

    tt.reduce with arith.addf of f32      True
    tt.reduce with arith.maxnumf          False
"""

import itertools
import math
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import Commutative

from minitriton.dialects import arith, tt
from minitriton.dialects.facts import Inexact
from minitriton.dialects.fast_paths.op_access import last_op_of, ops_in
from minitriton.dialects.tt.types import element_type

_MOST_OPERANDS = 3
"""Of a reduction whose orders are all tried: 2 or 3 numbers at two positions for each."""

Meaning: TypeAlias = "Callable[[Operation, list[Hashable]], Hashable]"
"""What an op gives for what its operands gave."""


def exchangeable(op: Operation) -> bool:
    """Whether `op`, a reduction, combines two elements to the same number in either order. No if that is not known."""
    block = op.regions[0].block
    half = len(block.args) // 2
    exchanged = [*range(half, 2 * half), *range(half)]
    if _results(block, _expression, range(2 * half)) == _results(block, _expression, exchanged):
        return True
    if half > _MOST_OPERANDS or not all(_can_be_tried(inner, block) for inner in _ops(block)):
        return False
    numbers = [(0, 1, math.nan) if isinstance(a.type, AnyFloat) else (0, 1) for a in block.args]
    for given in itertools.product(*numbers):
        found, other = (_results(block, _number, [given[i] for i in order]) for order in (range(2 * half), exchanged))
        if any(x != y and not (x != x and y != y) for x, y in zip(found, other, strict=True)):
            return False
    return True


def choice(op: Operation) -> str | None:
    """The comparison of the first numbers by which `op`, a reduction of numbers with their indices, chooses one element, if the first index is the lower
    one; None if it does anything else."""
    block = op.regions[0].block
    if len(block.args) != 4 or not all(_can_be_tried(inner, block) for inner in _ops(block)):
        return None
    numbers = (0.0, 1.0, math.nan) if isinstance(block.args[0].type, AnyFloat) else (0, 1)
    pairs = [*itertools.product(numbers, repeat=2)]
    takes_first: list[bool] = []
    for a, b in pairs:
        value, index = _results(block, _number, [a, 0, b, 1])
        if index not in (0, 1) or value is not (b if index else a):
            return None
        takes_first.append(index == 0)
    found = (by for by in _CHOICES if [_compared(by, a, b) for a, b in pairs] == takes_first)
    return next(found, None)


_CHOICES = ("oge", "ole", "ogt", "olt")


def _ops(block: Block) -> list[Operation]:
    last = last_op_of(block)
    return [inner for inner in block.ops if inner is not last]


def _results(block: Block, meaning: Meaning, arguments: Sequence[Hashable]) -> list[Hashable]:
    known: dict[SSAValue, Hashable] = dict(zip(block.args, arguments, strict=True))
    for inner in _ops(block):
        if inner.regions or len(inner.results) != 1:
            known.update((result, result) for result in inner.results)
            continue
        known[inner.results[0]] = meaning(inner, [known.get(operand, operand) for operand in inner.operands])
    return [known.get(operand, operand) for operand in last_op_of(block).operands]


def _expression(op: Operation, operands: list[Hashable]) -> Hashable:
    """What is computed, with the operands of commutative ops in one order."""
    given = sorted(operands, key=repr) if op.has_trait(Commutative) else operands
    return (op.name, tuple(op.properties.items()), tuple(given))


def _can_be_tried(op: Operation, block: Block) -> bool:
    """Whether it depends on nothing but which of the two elements of each operand is greater."""
    if any(not isinstance(v, BlockArgument) and v.owner.parent is not block for v in op.operands):
        return False
    if isinstance(op, arith.CmpiOp | arith.CmpfOp):
        half = len(block.args) // 2
        indices = [v.index for v in op.operands if isinstance(v, BlockArgument)]
        return len(indices) == 2 and abs(indices[0] - indices[1]) == half
    return isinstance(op, arith.SelectOp) or (
        isinstance(op, arith.AndIOp | arith.OrIOp | arith.XOrIOp) and op.results[0].type == i1
    )


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def _number(op: Operation, operands: list[Hashable]) -> Hashable:
    """The result of an op that can be tried."""
    first, second, *third = operands
    if isinstance(op, arith.SelectOp):
        return second if first else third[0]
    assert isinstance(first, (int, float))
    assert isinstance(second, (int, float))
    if isinstance(op, arith.CmpiOp):
        return _COMPARISONS[op.predicate_name.lstrip("su")](first, second)
    if isinstance(op, arith.CmpfOp):
        return _compared(op.predicate_name, first, second)
    x, y = int(first), int(second)
    return x & y if isinstance(op, arith.AndIOp) else x | y if isinstance(op, arith.OrIOp) else x ^ y


def _compared(predicate: str, first: float, second: float) -> bool:
    if predicate in ("true", "false"):
        return predicate == "true"
    unordered = first != first or second != second
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return predicate[0] == "u" if unordered else _COMPARISONS[predicate[1:]](first, second)


def float_order_matters(module: Operation) -> bool:
    """True if some reduction, scan or atomic sum of `module` rounds."""
    return any(_rounds(op) for op in ops_in(module))


def _rounds(op: Operation) -> bool:
    if isinstance(op, tt.AtomicRMWOp):
        return isinstance(element_type(op.val.type), AnyFloat)
    if not isinstance(op, tt.ReduceOp | tt.ScanOp):
        return False
    return any(
        Inexact.of(inner) and any(isinstance(result.type, AnyFloat) for result in inner.results)
        for region in op.regions
        for inner in region.walk()
    )
