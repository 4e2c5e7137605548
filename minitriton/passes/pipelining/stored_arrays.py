"""Loads that must not be prefetched: the loop stores through the pointer argument that they read.

    for i in range(n):                              an iteration may read what the one before has stored;
        x = tl.load(p + i)                    →     started a stage ahead, the load would read what was there before
        tl.store(p + i + 1, x * 2)

Not where no iteration can load what one before it has stored: an array that is gone over once, in place, is read ahead
(`analysis.moving_addresses`). Where load and store have different arguments, these are taken to be different arrays; `minitriton check` and
the emulator find a kernel that is given one array twice. Triton moves such loads.
"""

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.analysis.moving_addresses import meets_later
from minitriton.analysis.slices.def_use import PointerRoots, points
from minitriton.dialects import llvm, tt
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.pipeline.choice import remark


def loads_of_stored_arrays(loop: scf.ForOp, loads: list[Operation]) -> set[Operation]:
    """Of the `loads` in a loop: those of arrays that it stores to, with a remark for each."""
    ops = [op for op in ops_in(loop) if op is not loop]
    unknown = next(filter(may_write_anything, ops), None)
    if unknown is not None:
        for load in loads:
            remark(load, f"not started ahead of its iteration: `{unknown.name}` may write anything", unknown)
        return set(loads)
    stores = [(op, pointer) for op in ops for pointer in written_pointers(op)]
    if not stores:
        return set()
    roots = roots_around(loop)
    stored: dict[SSAValue, list[Operation]] = {}
    for op, pointer in stores:
        for root in roots.of(pointer):
            stored.setdefault(root, []).append(op)
    found: set[Operation] = set()
    for load in loads:
        both = (root for root in roots.of(load.operands[0]) if root in stored)
        meeting = next(((root, op) for root in both for op in stored[root] if _meets(load, op, loop)), None)
        if meeting is not None:
            root, store = meeting
            found.add(load)
            through = f"argument {root.index}" if isinstance(root, BlockArgument) else "its pointer"
            remark(load, f"not started ahead of its iteration: the loop stores through {through} too", store)
    return found


def writes_what_is_read(loop: scf.ForOp, loads: Iterable[Operation]) -> bool:
    """Whether some iteration of `loop` may write what one of `loads` reads: the answer for loads that run once, before the loop."""
    reads = list(loads)
    if not reads:
        return False
    roots = roots_around(loop)
    read = frozenset[SSAValue]().union(*(roots.of(load.operands[0]) for load in reads))
    for op in ops_in(loop):
        is_unknown = not op.regions and get_effects(op) is None and not isinstance(op, tt.CallOp)
        if may_write_anything(op) or is_unknown or any(read & roots.of(pointer) for pointer in written_pointers(op)):
            return True
    return False


_WRITES_NO_ARRAY = (llvm.AssumeOp, tt.PrintOp, tt.AssertOp)


def may_write_anything(op: Operation) -> bool:
    """Whether an op writes and does not say what: inline assembly that is not pure."""
    if op.regions or isinstance(op, _WRITES_NO_ARRAY):
        return False
    effects = get_effects(op) or ()
    return any(e.kind is MemoryEffectKind.WRITE and not isinstance(e.value, SSAValue) for e in effects)


def roots_around(loop: scf.ForOp) -> PointerRoots:
    """The roots of the pointers in the function around a loop."""
    function = loop.parent_op()
    while function is not None and not isinstance(function, tt.FuncOp):
        function = function.parent_op()
    return PointerRoots(function if function is not None else loop)


def _meets(load: Operation, store: Operation, loop: scf.ForOp) -> bool:
    """Whether `load` may read what `store` has written in an iteration before."""
    if not isinstance(load, tt.LoadOp) or not isinstance(store, tt.StoreOp):
        return True
    return meets_later(load, store, loop) or not _waits_for(store, load, loop)


def _waits_for(store: Operation, load: Operation, loop: scf.ForOp) -> bool:
    """Whether `store` needs what `load` gives in this iteration, so that the copy that the load becomes has ended when it writes."""
    reached: set[Operation] = set()
    pending = [load]
    while pending:
        op = pending.pop()
        if op is store:
            return True
        parent = op.parent_op()
        if op in reached or op is loop or parent is None:
            continue
        reached.add(op)
        pending += [use.operation for result in op.results for use in result.uses]
        if parent is not loop:
            pending.append(parent)
    return False


def written_pointers(op: Operation) -> list[SSAValue]:
    """The pointers through which an op may write global memory."""
    if isinstance(op, tt.CallOp):
        return [operand for operand in op.operands if points(operand.type)]
    if isinstance(op, tt.LoadOp) or op.regions:
        return []
    effects = get_effects(op) or ()
    written = [e.value for e in effects if e.kind is MemoryEffectKind.WRITE and isinstance(e.value, SSAValue)]
    return [value for value in written if points(value.type)]
