"""The pass: the steps of warp specialization, tried on a copy of the function.

In: a function with a loop that `tl.range(..., warp_specialize=True)` marked, 4 warps a CTA. Out: a producer and two consumers, or one where the
tiles cannot be split in two. What cannot be specialized stays as it was, with a remark that says why, and is pipelined. Triton 3.6.0 crashes or
refuses some of these, lets two consumers compute the same where a tile cannot be split, and switches pipelining off where nothing was specialized:
`fall-back=false` does the last two likewise.

What must hold so that the warp groups together do what the loop did; else it is left to the pipeliner.

- What writes memory or is seen from outside (stores, atomics, prints) is done by one warp group: by none it would be lost, by two done twice.
- Warp groups drift apart, so none loads from an array that another one stores to.
- The accumulators of a dot fit into the registers of a consumer.
- Tiles that threads of the producer copy (`cp.async`) are copied 4 bytes at a time at least, and nothing but zeros is put where a mask is false.

Triton does not ask.
"""

from functools import partial
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.slices.def_use import PointerRoots
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.attribute_values import i32_attr
from minitriton.dialects.facts.launch import module_of, num_ctas, num_warps
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.llvm import AssumeOp
from minitriton.dialects.verification.verifier import verify
from minitriton.errors import IRError
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE
from minitriton.passes.pipelining.buffers import is_wide_enough, is_zero
from minitriton.passes.pipelining.schedule import NUM_STAGES, loops_in
from minitriton.passes.pipelining.stored_arrays import may_write_anything, written_pointers
from minitriton.passes.tensor_layouts import element_bits
from minitriton.passes.warp_specialization.partitions import CONSUMER_REGISTERS
from minitriton.passes.warp_specialization.task_propagation import PRODUCER, THREADS, CannotSpecialize, tasks_of
from minitriton.pipeline.choice import Candidate, Choice, note, remark
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.regions import clone_op

_WARPS = 4


@register_pass
class WarpSpecialization(Pass, stage="ttgir", origin="triton"):
    """Splits marked loops between a warp group that loads and one or two that compute."""

    name: ClassVar[str] = "nvgpu-warp-specialization"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT - {Property.PARTITION_WARPS}
    num_stages: int = 0
    """The number of buffers for values of loops that name none (`num_stages=`)."""
    consumers: int = 2
    """Warp groups that compute, at most: 1 or 2."""
    fall_back: bool = True
    """Whether a function that cannot be specialized is left to the pipeliner."""
    copies_by_threads: bool = False
    """Whether operands may be loaded through pointers: the producer's threads copy them then (`cp.async`). Triton fails on it."""

    values = {"consumers": (1, 2)}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Specialize the functions that have marked loops."""
        for function in [inner for inner in op.ops if isinstance(inner, tt.FuncOp)]:
            marked = [loop for loop in loops_in(function) if WARP_SPECIALIZE in loop.attributes]
            if marked:
                self._specialize(function, marked[0])

    def _specialize(self, function: tt.FuncOp, loop: scf.ForOp) -> None:
        why: CannotSpecialize | None = _why_not(function, loop)
        if why is None:
            why = self._try(function, loop)
        if why is not None and self.fall_back:
            see = loop if why.op is not loop else None
            remark(why.op, f"not specialized by warps, but pipelined: {why}", see)

    def _try(self, function: tt.FuncOp, loop: scf.ForOp) -> CannotSpecialize | None:
        """Specializes `function`; else why it cannot be, and it is as it was."""
        why: CannotSpecialize | None = None
        for groups in range(1 + self.consumers, 1, -1):
            copy = clone_op(function, {})
            assert isinstance(copy, tt.FuncOp) and function.parent is not None
            block = function.parent
            block.insert_op_before(copy, function)
            block.detach_op(function)
            try:
                self._split(copy, groups)
                verify(copy)
                why = None
            except CannotSpecialize as found:
                why = CannotSpecialize(_placed(found.op, loop), str(found))
            except IRError as error:
                why = CannotSpecialize(loop, str(error))
            if why is None or not self.fall_back:
                if why is None:
                    note(loop, partial(_consumers_choice, groups - 1))
                _switch_pipelining_off(copy)
                function.drop_all_references()
                return why
            block.insert_op_before(function, copy)
            block.detach_op(copy)
            copy.drop_all_references()
        return why

    def _split(self, function: tt.FuncOp, groups: int) -> None:
        """The steps. Raises `CannotSpecialize`."""
        # Thirteen modules and a dialect that no other kernel needs.
        from minitriton.passes.warp_specialization.code_partition import lower_tokens, partition_code
        from minitriton.passes.warp_specialization.data_partition import partition_data
        from minitriton.passes.warp_specialization.task_propagation import partition_tasks, propagate_tasks

        partition_tasks(function, groups)
        propagate_tasks(function)
        if not partition_data(function) and self.fall_back:
            raise CannotSpecialize(function, "the tiles cannot be split for several consumers")
        if self.fall_back:
            check_soundness(function)
            check_copies(function, self.copies_by_threads)
        if partition_code(function, max(self.num_stages, 1)):
            lower_tokens(function)
            _check_captures(function)
        elif self.fall_back:
            raise CannotSpecialize(function, "no dot in it on tensor cores has operands that are loaded")


def _consumers_choice(taken: int) -> Choice:
    found = (
        Candidate("2", 0.5, "each has half of a tile, and dots of one run while the other computes"),
        Candidate("1", 1, "the whole tile in the registers of one warp group"),
    )
    option = "nvgpu-warp-specialization{consumers=@}"
    return Choice.of("warp groups that compute", "of a tile for each", option, found, str(taken))


def _check_captures(function: tt.FuncOp) -> None:
    """Raises `CannotSpecialize` if a partition needs a tensor from outside: only numbers and buffers get there."""
    for op in ops_in(function):
        if isinstance(op, ttg.WarpSpecializeOp) and any(isinstance(value.type, TensorType) for value in op.operands):
            raise CannotSpecialize(op, "a tensor from before the loop reaches a warp group")


def _placed(op: Operation, loop: scf.ForOp) -> Operation:
    """`op` if it has a location in the kernel, else the loop."""
    return op if not isinstance(op, tt.FuncOp) else loop


def _why_not(function: tt.FuncOp, loop: scf.ForOp) -> CannotSpecialize | None:
    """Why `function` is not even tried, if so."""
    if num_warps(function) != _WARPS:
        return CannotSpecialize(loop, f"the kernel needs num_warps={_WARPS}, a warp group")
    if num_ctas(function) != 1:
        return CannotSpecialize(loop, "the kernel has several CTAs")
    if len(function.body.blocks) != 1:
        return CannotSpecialize(loop, "the kernel has branches that are not structured")
    for op in ops_in(function):
        if isinstance(op, scf.IfOp) and op.false_region.blocks:
            return CannotSpecialize(op, "a branch in the kernel has `else`")
    return None


def _switch_pipelining_off(function: Operation) -> None:
    for loop in loops_in(function):
        loop.attributes[NUM_STAGES] = i32_attr(0)


MOST_ACCUMULATOR_REGISTERS = CONSUMER_REGISTERS - 40
"""Registers of a thread that may hold sums; addresses, barriers and loop counters need the others."""


def check_soundness(function: tt.FuncOp) -> None:
    """Raises `CannotSpecialize` where splitting `function` by the tasks of its ops would change what it does."""
    ops = [op for op in ops_in(function) if op is not function]
    for op in ops:
        if _is_seen(op) and len(tasks_of(op)) != 1:
            times = "several warp groups" if tasks_of(op) else "no warp group"
            raise CannotSpecialize(op, f"{times} would run `{op.name}`")
        if may_write_anything(op):
            raise CannotSpecialize(op, f"`{op.name}` may write what another warp group reads")
        if isinstance(op, ttng.WarpGroupDotOp):
            _check_registers(op)
    stores = [(op, pointer) for op in ops for pointer in written_pointers(op)]
    if not stores:
        return
    roots = PointerRoots(function)
    stored: dict[SSAValue, set[int]] = {}
    for op, pointer in stores:
        for root in roots.of(pointer):
            stored.setdefault(root, set()).update(tasks_of(op))
    for op in ops:
        access = MemoryAccess.of(op)
        if access is not None and access.is_load:
            touching = {task for root in roots.of(access.pointer_of(op)) for task in stored.get(root, ())}
            if touching and len(touching.union(tasks_of(op))) > 1:
                raise CannotSpecialize(
                    op, "the kernel stores to the array that this load reads, so it cannot be prefetched"
                )


def check_copies(function: tt.FuncOp, by_threads: bool) -> None:
    """Raises `CannotSpecialize` where a load of the producer cannot become a copy; those through pointers only may `by_threads`."""
    loads = [op for op in ops_in(function) if isinstance(op, tt.LoadOp) and tasks_of(op) == (PRODUCER,)]
    loads = [load for load in loads if isinstance(load.result.type, TensorType)]
    if not loads:
        return
    if not by_threads:
        raise CannotSpecialize(
            loads[0], "an operand is loaded through pointers; the copy unit needs a tensor descriptor"
        )
    facts = AxisInfoAnalysis(module_of(function))
    for load in loads:
        if not is_wide_enough(load, facts) or (load.other is not None and not is_zero(load.other)):
            raise CannotSpecialize(
                load, "threads cannot copy it to shared memory: it is too narrow, or fills with a number"
            )


def _check_registers(dot: ttng.WarpGroupDotOp) -> None:
    type_ = dot.result.type
    assert isinstance(type_, TensorType)
    registers = prod(type_.get_shape()) * element_bits(type_) // (32 * THREADS)
    if registers > MOST_ACCUMULATOR_REGISTERS:
        raise CannotSpecialize(
            dot, f"the accumulators of the dot need {registers} registers of each thread of one warp group"
        )


def _is_seen(op: Operation) -> bool:
    if isinstance(op, scf.ForOp | scf.IfOp | AssumeOp) or op.has_trait(IsTerminator):
        return False
    around = op.parent_op()
    if isinstance(around, tt.ReduceOp | tt.ScanOp):
        return False
    return not would_be_trivially_dead(op)
