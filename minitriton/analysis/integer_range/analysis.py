"""Integer ranges: between which numbers every integer of a module is, whatever its arguments are.

In: a module of `tt` (or `ttg`) functions. Out: `IntegerRangeAnalysis(module).get(value)`, an `IntegerRange` of the value's elements.

    %pid = tt.get_program_id y          [0, 65534]: the driver launches no more
    %r = arith.remsi %x, %c8            [-7, 7]
    scf.for %i = %c0 to %n step %c4     [0, 2147483646]
    llvm.intr.assume (%n < 100)         %n: [-2147483648, 99]

Sound for all arguments: sums wrap, masks and index arithmetic are not taken to keep within bounds (axis info does take it so). What
a loop carries is widened until it holds, then narrowed (Cousot and Cousot, 1977); what it only adds a number to is bounded by how
often it runs. As in axis info, an op without a rule claims nothing. Differs from MLIR's `IntegerRangeAnalysis` in what it knows of
the grid, of `tt`, of assumptions and of sums that loops carry.

What `llvm.intr.assume` promises about the range of a value.

In: a block. Out: per value that the block defines, comparisons with numbers that hold wherever the value exists.

    %c = arith.cmpi slt, %n, %c65536        tl.assume(n < 65536)        n is below 65536
    llvm.intr.assume %c : i1

A promise after `tt.assert` or a call is made only if that returns, and counts for nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import IndexType, IntegerType, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from minitriton.analysis.assumptions import assumed_in, is_defined_in
from minitriton.analysis.axis_info.lattice import integer_width
from minitriton.analysis.dataflow import ForwardDataflow
from minitriton.analysis.integer_range.lattice import (
    NO_INTEGER,
    RULES,
    IntegerRange,
    full,
    join,
    meet,
    signed,
    widened,
    wrapped,
)
from minitriton.analysis.integer_range.rules import exactly, restricted
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import MIRRORED, predicate_of
from minitriton.dialects.facts import Function
from minitriton.dialects.facts.region_flow import CountedLoop, RegionFlow, WhileLoop
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.regions import is_defined_outside


class RangePromise(NamedTuple):
    """`value`, compared by `predicate` with a number of `other`: this holds."""

    value: SSAValue
    predicate: int
    other: IntegerRange

    def apply(self, fact: IntegerRange) -> IntegerRange:
        """`fact` strengthened by this promise."""
        return restricted(fact, self.predicate, self.other)


def promises(block: Block) -> list[RangePromise]:
    """The promises that assumptions of `block` make about values that the block defines."""
    return [
        RangePromise(each.value, each.predicate, exactly(integer_width(each.value.type), each.number))
        for each in assumed_in(block)
        if is_defined_in(each.value, block)
    ]


__all__ = ["FITS_32_BITS", "GRID_LIMITS", "NON_NEGATIVE_DIVIDEND", "IntegerRange", "IntegerRangeAnalysis"]

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Programs along x, y and z that a launch may have (CUDA C++ Programming Guide, compute capabilities: maximum dimension of a grid)."""

NON_NEGATIVE_DIVIDEND = "non_negative_dividend"
"""Attribute of a signed division or remainder whose dividend is known not to be negative, whatever the divisor's sign."""

FITS_32_BITS = "fits_32_bits"
"""Attribute of a signed division or remainder of 64 bits both of whose operands are known to fit 32, signed."""

_PLAIN_STEPS = 4
"""How often a fact may grow before it is widened."""
_NARROWINGS = 2
"""How often a loop is run again to take back what widening gave away."""


class IntegerRangeAnalysis(ForwardDataflow[IntegerRange]):
    """The ranges of a module, found when the first one is asked for. They speak of the IR as it was then."""

    def __init__(self, module: ModuleOp, grid: Sequence[int] = GRID_LIMITS) -> None:
        """`grid`: the most programs along x, y, z."""
        super().__init__()
        self.module = module
        self.grid = tuple(grid)
        self.promises: dict[SSAValue, list[RangePromise]] = {}
        self._noted: set[Block] = set()
        self._growth: dict[SSAValue, int] = {}
        self._done = False

    def get(self, value: SSAValue) -> IntegerRange:
        """Between which numbers every element of `value` is; `NO_INTEGER` for what is not an integer."""
        if not self._done:
            self._done = True
            for function in self.module.ops:
                if Function.of(function) and function.regions:
                    first = function.regions[0].first_block
                    if first is not None:
                        self._arguments(first)
                        self.run(function.regions[0])
        return self.fact(value)

    def transfer(self, op: Operation) -> None:
        rule = RULES.of(op)
        if rule is not None:
            fact = rule(op, [self.fact(operand) for operand in operand_values(op)])
        elif isinstance(op, (tt.GetProgramIdOp, tt.GetNumProgramsOp)):
            limit = self.grid[op.axis_index]
            fact = wrapped(32, 0, limit - 1) if isinstance(op, tt.GetProgramIdOp) else wrapped(32, 1, limit)
        else:
            return
        if not fact.width:
            return
        for result in op.results:
            self.facts[result] = self._promised(result, fact) if self.promises else fact

    def join(self, a: IntegerRange, b: IntegerRange) -> IntegerRange:
        return join(a, b)

    def unknown(self, value: SSAValue) -> IntegerRange:
        type_ = value.type
        if instance_of(type_, TensorType):
            type_ = type_.element_type
        if instance_of(type_, IntegerType):
            return full(type_.width.data)
        return full(64) if isinstance(type_, IndexType) else NO_INTEGER

    def loop_variable(self, lower: IntegerRange, step: IntegerRange) -> IntegerRange:
        return full(lower.width)

    def constant_of(self, fact: IntegerRange) -> int | None:
        return fact.constant

    def run_block(self, block: Block) -> None:
        """Find the facts of what `block` defines, from the facts of what flows into it."""
        self._note_promises(block)
        super().run_block(block)

    def _arguments(self, entry: Block) -> None:
        self._note_promises(entry)
        for argument in entry.args:
            if argument in self.promises:
                self.facts[argument] = self._promised(argument, self.unknown(argument))

    def _note_promises(self, block: Block) -> None:
        if block not in self._noted:
            self._noted.add(block)
            for promise in promises(block):
                self.promises.setdefault(promise.value, []).append(promise)

    def _promised(self, value: SSAValue, fact: IntegerRange) -> IntegerRange:
        for promise in self.promises.get(value, ()):
            fact = promise.apply(fact)
        return fact

    def _flow(self, target: SSAValue, source: SSAValue) -> bool:
        return self._flow_fact(target, self.fact(source))

    def _flow_fact(self, target: SSAValue, new: IntegerRange) -> bool:
        """Let `new` flow into `target`; what loops and jumps make grow again and again is widened."""
        old = self.facts.get(target)
        if old is None:
            self.facts[target] = self._promised(target, new)
            return True
        new = join(old, new)
        if new == old:
            return False
        if isinstance(target, BlockArgument):
            grown = self._growth[target] = self._growth.get(target, 0) + 1
            if grown >= _PLAIN_STEPS:
                new = widened(old, new, to_the_end=grown > _PLAIN_STEPS)
        new = self._promised(target, new)
        if new == old:
            return False
        self.facts[target] = new
        return True

    def visit(self, op: Operation, flow: RegionFlow) -> None:
        """Loops are bounded by their trip counts and conditions."""
        if isinstance(flow, CountedLoop):
            self._for(op)
        elif isinstance(flow, WhileLoop):
            self._while(op)
        else:
            super().visit(op, flow)

    def _for(self, op: Operation) -> None:
        inits = operand_values(op)[3:]
        body = op.regions[0].block
        variable, *arguments = body.args
        assert body.last_op is not None
        yielded = operand_values(body.last_op)
        self._note_promises(body)
        self.facts[variable] = self._promised(variable, self._variable(op))
        bounded = self._sums(op)
        for argument, (inside, _) in bounded.items():
            self.facts[argument] = self._promised(argument, inside)
        carried = [
            (argument, init, value)
            for argument, init, value in zip(arguments, inits, yielded, strict=True)
            if argument not in bounded and self.unknown(argument).width
        ]
        for argument, init, _ in carried:
            self._flow(argument, init)
        while True:
            self.run_block(body)
            changed = False
            for argument, _, value in carried:
                changed = self._flow(argument, value) or changed
            if not changed:
                break
        for _ in range(_NARROWINGS):
            if not self._narrow(carried):
                break
            self.run_block(body)
        for result, argument, init, value in zip(op.results, arguments, inits, yielded, strict=True):
            fact = bounded[argument][1] if argument in bounded else join(self.fact(init), self.fact(value))
            self.facts[result] = self._promised(result, fact)

    def _narrow(self, carried: list[tuple[BlockArgument, SSAValue, SSAValue]]) -> bool:
        """Let what is carried be what flows into it, where that is less; whether it was."""
        narrowed = False
        for argument, init, value in carried:
            old = self.fact(argument)
            new = self._promised(argument, meet(old, join(self.fact(init), self.fact(value))))
            if new != old:
                self.facts[argument] = new
                narrowed = True
        return narrowed

    def _variable(self, op: Operation) -> IntegerRange:
        """lower <= i <= upper - 1, and i = lower + k * step"""
        low, high, step = (self.fact(operand) for operand in operand_values(op)[:3])
        last = max(high.smax - 1, low.smin)
        if low.constant is not None and step.constant is not None and step.constant > 0:
            last -= (last - low.smin) % step.constant
        return signed(low.width, low.smin, last)

    def _sums(self, op: Operation) -> dict[SSAValue, tuple[IntegerRange, IntegerRange]]:
        """Of what the loop only adds a number to: the range inside the loop, and after it."""
        body = op.regions[0].block
        if len(body.args) == 1:
            return {}
        assert body.last_op is not None
        low, high, step = (self.fact(operand) for operand in operand_values(op)[:3])
        times = max(0, -((low.smin - high.smax) // max(step.smin, 1)))
        found: dict[SSAValue, tuple[IntegerRange, IntegerRange]] = {}
        for argument, init, value in zip(
            body.args[1:], operand_values(op)[3:], operand_values(body.last_op), strict=True
        ):
            added = _added(argument, value, op)
            start = self.fact(init)
            if added is None or not start.width:
                continue
            each = self.fact(added)
            inside, after = (
                wrapped(
                    start.width,
                    start.smin + min(0, count * each.smin),
                    start.smax + max(0, count * each.smax),
                )
                for count in (max(times - 1, 0), times)
            )
            found[argument] = (inside, after)
        return found

    def _while(self, op: Operation) -> None:
        """What the condition compares is known to have passed where the loop goes on."""
        before, after = op.regions[0].block, op.regions[1].block
        assert before.last_op is not None and after.last_op is not None
        condition, *passed = operand_values(before.last_op)
        yielded = operand_values(after.last_op)
        self._note_promises(before)
        self._note_promises(after)
        self._flow_all(before.args, operand_values(op))
        while True:
            self.run_block(before)
            for argument, value in zip(after.args, passed, strict=True):
                self._flow_fact(argument, self._where(condition, value))
            self.run_block(after)
            if not self._flow_all(before.args, yielded):
                break
        for result, value in zip(op.results, passed, strict=True):
            self.facts[result] = self.fact(value)

    def _where(self, condition: SSAValue, value: SSAValue) -> IntegerRange:
        """The range of `value` where `condition` is true."""
        fact, op = self.fact(value), condition.owner
        if not isinstance(op, arith.CmpiOp):
            return fact
        left, right = operand_values(op)
        predicate = predicate_of(op)
        if value is left:
            return restricted(fact, predicate, self.fact(right))
        if value is right:
            return restricted(fact, MIRRORED[predicate], self.fact(left))
        return fact


def _added(argument: SSAValue, value: SSAValue, loop: Operation) -> SSAValue | None:
    """The s of a loop that carries `argument + s` on, where s does not change in the loop."""
    op = value.owner
    if not isinstance(op, arith.AddiOp):
        return None
    left, right = operand_values(op)
    added = right if left is argument else left if right is argument else None
    if added is None:
        return None
    return added if isinstance(added.owner, arith.ConstantOp) or is_defined_outside(added, loop) else None
