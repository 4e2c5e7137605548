"""`tritongpu-schedule-loops`: from latencies to a stage and a cluster for every op of a loop.

    %x = tt.load %p {tt.latency = 2 : i32}           %x = tt.load %p {loop.cluster = 2 : i32, loop.stage = 0 : i32}
    %y = arith.addf %acc, %x                  =>     %y = arith.addf %acc, %x {loop.cluster = 0 : i32, loop.stage = 2 : i32}

Ops that follow from a load run as many stages later as latencies say; in one iteration later stages come first, so
that a buffer is read before it is filled again. Then what these need is placed with them, what they need of the previous
iteration one stage later, conditionals before or after everything, and all else in the last stage.

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/ScheduleLoops.cpp.

Whether a schedule keeps the order of accesses to global memory.

In: a loop and a schedule of it. Out: an op that would run before an earlier op of the same iteration, or one of the iteration before, that it must
not pass, if any.

    if c: tl.store(y, 1)          stage 2, last cluster
    v = tl.load(y)                stage 2, first cluster: it would read what `y` held before

    v = tl.load(y)                stage 0: it would read what `y` held before the store of the iteration before
    tl.store(y, v + 1)            stage 2

Loads that are started ahead of their iteration are checked by `stored_arrays`. Different pointer arguments are taken to be different arrays.
"""

from collections.abc import Iterator
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.slices.def_use import PointerRoots, points
from minitriton.dialects import gpu, tt
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.passes.pipelining.assign_latencies import LATENCY
from minitriton.passes.pipelining.predication import can_be_held_back
from minitriton.passes.pipelining.schedule import (
    Cluster,
    Schedule,
    ancestor_in_body,
    body_ops,
    is_outer_loop,
    loops_in,
    nested_operands,
    producers,
    schedule_dependencies,
    terminator_of,
    uses_values_of_older_iterations,
)
from minitriton.passes.pipelining.stored_arrays import may_write_anything, roots_around, written_pointers
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, Pass, Property, register_pass
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
    stage, cluster = schedule.positions[op]
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


def _take_latencies(loop: scf.ForOp) -> dict[Operation, int]:
    """The latencies that ops of the body carry; the attributes go."""
    found: dict[Operation, int] = {}
    for op in body_ops(loop):
        latency = op.attributes.pop(LATENCY, None)
        if isinstance(latency, IntegerAttr):
            found[op] = latency.value.data
    return found


def _users(loop: scf.ForOp, op: Operation) -> set[Operation]:
    """The ops of the body in which results of `op` are used in this iteration."""
    last = terminator_of(loop)
    ancestors = (ancestor_in_body(loop, use.operation) for result in op.results for use in result.uses)
    return {user for user in ancestors if user is not None and user is not last}


def _stages_of_key_ops(loop: scf.ForOp, latencies: dict[Operation, int]) -> dict[Operation, int]:
    """The stage of each op that follows from one with a latency: how far it is from the end, in latencies."""
    distance: dict[Operation, int] = {}
    users = {op: _users(loop, op) for op in body_ops(loop)}
    for op in reversed(body_ops(loop)):
        distance[op] = latencies.get(op, 0) + max((distance[user] for user in users[op]), default=0)
    reached: dict[Operation, None] = {}
    pending = list(latencies)
    while pending:
        op = pending.pop()
        if op not in reached:
            reached[op] = None
            pending.extend(users[op])
    longest = max(distance[op] for op in latencies)
    return {op: longest - distance[op] for op in reached}


def _schedule_key_ops(loop: scf.ForOp, latencies: dict[Operation, int], conditionals_last: bool) -> Schedule:
    stages = _stages_of_key_ops(loop, latencies)
    last = max(stages.values())
    schedule = Schedule(last + 1)
    clusters = [schedule.new_cluster() for _ in range(last + 1)]
    for op, stage in stages.items():
        schedule.insert(op, stage, clusters[last - stage])
    last_cluster = schedule.new_cluster()
    for op, stage in stages.items():
        if conditionals_last and isinstance(op, scf.IfOp) and op not in latencies and not _leads_to(op, stages):
            schedule.insert(op, stage, last_cluster)
    return schedule


def _leads_to(op: Operation, targets: dict[Operation, int]) -> bool:
    """Whether one of `targets` depends on `op`."""
    seen: set[Operation] = set()
    pending = [use.operation for result in op.results for use in result.uses]
    while pending:
        user = pending.pop()
        if user in seen:
            continue
        seen.add(user)
        if user in targets:
            return True
        pending.extend(use.operation for result in user.results for use in result.uses)
        for region in user.regions:
            for block in region.blocks:
                pending.extend(block.ops)
    return False


def _schedule_conditionals(loop: scf.ForOp, schedule: Schedule, conditionals_last: bool) -> Cluster:
    """Conditionals that placed ops need come first, others last, if at all; the cluster after those that come first."""
    after_first = schedule.clusters[0]
    needed: dict[Operation, int] = {}
    order = schedule.in_order(loop)
    for stage in range(schedule.stages):
        for op in order:
            if schedule.stage(op) == stage:
                for inner in _needed_by(op):
                    if isinstance(inner, scf.IfOp):
                        needed.setdefault(inner, stage)
    if needed:
        first = schedule.new_cluster(0)
        for op, stage in needed.items():
            schedule.insert_if_absent(op, stage, first)
    last = schedule.new_cluster()
    for op in body_ops(loop):
        if conditionals_last and isinstance(op, scf.IfOp) and op not in needed:
            schedule.insert_if_absent(op, schedule.stages - 1, last)
    return after_first


def _needed_by(op: Operation) -> dict[Operation, None]:
    """The ops of the body that `op` depends on in this iteration."""
    found: dict[Operation, None] = {}
    pending = [op]
    while pending:
        for producer in producers(pending.pop(), through_arguments=False):
            if producer not in found:
                found[producer] = None
                pending.append(producer)
    return found


def schedule_for_next_iteration(loop: scf.ForOp, schedule: Schedule) -> None:
    """What placed ops need of the previous iteration: one stage later, in a cluster before theirs; loads with them."""
    before: dict[Cluster, Cluster] = {}
    block = loop.regions[0].block
    for op in body_ops(loop):
        if op not in schedule:
            continue
        stage, cluster = schedule.positions[op]
        if stage == schedule.stages - 1:
            continue
        for operand in nested_operands(op):
            if not isinstance(operand, BlockArgument) or operand.block is not block or operand.index == 0:
                continue
            value = operand_values(terminator_of(loop))[operand.index - 1]
            if not isinstance(value, OpResult) or value.op in schedule:
                continue
            target = (stage, cluster)
            if not isinstance(value.op, tt.LoadOp):
                if cluster not in before:
                    before[cluster] = schedule.new_cluster(schedule.position(cluster))
                target = (stage + 1, before[cluster])
            schedule.insert_if_absent(value.op, *target)
            schedule.insert_dependencies(value.op, *target, through_arguments=True, earliest=True)


def schedule_rest(loop: scf.ForOp, schedule: Schedule, after_first: Cluster) -> None:
    """All other ops run in the last stage, not in a cluster before what they use."""
    last = schedule.stages - 1
    rest = {op: after_first for op in body_ops(loop) if op not in schedule}
    pending = [op for op in schedule.in_order(loop) if schedule.stage(op) == last]
    while pending:
        op = pending.pop()
        cluster = schedule.cluster(op) if op in schedule else rest[op]
        for result in op.results:
            for use in result.uses:
                user = use.operation
                if user in rest and schedule.position(rest[user]) < schedule.position(cluster):
                    rest[user] = cluster
                    pending.append(user)
    for op, cluster in rest.items():
        schedule.insert(op, last, cluster)


def _scheduled(loop: scf.ForOp, latencies: dict[Operation, int], *, conditionals_last: bool) -> Schedule:
    """All ops of the body, placed. Conditionals that nothing waits for come last, where the memory they access allows it."""
    schedule = _schedule_key_ops(loop, latencies, conditionals_last)
    after_first = _schedule_conditionals(loop, schedule, conditionals_last)
    schedule_dependencies(loop, schedule)
    schedule_for_next_iteration(loop, schedule)
    schedule_rest(loop, schedule, after_first)
    return schedule


def schedule_loop(loop: scf.ForOp) -> None:
    """Writes a schedule onto a loop whose ops carry latencies."""
    latencies = _take_latencies(loop)
    if not latencies or is_outer_loop(loop) or uses_values_of_older_iterations(loop) or has_barriers(loop):
        return
    ahead = set(latencies)
    schedule = _scheduled(loop, latencies, conditionals_last=True)
    moved = first_moved_access(loop, schedule, ahead)
    if moved is not None:
        schedule = _scheduled(loop, latencies, conditionals_last=False)
        moved = first_moved_access(loop, schedule, ahead)
    if moved is not None:
        remark(
            moved, "the loop is not pipelined: this would access an array before an earlier op of the iteration does"
        )
        return
    early = (op for op, (stage, _) in schedule.positions.items() if stage < schedule.stages - 1)
    if all(can_be_held_back(op) for op in early):
        schedule.write(loop)


def has_barriers(loop: scf.ForOp) -> bool:
    """Whether threads wait for each other somewhere in a loop."""
    return any(isinstance(op, gpu.BarrierOp) for op in ops_in(loop))


@register_pass
class ScheduleLoops(Pass, stage="ttgir", origin="triton"):
    """Gives every op of a loop with latencies its stage and cluster."""

    name: ClassVar[str] = "tritongpu-schedule-loops"
    acts_on = frozenset({scf.ForOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.SCHEDULED})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED, Property.ENCODINGS, Property.LATENCIES})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT - {Property.LATENCIES}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule all loops."""
        for loop in loops_in(op):
            schedule_loop(loop)
