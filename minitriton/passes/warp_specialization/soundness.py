"""What must hold so that the warp groups together do what the loop did; else it is left to the pipeliner.

- What writes memory or is seen from outside (stores, atomics, prints) is done by one warp group: by none it would be lost, by two done twice.
- Warp groups run ahead of each other, so none loads from an array that another one stores to.
- The sums of a product fit into the registers of a consumer.
- Tiles that threads of the producer copy (`cp.async`) are copied 4 bytes at a time at least, and nothing but zeros is put where a mask is false.

Triton does not ask.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.slices.pointer_roots import PointerRoots
from minitriton.dialects import tt, ttng
from minitriton.dialects.facts.launch import module_of
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.passes.pipelining.buffers import is_wide_enough, is_zero
from minitriton.passes.pipelining.stored_arrays import may_write_anything, written_pointers
from minitriton.passes.tensor_layouts import element_bits
from minitriton.passes.warp_specialization.partitions import CONSUMER_REGISTERS
from minitriton.passes.warp_specialization.task_ids import PRODUCER, CannotSpecialize, tasks_of
from minitriton.passes.warp_specialization.task_propagation import ASSUME
from minitriton.passes.warp_specialization.token_lowering import THREADS
from minitriton.rewriting.effects import would_be_trivially_dead

MOST_SUMS = CONSUMER_REGISTERS - 40
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
                    op, "the kernel stores to the array that this load reads, so it cannot run ahead"
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
    if registers > MOST_SUMS:
        raise CannotSpecialize(
            dot, f"the sums of the product need {registers} registers of each thread of one warp group"
        )


def _is_seen(op: Operation) -> bool:
    if isinstance(op, scf.ForOp | scf.IfOp) or op.has_trait(IsTerminator) or op.name == ASSUME:
        return False
    around = op.parent_op()
    if isinstance(around, tt.ReduceOp | tt.ScanOp):
        return False
    return not would_be_trivially_dead(op)
