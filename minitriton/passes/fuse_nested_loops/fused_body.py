"""The body of a fused loop: each part of the outer loop's body becomes an `scf.if` on T.

first(i)                          %s:2 = scf.if %T == 0 { first(i); yield lj, ... } else { yield last j, ... }
for j in range(lj, uj, sj):       %b:2 = scf.if %T in range { body(i, j); yield j + sj, ... } else { yield j, ... }
    body(i, j)              =>    scf.if %T is last { last(i) }
last(i)                           yield next T, i, ..., j, ...

The parts of the outer loop's body are before, between and after its inner loops:

    scf.for %i { %a = ...; %b = f(%a)       section 0, its output %b
      scf.for %j { use %b }
      g(%i) }                               section 1, no output

Loops that stand directly in each other are trees: `scf.for A { scf.for B {}  scf.if { scf.for C {} } }` is A with child B, and C, for any other op with
regions ends a tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from xdsl.dialects import scf
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_at, operand_values
from minitriton.dialects.verification.dominance import Dominance
from minitriton.host.frozen import record
from minitriton.passes.fuse_nested_loops.bounds import Lengths
from minitriton.passes.fuse_nested_loops.speculation import MUST_EXECUTE
from minitriton.passes.loop_rewriting import append_result
from minitriton.rewriting.constants import int_attr
from minitriton.rewriting.effects import nested_ops
from minitriton.rewriting.regions import is_inside
from minitriton.rewriting.rewriter import Inserter


@record
class Section:
    """A run of ops, and those of their results that later ops use."""

    ops: list[Operation]
    outputs: list[SSAValue]

    def move_to_end(self, block: Block) -> None:
        """Moves the ops to the end of `block`."""
        for op in self.ops:
            assert op.parent is not None
            op.parent.detach_op(op)
            block.add_op(op)

    def replace_outputs_outside(self, branch: scf.IfOp, values: Sequence[SSAValue]) -> None:
        """Uses of the outputs become uses of `values`, except in the first region of `branch`, where the ops are now."""
        for output, value in zip(self.outputs, values, strict=True):
            for use in tuple(output.uses):
                if not is_inside(use.operation, branch.regions[0]):
                    use.operation.operands[use.index] = value


def section(first: Operation | None, end: Operation | None, dominance: Dominance) -> Section:
    """The ops from `first` on, up to and without `end`."""
    ops: list[Operation] = []
    op = first
    while op is not end:
        assert op is not None
        ops.append(op)
        op = op.next_op
    if not ops:
        return Section([], [])
    outputs: list[SSAValue] = [
        result
        for op in ops
        for result in op.results
        if any(dominance.op_properly_dominates(ops[-1], use.operation) for use in result.uses)
    ]
    return Section(ops, outputs)


def sections_of(outer: scf.ForOp, inner: list[scf.ForOp], dominance: Dominance) -> list[Section]:
    """One section more than there are inner loops; the yield of `outer` is in none."""
    block = outer.regions[0].block
    starts = [block.first_op, *(loop.next_op for loop in inner)]
    ends = [*inner, block.last_op]
    return [section(start, end, dominance) for start, end in zip(starts, ends, strict=True)]


@record
class LoopNode:
    """A loop and the loops directly in it."""

    loop: scf.ForOp
    children: list[LoopNode] = field(default_factory=list["LoopNode"])


def find_loop_nests(container: Operation) -> list[LoopNode]:
    """The outermost loops of all trees inside `container`; a tree follows those that end in it."""
    found: list[LoopNode] = []
    for op in nested_ops(container):
        if op.__class__ is scf.ForOp and isinstance(op, scf.ForOp):
            root = LoopNode(op)
            _add_children(root, op, found)
            found.append(root)
        elif op.regions:
            found.extend(find_loop_nests(op))
    return found


def _add_children(parent: LoopNode, loop: Operation, found: list[LoopNode]) -> None:
    for op in nested_ops(loop):
        if isinstance(op, scf.ForOp):
            child = LoopNode(op)
            parent.children.append(child)
            _add_children(child, op, found)
        elif op.regions:
            found.extend(find_loop_nests(op))


def _new_if(condition: SSAValue, types: list[Attribute]) -> scf.IfOp:
    regions = [Region(Block()), Region(Block())]
    return scf.IfOp.create(operands=[condition], result_types=types, regions=regions)


def _yield_of(region: Region) -> Operation:
    return last_op_of(region.block)


def _append_choice(branch: scf.IfOp, if_true: SSAValue, if_false: SSAValue) -> OpResult:
    """A new result of `branch`."""
    for region, value in zip(branch.regions, (if_true, if_false), strict=True):
        last = _yield_of(region)
        last.operands = [*operand_values(last), value]
    return append_result(branch, if_true.type)


class FusedBody:
    """The body of a fused loop while it is built."""

    def __init__(self, lengths: Lengths, fused: scf.ForOp, inner_length: SSAValue, sections: list[Section]) -> None:
        self.rules = lengths
        self.fused = fused
        self.sections = sections
        self.loops = [i.loop for i in lengths.inner]
        self.block = fused.regions[0].block
        self.at = Inserter(self.block, None, lengths.outer.location)
        self.inner_length = inner_length
        self._split_arguments()
        self.section_ifs: list[scf.IfOp] = []
        self.body_ifs: list[scf.IfOp] = []
        outer_arguments = lengths.outer.regions[0].block.args[1:]
        for argument, new in zip(outer_arguments, self.carried, strict=True):
            argument.replace_all_uses_with(new)
        self.i: SSAValue = self.last_i

    def _split_arguments(self) -> None:
        """Names for the arguments of the fused loop, in their order."""
        arguments = iter(self.block.args[1:])

        def take(count: int) -> list[BlockArgument]:
            return [next(arguments) for _ in range(count)]

        (self.t,), (self.last_i,) = take(1), take(1)
        self.carried = take(len(self.rules.outer.results))
        self.lengths: list[SSAValue] = list(take(len(self.loops)))
        (self.last_inner_length,) = take(1)
        self.counters = take(len(self.loops))
        self.loop_values = [take(len(loop.results)) for loop in self.loops]
        self.section_values = [take(len(each.outputs)) for each in self.sections[:-1]]

    def integer(self, number: int) -> SSAValue:
        return self.at.integer(self.rules.type, number)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.at.value(arith.CmpiOp(a, b, predicate))

    def _start(self, number: int) -> SSAValue:
        """The T at which the inner loop `number` begins."""
        start = self.integer(0)
        for length in self.lengths[:number]:
            start = self.at.value(arith.AddiOp(start, self.rules.clamped(self.at, length)))
        return self.at.value(arith.SubiOp(start, self.integer(number)))

    def add_section(self, number: int) -> None:
        """What stands before inner loop `number`, where it begins."""
        self.start = self._start(number)
        condition = self.compare("eq", self.t, self.start)
        section, loop = self.sections[number], self.loops[number]
        initial = list(operand_values(loop)[3:])
        types = [operand_at(loop, 0).type, *(v.type for v in section.outputs), *(v.type for v in initial)]
        if number == 0:
            types += [self.last_i.type, *(length.type for length in self.lengths), self.rules.type]
        branch = self.at.insert(_new_if(condition, types))
        self.section_ifs.append(branch)
        then, other = (self.at.at_end(region.block) for region in branch.regions)
        section.move_to_end(then.block)
        first = self._advance_outer(then) if number == 0 else []
        then.insert(
            scf.YieldOp.create(operands=[operand_at(loop, 0), *section.outputs, *operand_values(loop)[3:], *first])
        )
        kept = [self.counters[number], *self.section_values[number], *self.loop_values[number]]
        if number == 0:
            length = self.inner_length if self.rules.all_invariant else self.last_inner_length
            kept += [self.last_i, *self.lengths, length]
        other.insert(scf.YieldOp.create(operands=kept))
        self._use_section_results(number, branch)

    def _advance_outer(self, then: Inserter) -> list[SSAValue]:
        """At T == 0: the next i, and the lengths of the inner loops for it."""
        outer = self.rules.outer
        top = then if then.block.first_op is None else then.at(then.block.first_op)
        i = top.value(arith.AddiOp(self.last_i, operand_at(outer, 2)))
        self.rules.outer.regions[0].block.args[0].replace_all_uses_with(i)
        lengths, total = list(self.lengths), self.inner_length
        values: dict[SSAValue, SSAValue] = {}
        for index, each in enumerate(self.rules.inner):
            if each.sliced:
                lengths[index] = self.rules.copied_length(top, each, values)
                total = top.value(arith.AddiOp(total, self.rules.clamped(top, lengths[index])))
        self.i = i
        return [i, *lengths, total]

    def _use_section_results(self, number: int, branch: scf.IfOp) -> None:
        """Later uses of what the section makes become uses of the results of `branch`."""
        section, loop = self.sections[number], self.loops[number]
        results = list(branch.results)
        self.counter = results[0]
        count = 1 + len(section.outputs)
        arguments = loop.regions[0].block.args
        arguments[0].replace_all_uses_with(self.counter)
        section.replace_outputs_outside(branch, results[1:count])
        for argument, value in zip(arguments[1:], results[count : count + len(loop.results)], strict=True):
            argument.replace_all_uses_with(value)
        if number == 0:
            self.lengths = list[SSAValue](results[-1 - len(self.loops) : -1])
            self.inner_length = results[-1]
            result = results[-2 - len(self.loops)]
            for use in tuple(self.i.uses):
                if not is_inside(use.operation, branch.regions[0]):
                    use.operation.operands[use.index] = result
            self.i = result

    def add_loop_body(self, number: int) -> None:
        """The body of inner loop `number`, while T is in its range."""
        loop = self.loops[number]
        end = self.at.value(arith.AddiOp(self.start, self.lengths[number]))
        reached = self.compare("sge", self.t, self.start)
        not_over = self.compare("slt", self.t, end)
        condition = self.at.value(arith.AndIOp(reached, not_over))
        if MUST_EXECUTE in loop.attributes:
            condition = self.at.constant(int_attr(i1, 1))
        branch = self.at.insert(_new_if(condition, [self.counter.type, *(r.type for r in loop.results)]))
        self.body_ifs.append(branch)
        then, other = (region.block for region in branch.regions)
        for op in tuple(loop.regions[0].block.ops):
            loop.regions[0].block.detach_op(op)
            then.add_op(op)
        last = _yield_of(branch.regions[0])
        step = self.at.at(last).value(arith.AddiOp(self.counter, operand_at(loop, 2)))
        last.operands = [step, *operand_values(last)]
        self.at.at_end(other).insert(scf.YieldOp.create(operands=[self.counter, *self.loop_values[number]]))
        for result, new in zip(loop.results, branch.results[1:], strict=True):
            result.replace_all_uses_with(new)

    def add_last_section(self) -> None:
        """What stands after the last inner loop, in the last iteration of the inner loops; then T moves on."""
        section = self.sections[-1]
        outer_yield = _yield_of(self.rules.outer.regions[0])
        last = self.at.value(arith.SubiOp(self.inner_length, self.integer(1)))
        branch = self.last_if = self.at.insert(_new_if(self.compare("eq", self.t, last), []))
        then, other = (self.at.at_end(region.block) for region in branch.regions)
        section.move_to_end(then.block)
        then.insert(scf.YieldOp.create())
        other.insert(scf.YieldOp.create())
        for output in section.outputs:
            for index, value in enumerate(operand_values(outer_yield)):
                if value is output:
                    outer_yield.operands[index] = _append_choice(branch, value, self.carried[index])
        for index, value in enumerate(operand_values(outer_yield)):
            argument = self.carried[index]
            is_chosen = isinstance(value, OpResult) and value.op is branch
            if not is_chosen and value is not argument and self._is_read_later(argument, outer_yield):
                outer_yield.operands[index] = _append_choice(branch, value, argument)

    def _is_read_later(self, argument: SSAValue, outer_yield: Operation) -> bool:
        """True if a value that the outer loop carries is read after the first section, or forwarded as another one."""
        first = self.section_ifs[0].regions[0]
        readers = [use.operation for use in argument.uses if use.operation not in self.loops]
        return any(reader is outer_yield or not is_inside(reader, first) for reader in readers)

    def finish(self) -> None:
        """T of the next iteration, and the yield of the fused loop."""
        outer_yield = _yield_of(self.rules.outer.regions[0])
        following = self.at.value(arith.AddiOp(self.t, self.integer(1)))
        last = self.at.value(arith.SubiOp(self.inner_length, self.integer(1)))
        is_last = self.compare("eq", self.t, last)
        t = self.at.value(arith.SelectOp(is_last, self.integer(0), following))
        yielded = [t, self.i, *operand_values(outer_yield), *self.lengths, self.inner_length]
        yielded += [branch.results[0] for branch in self.body_ifs]
        for branch, loop in zip(self.body_ifs, self.loops, strict=True):
            yielded += branch.results[1 : 1 + len(loop.results)]
        for branch, section in zip(self.section_ifs, self.sections, strict=False):
            yielded += branch.results[1 : 1 + len(section.outputs)]
        self.at.insert(scf.YieldOp.create(operands=yielded))
        self._initialize_before_loop()

    def _initialize_before_loop(self) -> None:
        """What an inner loop starts with is set before the fused loop, and again by the last section, if it is known
        there: then the inner loops do not wait for the sections before them."""
        last = _yield_of(self.fused.regions[0])
        for number, loop in enumerate(self.loops):
            removed: dict[int, SSAValue] = {}
            for index, initial in enumerate(operand_values(loop)[3:]):
                if not self._is_known_before_loop(initial):
                    continue
                argument = self.loop_values[number][index]
                position = argument.index - 1
                self.fused.operands[3 + position] = initial
                removed[1 + len(self.sections[number].outputs) + index] = argument
                last.operands[position] = _append_choice(
                    self.last_if, initial, self.body_ifs[number].results[1 + index]
                )
            if removed:
                _drop_results(self.section_ifs[number], removed)

    def _is_known_before_loop(self, value: SSAValue) -> bool:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        return block is not self.block


def _drop_results(branch: scf.IfOp, replaced: dict[int, SSAValue]) -> None:
    """`branch` without the results at the positions in `replaced`, whose uses become uses of the values there."""
    kept = [index for index in range(len(branch.results)) if index not in replaced]
    for region in branch.regions:
        last = _yield_of(region)
        last.operands = [operand_at(last, index) for index in kept]
    regions = list(branch.regions)
    for region in regions:
        branch.detach_region(region)
    new = scf.IfOp.create(
        operands=list(operand_values(branch)),
        result_types=[branch.results[index].type for index in kept],
        regions=regions,
    )
    new.location = branch.location
    assert branch.parent is not None
    branch.parent.insert_op_before(new, branch)
    for index, value in replaced.items():
        branch.results[index].replace_all_uses_with(value)
    for index, result in zip(kept, new.results, strict=True):
        branch.results[index].replace_all_uses_with(result)
    branch.parent.erase_op(branch)
