"""An inner loop made to run at least once, so that its body in the fused loop needs no condition.

    scf.for %i { f(%i); scf.for %j = %l to %u { g(%i, %j) } }
        =>
    %empty = %l >= %u
    scf.if %empty { scf.for %i { f(%i) } } else { scf.for %i { f(%i); scf.for %j = %l to %u { g(%i, %j) } } }

Nothing is done if an assumption (`tl.assume(u > l)`) that is made before every run of the inner loop says so already.
What only the ops after the inner loop use moves after it, which shortens its life.
"""

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, Region

from minitriton.dialects import arith, llvm, tt
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.verification.dominance import Dominance
from minitriton.passes.fuse_nested_loops.bounds import bounds_of, hoist, invariant_ops, move_to
from minitriton.passes.licm import hoist_out_of
from minitriton.rewriting.effects import is_memory_effect_free, is_safe_to_speculate
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter

MUST_EXECUTE = "ttg.must-execute"
"""On an inner loop that surely runs at least once."""

WARP_SPECIALIZE = "tt.warp_specialize"


def prepare(outer: scf.ForOp, inner: scf.ForOp, dominance: Dominance) -> bool:
    """Makes `inner` surely run at least once and shortens lives; False if that cannot be done."""
    hoist_out_of(outer)
    if inner.parent is not outer.body.block:
        return False
    _sink_after(outer, inner, dominance)
    return _speculate(outer, inner, dominance)


def _sink_after(outer: scf.ForOp, inner: scf.ForOp, dominance: Dominance) -> None:
    """Pure ops before `inner` that only ops after it use move after it."""
    sunk: set[Operation] = set()
    op = inner.prev_op
    while op is not None:
        if _is_movable(op) and all(
            use.operation in sunk or dominance.op_properly_dominates(inner, use.operation)
            for result in op.results
            for use in result.uses
        ):
            sunk.add(op)
        op = op.prev_op
    move_to(Inserter.after(inner), sunk, outer)


def _is_movable(op: Operation) -> bool:
    return is_memory_effect_free(op) and is_safe_to_speculate(op) and not isinstance(op, tt.DotOp)


def _is_assumed_to_run(loop: scf.ForOp, dominance: Dominance) -> bool:
    """True if a comparison of the bounds that says so is assumed before each run of the loop."""
    low, high, _ = bounds_of(loop)
    for use in high.uses:
        compare = use.operation
        if not isinstance(compare, arith.CmpiOp):
            continue
        users = [user.operation for user in compare.results[0].uses]
        if not any(isinstance(op, llvm.AssumeOp) and dominance.op_properly_dominates(op, loop) for op in users):
            continue
        sides, predicate = tuple(operand_values(compare)), compare.predicate_name
        if (predicate == "sgt" and sides == (high, low)) or (predicate == "slt" and sides == (low, high)):
            return True
    return False


def _speculate(outer: scf.ForOp, inner: scf.ForOp, dominance: Dominance) -> bool:
    if _is_assumed_to_run(inner, dominance):
        inner.attributes[MUST_EXECUTE] = UnitAttr()
        return True
    ops = invariant_ops(inner, outer, dominance)
    if ops is None:
        return False
    hoist(ops, outer)
    at = Inserter.before(outer)
    at.location = inner.location
    inner.attributes[MUST_EXECUTE] = UnitAttr()
    low, high, _ = bounds_of(inner)
    is_empty = at.value(arith.CmpiOp(low, high, "sge"))
    branch = at.insert(
        scf.IfOp.create(
            operands=[is_empty],
            result_types=[result.type for result in outer.results],
            regions=[Region(Block()), Region(Block())],
        )
    )
    without = at.at_end(branch.regions[0].block)
    copy = _copy_without_inner(outer, inner)
    without.place(copy)
    without.insert(scf.YieldOp.create(operands=list(copy.results)))
    for result, new in zip(outer.results, branch.results, strict=True):
        result.replace_all_uses_with(new)
    with_inner = at.at_end(branch.regions[1].block)
    assert outer.parent is not None
    outer.parent.detach_op(outer)
    with_inner.place(outer)
    with_inner.insert(scf.YieldOp.create(operands=list(outer.results)))
    return True


def _copy_without_inner(outer: scf.ForOp, inner: scf.ForOp) -> Operation:
    """A copy of `outer` in which `inner`, which never runs, is gone."""
    copy = clone_op(outer, {})
    position = list(outer.regions[0].block.ops).index(inner)
    gone = list(copy.regions[0].block.ops)[position]
    for result, initial in zip(gone.results, operand_values(gone)[3:], strict=True):
        result.replace_all_uses_with(initial)
    copy.regions[0].block.erase_op(gone)
    copy.attributes.pop(WARP_SPECIALIZE, None)
    return copy
