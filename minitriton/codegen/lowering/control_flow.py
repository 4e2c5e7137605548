"""Control flow: `scf` and `cf` become blocks with arguments.

A value that enters a block is carried in one argument (a scalar, a vector of data, the address of a buffer), or, if it is index
arithmetic, in one argument per register: LLVM then drops the registers that nobody reads.

    scf.for %i = %lo to %hi step %s iter_args(%acc = %0)
        ->  br ^header(%lo, %0);  ^header(%i, %acc): cond_br (%i < %hi), ^body, ^exit
"""

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import cf, scf, ub
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import BlockArguments, FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.registers import Elements, SharedView
from minitriton.codegen.types import SHARED, lanes
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import AsyncTokenType, MemDescType

_FLOATS = (Float16Type, BFloat16Type, Float32Type, Float64Type)


Lowered: TypeAlias = "registers.Registers | SharedView | None"
"""What a value has become; None for one that only stands for an order."""


class Carrier:
    """How values of one type travel in block arguments: the argument types, and the way in and out."""

    __slots__ = ("one_each", "type", "types")

    def __init__(self, f: FunctionLowering, type_: Attribute, sample: Lowered):
        self.type = type_
        self.one_each = False
        if isinstance(type_, AsyncTokenType):
            self.types: Sequence[Attribute] = ()
        elif isinstance(type_, MemDescType):
            self.types = (SHARED,)
        elif instance_of(type_, TensorType):
            assert sample is not None and not isinstance(sample, SharedView)
            facts = f.facts(type_)
            data = isinstance(facts.element, _FLOATS) or registers.is_vector(sample)
            self.one_each = not data and facts.count > 1
            self.types = (facts.element,) * facts.count if self.one_each else (facts.vector,)
        else:
            self.types = (f.lowered_type(type_),)

    def send(self, f: FunctionLowering, value: Lowered) -> list[SSAValue]:
        """The arguments for a value."""
        if not self.types or value is None:
            return []
        if isinstance(value, SharedView):
            return [value.base]
        if self.one_each:
            return registers.elements(f.b, value, len(self.types))
        return [registers.vector(f.b, value, lanes(self.types[0]))]

    def receive(self, arguments: Sequence[SSAValue], sample: Lowered) -> Lowered:
        """The value that came in these arguments."""
        if not self.types:
            return None
        if isinstance(self.type, MemDescType):
            return SharedView(
                arguments[0], sample.offsets if isinstance(sample, SharedView) else (0,) * self.type.get_num_dims()
            )
        return Elements(arguments) if self.one_each else arguments[0]


class Crossing:
    """A block whose arguments carry several values."""

    def __init__(
        self, f: FunctionLowering, types: Sequence[Attribute], samples: Sequence[Lowered], block: Block | None = None
    ):
        self.samples = samples
        self.carriers = [Carrier(f, type_, sample) for type_, sample in zip(types, samples, strict=True)]
        argument_types = [t for carrier in self.carriers for t in carrier.types]
        if block is None:
            block = f.new_block(argument_types)
        else:
            for type_ in argument_types:
                block.insert_arg(type_, len(block.args))
        self.block = block

    def send(self, f: FunctionLowering, values: Sequence[Lowered]) -> list[SSAValue]:
        """The arguments of a branch to the block."""
        return [a for carrier, value in zip(self.carriers, values, strict=True) for a in carrier.send(f, value)]

    def bind(self, f: FunctionLowering, values: Sequence[SSAValue]) -> None:
        """Says what tensor-level `values` are inside (and after) the block."""
        position = 0
        for carrier, value, sample in zip(self.carriers, values, self.samples, strict=True):
            arguments = self.block.args[position : position + len(carrier.types)]
            position += len(carrier.types)
            f.values[value] = carrier.receive(arguments, sample)


def _yielded(f: FunctionLowering, block: Block) -> list[Lowered]:
    last = last_op_of(block)
    f.lower_ops([op for op in block.ops if op is not last])
    f.b.location = last.location
    return [f.values[operand] for operand in last.operands]


@lowers(scf.ForOp)
def for_(f: FunctionLowering, op: scf.ForOp) -> None:
    """Header tests, body, back to the header; the results are the header's arguments."""
    b = f.b
    lower, upper, step = (f.scalar(operand) for operand in op.operands[:3])
    carried = op.operands[3:]
    block = op.regions[0].block
    arguments = block.args
    samples = [f.values[value] for value in carried]
    header = Crossing(f, [a.type for a in arguments], [lower, *samples])
    body, exit_ = f.new_block(), f.new_block()
    b.branch(header.block, header.send(f, [lower, *samples]))
    b.move_to(header.block)
    header.bind(f, arguments)
    counter = f.scalar(arguments[0])
    b.cond_branch(b.icmp("slt", counter, upper), body, exit_)
    b.move_to(body)
    yielded = _yielded(f, block)
    b.branch(header.block, header.send(f, [b.add(counter, step), *yielded]))
    f.mark_loop(op)
    b.move_to(exit_)
    for result, argument in zip(op.results, arguments[1:], strict=True):
        f.values[result] = f.values[argument]


@lowers(scf.IfOp)
def if_(f: FunctionLowering, op: scf.IfOp) -> None:
    """Two branches that meet in a block whose arguments are the results."""
    b = f.b
    then_region, else_region = op.regions
    then_block = f.new_block()
    has_else = bool(else_region.blocks)
    else_block = f.new_block() if has_else else None
    condition = f.scalar(op.operands[0])
    types = [result.type for result in op.results]
    start = b.block
    if else_block is None:
        merge = f.new_block()
        b.cond_branch(condition, then_block, merge)
        b.move_to(then_block)
        _yielded(f, then_region.block)
        b.branch(merge)
        b.move_to(merge)
        return
    b.cond_branch(condition, then_block, else_block)
    assert start is not then_block
    b.move_to(then_block)
    values = _yielded(f, then_region.block)
    meeting = Crossing(f, types, values)
    b.branch(meeting.block, meeting.send(f, values))
    b.move_to(else_block)
    b.branch(meeting.block, meeting.send(f, _yielded(f, else_region.block)))
    b.move_to(meeting.block)
    meeting.bind(f, op.results)


@lowers(scf.WhileOp)
def while_(f: FunctionLowering, op: scf.WhileOp) -> None:
    """The `before` region is the header, `scf.condition` its branch to the body or out."""
    b = f.b
    before, after = (region.block for region in op.regions)
    samples = [f.values[value] for value in op.operands]
    header = Crossing(f, [a.type for a in before.args], samples)
    b.branch(header.block, header.send(f, samples))
    b.move_to(header.block)
    header.bind(f, before.args)
    condition, *forwarded = _yielded(f, before)
    body, exit_ = f.new_block(), f.new_block()
    assert isinstance(condition, SSAValue)
    b.cond_branch(condition, body, exit_)
    for argument, value in zip(after.args, forwarded, strict=True):
        f.values[argument] = value
    b.move_to(body)
    b.branch(header.block, header.send(f, _yielded(f, after)))
    f.mark_loop(op)
    b.move_to(exit_)
    for result, value in zip(op.results, forwarded, strict=True):
        f.values[result] = value


def lower_blocks(f: FunctionLowering, region: Region) -> None:
    """Lowers the blocks of an unstructured region, the first of them into the current block."""
    crossings: dict[Block, BlockArguments] = {}
    entry = region.first_block
    for block in region.blocks:
        if block is not entry:
            f.b.move_to(_crossing(f, crossings, block, [None] * len(block.args)).block)
            crossings[block].bind(f, block.args)
        f.crossings = crossings
        f.lower_ops(list(block.ops))


def lower_returning(f: FunctionLowering, region: Region) -> list[SSAValue]:
    """Lowers a region of scalars into the current block, and goes on after it; what its terminator returns.

    Where several blocks return, they meet in a block whose arguments are the values.
    """
    blocks = list(region.blocks)
    returns = [last for block in blocks if (last := block.last_op) is not None and not last.successors]
    if len(blocks) == 1:
        f.lower_ops([op for op in blocks[0].ops if op is not returns[0]])
        return [f.scalar(value) for value in returns[0].operands]
    outer = f.crossings
    crossings: dict[Block, BlockArguments] = {}
    types = [value.type for value in returns[0].operands]
    meeting = Crossing(f, types, [None] * len(types))
    for block in blocks:
        if block is not blocks[0]:
            f.b.move_to(_crossing(f, crossings, block, [None] * len(block.args)).block)
            crossings[block].bind(f, block.args)
        f.crossings = crossings
        ops = list(block.ops)
        f.lower_ops(ops[:-1])
        f.b.location = ops[-1].location
        if ops[-1] in returns:
            f.b.branch(meeting.block, meeting.send(f, [f.values[value] for value in ops[-1].operands]))
        else:
            f.lower_op(ops[-1])
    f.crossings = outer
    f.b.move_to(meeting.block)
    return list(meeting.block.args)


def _crossing(
    f: FunctionLowering, crossings: dict[Block, BlockArguments], block: Block, samples: Sequence[Lowered]
) -> BlockArguments:
    found = crossings.get(block)
    if found is None:
        found = crossings[block] = Crossing(f, [a.type for a in block.args], samples)
    return found


def _target(f: FunctionLowering, block: Block, values: Sequence[SSAValue]) -> tuple[Block, list[SSAValue]]:
    reps = [f.values[value] for value in values]
    crossing = _crossing(f, f.crossings, block, reps)
    return crossing.block, crossing.send(f, reps)


@lowers(cf.BranchOp)
def br(f: FunctionLowering, op: cf.BranchOp) -> None:
    block, arguments = _target(f, op.successors[0], op.operands)
    f.b.branch(block, arguments)
    if op.attributes:
        f.mark_loop(op)


@lowers(cf.ConditionalBranchOp)
def cond_br(f: FunctionLowering, op: cf.ConditionalBranchOp) -> None:
    then, otherwise = op.successors
    count = len(then.args)
    condition = f.scalar(op.operands[0])
    then_block, then_arguments = _target(f, then, op.operands[1 : 1 + count])
    else_block, else_arguments = _target(f, otherwise, op.operands[1 + count :])
    f.b.cond_branch(condition, then_block, else_block, then_arguments, else_arguments)
    if op.attributes:
        f.mark_loop(op)


@lowers(ub.PoisonOp)
def poison(f: FunctionLowering, op: ub.PoisonOp) -> None:
    """A scalar poison stands for any number of registers."""
    result = op.results[0]
    f.values[result] = f.b.poison(f.element_type(result))


@lowers(cf.AssertOp)
def cf_assert(f: FunctionLowering, op: cf.AssertOp) -> None:
    """Refused: the front end makes `tt.assert`."""
    raise f.unsupported(op, "is not made by any front end", help="use tt.assert")
