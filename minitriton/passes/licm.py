"""Loop-invariant code moves before the loop.

    scf.for ... {                                      %0 = arith.muli %a, %b
      %0 = arith.muli %a, %b                =>         scf.for ... { use %0 }
      use %0 }

`loop-invariant-code-motion` moves ops without effects that are harmless if the loop never runs. `triton-licm` also moves
loads out of `scf.for` loops that write nothing, masked by whether the loop runs at all. A loop moves only out of an `scf.for` loop, and runs
only if that one has an iteration: how long it takes is not known, least of all where its bounds are masked loads. A loop of
`tl.range(..., disable_licm=True)` keeps what is in it.
"""

from collections import deque
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from minitriton.dialects import arith, tt
from minitriton.dialects.attribute_values import i32_array
from minitriton.dialects.facts.region_flow import Loop, RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values, ops_in, ops_in_inner_first
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.loop_rewriting import put_under_condition
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import is_memory_effect_free, is_safe_to_speculate, only_reads
from minitriton.rewriting.regions import is_defined_outside


def _depends_only_on_outside(op: Operation, loop: Operation) -> bool:
    """True if all that `op` and the ops in it use comes from outside `loop` or from inside `op`."""
    if op.has_trait(IsTerminator, value_if_unregistered=False):
        return False
    if not all(is_defined_outside(value, loop) for value in operand_values(op)):
        return False
    return not op.regions or all(
        is_defined_outside(value, loop) or (op.regions and not is_defined_outside(value, op))
        for inner in ops_in(op)
        for value in operand_values(inner)
    )


class _Hoister:
    """Moves ops out of one loop."""

    def __init__(self, loop: Operation, with_loads: bool) -> None:
        self.loop = loop
        self.with_loads = with_loads
        self.loop_only_reads: bool | None = None
        self.has_moved = False

    def run(self) -> None:
        for region in self.loop.regions:
            block = region.first_block
            if block is not None:
                self._block(block)

    def _block(self, block: Block) -> None:
        pending = deque(block.ops)
        while pending:
            op = pending.popleft()
            if op.parent is not block or not _depends_only_on_outside(op, self.loop) or not self._may_move(op):
                continue
            self._move(op)
            for result in op.results:
                pending.extend(use.operation for use in result.uses if use.operation.parent is block)

    def _may_move(self, op: Operation) -> bool:
        if op.__class__ is not tt.LoadOp:
            return (
                is_memory_effect_free(op)
                and is_safe_to_speculate(op)
                and (self.loop.__class__ is scf.ForOp or not _has_loop(op))
            )
        if not self.with_loads or not only_reads(op):
            return False
        if self.loop_only_reads is None:
            self.loop_only_reads = only_reads(self.loop)
        return self.loop_only_reads

    def _move(self, op: Operation) -> None:
        self.has_moved = True
        if isinstance(op, tt.LoadOp):
            if self.loop.__class__ is not scf.ForOp:
                return
            self._mask(op)
        elif isinstance(self.loop, scf.ForOp) and _has_loop(op):
            put_under_condition(self.loop)
        block, outer = op.parent, self.loop.parent
        assert block is not None and outer is not None
        block.detach_op(op)
        outer.insert_op_before(op, self.loop)

    def _mask(self, load: tt.LoadOp) -> None:
        """The load happens only if the loop would run."""
        low, high = operand_values(self.loop)[:2]
        mask = self._before_loop(arith.CmpiOp(low, high, "slt"))
        if instance_of(load.ptr.type, TensorType):
            shape = load.ptr.type
            mask = self._before_loop(tt.SplatOp(mask, TensorType(mask.type, shape.shape, shape.encoding)))
        if load.mask is not None:
            mask = self._before_loop(arith.AndIOp(mask, load.mask))
            load.operands[1] = mask
            return
        load.properties["operandSegmentSizes"] = i32_array((1, 1, int(load.other is not None)))
        load.operands = [operand_at(load, 0), mask, *operand_values(load)[1:]]

    def _before_loop(self, op: Operation) -> SSAValue:
        assert self.loop.parent is not None
        op.location = self.loop.location
        self.loop.parent.insert_op_before(op, self.loop)
        return op.results[0]


def _has_loop(op: Operation) -> bool:
    return bool(op.regions) and any(isinstance(inner, scf.ForOp) for inner in ops_in(op))


def hoist_out_of(loop: Operation) -> None:
    """Moves invariant ops without effects out of one loop."""
    _Hoister(loop, with_loads=False).run()


def hoist_loop_invariants(root: Operation, *, with_loads: bool) -> bool:
    """Moves invariant ops out of all loops below `root`, innermost loops first. Whether there were any."""
    hoisted = False
    for loop in [op for op in ops_in_inner_first(root) if op.regions and isinstance(RegionFlow.of(op), Loop)]:
        if "licm = <disable = true" in str(loop.attributes.get("llvm.loop_annotation", "")):
            continue
        hoister = _Hoister(loop, with_loads)
        hoister.run()
        hoisted |= hoister.has_moved
    return hoisted


@register_pass
class LoopInvariantCodeMotion(Pass, origin="triton"):
    """Moves ops without effects that do not depend on the loop before it."""

    name: ClassVar[str] = "loop-invariant-code-motion"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return hoist_loop_invariants(op, with_loads=False)


@register_pass
class TritonLoopInvariantCodeMotion(Pass, origin="triton"):
    """Moves ops without effects, and loads out of loops that write nothing, before the loop."""

    name: ClassVar[str] = "triton-licm"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return hoist_loop_invariants(op, with_loads=True)
