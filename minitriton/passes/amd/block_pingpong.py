"""`tritonamdgpu-block-pingpong`: of two waves of a SIMD one computes while the other loads.

    scf.for ... {                                  scf.for ... {
      loads of the next tiles                        clusters of loads, at priority 1 or 0, and of a slice of the dot, at the other,
      tt.dot                              =>         with `rocdl.sched.barrier` between them, past which the scheduler moves nothing,
      stores to LDS }                                and of eight waves a barrier }

With four waves the other wave is of another work group, and priorities keep them apart. With eight the first four are half an iteration ahead of the second:
a barrier of their own before the loop, and one of the others after it (`amdg.cond_barrier`). Matmuls with large tiles only, as they have been
measured: one cluster for 4 waves and up to 128x128x64 halves, two or four slices for 8 waves, chains of two dots with four stages, copies to LDS.

Counterpart of BlockPingpong.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr, i32
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.slices.def_use import backward_ops
from minitriton.dialects import amdg, arith, gpu, rocdl, tt, ttg
from minitriton.dialects.arith.compare import EQ, predicate_of
from minitriton.dialects.facts.launch import num_warps
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.layouts.encodings import AmdMfma, DotOperand
from minitriton.passes.pipelining.schedule import loops_in
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter

SMALLEST, SMALL, MEDIUM, LARGE = 262144, 16777216, 33554432, 67108864
"""Bits of m x n x k times an element's: 32x128x64, 128x128x64, 256x128x64 and 256x256x64 of halves."""
LOW, HIGH = 0, 1
"""Priorities of a wave."""
_SIMD_THREADS = 256
"""Threads of the waves that run on the four SIMDs at a time, one each."""

OpT = TypeVar("OpT", bound=Operation)


@register_pass
class BlockPingpong(Pass, stage="ttgir", origin="triton"):
    """Schedules loops of matmuls for two waves that take turns."""

    name: ClassVar[str] = "tritonamdgpu-block-pingpong"
    acts_on = frozenset({scf.ForOp, tt.DotOp})
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    beyond_triton: ClassVar[Mapping[str, object]] = {"ordered_reads": False}
    num_stages: int = 2
    """The number of stages that the pipeliner has made."""
    ordered_reads: bool = False
    """Whether reads of LDS have ended before the barrier of two clusters, after which the other waves write there. In Triton they may be outstanding."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule every loop that has one of the known forms."""
        if self.num_stages > 1:
            for loop in list(loops_in(op)):
                _Loop(loop, self.num_stages, self.ordered_reads).run()


def _sched(mask: int = 0) -> Operation:
    return rocdl.SchedBarrierOp(mask)


class _Loop:
    """One loop while it is scheduled: ops are appended after, or put before, `at`."""

    def __init__(self, loop: scf.ForOp, stages: int, ordered_reads: bool) -> None:
        self.loop, self.stages, self.ordered_reads = loop, stages, ordered_reads
        self.at: Operation = loop
        self.loads = ops_of(loop, tt.LoadOp)
        self.stores = ops_of(loop, ttg.LocalStoreOp)
        self.dots = ops_of(loop, tt.DotOp)
        self.reads = [read for read in ops_of(loop, ttg.LocalLoadOp) if self._is_carried(read.operands[0])]

    def _is_carried(self, value: SSAValue) -> bool:
        return isinstance(value, BlockArgument) and value.block is self.loop.regions[0].block and value.index > 0

    def run(self) -> None:
        """Choose a schedule, and make it."""
        scaled = ops_of(self.loop, tt.DotScaledOp)
        if len(self.dots) + len(scaled) == 2 and self.stages == 4 and len(self.dots) == 2 and self._chained():
            self._offset_second_half()
        copies = ops_of(self.loop, ttg.AsyncCopyGlobalToLocalOp)
        if copies:
            self._with_copies(copies, scaled)
        if copies or scaled:
            return
        if len(self.dots) != 1 or len(self.loads) < 2 or len(self.reads) < 2:
            return
        dot = self.dots[0]
        operand = layout_of_value(dot.a)
        if not isinstance(operand, DotOperand) or not isinstance(operand.parent, AmdMfma) or not self._leave_only(dot):
            return
        m, n, k = (*shape_of(dot.result)[-2:], shape_of(dot.a)[1])
        size = m * n * k * element_bits(cast(TensorType, dot.a.type))
        warps = num_warps(self.loop)
        if warps == 4 and SMALLEST <= size <= SMALL:
            self._one_cluster()
        elif warps == 8 and self.stages == 2 and len(self.stores) == 2:
            spills = operand.parent.instr_shape[:2] == (16, 16) and operand.k_width == 8
            slices = 2 if size == MEDIUM else 4 if size >= LARGE and not spills else 0
            parts = self._sliced(dot, operand, slices) if slices else None
            if parts is not None:
                (self._two_clusters if slices == 2 else self._four_clusters)(*parts)
                self._offset_second_half()

    def _with_copies(self, copies: Sequence[ttg.AsyncCopyGlobalToLocalOp], scaled: Sequence[tt.DotScaledOp]) -> None:
        """Loops whose loads go to LDS by themselves, of eight waves."""
        if len(copies) < 2 or len(self.reads) < 2 or num_warps(self.loop) != 8:
            return
        if len(scaled) == 1 and not self.dots and self.stages == 2:
            is_large = shape_of(scaled[0].results[0]) == (256, 256)
            if is_large and element_bits(cast(TensorType, scaled[0].operands[0].type)) == 8:
                self._copies_first(scaled[0])
                self._offset_second_half()
        elif len(self.dots) == 1 and not scaled and self.stages > 2:
            rows, columns = shape_of(self.dots[0].result)[-2:]
            if min(rows, columns) > 64 and element_bits(cast(TensorType, self.dots[0].a.type)) in (8, 16):
                self._copies_around(copies)
                self._offset_second_half()

    # What belongs to the dot

    def _leave_only(self, dot: tt.DotOp) -> bool:
        """Leaves loads, reads and stores for the dot only; whether there are no others in the loop, but for a branch of a persistent kernel."""
        reads = [op for value in (dot.a, dot.b) for op in _nearest(value, ttg.LocalLoadOp)]
        views = [op for read in reads for op in _nearest(read.operands[0], ttg.MemDescIndexOp)]
        users = [use.operation for view in views for use in view.results[0].uses]
        stores = [op for op in users if isinstance(op, ttg.LocalStoreOp)]
        loads = [op for store in stores for op in _nearest(store.operands[0], tt.LoadOp)]
        takes_no_branch = self._is_persistent()
        for kind, mine, all_ops in (
            (tt.LoadOp, loads, self.loads), (ttg.LocalLoadOp, reads, self.reads), (ttg.LocalStoreOp, stores, self.stores)
        ):  # fmt: skip
            if self._others(kind, [op for op in all_ops if op not in mine], takes_no_branch):
                return False
        self.loads = [op for op in self.loads if op in loads]
        self.reads = [op for op in self.reads if op in reads]
        self.stores = [op for op in self.stores if op in stores]
        return len(self.loads) == 2 and len(self.reads) == 2

    def _others(self, kind: type[Operation], ops: Sequence[Operation], takes_no_branch: bool) -> int:
        """How many of the ops an iteration runs."""
        count = 0
        seen: set[Operation] = set()
        for op in ops:
            parent = op.parent_op()
            if parent is self.loop:
                count += 1
            elif parent is not None and parent not in seen:
                seen.add(parent)
                if isinstance(parent, scf.IfOp):
                    then, otherwise = (
                        sum(isinstance(each, kind) for block in region.blocks for each in block.ops)
                        for region in parent.regions
                    )
                    count += otherwise if takes_no_branch else max(then, otherwise)
                else:
                    count += 1
        return count

    def _is_persistent(self) -> bool:
        """Whether the body is: a branch on an equality, the dot, a branch on an equality."""
        branch_before = seen_dot = False
        for op in self.loop.regions[0].block.ops:
            if isinstance(op, scf.IfOp):
                condition = op.cond.owner
                if branch_before or not isinstance(condition, arith.CmpiOp) or predicate_of(condition) != EQ:
                    return False
                branch_before = True
            elif isinstance(op, tt.DotOp):
                if seen_dot or not branch_before:
                    return False
                seen_dot, branch_before = True, False
        return branch_before and seen_dot

    # Moves

    def _append(self, *ops: Operation) -> None:
        for op in ops:
            if op.parent is not None:
                op.detach()
            cast(Block, self.at.parent).insert_op_after(op, self.at)
            self.at = op

    def _prepend(self, *ops: Operation) -> None:
        for op in ops:
            cast(Block, self.at.parent).insert_op_before(op, self.at)

    def _append_with_needs(self, op: Operation) -> None:
        """Moves an op here, from below with what it needs of what is below, from above unless something between uses it."""
        block, at = cast(Block, self.at.parent), self.at
        number = {each: index for index, each in enumerate(block.ops)}
        if number[at] < number[op]:
            below = [
                each
                for value in operand_values(op)
                for each in backward_ops(
                    value, lambda each: each.parent is block and number[each] > number[at], through_arguments=False
                )
            ]
            self._append(*dict.fromkeys(below), op)
        elif not any(
            use.operation is not at and number.get(use.operation, number[at]) < number[at]
            for result in op.results
            for use in result.uses
        ):
            self._append(op)

    def _append_barrier(self) -> None:
        self._append(gpu.BarrierOp(), _sched())

    def _append_first(self, dot: Operation) -> None:
        """The dot, before whatever the other wave does."""
        self._append(rocdl.SetPrioOp(HIGH), dot, rocdl.SetPrioOp(LOW))

    # Schedules

    def _one_cluster(self) -> None:
        dot, (first, second) = self.dots[0], self.reads
        before = _sched(1)
        previous = dot.prev_op
        if previous is None:
            return
        self.at = previous
        self._append(before)
        self.at = first
        self._append(rocdl.SetPrioOp(HIGH))
        self._append_with_needs(self.loads[0])
        self._append(_sched())
        self._append_with_needs(second)
        self._append(rocdl.SetPrioOp(LOW))
        self._append_with_needs(self.loads[1])
        self.at = before
        self._append_first(dot)
        remark(dot, "Performed one ping pong cluster transformation")

    def _sliced(
        self, dot: tt.DotOp, operand: DotOperand, count: int
    ) -> tuple[list[list[Operation]], list[Operation]] | None:
        """For each slice of k the views and reads of both operands, and the dots; the whole dot and its reads are gone. None if that cannot be."""
        depth = shape_of(dot.b)[0]
        width = depth // count
        sources = [value.owner for value in (dot.a, dot.b)]
        if depth % count or width < 16 or not all(isinstance(each, ttg.LocalLoadOp) for each in sources):
            return None
        reads: list[list[Operation]] = []
        dots: list[Operation] = []
        for number in range(count):
            made: list[Operation] = []
            for index, source in enumerate(sources):
                assert isinstance(source, ttg.LocalLoadOp) and isinstance(source.operands[0].type, ttg.MemDescType)
                along_k = 1 - index
                type_ = source.operands[0].type
                shape, offsets = list(type_.get_shape()), [0, 0]
                shape[along_k], offsets[along_k] = width, width * number
                view_type = ttg.MemDescType(
                    shape, type_.element_type, type_.encoding, type_.memory_space, mutable=type_.mutable,
                    alloc_shape=type_.get_alloc_shape(),
                )  # fmt: skip
                view = ttg.MemDescSubsliceOp(source.operands[0], view_type, offsets=offsets)
                layout = DotOperand(index, operand.parent, operand.k_width)
                tensor = TensorType(type_.element_type, shape, ttg.encoding_attr(layout))
                made += [view, ttg.LocalLoadOp(view.result, None, tensor)]
            values: dict[SSAValue, SSAValue] = {dot.a: made[1].results[0], dot.b: made[3].results[0]}
            if dots:
                values[dot.c] = dots[-1].results[0]
            for each in made:
                each.location = dot.location
            reads.append(made)
            dots.append(clone_op(dot, values))
        dot.result.replace_all_uses_with(dots[-1].results[0])
        for op in (dot, *self.reads):
            op.detach()
            op.erase(safe_erase=False)
        return reads, dots

    def _two_clusters(self, reads: list[list[Operation]], dots: list[Operation]) -> None:
        first, second = self.loads
        self.at = second
        self._append(*reads[0], _sched(), first, _sched(), *reads[1], _sched())
        self._append(
            second, *([amdg.MemoryCounterWaitOp(ds=0)] if self.ordered_reads else []), rocdl.SBarrierOp(), _sched()
        )
        self._append_first(dots[0])
        self._append_barrier()
        self._end(dots[1])
        remark(dots[0], "Performed two ping pong cluster transformation")

    def _four_clusters(self, reads: list[list[Operation]], dots: list[Operation]) -> None:
        self.at = self.loads[1]
        self._append(*reads[0])
        self._append_barrier()
        self._append_first(dots[0])
        self._append_barrier()
        self._append(self.loads[1], *reads[1])
        self._append_barrier()
        self._append_first(dots[1])
        self._append_barrier()
        self._append(*reads[2], *reads[3])
        self._append_barrier()
        self._append_first(dots[2])
        self._append_barrier()
        self._end(dots[3])
        remark(dots[0], "Performed four ping pong cluster transformation")

    def _end(self, dot: Operation) -> None:
        """What is loaded goes to LDS; the last part of the dot."""
        for store in self.stores:
            self._append_with_needs(store)
        self._append_barrier()
        self._append_first(dot)
        self.at = cast(Operation, cast(Block, self.at.parent).last_op)
        self._prepend(gpu.BarrierOp(), _sched())

    def _copies_first(self, dot: tt.DotScaledOp) -> None:
        """All that is copied and loaded, then a barrier, then the reads and the dot."""
        self.at = ops_of(self.loop, ttg.AsyncWaitOp)[0]
        for op in (*ops_of(self.loop, ttg.AsyncCommitGroupOp), *self.loads):
            self._append_with_needs(op)
        self._append(_sched(), rocdl.SBarrierOp(), _sched())
        dot.attributes["pingpong_2step"] = UnitAttr()

    def _copies_around(self, copies: Sequence[ttg.AsyncCopyGlobalToLocalOp]) -> None:
        """The reads, a copy, the wait; then the other copy and the dot, whose instructions alternate."""
        waits, commits = ops_of(self.loop, ttg.AsyncWaitOp), ops_of(self.loop, ttg.AsyncCommitGroupOp)
        self.at = copies[1]
        wait: Operation = waits[0]
        if len(waits) > 1:
            wait = ttg.AsyncWaitOp([token for each in waits for token in operand_values(each)], num=0)
            self._append(wait)
            for each in waits:
                each.results[0].replace_all_uses_with(wait.results[0])
                each.detach()
                each.erase()
            self.at = copies[1]
        for read in self.reads[:2]:
            self._append_with_needs(read)
        self._append(_sched(), copies[0], commits[0], _sched(), wait, _sched())
        self._append(*(rocdl.SchedGroupBarrierOp(*each, 0) for each in ((8, 1), (4, 3), (8, 1), (4, 3), (8, 1))))
        self._append(copies[1], commits[1], self.dots[0], _sched(), rocdl.SBarrierOp(), _sched())

    def _chained(self) -> bool:
        """Each dot, with what is computed after it, at low priority; the memory accesses that follow at high priority. Whether both have such."""
        starts = [_next_memory_op(dot) for dot in self.dots]
        if starts[0] is None or starts[1] is None or starts[0] is starts[1]:
            return False
        wait = [amdg.MemoryCounterWaitOp(ds=0), rocdl.SBarrierOp(), _sched()]
        for dot, start in zip(self.dots, starts, strict=True):
            self.at = dot
            if dot is self.dots[0]:
                self._prepend(rocdl.SBarrierOp(), _sched())
            else:
                self._prepend(_sched(), rocdl.SetPrioOp(LOW), *wait)
            assert start is not None
            self.at = start
            self._prepend(_sched())
            if isinstance(start, ttg.AsyncWaitOp):
                self._append(_sched())
            else:
                self._prepend(gpu.BarrierOp())
            self._prepend(rocdl.SetPrioOp(HIGH))
        self.at = cast(Operation, self.loop.regions[0].block.last_op)
        self._prepend(_sched(), rocdl.SetPrioOp(LOW), amdg.MemoryCounterWaitOp(ds=0))
        return True

    def _offset_second_half(self) -> None:
        """The waves of the second half wait once more before the loop, those of the first after it."""
        at = Inserter.before(self.loop)
        at.insert(gpu.BarrierOp())
        thread = at.value(rocdl.WorkitemIdXOp())
        zero, threads = at.integer(i32, 0), at.integer(i32, _SIMD_THREADS)
        half = at.value(arith.DivSIOp(thread, threads))
        is_first, is_second = (at.value(arith.CmpiOp(half, zero, each)) for each in ("eq", "ne"))
        at.insert(amdg.CondBarrierOp(is_second))
        Inserter.after(self.loop).insert(amdg.CondBarrierOp(is_first))


def _next_memory_op(op: Operation) -> Operation | None:
    following: Operation | None = op
    while following is not None and not isinstance(following, ttg.AsyncWaitOp | ttg.LocalStoreOp):
        following = following.next_op
    return following


def _nearest(value: SSAValue, kind: type[OpT]) -> list[OpT]:
    """The ops of a class from which `value` comes with none of them in between, of iterations before too."""
    found: dict[OpT, None] = {}
    seen: set[Operation | SSAValue] = set()
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, BlockArgument):
            last = each.block.last_op
            is_loop = isinstance(each.block.parent_op(), scf.ForOp)
            if isinstance(last, scf.YieldOp) and each not in seen and not (is_loop and each.index == 0):
                seen.add(each)
                pending.append(last.operands[each.index - is_loop])
        elif isinstance(each, OpResult) and each.op not in seen:
            seen.add(each.op)
            if isinstance(each.op, kind):
                found[each.op] = None
            else:
                pending.extend(operand_values(each.op))
    return list(found)
