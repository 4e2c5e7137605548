"""Step 3: move the conversions that stay to where they are cheaper.

In: a function after rematerialisation. Out: the same conversions, of smaller tensors, in rarer branches, or next to a load.

    %2 = arith.extf %1 : f16 to f32 #a              %c = ttg.convert_layout %1 : f16 #a -> #b
    %3 = ttg.convert_layout %2 : f32 #a -> #b  =>   %3 = arith.extf %c : f16 to f32 #b
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue, Use

from minitriton.dialects import arith, tt
from minitriton.dialects.facts import Contraction, KeepsData, ViewOfTensor, Widens
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.fast_paths.op_access import BlockOrder, operand_use, operand_values
from minitriton.layouts.encodings import AmdMfma, AmdWmma, DistributedEncoding, DotOperand, NvidiaMma
from minitriton.passes.remove_layout_conversions.rematerialization import Rematerialization
from minitriton.passes.remove_layout_conversions.slices import BackwardSlice, backward_slice, yield_of
from minitriton.passes.tensor_layouts import layout_of_value, operand_layout, set_layout
from minitriton.rewriting.effects import is_memory_effect_free


def hoist_conversions(func: Operation, recompute_indices: bool = False) -> bool:
    """The three kinds of hoisting, one after another; whether one found something. With `recompute_indices` the third passes by what is
    computed of indices and numbers too, a mask of `tl.where` say."""
    changed = False
    for hoist in (_above_widening, _into_conditional, _ToLoads(recompute_indices).hoist):
        step = Rematerialization(func)
        for convert in step.conversions():
            hoist(step, convert)
        changed |= step.finish()
    return changed


def _target(convert: Operation) -> DistributedEncoding:
    return cast(DistributedEncoding, layout_of_value(convert.results[0]))


def _widens(op: Operation) -> bool:
    """Whether the result of `op` has more bytes than its operand."""
    fact = Widens.of(op)
    return fact is not None and fact.holds(op)


def _above_widening(step: Rematerialization, convert: Operation) -> None:
    """Convert before the one extension or broadcast of the slice, and repeat the rest."""
    target = _target(convert)
    if isinstance(target, DotOperand):
        return
    found = step.slice_of(operand_use(convert, 0), target, _widens)
    if found is None:
        return
    widening: Operation | None = None
    for value in tuple(found.values):
        op = value.owner
        if not isinstance(op, Operation) or not _widens(op):
            continue
        source = operand_layout(op, found.layouts[value])
        if source is None:
            return
        backward = step.slice_of(operand_use(op, 0), source)
        if backward is not None and not found.contradicts(backward):
            found.merge(backward)
        elif widening is not None:
            return
        else:
            widening = op
    if widening is None:
        return
    layout = found.layouts[widening.results[0]]
    source = operand_layout(widening, layout)
    if source is None:
        return
    operand = step.convert_before(widening, widening.operands[0], source, convert)
    copy = type(widening).create(
        operands=[operand, *widening.operands[1:]],
        result_types=[widening.results[0].type],
        properties=widening.properties,
        attributes=widening.attributes,
        location=widening.location,
    )
    step.insert_before(copy, widening)
    set_layout(copy.results[0], layout)
    del found.values[widening.results[0]]
    step.rewrite(found, convert, {widening.results[0]: copy.results[0]})


def _into_conditional(step: Rematerialization, convert: Operation) -> None:
    """Where only one branch of a `scf.if` in a loop needs the conversion, convert in that branch."""

    def is_if(op: Operation) -> bool:
        return isinstance(op, scf.IfOp)

    found = step.slice_of(operand_use(convert, 0), _target(convert), is_if)
    if found is None:
        return
    edges: list[tuple[SSAValue, Use]] = []
    terminals: list[SSAValue] = []
    values = list(found.values)
    for value in values:
        op = value.owner
        if not isinstance(op, scf.IfOp):
            continue
        index = cast(OpResult, value).index
        branches = [operand_use(yield_of(op, region), index) for region in (0, 1)]
        slices = [step.slice_of(branch, found.layouts[value], is_if) for branch in branches]
        parent = op.parent_op()
        possible = [part for part in slices if part is not None]
        if not possible or (len(possible) == 1 and (not isinstance(parent, scf.ForOp))):
            terminals.append(value)
            continue
        for part in possible:
            values.extend(v for v in part.values if v not in found.values)
            found.merge(part)
        if len(possible) == 1:
            edges.append((value, branches[slices.index(None)]))
    if edges:
        _convert_on_edges(step, convert, found, edges, terminals)


def _convert_on_edges(
    step: Rematerialization,
    convert: Operation,
    found: BackwardSlice,
    edges: list[tuple[SSAValue, Use]],
    terminals: list[SSAValue],
) -> None:
    made: dict[SSAValue, SSAValue] = {}
    for value in terminals:
        made[value] = step.convert_after(value, found.layouts[value], convert)
        found.values.pop(value, None)
    for result, edge in edges:
        yielded = edge.operation.operands[edge.index]
        made[yielded] = step.convert_before(edge.operation, yielded, found.layouts[result], convert)
        found.values.pop(yielded, None)
    step.rewrite(found, convert, made)


class _ToLoads:
    """A conversion to a tensor-core operand goes to the loads it comes from, so that they can be pipelined."""

    def __init__(self, recompute_indices: bool) -> None:
        self._recompute_indices = recompute_indices
        self._order = BlockOrder()
        self._last_dot: dict[Block, Operation | None] = {}

    def hoist(self, step: Rematerialization, convert: Operation) -> None:
        """Move `convert`, if a dot with a tensor-core operand follows in its block, so that it runs whenever that does."""
        block = cast(Block, convert.parent)
        if block not in self._last_dot:
            self._last_dot[block] = next(filter(_is_tensor_core_dot, reversed(list(block.ops))), None)
        dot = self._last_dot[block]
        if dot is not None and self._order.comes_before(convert, dot):
            _to_loads(step, convert, self._recompute_indices)


def _is_tensor_core_dot(op: Operation) -> bool:
    if Contraction.of(op) is None:
        return False
    layout = layout_of_value(op.operands[0])
    return isinstance(layout, DotOperand) and isinstance(layout.parent, NvidiaMma | AmdMfma | AmdWmma)


def _to_loads(step: Rematerialization, convert: Operation, recompute_indices: bool) -> None:
    """Let the conversion happen at the loads, if there is nothing between that moves data.

    Ranges and splats begin without data: with `recompute_indices` they are made once more in the operand's layout, and loops carry what
    is computed from them alone (`offsets += BLOCK`) in both layouts.
    """

    def moves_data(op: Operation) -> bool:
        return not _keeps_data_in_place(op)

    found = backward_slice(operand_use(convert, 0), _target(convert), moves_data, step.existing)
    if found is None:
        return
    made: dict[SSAValue, SSAValue] = {}
    loads: list[SSAValue] = []
    for value in found.values:
        op = value.owner
        if recompute_indices and (isinstance(op, tt.MakeRangeOp | tt.SplatOp) or _is_a_count(value, found)):
            continue
        if not isinstance(op, Operation):
            return
        if isinstance(op, (tt.LoadOp, tt.DescriptorLoadOp)):
            loads.append(value)
        elif not isinstance(op, arith.ConstantOp) and not _keeps_data_in_place(op):
            return
    if len(loads) == len(found.values):
        return
    for value in loads:
        made[value] = step.convert_after(value, found.layouts[value], convert)
        del found.values[value]
    step.rewrite(found, convert, made)


def _is_a_count(value: SSAValue, found: BackwardSlice) -> bool:
    """Whether a loop carries `value`, and no element of it was ever loaded."""
    if not isinstance(value, BlockArgument):
        return False
    seen: set[SSAValue] = set()
    pending: list[SSAValue] = [value]
    while pending:
        current = pending.pop()
        if current in seen or current not in found.values:
            continue
        seen.add(current)
        if isinstance(current, OpResult):
            if isinstance(current.op, tt.LoadOp | tt.DescriptorLoadOp):
                return False
            pending += operand_values(current.op)
        else:
            index, loop = cast(BlockArgument, current).index, cast(Block, current.owner).parent_op()
            assert isinstance(loop, scf.ForOp)
            pending += [operand_values(loop)[index + 2], operand_values(yield_of(loop, 0))[index - 1]]
    return True


def _keeps_data_in_place(op: Operation) -> bool:
    if KeepsData.of(op) is not None or ViewOfTensor.of(op) is not None:
        return True
    return Elementwise.of(op) is not None and is_memory_effect_free(op)
