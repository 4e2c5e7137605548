"""What has to be recomputed for a value to have another layout: the backward slice of a conversion.

In: the operand of a `ttg.convert_layout` and the layout it is converted to.
Out: a `BackwardSlice`: the values before it, each with the layout it would then have; or None where that cannot be done.

    %1 = tt.make_range : #a
    %2 = arith.addi %1, %1 : #a                       slice of %3 to #b:  {%2: #b, %1: #b}
    %3 = ttg.convert_layout %2 : #a -> #b

The walk ends at ops that give their result in any layout, at operands that already have the wanted layout, at values for
which a conversion to it exists, and where `stop` says so. It goes through `scf.if` results and `scf.for` arguments.

Which ops decide on a layout, which are too expensive to do twice, which can give their result in any layout.

Questions about single ops that the steps of `tritongpu-remove-layout-conversions` ask.

    is_anchor(tt.load of 4096 pointers by 128 threads)  ->  True: its layout coalesces the access
    is_anchor(tt.load of 16 pointers)                   ->  False: cheap in any layout
    gives_any_layout(tt.splat)                          ->  True: `convert(splat x)` is a splat
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.layout import AnyLayout, LayoutAnchor, NeverRematerialized
from minitriton.dialects.facts.region_flow import Loop, RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_use, operand_values
from minitriton.host.frozen import record
from minitriton.layouts.conversion import cvt_reorders_registers
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.tensor_layouts import layout_of_value, operand_layouts, shape_of
from minitriton.rewriting.effects import only_reads


def is_anchor(op: Operation) -> bool:
    """Whether the layout of the results of `op` is one to keep: propagation starts from it."""
    fact = LayoutAnchor.of(op)
    return fact is not None and fact.holds(op)


def can_be_repeated(op: Operation) -> bool:
    """Whether `op` may run once more in another layout: nobody can tell, and it is cheap. Of loops and branches only what they pass on."""
    fact = NeverRematerialized.of(op)
    if fact is not None and fact.holds(op):
        return False
    return isinstance(op, scf.ForOp | scf.IfOp) or only_reads(op)


def gives_any_layout(op: Operation, layout: DistributedEncoding) -> bool:
    """Whether a conversion of the result of `op` to `layout` disappears into `op`."""
    fact = AnyLayout.of(op)
    return fact is not None and fact.allows(op, layout)


Stop = Callable[[Operation], bool]
Existing = Callable[[Use, DistributedEncoding], SSAValue | None]


@record
class BackwardSlice:
    """The values of a slice, in the order in which they were met, and their layouts, also of what its ops take as it is."""

    values: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    layouts: dict[SSAValue, DistributedEncoding] = field(default_factory=dict[SSAValue, DistributedEncoding])

    def add(self, value: SSAValue, layout: DistributedEncoding) -> bool:
        """Take `value` in; False if it is there with another layout."""
        self.values[value] = None
        return self.keep(value, layout)

    def keep(self, value: SSAValue, layout: DistributedEncoding) -> bool:
        """An op of the slice takes `value` with the layout that it has; False if the slice makes it anew with another."""
        return self.layouts.setdefault(value, layout) == layout

    def merge(self, other: BackwardSlice) -> None:
        """Take in all of `other`; known values keep their layouts."""
        self.values.update(other.values)
        for value, layout in other.layouts.items():
            self.layouts.setdefault(value, layout)

    def contradicts(self, other: BackwardSlice) -> bool:
        """Whether a value has one layout here and another one there."""
        mine = self.layouts
        return any(value in mine and mine[value] != layout for value, layout in other.layouts.items())


def is_free_convert(op: Operation) -> bool:
    """Whether `op` is a conversion that moves data between the registers of a thread only."""
    if not isinstance(op, ttg.ConvertLayoutOp):
        return False
    source, result = op.operands[0], op.results[0]
    return cvt_reorders_registers(
        cast(DistributedEncoding, layout_of_value(source)),
        cast(DistributedEncoding, layout_of_value(result)),
        shape_of(source),
    )


def backward_slice(
    root: Use,
    layout: DistributedEncoding,
    stop: Stop | None = None,
    existing: Existing | None = None,
    admits: Callable[[Operation], bool] | None = None,
) -> BackwardSlice | None:
    """The slice of operand `root` for it to have `layout`; None if an op on the way does not allow it.

    `admits` says which ops may be in the slice at all.
    """
    found = BackwardSlice()
    seen = {(root, layout)}
    queue = [(root, layout)]

    def enqueue(use: Use, wanted: DistributedEncoding) -> None:
        key = (use, wanted)
        if key not in seen:
            seen.add(key)
            queue.append(key)

    while queue:
        use, wanted = queue.pop()
        value = operand_values(use.operation)[use.index]
        if value.type.__class__ is not TensorType:
            continue
        known = existing(use, wanted) if existing is not None else None
        for one in (value, known):
            if one is not None and not (found.add(one, wanted) and (admits is None or _is_admitted(one, admits))):
                return None
        if value.__class__ is OpResult and isinstance(RegionFlow.of(cast(OpResult, value).op), Loop):
            return None
        if known is not None:
            value = known
        if value.__class__ is not OpResult:
            if not _enter_loop(cast(BlockArgument, value), wanted, enqueue):
                return None
            continue
        op = cast(OpResult, value).op
        if isinstance(op, scf.IfOp):
            if stop is None or not stop(op):
                for region in (0, 1):
                    enqueue(operand_use(yield_of(op, region), cast(OpResult, value).index), wanted)
        elif not _enter_op(op, value, wanted, found, stop, enqueue):
            return None
    return found


def _is_admitted(value: SSAValue, admits: Callable[[Operation], bool]) -> bool:
    return value.__class__ is not OpResult or admits(cast(OpResult, value).op)


def yield_of(op: Operation, region: int) -> Operation:
    """The terminator of a region of `op`."""
    return cast(Operation, op.regions[region].block.last_op)


def _enter_loop(
    value: BlockArgument, wanted: DistributedEncoding, enqueue: Callable[[Use, DistributedEncoding], None]
) -> bool:
    """The argument of a `scf.for` depends on the initial value and on what the body yields."""
    block = value.block
    loop = block.parent_op()
    if not isinstance(loop, scf.ForOp):
        return False
    index = value.index - 1
    enqueue(operand_use(loop, index + 3), wanted)
    enqueue(operand_use(cast(Operation, block.last_op), index), wanted)
    return True


def _enter_op(
    op: Operation,
    value: SSAValue,
    wanted: DistributedEncoding,
    found: BackwardSlice,
    stop: Stop | None,
    enqueue: Callable[[Use, DistributedEncoding], None],
) -> bool:
    """The operands of `op`, unless the walk ends here. False: the result of `op` cannot have the layout `wanted`."""
    for result in op.results:
        if result is not value and result.type.__class__ is TensorType and not found.add(result, wanted):
            return False
    if is_free_convert(op):
        enqueue(operand_use(op, 0), wanted)
        return True
    if gives_any_layout(op, wanted) or (stop is not None and stop(op)):
        return True
    if isinstance(op, tt.CatOp):
        return False
    if isinstance(op, tt.GatherOp):
        enqueue(operand_use(op, 1), wanted)
        return True
    operands = operand_values(op)
    sources = operand_layouts(op, wanted) if operands else ()
    for index, (operand, source) in enumerate(zip(operands, sources, strict=True)):
        if source is None:
            return False
        now = layout_of_value(operand)
        if now is not None and now != source:
            enqueue(operand_use(op, index), source)
        elif now is not None and not found.keep(operand, source):
            return False
    return True


def repeatable_slice(
    root: Use, layout: DistributedEncoding, stop: Stop | None = None, existing: Existing | None = None
) -> BackwardSlice | None:
    """A slice all of whose ops may run once more; None if there is none."""
    found = backward_slice(root, layout, stop, existing, can_be_repeated)
    return found if found is not None and found.values else None
