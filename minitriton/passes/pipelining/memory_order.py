"""Whether a schedule keeps the order of accesses to global memory.

In: a loop and a schedule of it. Out: an op that would run before an earlier op of the same iteration, or one of the iteration before, that it must
not pass, if any.

    if c: tl.store(y, 1)          stage 2, last cluster
    v = tl.load(y)                stage 2, first cluster: it would read what `y` held before

    v = tl.load(y)                stage 0: it would read what `y` held before the store of the iteration before
    tl.store(y, v + 1)            stage 2

Loads that are started ahead of their iteration are judged by `stored_arrays`. Different pointer arguments are taken to be different arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.operations import ops_in
from minitriton.analysis.slices.pointer_roots import PointerRoots, points
from minitriton.passes.pipelining.loops import body_ops
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.passes.pipelining.stored_arrays import may_write_anything, roots_around, written_pointers
from minitriton.rewriting.effects import own_effects


def first_moved_access(loop: scf.ForOp, schedule: Schedule, started_ahead: set[Operation]) -> Operation | None:
    """The first op that would pass an earlier one which accesses the same array; `started_ahead` are not looked at."""
    roots: PointerRoots | None = None
    ops = [op for op in body_ops(loop) if op not in started_ahead and _accesses(op)]
    for index, later in enumerate(ops):
        for earlier in ops[:index]:
            if _passes(_position(schedule, earlier), _position(schedule, later)):
                roots = roots or roots_around(loop)
                if _conflict(earlier, later, roots):
                    return later
    return None


def _passes(earlier: tuple[int, int], later: tuple[int, int]) -> bool:
    """Whether the second of two ops of a body runs before the first, or one of them before the other of the iteration before. Where all else is
    the same, the first comes first."""
    carried = (earlier[0] + 1, earlier[1]), (later[0] + 1, later[1])
    return later < earlier or carried[0] <= later or carried[1] < earlier


def _position(schedule: Schedule, op: Operation) -> tuple[int, int]:
    """Where in the life of an iteration an op runs; ops of one position keep their order."""
    stage, cluster = schedule.places[op]
    return stage, schedule.position(cluster)


def _accesses(op: Operation) -> bool:
    return any(may_write_anything(each) or written_pointers(each) or list(_read(each)) for each in ops_in(op))


def _conflict(first: Operation, second: Operation, roots: PointerRoots) -> bool:
    if any(may_write_anything(each) for op in (first, second) for each in ops_in(op)):
        return True
    wrote, read = zip(*(_arrays(op, roots) for op in (first, second)), strict=True)
    return bool(wrote[0] & (wrote[1] | read[1]) or wrote[1] & read[0])


def _arrays(op: Operation, roots: PointerRoots) -> tuple[frozenset[SSAValue], frozenset[SSAValue]]:
    """The roots of what an op, with those in it, writes and reads."""
    inner = list(ops_in(op))
    nothing = frozenset[SSAValue]()
    written = nothing.union(*(roots.of(pointer) for each in inner for pointer in written_pointers(each)))
    return written, nothing.union(*(roots.of(pointer) for each in inner for pointer in _read(each)))


def _read(op: Operation) -> Iterator[SSAValue]:
    """The pointers through which an op itself reads."""
    for effect in () if op.regions else own_effects(op) or ():
        if effect.kind is MemoryEffectKind.READ and isinstance(effect.value, SSAValue) and points(effect.value.type):
            yield effect.value
