"""Values computed once more in another layout: which exist, and how a slice is rewritten to make new ones.

In: a function and a backward slice of one of its conversions. Out: the slice's ops a second time, in the wanted layouts, each
directly before its original, and the conversion replaced by the new source.

    %1 = tt.make_range : #a                    %1' = tt.make_range : #b
    %2 = arith.addi %1, %1 : #a                %1  = tt.make_range : #a
    %3 = ttg.convert_layout %2 : #a -> #b  =>  %2' = arith.addi %1', %1' : #b
    use %3                                     %2  = arith.addi %1, %1 : #a
                                               use %2'

Loops carry the second version of an argument next to the first; conditionals yield both.

Step 2: compute values again in the layout that a conversion wants, where that is cheaper than converting.

In: a function after forward propagation. Out: the same function with fewer conversions; call it until it reports no change.

    %1 = tt.splat %s : #a                            %1 = tt.splat %s : #b
    %2 = ttg.convert_layout %1 : #a -> #b    =>      use %1
    use %2

Is it worth computing values again to get rid of a conversion? The cost model of backward rematerialisation.

In: a conversion and its slice. Out: whether recomputing costs at most as much as converting, in thousandths of an SM's cycle.

A conversion is a round trip through shared memory: 32 a byte, with at least 32 elements of 32 bits. Recomputing costs 1 a byte
for arithmetic, 8 for a load (from L1) or for expensive maths, and the shuffles of a reduction; ops that are used by nothing but the
slice move instead of being repeated, and cost nothing. The numbers are Triton's (RemoveLayoutConversions.cpp); no measurement
of them on a family of kernels is on record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Block, Operation, OpResult, SSAValue, Use

from minitriton.dialects import arith, ttg
from minitriton.dialects.facts import Expensive, OrderSensitive
from minitriton.dialects.facts.layout import axis_of
from minitriton.dialects.fast_paths.op_access import BlockOrder, operand_use, operand_values, ops_of, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding, DotOperand
from minitriton.layouts.properties import threads_per_warp, warps_per_cta
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.remove_layout_conversions.slices import BackwardSlice, Stop, repeatable_slice, yield_of
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of, with_layout
from minitriton.pipeline.choice import Candidate, Choice, note


class Rematerialization:
    """One step over a function: its conversions, one after another, with the versions of values found so far."""

    def __init__(self, func: Operation) -> None:
        self.func = func
        self.versions: dict[tuple[SSAValue, DistributedEncoding], SSAValue] = {}
        """The same value in another layout."""
        self.removed: set[Operation] = set()
        """Conversions that are no longer used."""
        self._order = BlockOrder()

    def conversions(self) -> Iterator[Operation]:
        """All conversions of the function. One that is still there when the next is asked for can be reused later on."""
        for op in ops_of(self.func, ttg.ConvertLayoutOp):
            yield op
            if op not in self.removed:
                self.versions[op.operands[0], cast(DistributedEncoding, layout_of_value(op.results[0]))] = op.results[0]

    def finish(self) -> bool:
        """Delete the conversions that were replaced; whether there were any."""
        for op in self.removed:
            cast(Block, op.parent).erase_op(op)
        return bool(self.removed)

    def remove(self, convert: Operation, value: SSAValue) -> None:
        """Let the users of `convert` use `value`."""
        convert.results[0].replace_all_uses_with(value)
        self.removed.add(convert)

    def existing(self, use: Use, layout: DistributedEncoding) -> SSAValue | None:
        """A version in `layout` of the operand `use` that is there before its op."""
        op = use.operation
        found = self.versions.get((operand_values(op)[use.index], layout))
        return found if found is not None and self.properly_dominates(found, op) else None

    def slice_of(self, use: Use, layout: DistributedEncoding, stop: Stop | None = None) -> BackwardSlice | None:
        """The slice of an operand, if all its ops may run once more."""
        return repeatable_slice(use, layout, stop, self.existing)

    def properly_dominates(self, value: SSAValue, op: Operation) -> bool:
        """Whether `value` is there before `op` in every run (structured control flow; one block otherwise)."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else cast(Block, owner.parent)
        ancestor = block.find_ancestor_op_in_block(op)
        if ancestor is None:
            return False
        if isinstance(owner, Block):
            return True
        return self._order.comes_before(owner, ancestor)

    def insert_before(self, op: Operation, anchor: Operation) -> None:
        """Put a new op before `anchor`."""
        cast(Block, anchor.parent).insert_op_before(op, anchor)

    def convert_before(
        self, anchor: Operation, value: SSAValue, layout: DistributedEncoding, like: Operation
    ) -> SSAValue:
        """A new conversion of `value` before `anchor`, at the location of `like`."""
        convert = ttg.ConvertLayoutOp(value, with_layout(value.type, layout))
        convert.location = like.location
        self.insert_before(convert, anchor)
        return convert.results[0]

    def convert_after(self, value: SSAValue, layout: DistributedEncoding, like: Operation) -> SSAValue:
        """A new conversion after the op that gives `value`."""
        owner = cast(Operation, value.owner)
        convert = ttg.ConvertLayoutOp(value, with_layout(value.type, layout))
        convert.location = like.location
        cast(Block, owner.parent).insert_op_after(convert, owner)
        return convert.results[0]

    def rewrite(self, found: BackwardSlice, convert: Operation, made: dict[SSAValue, SSAValue] | None = None) -> None:
        """Make the values of the slice once more (but for those in `made`) and replace `convert` by its new source."""
        mapping = dict(made or {})
        layouts = found.layouts
        fresh: dict[SSAValue, None] = {}
        for value in found.values:
            known = self.versions.get((value, layouts[value]))
            if known is not None:
                mapping[value] = known
            else:
                fresh[value] = None
        for op in _in_dominance_order(fresh):
            if isinstance(op, scf.ForOp):
                self._extend_loop(op, fresh, layouts, mapping)
            elif isinstance(op, scf.IfOp):
                self._extend_if(op, fresh, layouts, mapping)
            elif isinstance(op, scf.YieldOp):
                _extend_yield(op, fresh, mapping)
            elif isinstance(op, arith.ConstantOp):
                self._convert_constant(op, layouts, mapping)
            else:
                self._repeat(op, layouts, mapping)
        self.remove(convert, mapping[convert.operands[0]])

    def _convert_constant(
        self, op: Operation, layouts: dict[SSAValue, DistributedEncoding], mapping: dict[SSAValue, SSAValue]
    ) -> None:
        """A conversion of a copy of the constant; the clean-up makes a constant of it."""
        result = op.results[0]
        copy = _shallow_copy(op, mapping)
        self.insert_before(copy, op)
        new = self.convert_before(op, copy.results[0], layouts[result], op)
        mapping[result] = self.versions[result, layouts[result]] = new

    def _repeat(
        self, op: Operation, layouts: dict[SSAValue, DistributedEncoding], mapping: dict[SSAValue, SSAValue]
    ) -> None:
        copy = _shallow_copy(op, mapping) if not op.regions else op.clone(value_mapper=dict(mapping))
        copy.location = op.location
        self.insert_before(copy, op)
        for old, new in zip(op.results, copy.results, strict=True):
            mapping[old] = new
            layout = layouts.get(old)
            if layout is not None:
                set_type(new, with_layout(old.type, layout))
                self.versions[old, layout] = new

    def _extend_loop(
        self,
        op: Operation,
        fresh: dict[SSAValue, None],
        layouts: dict[SSAValue, DistributedEncoding],
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        """Carry second versions of the arguments in `fresh` through the loop."""
        body = op.regions[0].block
        indices = [index for index, arg in enumerate(body.args[1:]) if arg in fresh]
        op.operands = [*op.operands, *(mapping[op.operands[index + 3]] for index in indices)]
        for index in indices:
            arg, result = body.args[index + 1], op.results[index]
            type_ = with_layout(arg.type, layouts[arg])
            new_arg = body.insert_arg(type_, len(body.args))
            new_result = append_result(op, type_)
            mapping[arg], mapping[result] = new_arg, new_result
            self.versions[arg, layouts[arg]] = new_arg
            self.versions[result, layouts[arg]] = new_result

    def _extend_if(
        self,
        op: Operation,
        fresh: dict[SSAValue, None],
        layouts: dict[SSAValue, DistributedEncoding],
        mapping: dict[SSAValue, SSAValue],
    ) -> None:
        """Give second versions of the results in `fresh`."""
        for result in tuple(op.results):
            if result in fresh:
                new = append_result(op, with_layout(result.type, layouts[result]))
                mapping[result] = new
                self.versions[result, layouts[result]] = new


def _shallow_copy(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    return type(op).create(
        operands=[mapping.get(v, v) for v in op.operands],
        result_types=[r.type for r in op.results],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )


def _extend_yield(op: Operation, fresh: dict[SSAValue, None], mapping: dict[SSAValue, SSAValue]) -> None:
    """Yield the second versions too, in the order of the results (arguments) they belong to."""
    parent = cast(Operation, op.parent_op())
    targets = parent.regions[0].block.args[1:] if isinstance(parent, scf.ForOp) else parent.results
    indices = [index for index, target in enumerate(targets) if target in fresh]
    op.operands = [*op.operands, *(mapping[op.operands[index]] for index in indices)]


def _in_dominance_order(fresh: dict[SSAValue, None]) -> list[Operation]:
    """The ops to rewrite for the values in `fresh`: definitions before uses, loops before their bodies."""
    done: dict[Operation, None] = {}
    active: set[Operation] = set()

    def visit_value(value: SSAValue) -> None:
        if value not in fresh:
            return
        owner = value.owner
        visit(cast(Operation, owner.parent_op()) if isinstance(owner, Block) else owner)

    def visit(op: Operation) -> None:
        if op in done or op in active:
            return
        active.add(op)
        for operand in op.operands:
            visit_value(operand)
        done[op] = None

    yields: dict[Operation, None] = {}
    for value in fresh:
        visit_value(value)
        owner = value.owner
        if isinstance(owner, Block):
            yields[cast(Operation, owner.last_op)] = None
        elif isinstance(owner, scf.IfOp):
            yields[yield_of(owner, 0)] = None
            yields[yield_of(owner, 1)] = None
    return [*done, *yields]


RECOMPUTE = ("", "always", "never")
"""What an option may say of recomputing: where it is cheaper, wherever it is possible, nowhere."""


def is_worthwhile(convert: Operation, found: BackwardSlice, recompute: str = "") -> bool:
    """Whether to recompute the slice: where it is no more expensive than `convert`, or as `recompute` says where it is possible."""
    limit = 32 * byte_count(convert.operands[0], min_elements=32, min_bits=32)
    cost = _recomputation_cost(convert, found)
    if cost is None:
        return False
    taken = recompute or ("always" if cost <= limit else "never")
    candidates = (
        Candidate("always", cost, "the values are computed in both layouts"),
        Candidate("never", limit, "the conversion stays: through shared memory"),
    )
    option = "tritongpu-remove-layout-conversions{recompute=@}"
    unit = "thousandths of an SM's cycle"
    note(convert, lambda: Choice.of("recomputing before ttg.convert_layout", unit, option, candidates, taken))
    return taken == "always"


def byte_count(value: SSAValue, *, min_elements: int = 0, min_bits: int = 0) -> int:
    """Bytes of a tensor of numbers; elements (bits an element) count as at least `min_elements` (`min_bits`)."""
    elements = bits = 0
    type_ = value.type
    if instance_of(type_, TensorType):
        elements = 1
        for extent in type_.get_shape():
            elements *= extent
        bits = element_bits(type_)
    return max(elements, min_elements) * max(bits, min_bits) >> 3


def _recomputation_cost(convert: Operation, found: BackwardSlice) -> int | None:
    """None: the slice must not be repeated at any price."""
    ops = {cast(OpResult, value).op: None for value in found.values if value.__class__ is OpResult}
    alone: dict[Operation, bool] = {}
    cost = 0
    for op in ops:
        name = op.name
        if name == "arith.constant" or _is_used_only_by(op, ops, convert, alone):
            continue
        if name == "tt.load" or name == "ttg.local_load":
            cost += 8 * sum(byte_count(result) for result in op.results)
        elif name.startswith(("arith.", "math.")):
            cost += (1 if Expensive.of(op) is None else 8) * sum(byte_count(result) for result in op.results)
        elif name == "tt.reduce":
            if not _is_associative(op):
                return None
            cost += _reduction_cost(op)
    return cost


def _is_used_only_by(
    op: Operation, ops: dict[Operation, None], convert: Operation, known: dict[Operation, bool]
) -> bool:
    """Whether all that `op` feeds is `convert`, directly or through ops of the slice."""
    answer = known.get(op)
    if answer is not None:
        return answer
    known[op] = True
    answer = True
    for result in op.results:
        for use in result.uses:
            user = use.operation
            if user is convert:
                continue
            if user not in ops or not _is_used_only_by(user, ops, convert, known):
                answer = False
                break
        if not answer:
            break
    known[op] = answer
    return answer


def _is_associative(reduce: Operation) -> bool:
    """Whether the order of a reduction is free: no additions or multiplications of floats, unless of two."""
    source = cast(TensorType, reduce.operands[0].type)
    if not isinstance(source.element_type, AnyFloat) or source.get_shape()[axis_of(reduce)] <= 2:
        return True
    return not any(OrderSensitive.of(inner) for inner in reduce.regions[0].walk())


def _reduction_cost(reduce: Operation) -> int:
    """Shuffles within a warp, and exchanges between warps at 8 each."""
    source = reduce.operands[0]
    layout = cast(DistributedEncoding, layout_of_value(source))
    shape, axis = shape_of(source), axis_of(reduce)
    return threads_per_warp(layout, shape)[axis] + 8 * warps_per_cta(layout, shape)[axis]


def rematerialize_backward(func: Operation, recompute: str = "") -> bool:
    """Try every conversion of `func`; whether one was removed. `recompute`: one of `RECOMPUTE`."""
    step = Rematerialization(func)
    for convert in step.conversions():
        _try(step, convert, recompute)
    return step.finish()


def _try(step: Rematerialization, convert: Operation, recompute: str) -> None:
    source = operand_use(convert, 0)
    target = cast(DistributedEncoding, layout_of_value(convert.results[0]))
    if isinstance(target, DotOperand):
        return
    known = step.existing(source, target)
    if known is not None:
        step.remove(convert, known)
        return
    found = step.slice_of(source, target)
    if found is not None and is_worthwhile(convert, found, recompute):
        step.rewrite(found, convert)
