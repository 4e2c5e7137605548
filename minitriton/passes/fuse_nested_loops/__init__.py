"""`tritongpu-fuse-nested-loops`: a loop marked `tt.flatten` and the loop in it become one loop.

    for i in range(n):                           for t in range(n * m):
        first(i)                                     if t % m == 0: first(i)
        for j in range(m): body(i, j)      =>        body(i, j)
        last(i)                                      if t % m == m - 1: last(i)

Then the pipeliner can overlap the end of one inner loop with the start of the next. `sections` finds the loops, `speculation`
makes the inner one run at least once, `fuse` builds the loop. A nest marked `ttg.always-fuse` is fused whatever its shape;
its inner loops must run at least once wherever their results are used.

Counterpart of lib/Dialect/TritonGPU/Transforms/FuseNestedLoops.cpp.

A loop with loops in it becomes one loop.

    for i in range(li, ui, si):             T, i = 0, li - si
        first(i)                            for _ in range(len_i * inner):       inner = max(1, len_j) + max(1, len_k) - 1
        for j in range(lj, uj, sj):             if T == 0:              i += si; first(i); j = lj
            body(i, j)                          if 0 <= T < len_j:      body(i, j); j += sj
        between(i)                  =>          if T == max(1, len_j) - 1:   between(i); k = lk
        for k in range(lk, uk, sk):             if start_k <= T < start_k + len_k:   other(i, k); k += sk
            other(i, k)                         if T == inner - 1:      last(i)
        last(i)                                 T = 0 if T == inner - 1 else T + 1

Each part becomes an `scf.if`; every value that a part makes for a later one is carried by the fused loop, and so is what
each inner loop carries. The last iteration of one inner loop is the first of the next, hence the -1 for each loop but one.
If the length of an inner loop depends on i, a small loop in front adds the lengths up.

A value that the outer loop carries must not change before the last part has run: where the next value is known earlier and
the current one is still read, the last `scf.if` chooses between them. (Triton 3.6.0 lets it change at once.)
"""

from collections.abc import Mapping
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.verification.dominance import Dominance
from minitriton.passes.fuse_nested_loops.bounds import (
    InnerLoop,
    Lengths,
    bounds_of,
    hoist,
    in_program_order,
    invariant_ops,
    unread,
    varying_ops,
)
from minitriton.passes.fuse_nested_loops.fused_body import FusedBody, LoopNode, Section, find_loop_nests, sections_of
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE, prepare
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.rewriter import Inserter

NUM_STAGES = "tt.num_stages"
DISALLOW_ACC_MULTI_BUFFER = "tt.disallow_acc_multi_buffer"


def fuse(node: LoopNode, dominance: Dominance, *, exact: bool) -> None:
    """Fuses the loops in `node.loop` with it, those whose bounds are computable before it or from its counter."""
    outer = node.loop
    inner, hoisted = _fusible(node, dominance)
    node.children = []
    if inner:
        hoist(hoisted, outer)
        node.loop = _fuse_loops(outer, Lengths(outer, inner, exact=exact), dominance)


def _fusible(node: LoopNode, dominance: Dominance) -> tuple[list[InnerLoop], set[Operation]]:
    inner: list[InnerLoop] = []
    hoisted: set[Operation] = set()
    for child in node.children:
        if child.loop.parent is not node.loop.body.block:
            continue
        ops = invariant_ops(child.loop, node.loop, dominance)
        if ops is not None:
            hoisted.update(ops)
            inner.append(InnerLoop(child.loop, []))
            continue
        ops = varying_ops(child.loop, node.loop, dominance)
        if ops is not None:
            inner.append(InnerLoop(child.loop, in_program_order(ops, node.loop)))
    return inner, hoisted


def _fuse_loops(outer: scf.ForOp, lengths: Lengths, dominance: Dominance) -> scf.ForOp:
    """The fused loop, which has replaced the outer one."""
    at = Inserter.before(outer)
    loops = [each.loop for each in lengths.inner]
    each_length, inner_length, total = lengths.before_loop(at)
    sections = sections_of(outer, loops, dominance)
    fused = _empty_loop(at, lengths, [*each_length, inner_length], total, sections)
    body = FusedBody(lengths, fused, inner_length, sections)
    for number in range(len(loops)):
        body.add_section(number)
        body.add_loop_body(number)
    body.add_last_section()
    body.finish()
    for loop in (*loops, outer):
        _add_attributes(fused, loop)
    for result, new in zip(outer.results, fused.results[2:], strict=False):
        result.replace_all_uses_with(new)
    for op in (*loops, outer):
        assert op.parent is not None
        op.parent.erase_op(op)
    return fused


def _empty_loop(
    at: Inserter, lengths: Lengths, before_loop: list[SSAValue], total: SSAValue, sections: list[Section]
) -> scf.ForOp:
    """The empty fused loop. Carried: T, i, what the outer loop carries, the lengths, their sum; then unread at first:
    the inner counters, what the inner loops carry, what the sections make."""
    low, _, step = bounds_of(lengths.outer)
    initial = [at.integer(lengths.type, 0), at.value(arith.SubiOp(low, step))]
    initial += [*operand_values(lengths.outer)[3:], *before_loop]
    for loop in (each.loop for each in lengths.inner):
        initial.append(unread(at, operand_at(loop, 0).type))
    for loop in (each.loop for each in lengths.inner):
        initial += [unread(at, result.type) for result in loop.results]
    for each in sections[:-1]:
        initial += [unread(at, output.type) for output in each.outputs]
    types = [value.type for value in initial]
    return at.insert(
        scf.ForOp.create(
            operands=[at.integer(total.type, 0), total, at.integer(total.type, 1), *initial],
            result_types=types,
            regions=[Region(Block(arg_types=[total.type, *types]))],
        )
    )


def _add_attributes(fused: scf.ForOp, loop: scf.ForOp) -> None:
    """What holds for one of the loops holds for the fused one; of numbers of stages the greatest counts."""
    for name in (WARP_SPECIALIZE, DISALLOW_ACC_MULTI_BUFFER):
        if name in loop.attributes:
            fused.attributes[name] = UnitAttr()
    stages = [each.attributes.get(NUM_STAGES) for each in (fused, loop)]
    most = max((s.value.data for s in stages if isinstance(s, IntegerAttr)), default=1)
    if most > 1:
        fused.attributes[NUM_STAGES] = IntegerAttr(most, i32)


FLATTEN = "tt.flatten"
ALWAYS_FUSE = "ttg.always-fuse"


@register_pass
class FuseNestedLoops(Pass, stage="ttgir", origin="triton"):
    """Makes one loop of a loop marked `tt.flatten` and the loop in it."""

    name: ClassVar[str] = "tritongpu-fuse-nested-loops"
    acts_on = frozenset({scf.ForOp})
    requires = frozenset({Property.STRUCTURED})

    beyond_triton: ClassVar[Mapping[str, object]] = {"exact_bounds": False}
    exact_bounds: bool = False
    """Whether bounds may be further apart than a number of their type says (Triton assumes that they are not)."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse the marked loops of the module."""
        for func in op.ops:
            if isinstance(func, tt.FuncOp):
                for root in find_loop_nests(func):
                    _fuse_marked(root, self.exact_bounds)


def _fuse_marked(root: LoopNode, exact: bool) -> None:
    attributes = root.loop.attributes
    dominance = Dominance()
    if ALWAYS_FUSE not in attributes:
        if FLATTEN not in attributes or len(root.children) != 1 or root.children[0].children:
            return
        if not prepare(root.loop, root.children[0].loop, dominance):
            return
    _flatten(root, dominance, exact)


def _flatten(node: LoopNode, dominance: Dominance, exact: bool) -> None:
    """Fuses a tree of loops from the leaves up."""
    for child in node.children:
        _flatten(child, dominance, exact)
    fuse(node, dominance, exact=exact)
