"""Patterns that make conversions vanish into their source or their user, and loop arguments that only feed themselves.

Each is a set for the greedy driver. The first is run between the steps of the pass:

    convert(x : #a) : #a              ->  x
    convert(convert(x) : #b) : #c     ->  convert(x) : #c
    convert(splat s : #a) : #b        ->  splat s : #b            (make_range, splat constants, histograms, cheap cats)
    convert(local_load m : #a) : #b   ->  local_load m : #b
    local_alloc(convert(x))           ->  local_alloc(x)          (local_store, gather's source, histogram's source)

The second is step 4: of a loop that carries values in two layouts, what nothing live needs is yielded unchanged; canonicalisation of `scf.for` then drops
the argument, and dead-code elimination the rest.

    %r:2 = scf.for ... iter_args(%a = %x, %b = %y)      %r:2 = scf.for ... iter_args(%a = %x, %b = %y)
      %b2 = arith.addi %b, %b                       =>    %b2 = arith.addi %b, %b
      scf.yield %a2, %b2                                  scf.yield %a2, %b
    use %r#0                                            use %r#0

Counterpart of `ConvertLayoutOp::getCanonicalizationPatterns` of lib/Dialect/TritonGPU/IR/Ops.cpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.layout import allows_reorder, has_efficient_layout, order_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding, DotOperand, NvidiaMma
from minitriton.layouts.properties import are_layouts_equivalent, is_expensive_view
from minitriton.passes.remove_layout_conversions.slices import gives_any_layout, yield_of
from minitriton.passes.tensor_layouts import layout_of_value, result_layout, retyped_elements, shape_of, with_layout
from minitriton.rewriting.constants import splat_bytes
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Rewriter
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

CONVERT_PATTERNS = PatternSet()


def _source_convert(op: Operation) -> ttg.ConvertLayoutOp | None:
    """The conversion that gives the first operand of `op`."""
    owner = op.operands[0].owner if op.operands else None
    return owner if isinstance(owner, ttg.ConvertLayoutOp) else None


def _is_trivial(convert: Operation) -> bool:
    """Whether a conversion only renames its layout."""
    source, result = convert.operands[0], convert.results[0]
    return are_layouts_equivalent(shape_of(source), _layout(source), _layout(result))


def _layout(value: SSAValue) -> DistributedEncoding:
    return cast(DistributedEncoding, layout_of_value(value))


@CONVERT_PATTERNS.pattern(ttg.ConvertLayoutOp)
def fold_into_source(op: ttg.ConvertLayoutOp, rewriter: Rewriter) -> bool:
    """A conversion that is none, or that its source can take over."""
    source, result = op.operands[0], op.results[0]
    if source.type == result.type:
        rewriter.replace_op(op, source)
        return True
    origin = source.owner
    if not isinstance(origin, Operation):
        return False
    rule = _SOURCES.get(origin.__class__)
    if rule is None:
        return False
    if isinstance(layout_of_value(result), DotOperand) and isinstance(layout_of_value(source), NvidiaMma):
        return False
    return rule(rewriter, op, origin)


def _of_convert(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    rewriter.set_operand(op, 0, origin.operands[0])
    rewriter.add(origin)
    return True


def _of_producer(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    """splat, make_range, histogram: the op again, with the other layout."""
    rewriter.replace_with(op, _again(origin, op))
    return True


def _again(origin: Operation, op: Operation) -> Operation:
    return type(origin).create(
        operands=tuple(origin.operands),
        result_types=(op.results[0].type,),
        properties=origin.properties,
        attributes=origin.attributes,
        location=op.location,
    )


def _of_local_load(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    # Next to the first load: there may be writes between it and the conversion.
    load = rewriter.insert(_again(origin, op), origin)
    rewriter.replace_op(op, load.results[0])
    return True


def _of_constant(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    value = origin.properties["value"]
    if not instance_of(value, DenseIntOrFPElementsAttr) or splat_bytes(value) is None:
        return False
    constant = _again(origin, op)
    constant.properties["value"] = retyped_elements(value, op.results[0].type)
    rewriter.replace_with(op, constant)
    return True


def _of_cat(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    return gives_any_layout(origin, _layout(op.results[0])) and _of_producer(rewriter, op, origin)


def _of_reshape(rewriter: Rewriter, op: Operation, origin: Operation) -> bool:
    layout = _layout(op.results[0])
    if not gives_any_layout(origin, layout):
        return False
    # Elements of dot operands may be packed in registers: a view must not see through that.
    if isinstance(layout, DotOperand) or isinstance(layout_of_value(op.operands[0]), DotOperand):
        return False
    view = type(origin).create(
        operands=(origin.results[0],),
        result_types=(op.results[0].type,),
        properties={"allow_reorder": origin.properties["allow_reorder"]},
    )
    rewriter.replace_with(op, view)
    return True


_SOURCES: dict[type[Operation], Callable[[Rewriter, Operation, Operation], bool]] = {
    arith.ConstantOp: _of_constant,
    tt.CatOp: _of_cat,
    tt.HistogramOp: _of_producer,
    tt.MakeRangeOp: _of_producer,
    tt.ReshapeOp: _of_reshape,
    tt.SplatOp: _of_producer,
    ttg.ConvertLayoutOp: _of_convert,
    ttg.LocalLoadOp: _of_local_load,
}


@CONVERT_PATTERNS.pattern(ttg.LocalAllocOp, ttg.LocalStoreOp)
def store_before_converting(op: Operation, rewriter: Rewriter) -> bool:
    """Shared memory takes any layout."""
    convert = _source_convert(op)
    if convert is None:
        return False
    rewriter.set_operand(op, 0, convert.operands[0])
    rewriter.add(convert)
    return True


@CONVERT_PATTERNS.pattern(tt.GatherOp)
def gather_before_converting(op: tt.GatherOp, rewriter: Rewriter) -> bool:
    """Unless its layout was chosen, a gather goes through shared memory."""
    return not has_efficient_layout(op) and store_before_converting(op, rewriter)


@CONVERT_PATTERNS.pattern(tt.HistogramOp)
def count_before_converting(op: tt.HistogramOp, rewriter: Rewriter) -> bool:
    """A histogram takes its source in any layout, but the mask has to have the same."""
    convert = _source_convert(op)
    if convert is None:
        return False
    source = convert.operands[0]
    if len(op.operands) > 1:
        mask = op.operands[1]
        new = rewriter.insert(ttg.ConvertLayoutOp(mask, with_layout(mask.type, _layout(source))), op)
        op.operands[1] = new.results[0]
    rewriter.set_operand(op, 0, source)
    rewriter.add(convert)
    return True


@CONVERT_PATTERNS.pattern(tt.ReshapeOp)
def reshape_before_converting(op: tt.ReshapeOp, rewriter: Rewriter) -> bool:
    """A reshape that may reorder, or of a conversion that only renames."""
    convert = _source_convert(op)
    if convert is None:
        return False
    free = allows_reorder(op) and not is_expensive_view(
        _layout(convert.operands[0]), shape_of(convert.operands[0]), _layout(op.results[0]), shape_of(op.results[0])
    )
    return (free or _is_trivial(convert)) and _skip(op, convert, rewriter)


@CONVERT_PATTERNS.pattern(tt.TransOp)
def trans_before_converting(op: tt.TransOp, rewriter: Rewriter) -> bool:
    """A transpose that is none is a conversion; one of a conversion that only renames skips it."""
    order = order_of(op)
    if order == tuple(range(len(order))):
        rewriter.replace_with(op, ttg.ConvertLayoutOp(op.operands[0], op.results[0].type))
        return True
    convert = _source_convert(op)
    return convert is not None and _is_trivial(convert) and _skip(op, convert, rewriter)


@CONVERT_PATTERNS.pattern(tt.SplitOp)
def split_before_converting(op: tt.SplitOp, rewriter: Rewriter) -> bool:
    """Several layouts of the source give the halves the same one."""
    convert = _source_convert(op)
    if convert is None or result_layout(op, _layout(convert.operands[0])) != layout_of_value(op.results[0]):
        return False
    return _skip(op, convert, rewriter)


def _skip(op: Operation, convert: Operation, rewriter: Rewriter) -> bool:
    rewriter.set_operand(op, 0, convert.operands[0])
    rewriter.add(convert)
    return True


LOOP_PATTERNS = PatternSet()


@LOOP_PATTERNS.pattern(scf.ForOp)
def yield_dead_arguments_unchanged(op: scf.ForOp, rewriter: Rewriter) -> bool:
    """Assumes that no argument is live, and marks those that results in use or effects depend on."""
    terminator = yield_of(op, 0)
    if all(result.first_use is not None for result in op.results):
        return False
    live = _live_values(op, terminator)
    if live is None:
        return False
    body = op.regions[0].block
    changed = False
    for index, value in enumerate(terminator.operands):
        arg = body.args[index + 1]
        if value in live or value is arg:
            continue
        # A value from outside is what the loop gives unless it runs no time: only the same initial value is as good.
        if is_defined_outside(value, op) and value is not op.operands[index + 3]:
            continue
        terminator.operands[index] = arg
        rewriter.add(terminator)
        if isinstance(value, OpResult):
            rewriter.add(value.op)
        changed = True
    if changed:
        rewriter.modified(op)
    return changed


def _live_values(loop: Operation, terminator: Operation) -> set[SSAValue] | None:
    """The values inside `loop` that its results in use and its effects depend on; None if that is not known."""
    live: set[SSAValue] = set()
    queue: list[SSAValue] = []

    def mark(value: SSAValue) -> None:
        if value not in live and not is_defined_outside(value, loop):
            live.add(value)
            queue.append(value)

    for result, value in zip(loop.results, terminator.operands, strict=True):
        if result.first_use is not None:
            mark(value)
    if len(live) == len(loop.results):
        return None
    for op in loop.regions[0].walk():
        if isinstance(op, scf.ForOp) or _gives_results_only(op) or would_be_trivially_dead(op):
            continue
        for operand in op.operands:
            mark(operand)
        _mark_bounds_around(op, loop, mark)
    while queue:
        value = queue.pop()
        if isinstance(value, BlockArgument):
            _mark_argument(value, mark)
        elif not _mark_definition(cast(OpResult, value), mark):
            return None
    return live


def _gives_results_only(op: Operation) -> bool:
    """Whether `op` hands values to the results of a `for` or an `if`: each is needed where that result is. A `while` may turn on any of its."""
    return isinstance(op, scf.YieldOp) and not isinstance(op.parent_op(), scf.WhileOp)


def _mark_bounds_around(op: Operation, loop: Operation, mark: Callable[[SSAValue], None]) -> None:
    """How often an effect happens is for the bounds of the loops around it to say. Triton's pass forgets them."""
    around = op.parent_op()
    while around is not None and around is not loop:
        if isinstance(around, scf.ForOp):
            _mark_bounds(around, mark)
        around = around.parent_op()


def _mark_bounds(loop: Operation, mark: Callable[[SSAValue], None]) -> None:
    for bound in loop.operands[:3]:
        mark(bound)


def _mark_argument(value: BlockArgument, mark: Callable[[SSAValue], None]) -> None:
    """An argument of a loop needs its initial value, what the body yields for it and how often."""
    loop = value.block.parent_op()
    if not isinstance(loop, scf.ForOp):
        return
    _mark_bounds(loop, mark)
    if value.index > 0:
        mark(yield_of(loop, 0).operands[value.index - 1])
        mark(loop.operands[value.index + 2])


def _mark_definition(value: OpResult, mark: Callable[[SSAValue], None]) -> bool:
    """What the result of an op needs. False for ops whose needs are not known."""
    op = value.op
    if isinstance(op, scf.ForOp):
        _mark_bounds(op, mark)
        mark(op.operands[value.index + 3])
        mark(yield_of(op, 0).operands[value.index])
    elif isinstance(op, scf.IfOp):
        mark(op.operands[0])
        for region in (0, 1):
            mark(yield_of(op, region).operands[value.index])
    elif isinstance(op, scf.WhileOp):
        return False
    else:
        for operand in op.operands:
            mark(operand)
    return True


CLEANUP_PATTERNS = PatternSet(LOOP_PATTERNS, SCF_PATTERNS.subset(scf.ForOp, scf.IfOp), CONVERT_PATTERNS)
"""What runs at the end of the pass."""
