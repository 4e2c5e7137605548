"""`minitriton-longest-programs-first`: programs whose loops run longer start earlier, so that none of them is alone at the end.

    %x = tt.get_program_id x                     %x = num_programs(x) - 1 - tt.get_program_id x
    scf.for %k = 0 to %x * 128 step 64     =>    scf.for %k = 0 to %x * 128 step 64

In: TTGIR. Out: the same, the programs of the grid renumbered: each pair of numbers along x and y is some program's, as before.

A GPU starts programs in the order of their numbers, x first. Causal attention gives program x the keys up to its own rows: the last ones to
start take longest, and multiprocessors that are done wait for them. To start the longest first is the rule of Graham (Bounds on
multiprocessing timing anomalies, 1969). Where the grid has a second axis, two or four rows of it take turns if one is shorter than the
programs that run at once: the longest programs of several heads come before the shorter ones of any. More heads would read more keys than
the L2 cache holds. On an H200 causal attention of 128 features ran at 1.03 to 1.05 times its speed (4,096 to 16,384 keys, 2026-11-23).

    two rows of 3 programs     x y:  0 0, 1 0, 2 0, 0 1, 1 1, 2 1     =>     2 0, 2 1, 1 0, 1 1, 0 0, 0 1

The numbers stay as they are where programs may wait for each other (atomics, `while`, volatile loads, inline assembly) or show their order
(printing), and after calls. Whether loops run longer is guessed from their bounds; a wrong guess costs nothing but the order.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.dialects import arith, tt
from minitriton.dialects.facts import Division, IntegerExtremum
from minitriton.dialects.facts.launch import num_ctas, num_warps
from minitriton.dialects.facts.region_flow import Call, WhileLoop
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values, ops_in, ops_of
from minitriton.dialects.op_rules import OpRules
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.constants import int_constant
from minitriton.rewriting.effects import own_effects
from minitriton.rewriting.rewriter import Inserter

X, Y = 0, 1


@register_pass
class LongestProgramsFirst(Pass, stage="ttgir"):
    """Renumbers the programs of a grid where those with high numbers have more iterations."""

    name: ClassVar[str] = "minitriton-longest-programs-first"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    warps_at_once: int = 1024
    """Of all programs that the GPU runs at once, roughly: 8 on each of 128 multiprocessors, as kernels have that use tensor cores."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module's only function."""
        functions = ops_of(op, tt.FuncOp)
        if len(functions) != 1 or len(functions[0].body.blocks) != 1 or any(map(_may_meet, ops_in(functions[0]))):
            return
        loops = ops_of(op, scf.ForOp)
        growing = [axis for axis in range(3) if _grows(loops, axis)]
        if len(growing) == 1:
            _renumber(functions[0], growing[0], self.warps_at_once // (num_warps(op) * num_ctas(op)))


def _may_meet(op: Operation) -> bool:
    """Whether programs may wait for each other by `op`, or show in which order they run: it repeats until something happens, gives what it found
    in memory that it changes, or writes what is not the kernel's."""
    if WhileLoop.of(op) is not None or Call.of(op) is not None:
        return True
    effects = own_effects(op) or ()
    written = [effect.value for effect in effects if effect.kind is MemoryEffectKind.WRITE]
    is_answered = bool(op.results) and any(effect.kind is MemoryEffectKind.READ for effect in effects)
    return None in written or (is_answered and bool(written))


def _grows(loops: list[scf.ForOp], axis: int) -> bool:
    """Whether some of `loops` run longer in programs with higher numbers along an axis, and none runs shorter."""
    slopes = [slope(operand_at(loop, 1), axis) - slope(operand_at(loop, 0), axis) for loop in loops]
    return all(each >= 0 for each in slopes) and any(slopes)


_DEPTH = 24
"""Ops after a bound that are looked at."""


def slope(value: SSAValue, axis: int, depth: int = _DEPTH) -> float:
    """By how much an integer grows from one program to the next along an axis, roughly: other numbers count as positive, bounds met halfway;
    0 for what is not known to grow."""
    op = value.op if isinstance(value, OpResult) else None
    if op is None or not depth:
        return 0.0
    if isinstance(op, tt.GetProgramIdOp):
        return 1.0 if op.axis_index == axis else 0.0
    rule = _SLOPES.of(op)
    return rule(op, [slope(operand, axis, depth - 1) for operand in operand_values(op)]) if rule is not None else 0.0


_SLOPES = OpRules[Callable[[Operation, Sequence[float]], float]]()
"""From the slopes of operands to that of the result."""


@_SLOPES.add(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.IndexCastOp)
def _cast(op: Operation, slopes: Sequence[float]) -> float:
    return slopes[0]


@_SLOPES.add(arith.AddiOp)
def _sum(op: Operation, slopes: Sequence[float]) -> float:
    return slopes[0] + slopes[1]


@_SLOPES.add(arith.SubiOp)
def _difference(op: Operation, slopes: Sequence[float]) -> float:
    return slopes[0] - slopes[1]


@_SLOPES.add(arith.MuliOp)
def _product(op: Operation, slopes: Sequence[float]) -> float:
    factor = int_constant(op.operands[1])
    return sum(slopes) if factor is None else slopes[0] * factor


@_SLOPES.add(arith.ShLIOp)
def _shift(op: Operation, slopes: Sequence[float]) -> float:
    bits = int_constant(op.operands[1])
    return slopes[0] * 2**bits if bits is not None and 0 <= bits < 64 else slopes[0]


@_SLOPES.add(Division)
def _quotient(op: Operation, slopes: Sequence[float]) -> float:
    divisor = int_constant(op.operands[1])
    return slopes[0] / divisor if divisor is not None and divisor > 0 else slopes[0]


@_SLOPES.add(IntegerExtremum, arith.SelectOp)
def _between(op: Operation, slopes: Sequence[float]) -> float:
    return (slopes[-2] + slopes[-1]) / 2


def _renumber(function: tt.FuncOp, axis: int, at_once: int) -> None:
    """Puts other numbers in place of the programs' own, from the start of `function` on."""
    asking = ops_of(function, tt.GetProgramIdOp)
    first = function.body.block.first_op
    assert first is not None
    at = Inserter.before(first)
    at.location = next(op.location for op in asking if op.axis_index == axis)
    has_rows = axis == X and any(op.axis_index == Y for op in asking)
    numbers = _in_turns(at, at_once) if has_rows else {axis: _reversed(at, axis)}
    for op in asking:
        number = numbers.get(op.axis_index)
        if number is not None:
            op.result.replace_all_uses_with(number)
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _reversed(at: Inserter, axis: int) -> SSAValue:
    return _from_the_end(at, axis, at.value(tt.GetProgramIdOp(axis)))


def _from_the_end(at: Inserter, axis: int, number: SSAValue) -> SSAValue:
    last = at.value(arith.SubiOp(at.value(tt.GetNumProgramsOp(axis)), at.integer(i32, 1)))
    return at.value(arith.SubiOp(last, number))


def _in_turns(at: Inserter, at_once: int) -> dict[int, SSAValue]:
    """The numbers along x and y where a group of 1, 2 or 4 rows takes turns; of rows that are no whole group only x is reversed:

    index = (y % group) * num_programs(x) + x;   x' = num_programs(x) - 1 - index / group;   y' = y - y % group + index % group
    """
    x, y = at.value(tt.GetProgramIdOp(X)), at.value(tt.GetProgramIdOp(Y))
    width, rows = at.value(tt.GetNumProgramsOp(X)), at.value(tt.GetNumProgramsOp(Y))
    shift, one = at.integer(i32, 0), at.integer(i32, 1)
    for bits in (1, 2):
        is_short = at.value(arith.CmpiOp(width, at.integer(i32, at_once >> bits), "sle"))
        shift = at.value(arith.SelectOp(is_short, at.integer(i32, bits), shift))
    group = at.value(arith.ShLIOp(one, shift))
    low_bits = at.value(arith.SubiOp(group, one))
    row = at.value(arith.AndIOp(y, low_bits))
    start = at.value(arith.SubiOp(y, row))
    is_whole = at.value(arith.CmpiOp(at.value(arith.AddiOp(start, group)), rows, "sle"))
    position = at.value(arith.AddiOp(at.value(arith.MuliOp(row, width)), x))
    column = at.value(arith.SelectOp(is_whole, at.value(arith.ShRUIOp(position, shift)), x))
    turn = at.value(arith.AddiOp(start, at.value(arith.AndIOp(position, low_bits))))
    return {X: _from_the_end(at, X, column), Y: at.value(arith.SelectOp(is_whole, turn, y))}
