"""Step 1: carry the layouts of anchors forward to all that depends on them.

In: a function with many `ttg.convert_layout`. Out: the same function, where most values have the layout of the loads,
dots and atomics they come from, with conversions only where two layouts meet.

    %1 = tt.load ... : #a                          %1 = tt.load ... : #a
    %2 = ttg.convert_layout %1 : #a -> #b          %2 = ttg.convert_layout %1 : #a -> #a     (cleaned up later)
    %3 = arith.addf %2, %2 : #b             =>     %3 = arith.addf %2, %2 : #a
    tt.store %p, %3 : #b                           %4 = ttg.convert_layout %3 : #a -> #b
                                                   tt.store %p, %4 : #b

Each value collects candidate layouts until nothing changes; of several, tensor-core layouts win (blocked ones for memory
accesses), else the first. One walk then changes the types where they stand.
"""

from __future__ import annotations

from collections import deque
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue, Use

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts import ForwardsOperands
from minitriton.dialects.facts.layout import Derived, LayoutRule, SameLayout, has_efficient_layout
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.region_flow import RegionFlow, ScalarRegions, receivers
from minitriton.dialects.fast_paths.op_access import next_use, ops_in
from minitriton.layouts.encodings import AmdMfma, AmdWmma, Blocked, DistributedEncoding, NvidiaMma
from minitriton.passes.remove_layout_conversions.slices import is_anchor
from minitriton.passes.tensor_layouts import convert_after, layout_of_value, operand_layout, result_layout, set_layout
from minitriton.pipeline.choice import remark

Candidates = dict[DistributedEncoding, None]


def propagate_layouts(func: Operation) -> bool:
    """Carry the layouts of the anchors of `func` forward and rewrite it accordingly. Whether anything changed."""
    candidates = _anchor_layouts(func)
    if not candidates:
        return False
    _spread(candidates)
    rewriter = _Rewriter({value: _choose(value, found) for value, found in candidates.items()})
    rewriter.rewrite(func.regions[0])
    return rewriter.has_changed


def _anchor_layouts(func: Operation) -> dict[SSAValue, Candidates]:
    """The layouts of function arguments and of the results of anchor ops."""
    found: dict[SSAValue, Candidates] = {}

    def add(values: tuple[SSAValue, ...]) -> None:
        for value in values:
            layout = layout_of_value(value)
            if layout is not None:
                found[value] = {layout: None}

    entry = func.regions[0].first_block
    if entry is not None:
        add(entry.args)
    for op in ops_in(func):
        if op.results and is_anchor(op):
            add(op.results)
    return found


MOST_LAYOUTS = 64
"""Layouts of one value that are considered. A reshape and a transpose in a loop make others of each other, for as long as it takes
the bits of an index to come back to where they were."""


def _spread(candidates: dict[SSAValue, Candidates]) -> None:
    """Hand every candidate on to the users, until nothing changes."""
    queue = list(candidates)
    while queue:
        value = queue.pop()
        layouts = tuple(candidates[value])
        use = value.first_use
        while use is not None:
            _spread_to_user(use, layouts, candidates, queue)
            use = next_use(use)


def _spread_to_user(
    use: Use, layouts: tuple[DistributedEncoding, ...], candidates: dict[SSAValue, Candidates], queue: list[SSAValue]
) -> None:
    op = use.operation
    convert = isinstance(op, ttg.ConvertLayoutOp)
    for target in _targets(use):
        if target.type.__class__ is not TensorType:
            continue
        changed = False
        for layout in layouts:
            # A conversion would vanish if its result had the layout of its source.
            inferred = layout if convert else result_layout(op, layout)
            if inferred is None:
                continue
            found = candidates.get(target)
            if found is None:
                found = candidates[target] = {}
            if inferred not in found:
                if len(found) == MOST_LAYOUTS:
                    remark(op, f"only the first {MOST_LAYOUTS} layouts that its result could have are considered")
                    return
                found[inferred] = None
                changed = True
        if changed:
            queue.append(target)


def _targets(use: Use) -> tuple[SSAValue, ...]:
    """The values that have the layout of the operand `use` if their op is left as it is."""
    op, index = use.operation, use.index
    if RegionFlow.of(op) is not None or op.next_op is None:
        found = receivers(op, index)
        if isinstance(op, scf.YieldOp) and isinstance(op.parent_op(), scf.WhileOp):
            parent = cast(Operation, op.parent_op())
            found = [*(r for r in parent.results[index : index + 1] if r.type == found[0].type), *found]
        return tuple(found)
    cls = op.__class__
    if cls is tt.GatherOp:
        return tuple(op.results) if index == 1 and not has_efficient_layout(op) else ()
    if cls is ttg.ConvertLayoutOp or isinstance(LayoutRule.of(op), (SameLayout, Derived)):
        return tuple(op.results)
    handed = ForwardsOperands.of(op)
    return () if handed is None or handed.choice else (op.results[index - handed.first],)


def _body(op: Operation, region: int = 0) -> Block:
    return op.regions[region].block


def _choose(value: SSAValue, found: Candidates) -> DistributedEncoding:
    """One of several layouts."""
    first = next(iter(found))
    if len(found) == 1:
        return first
    owner = value.owner
    is_access = isinstance(owner, Operation) and MemoryAccess.of(owner) is not None
    wanted = (Blocked,) if is_access else (NvidiaMma, AmdMfma, AmdWmma)
    return next((layout for layout in found if isinstance(layout, wanted)), first)


class _Rewriter:
    """Gives the values of a function the chosen layouts."""

    def __init__(self, chosen: dict[SSAValue, DistributedEncoding]) -> None:
        self.chosen = chosen
        self.original: dict[SSAValue, DistributedEncoding] = {}
        """What a value's layout was before it was changed; ops that are left alone still want it."""
        self.has_changed = False

    def rewrite(self, region: Region) -> None:
        """Rewrite all ops of `region`, those of outer regions before those of inner ones."""
        queue = deque([region])
        while queue:
            for block in queue.popleft().blocks:
                op = block.first_op
                while op is not None:
                    self.rewrite_op(op)
                    if op.regions and ScalarRegions.of(op) is None:
                        queue.extend(op.regions)
                    op = op.next_op

    def rewrite_op(self, op: Operation) -> None:
        """Give the results of `op` their layouts, and convert its operands where they do not fit."""
        name = op.name
        if self.needs_rewrite(op):
            if name == "scf.for":
                self.rewrite_for(op)
            elif name == "scf.while":
                self.rewrite_while(op)
            elif name == "scf.if" or name == "ttg.convert_layout":
                self.set_layouts(op.results)
            else:
                self.rewrite_computation(op)
        elif not op.operands:
            return
        elif name == "scf.yield":
            self.fit_yield(op)
        elif name == "scf.condition":
            parent = cast(Operation, op.parent_op())
            for index, result in enumerate(parent.results):
                self.fit(op, index + 1, layout_of_value(result))
        elif name == "tt.reduce" and op.results[0].type.__class__ is not TensorType:
            # The result is a scalar: the layout of the operands is free, as long as it is one.
            layout = next((self.chosen[v] for v in op.operands if v in self.chosen), None)
            for index in range(len(op.operands)):
                self.fit(op, index, layout)
        elif name != "tt.assert":  # an assertion takes its condition as it comes
            original = self.original
            for index, operand in enumerate(op.operands):
                if operand in original:
                    self.fit(op, index, original[operand])

    def needs_rewrite(self, op: Operation) -> bool:
        """Whether a value that `op` defines changes its layout."""
        values: tuple[SSAValue, ...] = op.results
        if isinstance(op, scf.WhileOp):
            values = (*values, *_body(op).args, *_body(op, 1).args)
        for value in values:
            layout = self.chosen.get(value)
            if layout is not None and layout != layout_of_value(value):
                return True
        return False

    def set_layouts(self, values: tuple[SSAValue, ...], layout: DistributedEncoding | None = None) -> None:
        """Give `values` the chosen layouts (or `layout`)."""
        for value in values:
            now = layout_of_value(value)
            new = self.chosen.get(value) if layout is None else layout
            if now is not None and new is not None and new != now:
                self.original[value] = now
                self.has_changed = True
                set_layout(value, new)

    def fit(self, op: Operation, index: int, layout: DistributedEncoding | None) -> None:
        """Convert an operand of `op` to `layout`, right after its definition, if it has another one."""
        value = op.operands[index]
        now = layout_of_value(value)
        if layout is not None and now is not None and now != layout:
            self.has_changed = True
            op.operands[index] = convert_after(value, layout)

    def rewrite_for(self, op: Operation) -> None:
        args = _body(op).args[1:]
        for index, (result, arg) in enumerate(zip(op.results, args, strict=True)):
            layout = self.chosen.get(result)
            if layout is not None:
                self.fit(op, index + 3, layout)
                self.set_layouts((result, arg), layout)

    def rewrite_while(self, op: Operation) -> None:
        before, after = _body(op), _body(op, 1)
        for index, arg in enumerate(before.args):
            self.fit(op, index, self.chosen.get(arg))
        self.set_layouts(before.args)
        for result, arg in zip(op.results, after.args, strict=True):
            layout = self.chosen.get(result)
            if layout is not None:
                self.set_layouts((result, arg), layout)

    def fit_yield(self, op: Operation) -> None:
        parent = cast(Operation, op.parent_op())
        targets = _body(parent).args if isinstance(parent, scf.WhileOp) else parent.results
        for index, target in enumerate(targets):
            self.fit(op, index, layout_of_value(target))

    def rewrite_computation(self, op: Operation) -> None:
        """An op whose operands and results have layouts that follow from each other."""
        layout = self.chosen[op.results[0]]
        source: DistributedEncoding | None = None
        for operand in op.operands:
            now = layout_of_value(operand)
            if now is not None and result_layout(op, now) == layout:
                source = now
                break
        if source is None and op.operands:
            source = operand_layout(op, layout)
            assert source is not None, f"no layout of the operands of {op.name} gives {layout}"
        for index in range(len(op.operands)):
            self.fit(op, index, source)
        self.set_layouts(op.results, layout)
